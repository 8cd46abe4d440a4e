package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lockfile"
)

// SourceInfo says what was imported from a source. Rows are entries of the list, Titles what they are found by.
type SourceInfo struct {
	Source   Source    `json:"source" doc:"which list"`
	File     string    `json:"file" doc:"the file it was read from"`
	Rows     int       `json:"rows" doc:"entries read"`
	Titles   int       `json:"titles" doc:"titles read"`
	Imported time.Time `json:"imported" doc:"when, RFC 3339"`

	URL      string `json:"url,omitempty" doc:"where index update got it"` // where Update got it
	ETag     string `json:"etag,omitempty" doc:"as its server sent it"`
	Modified string `json:"modified,omitempty" doc:"as its server sent it"`
}

type input struct {
	path, name          string // name is what people call it
	url, etag, modified string
	want                Source // "" for any
}

// ImportError is a file that can't be imported. Line is counted from 1 in the unpacked content, 0 where the file is
// to blame as a whole.
type ImportError struct {
	File string
	Line int
	Err  error
}

func (e *ImportError) Error() string { return e.Text().String() }

// Text names the file and the line.
func (e *ImportError) Text() lang.Text {
	if e.Line > 0 {
		return lang.Textf("%s: line %d: %v", e.File, e.Line, e.Err)
	}
	return lang.Textf("%s: %v", e.File, e.Err)
}

func (e *ImportError) Unwrap() error { return e.Err }

func importError(file string, err error) error {
	var own *storeError
	var at *lineError
	switch {
	case errors.As(err, &own):
		return own.err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &at):
		return &ImportError{file, at.line, at.err}
	}
	return &ImportError{File: file, Err: err}
}

const lockPatience = time.Hour // an import ends; waiting for it ends with Ctrl-C

// Import reads the files, whose formats their content tells, and replaces their sources in the index. After an error
// the index is as it was. The error is an *ImportError if a file is to blame.
func Import(ctx context.Context, dir string, files ...string) ([]SourceInfo, error) {
	inputs := make([]input, len(files))
	for i, f := range files {
		inputs[i] = input{path: f, name: f}
	}
	return importInputs(ctx, dir, inputs, time.Now())
}

func importInputs(ctx context.Context, dir string, inputs []input, now time.Time) ([]SourceInfo, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, lang.Error("make the data folder: %w", err)
	}
	unlock, err := lockfile.Acquire(ctx, filepath.Join(dir, FileName+".lock"), lockfile.Exclusive, lockPatience)
	if err != nil {
		return nil, lang.Error("wait for another import: %w", err)
	}
	defer unlock()
	removeLeftovers(dir, scratchPrefix)
	work, err := os.MkdirTemp(dir, scratchPrefix)
	if err != nil {
		return nil, lang.Error("make a scratch folder: %w", err)
	}
	defer os.RemoveAll(work)

	// All records are in memory at once: without this the heap would grow to twice their size.
	defer debug.SetGCPercent(debug.SetGCPercent(25))
	all := &records{}
	var infos []SourceInfo
	for _, in := range inputs {
		info, err := readFile(ctx, in.path, all)
		if ctx.Err() != nil {
			return nil, ctx.Err() // which has closed the file
		}
		if err == nil && in.want != "" && in.want != info.Source {
			err = lang.Error("it is a list of %s, not of %s", info.Source, in.want)
		}
		if err != nil {
			return nil, importError(cmp.Or(in.url, in.name), err)
		}
		info.Imported = now.UTC().Truncate(time.Second)
		info.File, info.URL, info.ETag, info.Modified = filepath.Base(in.name), in.url, in.etag, in.modified
		if i := slices.IndexFunc(infos, func(o SourceInfo) bool { return o.Source == info.Source }); i >= 0 {
			err := lang.Error("it is of the same kind as %s (%s); import one of them", infos[i].File, info.Source)
			return nil, &ImportError{File: in.name, Err: err}
		}
		infos = append(infos, info)
	}
	kept, err := all.keepOthers(dir, infos)
	if err != nil {
		return nil, importError("", err)
	}
	all.sort()
	return infos, all.write(ctx, dir, filepath.Join(work, FileName), slices.Concat(kept, infos))
}

const scratchPrefix = ".index-"

// removeLeftovers takes away what a killed import or update has left. Its lock is held, so nobody is using it.
func removeLeftovers(dir, prefix string) {
	old, _ := filepath.Glob(filepath.Join(dir, prefix+"*")) // it fails for a bad pattern alone
	for _, path := range old {
		_ = os.RemoveAll(path)
	}
}

// readFile adds the records of one file, which may be a pipe: neither opening it nor reading it outlasts ctx.
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
	c := &collector{into: into, info: SourceInfo{Source: list.source}, seen: map[int]bool{}}
	if err = list.read(content, c); err == nil && c.info.Rows == 0 {
		err = lang.Error("it holds no entry")
	}
	return c.info, err
}

type collector struct {
	into *records
	info SourceInfo
	seen map[int]bool // AniDB's anime, which have several titles each
}

func (c *collector) anime(a anime) error {
	c.info.Rows++
	records, err := animeRecords(a)
	if err != nil {
		return err
	}
	return c.add(records)
}

func (c *collector) title(t titleRow) error {
	if !c.seen[t.anime] {
		c.seen[t.anime] = true
		c.info.Rows++
	}
	return c.add(titleRecords(t))
}

func (c *collector) export(r exportRow) error {
	c.info.Rows++
	return c.add(exportRecords(r))
}

func (c *collector) ids(ids IDs) error {
	c.info.Rows++
	return c.add([]record{{bucketIDs, idKey(ids.AniDB), idKey(ids.AniList, ids.MAL)}})
}

func (c *collector) add(records []record) error {
	for _, r := range records {
		if err := c.into.add(r); err != nil {
			return err
		}
		switch r.bucket {
		case bucketListNames, bucketTitles, bucketTV, bucketFilms:
			c.info.Titles++
		default:
		}
	}
	return nil
}

// Digest differs whenever the index does; "" for none.
func Digest(dir string) string {
	info, err := os.Stat(filepath.Join(dir, FileName))
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d-%d", info.Size(), info.ModTime().UnixNano())
}
