// Package results remembers what was decided for which files, so that a library that has not changed is replayed at the
// speed of walking it.
//
// A decision is remembered per series. Its key is a digest of the series' files (path, size, time of change), of the
// question (the settings that matter) and of the basis (program, title index, pins); folders only list their series. A
// decision is void under another key, when an answer that it stands on has expired, and when the cache has a newer
// answer about such an entry, whichever process stored it. Losing the memory only costs time.
package results

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/wire"
)

// Bucket is the name of the memory's bucket in the cache.
const Bucket = "results"

// Store keeps values by key. GetBatch returns one item per key in order, without a Key for none, perhaps with an error.
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

// Basis is what decisions stand on besides TMDB's answers: texts that differ whenever the thing differs.
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

func (m *Memory) digest(what string, f Files) *digest {
	d := new(digest)
	d.text(m.scope)
	d.text(what)
	d.text(f.Abs)
	d.text(f.View)
	d.bool(f.Media)
	return d
}

// digest is what a sum is made of. Each text has its length, so no two different lists are the same bytes.
type digest []byte

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

func (d *digest) file(f *library.File) {
	d.text(f.Name)
	d.text(string(f.Skip))
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
	return k
}

// Folder is files of one folder that are grouped together. Part says which of its files, if not all.
type Folder struct {
	Files
	Part string
}

// List is the series of a folder: for each its key, and which of the folder's files it is made of.
type List struct {
	Keys  []Key
	Files [][]int
}

// Add adds a series.
func (l *List) Add(k Key, files []int) {
	l.Keys, l.Files = append(l.Keys, k), append(l.Files, files)
}

// Lists returns the lists of folders, nil if anything in a folder has changed. They are usable even with an error.
func (m *Memory) Lists(ctx context.Context, folders []Folder) ([]*List, error) {
	lists := make([]*List, len(folders))
	keys := make([]string, len(folders))
	for i := range folders {
		keys[i] = m.folderKey(&folders[i]).text()
	}
	items, err := m.store.GetBatch(ctx, keys)
	for i, item := range items {
		if i < len(folders) && item.Key == keys[i] {
			lists[i] = m.decodeList(item.Value, &folders[i])
		}
	}
	if err != nil {
		return lists, lang.Error("recall results: %w", err)
	}
	return lists, nil
}

func (m *Memory) folderKey(f *Folder) Key {
	d := m.digest("folder", f.Files)
	d.text(f.Part)
	return d.sum()
}

func (m *Memory) content(f *Folder) Key {
	d := m.digest("content", f.Files)
	for i := range f.List {
		d.file(&f.List[i])
	}
	return d.sum()
}

func (m *Memory) item(f *Folder, l *List, now time.Time) cache.Item {
	content := m.content(f)
	w := wire.Writer(content[:])
	w.Count(len(l.Keys), math.MaxInt)
	for _, k := range l.Keys {
		w.Raw(k[:])
	}
	series := make([]int, len(f.List))
	for n, files := range l.Files {
		for _, i := range files {
			series[i] = n
		}
	}
	for i := range series {
		wire.Int(&w, &series[i])
	}
	return cache.Item{Key: m.folderKey(f).text(), Value: w.Bytes(), FetchedAt: now, ExpiresAt: now.Add(longest)}
}

func (m *Memory) decodeList(b []byte, f *Folder) *List {
	r := wire.Reader(b)
	content := m.content(f)
	if !bytes.Equal(r.Take(len(content)), content[:]) {
		return nil
	}
	n := r.Count(0, math.MaxInt)
	l := &List{Keys: make([]Key, n), Files: make([][]int, n)}
	for i := range l.Keys {
		copy(l.Keys[i][:], r.Take(len(Key{})))
	}
	for i := range f.List {
		n := 0
		if wire.Int(&r, &n); n < 0 || n >= len(l.Files) {
			return nil
		}
		l.Files[n] = append(l.Files[n], i)
	}
	if r.Bad() || len(r.Left()) > 0 || slices.ContainsFunc(l.Files, func(files []int) bool { return len(files) == 0 }) {
		return nil
	}
	return l
}
