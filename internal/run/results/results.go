// Package results remembers what was decided for which files, so that a library that has not changed is replayed at the
// speed of walking it.
//
// A decision is remembered per series. Its key is a digest of the series' files (path, size, time of change), of the
// question (the settings that matter) and of the basis (program, title index, pins); folders only list their series. A
// decision is void under another key, when an answer that it stands on has expired, and when the cache has a newer
// answer about an entry that it stands on, whoever stored it. Losing the memory loses nothing but time.
package results

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/match"
)

// Bucket is the name of the memory's bucket in the cache.
const Bucket = "results"

// Store keeps values by key; *cache.Bucket is one. GetBatch returns one item per key in order, without a Key where
// there is none, and may return items together with an error.
type Store interface {
	GetBatch(ctx context.Context, keys []string) ([]cache.Item, error)
	Put(ctx context.Context, items ...cache.Item) error
}

// Entry is a TMDB entry.
type Entry struct {
	Kind match.Kind
	ID   int
}

// Newest returns when the newest cached answer about each entry was fetched, zero where there is none.
type Newest func(ctx context.Context, entries []Entry) ([]time.Time, error)

// Question is what a run asks of a file. Runs with different questions remember side by side.
type Question struct {
	Upstream             string // base URL
	Language             string
	Type                 string // auto, tv or movie
	MinConfidence        float64
	MinEpisodeConfidence float64
	IncludeAdult         bool
}

// Basis is what decisions stand on besides TMDB's answers. Each is an opaque text that differs whenever the thing
// differs.
type Basis struct {
	Program string // the matcher's version
	Index   string // the title index's
	Pins    string // the pins'
}

// Memory remembers decisions in a store. It is safe for concurrent use if the store is.
type Memory struct {
	store  Store
	newest Newest
	scope  string // digest of version, question and basis
}

// New returns the memory of runs that ask question on basis.
func New(store Store, newest Newest, question Question, basis Basis) *Memory {
	var d digest
	d.number(version)
	for _, text := range []string{
		question.Upstream, question.Language, question.Type,
		fmt.Sprint(question.MinConfidence, question.MinEpisodeConfidence), fmt.Sprint(question.IncludeAdult), basis.Program,
		basis.Index, basis.Pins,
	} {
		d.text(text)
	}
	scope := d.sum()
	return &Memory{store: store, newest: newest, scope: string(scope[:])}
}

// Key names a series or a folder, the question and the basis. It holds no path in the clear.
type Key [24]byte

func (k Key) text() string { return base64.RawURLEncoding.EncodeToString(k[:]) }

// Files are files of one folder, or names without one.
type Files struct {
	Abs   string // where the folder is; "" for names
	View  string // what is read in front of each name: the same folder asked for from elsewhere may read differently
	Media bool   // somebody listed the names as media
	List  []library.File
}

// Key is the key of the series that some of the files make: indices into List, in order.
func (m *Memory) Key(f Files, series []int) Key {
	d := m.digest("series", f)
	for _, i := range series {
		d.file(&f.List[i])
	}
	return d.sum()
}

// digest begins one; its sum ends it.
func (m *Memory) digest(what string, f Files) *digest {
	d := digests.Get().(*digest)
	*d = (*d)[:0]
	d.text(m.scope)
	d.text(what)
	d.text(f.Abs)
	d.text(f.View)
	d.bool(f.Media)
	return d
}

// digest is what a sum is made of. Each text goes in with its length, so that no two different lists are the same
// bytes.
type digest []byte

var digests = sync.Pool{New: func() any { return new(digest) }}

func (d *digest) number(n int64) { *d = binary.AppendVarint(*d, n) }

func (d *digest) text(s string) {
	d.number(int64(len(s)))
	*d = append(*d, s...)
}

func (d *digest) bool(v bool) {
	if v {
		d.number(1)
		return
	}
	d.number(0)
}

// file adds what tells one state of a file from another. A name without a file has a path alone.
func (d *digest) file(f *library.File) {
	d.text(f.Name)
	d.text(f.Skip)
	if f.ModTime.IsZero() {
		d.text(f.Path)
		return
	}
	if f.Skip == "" {
		d.number(f.Size)
		d.number(f.ModTime.UnixNano())
	}
}

func (d *digest) sum() (k Key) {
	sum := sha256.Sum256(*d)
	copy(k[:], sum[:])
	digests.Put(d)
	return k
}
