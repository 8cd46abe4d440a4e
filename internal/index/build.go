package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lockfile"
	"github.com/anivault/anivault/internal/slicesx"
)

// SourceInfo describes an imported list. Rows is the number of entries, Titles the number of titles by which they can
// be found.
type SourceInfo struct {
	Source   Source    `json:"source" doc:"which list"`
	File     string    `json:"file" doc:"the file it was read from"`
	Rows     int       `json:"rows" doc:"entries read"`
	Titles   int       `json:"titles" doc:"titles read"`
	Imported time.Time `json:"imported" doc:"when, RFC 3339"`

	URL      string `json:"url,omitempty" doc:"where index update got it"` // where Update downloaded it
	ETag     string `json:"etag,omitempty" doc:"as its server sent it"`
	Modified string `json:"modified,omitempty" doc:"as its server sent it"`

	Newest int       `json:"newest_id,omitempty" doc:"the highest id in it"`
	Grew   time.Time `json:"grew,omitzero" doc:"when its highest id last grew, as far as is known, RFC 3339"`
}

// maxListAge is how long a list may go without a new entry. All of them gain entries every week.
const maxListAge = 90 * 24 * time.Hour

// IsStale reports whether the list has had no new entry for three months.
func (i SourceInfo) IsStale(now time.Time) bool {
	return !i.Grew.IsZero() && now.Sub(i.Grew) > maxListAge
}

// check returns an error unless a downloaded list may replace the last one. It also fills in i.Grew.
func (i *SourceInfo) check(last SourceInfo, now time.Time) error {
	modified, _ := http.ParseTime(i.Modified)
	before, _ := http.ParseTime(last.Modified)
	const minKeptPercent = 80
	switch {
	case last.Rows*minKeptPercent > i.Rows*100:
		return lang.Error("it has %d entries, and the last list had %d: it is not complete", i.Rows, last.Rows)
	case !modified.IsZero() && modified.Before(before):
		return lang.Error("it is older than the last list: %s", modified.Format(time.DateOnly))
	case i.Newest > last.Newest || last.Grew.IsZero():
		i.Grew = i.Imported
		if !modified.IsZero() && modified.Before(i.Grew) {
			i.Grew = modified.UTC()
		}
	default:
		i.Grew = last.Grew
	}
	if last.Rows > 0 && i.IsStale(now) {
		return &staleError{i.Grew}
	}
	return nil
}

type staleError struct{ grew time.Time }

func (e *staleError) Error() string { return e.Text().String() }

// Text returns a message with the day of the newest entry.
func (e *staleError) Text() lang.Text {
	return lang.Textf("it has had no new entry since %s", e.grew.Format(time.DateOnly))
}

type listFile struct {
	path, name          string // name is shown in messages and kept in SourceInfo
	url, etag, modified string
	wantSource          Source // the list must be of this source; "" for any
	last                SourceInfo
}

// ImportError is an error in an imported file. Line is the line number in the uncompressed content, from 1, or 0 if the
// error is not in a particular line.
type ImportError struct {
	File string
	Line int
	Err  error
}

func (e *ImportError) Error() string { return e.Text().String() }

// Text returns a message with the file and the line.
func (e *ImportError) Text() lang.Text {
	if e.Line > 0 {
		return lang.Textf("%s: line %d: %v", e.File, e.Line, e.Err)
	}
	return lang.Textf("%s: %v", e.File, e.Err)
}

func (e *ImportError) Unwrap() error { return e.Err }

func importError(file string, err error) error {
	if own, ok := errors.AsType[*storeError](err); ok {
		return own.err
	}
	line := 0
	if at, ok := errors.AsType[*ImportError](err); ok {
		line, err = at.Line, at.Err
	}
	if noFile, ok := errors.AsType[*fs.PathError](err); ok {
		err = noFile.Err // the ImportError names the file
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &ImportError{file, line, err}
}

const lockTimeout = time.Hour // another import ends some time; the user can stop waiting with Ctrl-C

// Import imports the files, whose formats it detects from their content, and replaces earlier imports of the same
// sources. If it fails, the index does not change. If a file is invalid, the error is an *ImportError.
func Import(ctx context.Context, dir string, files ...string) ([]SourceInfo, error) {
	inputs := slicesx.Map(files, func(f string) listFile { return listFile{path: f, name: f} })
	return importInputs(ctx, dir, inputs, time.Now())
}

func importInputs(ctx context.Context, dir string, inputs []listFile, now time.Time) ([]SourceInfo, error) {
	if err := lockfile.MkdirAll(dir); err != nil {
		return nil, lang.Error("make the data folder: %w", err)
	}
	unlock, err := lockfile.Acquire(ctx, filepath.Join(dir, FileName+".lock"), lockfile.Exclusive, lockTimeout)
	if err != nil {
		return nil, lang.Error("wait for another import: %w", err)
	}
	defer unlock()
	defer lockfile.Adopt(filepath.Join(dir, FileName))
	removeLeftovers(dir, scratchPrefix)
	work, err := os.MkdirTemp(dir, scratchPrefix)
	if err != nil {
		return nil, lang.Error("make a scratch folder: %w", err)
	}
	defer os.RemoveAll(work)

	// All records are in memory at once. With the default of 100 %, the heap would grow to twice their size.
	defer debug.SetGCPercent(debug.SetGCPercent(25))
	all := &records{}
	var infos []SourceInfo
	for _, in := range inputs {
		info, err := readFile(ctx, in.path, all)
		if ctx.Err() != nil {
			return nil, ctx.Err() // ctx closed the file, which made readFile fail
		}
		if err == nil && in.wantSource != "" && in.wantSource != info.Source {
			err = lang.Error("it is a list of %s, not of %s", info.Source, in.wantSource)
		}
		if err != nil {
			return nil, importError(cmp.Or(in.url, in.name), err)
		}
		info.Imported = now.UTC().Truncate(time.Second)
		info.File, info.URL, info.ETag, info.Modified = filepath.Base(in.name), in.url, in.etag, in.modified
		if err := info.check(in.last, now); err != nil && in.url != "" {
			return nil, importError(in.url, err)
		}
		if i := slices.IndexFunc(infos, func(o SourceInfo) bool { return o.Source == info.Source }); i >= 0 {
			err := lang.Error("it is of the same kind as %s (%s); import one of them", infos[i].File, info.Source)
			return nil, &ImportError{File: in.name, Err: err}
		}
		infos = append(infos, info)
	}
	kept, err := all.addKeptSources(dir, infos)
	if err != nil {
		return nil, importError("", err)
	}
	all.sort()
	if err := all.write(ctx, dir, filepath.Join(work, FileName), slices.Concat(kept, infos)); err != nil {
		return infos, err
	}
	for _, old := range oldFileNames {
		for _, suffix := range []string{"", ".lock", ".update.lock"} {
			_ = os.Remove(filepath.Join(dir, old+suffix)) // an older program may have it open: the next import tries again
		}
	}
	return infos, nil
}

const scratchPrefix = ".index-"

// removeLeftovers removes the scratch folders of killed imports or updates. The caller holds their lock, so no other
// process uses them.
func removeLeftovers(dir, prefix string) {
	old, _ := filepath.Glob(filepath.Join(dir, prefix+"*")) // Glob fails only for an invalid pattern
	for _, path := range old {
		_ = os.RemoveAll(path)
	}
}

// readFile adds the records of one file. The file may be a pipe: when ctx ends, neither opening it nor reading it
// blocks.
func readFile(ctx context.Context, path string, into *records) (SourceInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return SourceInfo{}, err
	}
	defer f.Close()
	defer context.AfterFunc(ctx, func() { f.Close() })()
	content, err := unpack(f)
	if err != nil {
		return SourceInfo{}, err
	}
	list, err := detect(content)
	if err != nil {
		return SourceInfo{}, err
	}
	c := &collector{records: into, info: SourceInfo{Source: list.source}, seenAnime: map[int]bool{}}
	if err = list.read(content, c); err == nil && c.info.Rows == 0 {
		err = lang.Error("it holds no entry")
	}
	return c.info, err
}

type collector struct {
	records   *records
	info      SourceInfo
	seenAnime map[int]bool // AniDB ids seen so far; an anime has several titles but is one row
}

func (c *collector) addAnime(a anime) error { return c.addRow(a.ID, animeRecords(a)) }

func (c *collector) addExport(r exportRow) error { return c.addRow(r.id, exportRecords(r)) }

func (c *collector) addIDs(ids IDs) error {
	return c.addRow(ids.AniDB, []record{{bucketOtherIDs, idKey(ids.AniDB), idKey(ids.AniList, ids.MAL)}})
}

func (c *collector) addTitle(t titleRow) error {
	if c.seenAnime[t.anime] {
		return c.add(titleRecords(t))
	}
	c.seenAnime[t.anime] = true
	return c.addRow(t.anime, titleRecords(t))
}

func (c *collector) addRow(id int, records []record) error {
	c.info.Rows++
	c.info.Newest = max(c.info.Newest, id)
	return c.add(records)
}

func (c *collector) add(records []record) error {
	for _, r := range records {
		if err := c.records.add(r); err != nil {
			return err
		}
		if slices.Contains([]bucket{bucketListTitles, bucketAniDBTitles, bucketTVTitles, bucketFilmTitles}, r.bucket) {
			c.info.Titles++
		}
	}
	return nil
}

// Digest returns a text that changes whenever the index or the user's own mappings change; "" if there is no index.
func Digest(dir string) string {
	info, err := os.Stat(filepath.Join(dir, FileName))
	if err != nil {
		return ""
	}
	digest := fmt.Sprintf("%d-%d", info.Size(), info.ModTime().UnixNano())
	if own, err := os.Stat(filepath.Join(dir, MappingsFile)); err == nil {
		digest += fmt.Sprintf(" %d-%d", own.Size(), own.ModTime().UnixNano())
	}
	return digest
}
