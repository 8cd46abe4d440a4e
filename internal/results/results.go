// Package results remembers what was decided for which file, so that a library that has not changed is told again at
// the speed of looking (docs/cache.md, "A result memory").
package results

// This file decides when a remembered decision still holds: the file is the same (path, size, time of change), what the
// decision was made from is the same (program, index, pins), and TMDB's answers are still fresh. Everything else is
// simply not known: the memory never guesses, and losing it loses nothing but time.

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/match"
)

// Bucket is the name of the memory's bucket in the cache.
const Bucket = "results"

// Store keeps values by key; *cache.Bucket is one. GetBatch returns one item per key in order, without a Key where there is
// none, and may return items together with an error.
type Store interface {
	GetBatch(ctx context.Context, keys []string) ([]cache.Item, error)
	Put(ctx context.Context, items ...cache.Item) error
}

// Question is what a run asks of a file. Runs with different questions remember side by side.
type Question struct {
	Upstream      string // base URL
	Language      string
	Type          string // auto, tv or movie
	MinConfidence float64
	IncludeAdult  bool
}

// Basis is what decisions are made from besides TMDB's answers. When any of it changes, what was remembered is forgotten.
// Each is an opaque text that differs whenever the thing differs.
type Basis struct {
	Program string // the matcher's version
	Index   string // the title index's
	Pins    string // the pins'
}

// File is a file as it is now. Path is what the matcher read, Abs the same as an absolute path (Path where it is empty):
// the same file asked for from another folder may read differently.
type File struct {
	Path, Abs string
	Size      int64
	ModTime   time.Time
}

// Entry is a decision to remember. FreshUntil is when the first of the answers it stands on is no longer fresh; zero
// takes the shortest time for which any answer of that kind is.
type Entry struct {
	File       File
	Decision   match.Decision
	FreshUntil time.Time
}

// Memory remembers decisions in a store. It is safe for concurrent use if the store is.
type Memory struct {
	store    Store
	question string // its digest
	basis    [basisSize]byte
}

// New returns the memory of runs that ask question on basis.
func New(store Store, question Question, basis Basis) *Memory {
	m := &Memory{store: store}
	m.question = string(digest(question.Upstream, question.Language, question.Type, fmt.Sprint(question.MinConfidence), fmt.Sprint(question.IncludeAdult)))
	copy(m.basis[:], digest(basis.Program, basis.Index, basis.Pins))
	return m
}

// Recall returns what is known of each file, nil where nothing is. A decision that stood on TMDB's own answer now stands
// on the cache, as of then; steps, scores and reasons are not remembered. With an error of the store the results
// are usable all the same.
//
// A series of which one file is not known has to be decided whole, or its files would be judged by less than there is.
func (m *Memory) Recall(ctx context.Context, now time.Time, files []File) ([]*match.Decision, error) {
	known := make([]*match.Decision, len(files))
	keys := make([]string, len(files))
	for i, f := range files {
		keys[i] = m.key(f)
	}
	items, err := m.store.GetBatch(ctx, keys)
	for i, item := range items {
		if i >= len(files) || item.Key != keys[i] {
			continue
		}
		// What can't be decoded is of another version, or damaged: not known either way.
		r, decoding := decode(item.Value)
		if decoding == nil && m.holds(r, files[i], now) {
			known[i] = &r.decision
		}
	}
	if err != nil {
		return known, fmt.Errorf("recall results: %w", err)
	}
	return known, nil
}

// holds reports whether a remembered decision still says the truth about the file.
func (m *Memory) holds(r remembered, f File, now time.Time) bool {
	return r.basis == m.basis && r.size == f.Size && r.modTime == f.ModTime.UnixNano() &&
		now.Before(r.freshUntil) && !now.Before(r.at.Add(-clockSlack))
}

// clockSlack is how far ahead of us the clock of a process that remembered may have been.
const clockSlack = time.Minute

// lifetimes is how long a decision of each status holds at most, after the oldest answer it stands on: the shortest
// time for which the cache's policy calls such answers fresh. A status that is not here is never remembered.
var lifetimes = map[match.Status]time.Duration{
	match.Matched:   24 * time.Hour,
	match.Ambiguous: 24 * time.Hour,
	match.Unmatched: 8 * time.Hour,
}

// Remember keeps decisions for later runs. It leaves out what must be asked again: whatever is pending, failed or stands
// on stale answers, and what is not fresh any more.
func (m *Memory) Remember(ctx context.Context, now time.Time, entries ...Entry) error {
	var items []cache.Item
	for _, e := range entries {
		lifetime, ok := lifetimes[e.Decision.Status]
		if !ok || e.Decision.Err != nil || e.Decision.Origin.From == match.FromStale {
			continue
		}
		d := e.Decision
		if d.Origin.From == match.FromNetwork {
			d.Origin = match.Origin{From: match.FromCache, FetchedAt: now}
		}
		fetched := d.Origin.FetchedAt
		if fetched.IsZero() || fetched.After(now) {
			fetched = now
		}
		until := e.FreshUntil
		if until.IsZero() {
			until = fetched.Add(lifetime)
		}
		if !now.Before(until) {
			continue
		}
		r := remembered{basis: m.basis, size: e.File.Size, modTime: e.File.ModTime.UnixNano(), at: now, freshUntil: until, decision: d}
		items = append(items, cache.Item{Key: m.key(e.File), Value: encode(r), FetchedAt: fetched, ExpiresAt: until})
	}
	if len(items) == 0 {
		return nil
	}
	if err := m.store.Put(ctx, items...); err != nil {
		return fmt.Errorf("remember results: %w", err)
	}
	return nil
}

// key names a file and a question. It begins with the folder, so that a folder's files lie side by side in the store, and
// holds no path in the clear.
func (m *Memory) key(f File) string {
	abs := f.Abs
	if abs == "" {
		abs = f.Path
	}
	var raw [24]byte
	copy(raw[:9], digest(filepath.Dir(abs)))
	copy(raw[9:], digest(m.question, abs, f.Path))
	return base64.RawURLEncoding.EncodeToString(raw[:])
}

// digest hashes a list of texts; each goes in with its length, so that no two different lists are the same bytes.
func digest(parts ...string) []byte {
	b := make([]byte, 0, 256)
	for _, p := range parts {
		b = append(binary.AppendUvarint(b, uint64(len(p))), p...)
	}
	sum := sha256.Sum256(b)
	return sum[:]
}
