// Package results stores what was decided for which files, so that an unchanged library is replayed as fast as it can
// be walked.
//
// Decisions are stored per series. The key is a digest of the series' files (path, size, modification time), of the
// settings that matter, and of the local inputs (program, title index, pins). A folder has a list of its series. A
// stored decision is void if its key differs, if an answer that it used has expired, or if the cache now has a newer
// answer about a TMDB entry that it used, whichever process stored it. Losing the store only costs time.
package results

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/slicesx"
	"github.com/anivault/anivault/internal/wire"
)

// Bucket is the name of the cache's bucket that has the stored decisions.
const Bucket = "results"

// Store keeps values by key. GetBatch returns one item per key, in order; a missing one has an empty Key.
type Store interface {
	GetBatch(ctx context.Context, keys []string) ([]cache.Item, error)
	Put(ctx context.Context, items ...cache.Item) error
}

// Entry is a TMDB entry.
type Entry struct {
	Kind match.Kind
	ID   int
}

// NewestAnswerTimes returns, for each entry, when its newest cached answer was fetched; zero if there is none.
type NewestAnswerTimes func(ctx context.Context, entries []Entry) ([]time.Time, error)

// Memory reads and writes decisions in a Store. It is safe for concurrent use if the Store is.
type Memory struct {
	store         Store
	newestAnswers NewestAnswerTimes
	scope         string

	mu        sync.Mutex
	collected []cache.Item // to be stored together
	stored    time.Time    // when the last ones were
}

// New returns the memory of runs with the same scope, a text that changes with all that a decision depends on besides
// the files and TMDB's answers: settings, program, title index and pins. Decisions of other scopes are stored beside.
func New(store Store, newest NewestAnswerTimes, scope string) *Memory {
	return &Memory{store: store, newestAnswers: newest, scope: scope}
}

// Key identifies a series or folder in a scope. It is a digest, so it reveals no paths.
type Key [24]byte

func (k Key) storeKey() string { return base64.RawURLEncoding.EncodeToString(k[:]) }

// Folder is a set of files of one folder that are grouped together, or of names without a folder.
type Folder struct {
	AbsDir        string // absolute path of the folder; "" for names, whose whole path is parsed
	NamePrefix    string // the folders from where the walk began down to this one; they are parsed too
	PartID        string // which part of the folder's files these are; "" for all
	ListedAsMedia bool   // the user listed the names as media
	Files         []library.File
}

// Key returns the key of the series that consists of the files with the given indices in f.Files.
func (m *Memory) Key(f *Folder, series []int) Key {
	d := m.newDigest("series", f)
	for _, i := range series {
		d.file(&f.Files[i])
	}
	return d.sum()
}

func (m *Memory) newDigest(kind string, f *Folder) *digest {
	d := new(digest)
	d.number(layoutVersion)
	for _, text := range []string{m.scope, kind, f.AbsDir, f.NamePrefix, strconv.FormatBool(f.ListedAsMedia)} {
		d.text(text)
	}
	return d
}

// digest collects the bytes to be hashed. Each text follows its length, so different lists never look alike.
type digest []byte

func (d *digest) number(n int64) { *d = binary.AppendVarint(*d, n) }

func (d *digest) text(s string) {
	d.number(int64(len(s)))
	*d = append(*d, s...)
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

// SeriesList is the list of a folder's series: for each series its key, and the indices of its files.
type SeriesList struct {
	Keys  []Key
	Files [][]int
}

// Add adds a series.
func (l *SeriesList) Add(k Key, files []int) {
	l.Keys, l.Files = append(l.Keys, k), append(l.Files, files)
}

// Lists returns the stored lists of folders; a list is nil if there is none, or if anything in its folder has changed.
// Even with an error, the lists returned are valid.
func (m *Memory) Lists(ctx context.Context, folders []Folder) ([]*SeriesList, error) {
	lists := make([]*SeriesList, len(folders))
	keys := slicesx.Map(folders, func(f Folder) string { return m.folderKey(&f).storeKey() })
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
	d := m.newDigest("folder", f)
	d.text(f.PartID)
	return d.sum()
}

func (m *Memory) contentDigest(f *Folder) Key {
	d := m.newDigest("content", f)
	*d = slices.Grow(*d, 64*len(f.Files))
	for i := range f.Files {
		d.file(&f.Files[i])
	}
	return d.sum()
}

func (m *Memory) folderItem(f *Folder, l *SeriesList, now time.Time) cache.Item {
	content := m.contentDigest(f)
	w := wire.Writer(content[:])
	w.Count(len(l.Keys), math.MaxInt)
	for _, k := range l.Keys {
		w.Raw(k[:])
	}
	series := make([]int, len(f.Files))
	for n, files := range l.Files {
		for _, i := range files {
			series[i] = n
		}
	}
	for i := range series {
		wire.Int(&w, &series[i])
	}
	return cache.Item{Key: m.folderKey(f).storeKey(), Value: w.Bytes(), FetchedAt: now, ExpiresAt: now.Add(maxLifetime)}
}

func (m *Memory) decodeList(b []byte, f *Folder) *SeriesList {
	r := wire.Reader(b)
	if content := m.contentDigest(f); !bytes.Equal(r.Take(len(content)), content[:]) {
		return nil
	}
	n := r.Count(0, math.MaxInt)
	l := &SeriesList{Keys: make([]Key, n), Files: make([][]int, n)}
	for i := range l.Keys {
		copy(l.Keys[i][:], r.Take(len(Key{})))
	}
	for i := range f.Files {
		n := 0
		if wire.Int(&r, &n); n < 0 || n >= len(l.Files) {
			return nil
		}
		l.Files[n] = append(l.Files[n], i)
	}
	if r.Bad() || len(r.Remaining()) > 0 ||
		slices.ContainsFunc(l.Files, func(files []int) bool { return len(files) == 0 }) {
		return nil
	}
	return l
}
