// Package results remembers what was decided for which file, so that a library that has not changed is told again at
// the speed of looking (docs/decisions.md).
package results

// This file decides when a remembered decision still holds: the files it was made for are the same (names, sizes, times of
// change), what it was made from is the same (program, index, pins), and TMDB's answers are still fresh. Everything else
// is simply not known: the memory never guesses, and losing it loses nothing but time.
//
// What is remembered lies folder by folder: looking up a folder costs as much as looking up a file, and a folder that is
// as it was is told again without reading one of its names.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/report"
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

// Folder is files of one folder that are decided together, as they are now. Their order counts.
type Folder struct {
	Abs   string // where the folder is
	View  string // what the matcher reads in front of each name: the same folder asked for from elsewhere may read differently
	Part  string // which of the folder's files these are, where not all are decided together
	Files []library.File
}

// Group is files that were decided together, as evidence for each other: indices into Folder.Files and into the records.
// Term is until when that holds; nil: it was decided just now.
type Group struct {
	Files []int
	Term  *Term
}

// Term is when a group was decided, as of when its oldest answer is, and until when it holds.
type Term struct{ at, fetched, until time.Time }

// Memory remembers decisions in a store. It is safe for concurrent use if the store is.
type Memory struct {
	store    Store
	question string // its digest
	basis    [basisSize]byte
}

// New returns the memory of runs that ask question on basis.
func New(store Store, question Question, basis Basis) *Memory {
	m := &Memory{store: store}
	m.question = string(digest(string(rune(version)), question.Upstream, question.Language, question.Type, fmt.Sprint(question.MinConfidence), fmt.Sprint(question.IncludeAdult)))
	copy(m.basis[:], digest(basis.Program, basis.Index, basis.Pins))
	return m
}

// Recall returns what is known of each folder, nil where nothing is. With an error of the store the results are usable
// all the same.
func (m *Memory) Recall(ctx context.Context, now time.Time, folders []Folder) ([]*Known, error) {
	known := make([]*Known, len(folders))
	keys := make([]string, len(folders))
	for i, f := range folders {
		keys[i] = m.key(f)
	}
	items, err := m.store.GetBatch(ctx, keys)
	for i, item := range items {
		if i >= len(folders) || item.Key != keys[i] {
			continue
		}
		// What can't be decoded is of another version, or damaged: not known either way.
		if k, decoding := decode(item.Value); decoding == nil && k.basis == m.basis {
			k.judge(now)
			known[i] = k
		}
	}
	if err != nil {
		return known, fmt.Errorf("recall results: %w", err)
	}
	return known, nil
}

// clockSlack is how far ahead of us the clock of a process that remembered may have been.
const clockSlack = time.Minute

// holds reports whether a group's answers are fresh. One from the future is not believed: the clock went back, and nothing
// tells how far.
func (t *Term) holds(now time.Time) bool {
	return now.Before(t.until) && !now.Before(t.at.Add(-clockSlack))
}

// lifetimes is how long a decision of each status holds at most, after the oldest answer it stands on: the shortest
// time for which the cache's policy calls such answers fresh. A status that is not here is never remembered.
var lifetimes = map[report.Status]time.Duration{
	report.Matched:   24 * time.Hour,
	report.Ambiguous: 24 * time.Hour,
	report.Unmatched: 8 * time.Hour,
	report.Skipped:   24 * time.Hour, // an extra by its name: nobody was asked
}

// Remember keeps what was decided for a folder: one record per file, and the groups that may be told again as they are. It
// leaves out groups with a file that must be asked again, which is what is pending, failed or stands on stale answers;
// records of files that are in no group count only where the walk left the file out. A record that stood on TMDB's own
// answer now stands on the cache, as of now; steps, scores and reasons are not remembered. known is what was recalled of
// the folder, nil for nothing: what would be the same again is not written.
func (m *Memory) Remember(ctx context.Context, now time.Time, f Folder, known *Known, records []report.Record, groups []Group) error {
	kept := keeping{folder: f, basis: m.basis, records: records, groupOf: make([]int, len(f.Files))}
	var oldest, last time.Time
	for _, g := range groups {
		term := g.Term
		if term == nil {
			term = termOf(now, records, g.Files)
		}
		if term == nil || !term.holds(now) {
			continue
		}
		kept.terms = append(kept.terms, *term)
		for _, i := range g.Files {
			kept.groupOf[i] = len(kept.terms)
		}
		if oldest.IsZero() || term.fetched.Before(oldest) {
			oldest = term.fetched
		}
		if term.until.After(last) {
			last = term.until
		}
	}
	if len(kept.terms) == 0 {
		if slices.ContainsFunc(f.Files, func(f library.File) bool { return f.Skip == "" }) {
			return nil
		}
		oldest, last = now, now.Add(lifetimes[report.Skipped]) // the walk has decided them all
	}
	item := cache.Item{Key: m.key(f), Value: encode(kept, now), FetchedAt: oldest, ExpiresAt: last}
	if known != nil && bytes.Equal(item.Value, known.raw) {
		return nil
	}
	if err := m.store.Put(ctx, item); err != nil {
		return fmt.Errorf("remember results: %w", err)
	}
	return nil
}

// termOf is how long a group of files holds that was decided now, nil where it is not to be remembered.
func termOf(now time.Time, records []report.Record, files []int) *Term {
	t := Term{at: now, fetched: now}
	for n, i := range files {
		r := &records[i]
		lifetime, ok := lifetimes[r.Status]
		if !ok || r.Error != nil || r.Source == staleSource {
			return nil
		}
		fetched := now
		if !r.CachedAt.IsZero() && r.CachedAt.Before(now) {
			fetched = r.CachedAt
		}
		if until := fetched.Add(lifetime); n == 0 || until.Before(t.until) {
			t.until = until
		}
		if fetched.Before(t.fetched) {
			t.fetched = fetched
		}
	}
	return &t
}

// key names a folder and a question, and holds no path in the clear.
func (m *Memory) key(f Folder) string {
	return base64.RawURLEncoding.EncodeToString(digest(m.question, f.Abs, f.View, f.Part)[:24])
}

// digest hashes a list of texts; each goes in with its length, so that no two different lists are the same bytes.
func digest(parts ...string) []byte {
	b := make([]byte, 0, 512)
	for _, p := range parts {
		b = append(binary.AppendUvarint(b, uint64(len(p))), p...)
	}
	sum := sha256.Sum256(b)
	return sum[:]
}
