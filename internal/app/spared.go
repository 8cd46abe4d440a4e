package app

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/match"
)

// This file keeps, between runs, which series were decided without a search because the run had fetched an entry
// that bears their title. Which entries a run fetches first is chance; without this a later run would search where the earlier
// one did not, and an offline run would find no answer for it.

// spared remembers searches that were spared. A nil one remembers nothing.
type spared struct {
	store sparedStore
	scope string // what else a search depends on: upstream, language, options
	warn  func(error)
}

// sparedStore is a bucket of the cache.
type sparedStore interface {
	Get(ctx context.Context, key string) (item cache.Item, ok bool, err error)
	Put(ctx context.Context, items ...cache.Item) error
}

const (
	sparedBucket  = "spared"
	sparedFor     = 24 * time.Hour // as long as the answer of the search would have been fresh
	sparedVersion = 1
)

// spares opens the memory of spared searches; nil where every answer is to be asked for anew.
func (a *App) spares() *spared {
	if a.opts.Refresh {
		return nil
	}
	bucket, err := a.cache.Bucket(sparedBucket)
	if err != nil {
		a.warn(err)
		return nil
	}
	scope, err := json.Marshal([]any{a.cfg.TMDB.BaseURL.String(), a.cfg.TMDB.Language, a.cfg.Match.Type, a.cfg.Match.IncludeAdult})
	if err != nil {
		a.warn(err)
		return nil
	}
	return &spared{store: bucket, scope: string(scope), warn: a.warn}
}

// entry returns the entry that decided a series in an earlier run. fresh says that it still does; an old one is for when TMDB
// can't be asked.
func (p *spared) entry(ctx context.Context, s match.Series) (e knownEntry, fresh, ok bool) {
	if p == nil {
		return e, false, false
	}
	item, ok, err := p.store.Get(ctx, p.key(s))
	if err != nil && ctx.Err() == nil && !errors.Is(err, cache.ErrLocked) { // the cache says itself that it is locked
		p.warn(err)
	}
	if !ok {
		return e, false, false
	}
	if e, ok = decodeSpared(item.Value); !ok {
		return e, false, false
	}
	age := time.Since(item.FetchedAt)
	return e, age < sparedFor && age > -time.Minute, true
}

// keep remembers that an entry decides a series. What can't be kept is searched for next time.
func (p *spared) keep(ctx context.Context, s match.Series, e knownEntry) {
	if p == nil {
		return
	}
	if err := p.store.Put(ctx, cache.Item{Key: p.key(s), Value: encodeSpared(e)}); err != nil {
		p.warn(err)
	}
}

// key is everything of a series that a decision depends on; its files only as far as they count as evidence.
func (p *spared) key(s match.Series) string {
	s.Files, s.Folder = nil, ""
	told, err := json.Marshal(s)
	if err != nil { // a number of an episode that JSON does not have: nothing is ever found under it
		told = []byte(err.Error())
	}
	sum := sha256.Sum256(append([]byte(p.scope), told...))
	return string(sum[:])
}

func encodeSpared(e knownEntry) []byte {
	return append(binary.AppendUvarint([]byte{sparedVersion}, uint64(max(e.id, 0))), e.kind...)
}

func decodeSpared(b []byte) (e knownEntry, ok bool) {
	if len(b) < 2 || b[0] != sparedVersion {
		return e, false
	}
	id, n := binary.Uvarint(b[1:])
	if n <= 0 || id == 0 || id > 1<<31-1 {
		return e, false
	}
	e = knownEntry{match.Kind(b[1+n:]), int(id)}
	return e, e.kind == match.TV || e.kind == match.Movie
}
