package results

import (
	"bytes"
	"context"
	"math"
	"slices"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/wire"
)

// Folder is files of one folder that are grouped into series together. Part says which of the folder's files these are
// where that is not all of them.
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

// Lists returns the lists of folders, nil where there is none or anything at all in the folder has changed. With an
// error of the store the lists are usable all the same.
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

// content is a digest of all files of a folder.
func (m *Memory) content(f *Folder) Key {
	d := m.digest("content", f.Files)
	for i := range f.List {
		d.file(&f.List[i])
	}
	return d.sum()
}

// item is what is stored of a folder: the digest of its content, its series' keys, and the number of each file's
// series.
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

// decodeList returns nil for what is damaged, and for a folder whose content is another now.
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
