package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/run/results"
)

// counter is a matcher that says which series it was asked about.
type counter struct {
	mu      sync.Mutex
	asked   []string
	pending string // the title of a series that can't be asked about now
	id      int    // of the entry that all series are; 0: their number of files
}

func (c *counter) Decide(_ context.Context, s match.Series, decided func(match.File, match.Decision)) {
	c.mu.Lock()
	c.asked = append(c.asked, fmt.Sprintf("%s (%d)", s.Title(), len(s.Files)))
	c.mu.Unlock()
	for _, f := range s.Files {
		d := match.Decision{Outcome: match.Outcome{
			Status: match.Matched, Confidence: 0.9, Kind: match.TV,
			ID: max(c.id, len(s.Files)), Title: s.Title(), DecidedBy: match.DecidedByIndex,
		}}
		if s.Title() == c.pending {
			d = match.Decision{Outcome: match.Outcome{Status: match.Pending, Err: errors.New("down")}}
		}
		decided(f, d)
	}
}

// rerun matches a library again and again with one memory.
type rerun struct {
	t      *testing.T
	root   string
	memory *results.Memory
	anew   bool
	c      counter
}

// noNewer is a cache without answers.
func noNewer(_ context.Context, entries []results.Entry) ([]time.Time, error) {
	return make([]time.Time, len(entries)), nil
}

func newRerun(t *testing.T) *rerun {
	t.Helper()
	store, err := cache.Open(t.TempDir(), cache.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	bucket, err := store.Bucket(results.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	return &rerun{
		t: t, root: t.TempDir(),
		memory: results.New(bucket, noNewer, "1"),
	}
}

func (r *rerun) add(names ...string) {
	r.t.Helper()
	for _, n := range names {
		path := filepath.Join(r.root, filepath.FromSlash(n))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(n), 0o600)); err != nil {
			r.t.Fatal(err)
		}
	}
}

// run matches what produce yields, and returns one line per record and the series that were asked about.
func (r *rerun) run(produce Producer) (told, asked []string) {
	r.t.Helper()
	r.c.asked = nil
	tell := func(rec report.Record) error {
		rel := strings.TrimPrefix(rec.Path, r.root+string(filepath.Separator))
		told = append(told, fmt.Sprintf("%s %s %q %d", filepath.ToSlash(rel), rec.Status, rec.Title, rec.TMDBID))
		return nil
	}
	p := &pipeline{Config: Config{
		Decider: &r.c, MaxConcurrent: 3, Memory: r.memory, Refresh: r.anew, Warn: func(err error) { r.t.Error(err) },
	}, emitRecord: tell}
	if err := p.run(r.t.Context(), produce, func(l *Line) error { return tell(l.record(nil)) }); err != nil {
		r.t.Fatal(err)
	}
	slices.Sort(r.c.asked)
	return told, r.c.asked
}

func (r *rerun) walk() (told, asked []string) {
	return r.run(Walk([]string{r.root}, library.Options{}))
}

// asks walks and checks which series were asked about.
func (r *rerun) asks(want ...string) {
	r.t.Helper()
	if _, asked := r.walk(); cmp.Diff(want, asked) != "" {
		r.t.Errorf("asked about %q, want %q", asked, want)
	}
}

var shows = []string{
	"Bleach/Bleach - 01.mkv", "Bleach/Bleach - 02.mkv", "Bleach/sample.mkv", "Mixed/Naruto - 01.mkv",
	"Mixed/Trigun - 01.mkv", "Mixed/Trigun - 02.mkv",
}

func TestAnUnchangedLibraryGivesTheSameRecords(t *testing.T) {
	r := newRerun(t)
	r.add(shows...)
	first, asked := r.walk()
	if diff := cmp.Diff([]string{"Bleach (2)", "Naruto (1)", "Trigun (2)"}, asked); diff != "" {
		t.Fatal(diff)
	}
	for range 2 {
		again, asked := r.walk()
		if diff := cmp.Diff(first, again); diff != "" || len(asked) > 0 {
			t.Errorf("asked about %q\n%s", asked, diff)
		}
	}
}

func TestOnlyChangesAreDecidedAgain(t *testing.T) {
	later := time.Now().Add(-time.Hour)
	for _, row := range []struct {
		name   string
		change func(r *rerun) error
		asked  []string
	}{
		{"a file's time", func(r *rerun) error {
			return os.Chtimes(filepath.Join(r.root, "Mixed/Naruto - 01.mkv"), later,
				later)
		}, []string{"Naruto (1)"}},
		{"a file's size", func(r *rerun) error {
			path := filepath.Join(r.root, "Mixed/Trigun - 02.mkv")
			info, err := os.Stat(path)
			return errors.Join(err, os.WriteFile(path, nil, 0o600), os.Chtimes(path, info.ModTime(), info.ModTime()))
		}, []string{"Trigun (2)"}},
		{"a new name", func(r *rerun) error {
			return os.Rename(filepath.Join(r.root, "Mixed/Naruto - 01.mkv"), filepath.Join(r.root, "Mixed/Naruto - 03.mkv"))
		}, []string{"Naruto (1)"}},
		{
			"a new neighbour in the series", func(r *rerun) error { r.add("Mixed/Trigun - 03.mkv"); return nil },
			[]string{"Trigun (3)"},
		},
		{
			"a neighbour gone from the series",
			func(r *rerun) error { return os.Remove(filepath.Join(r.root, "Mixed/Trigun - 02.mkv")) },
			[]string{"Trigun (1)"},
		},
		{
			"a neighbour gone from another",
			func(r *rerun) error { return os.Remove(filepath.Join(r.root, "Mixed/Naruto - 01.mkv")) }, nil,
		},
		{"a new series", func(r *rerun) error { r.add("Mixed/Odd Taxi - 01.mkv"); return nil }, []string{"Odd Taxi (1)"}},
		{"a new folder's name", func(r *rerun) error {
			return os.Rename(filepath.Join(r.root, "Bleach"), filepath.Join(r.root, "Bleach TV"))
		}, []string{"Bleach (2)"}},
		{"something that is no video", func(r *rerun) error { r.add("Mixed/notes.txt"); return nil }, nil},
		{"an extra", func(r *rerun) error { r.add("Mixed/Naruto - NCOP1.mkv"); return nil }, nil},
		{"what is ignored", func(r *rerun) error {
			return os.WriteFile(filepath.Join(r.root, ".anivaultignore"), []byte("Bleach - 02*\n"), 0o600)
		}, []string{"Bleach (1)"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := newRerun(t)
			r.add(shows...)
			r.walk()
			if err := row.change(r); err != nil {
				t.Fatal(err)
			}
			r.asks(row.asked...)
			r.asks() // and is remembered from then on
		})
	}
}

func TestASeriesThatCouldNotBeAskedIsAskedNextTime(t *testing.T) {
	r := newRerun(t)
	r.add(shows...)
	r.c.pending = "Trigun"
	r.walk()
	r.asks("Trigun (2)")
	r.c.pending = ""
	r.asks("Trigun (2)")
	r.asks()
}

// A file by itself is asked about by itself: what is evidence for it differs. Neither asking forgets the other.
func TestAFileAloneAndItsFolderAreRememberedSideBySide(t *testing.T) {
	r := newRerun(t)
	r.add(shows...)
	alone := func(names ...string) Producer {
		paths := make([]string, len(names))
		for i, n := range names {
			paths[i] = filepath.Join(r.root, filepath.FromSlash(n))
		}
		return Walk(paths, library.Options{})
	}
	list := func() Producer {
		var b strings.Builder
		for _, n := range []string{"Bleach/Bleach - 02.mkv", "Mixed/Trigun - 01.mkv", "Bleach/Bleach - 01.mkv"} {
			b.WriteString(filepath.Join(r.root, filepath.FromSlash(n)) + "\n\n") // empty lines are no paths
		}
		return Files(nopCloser{strings.NewReader(b.String())}, false, library.Options{})
	}
	r.asks("Bleach (2)", "Naruto (1)", "Trigun (2)")
	for run, want := range [][]string{{"Bleach (1)", "Bleach (1)"}, nil} {
		if _, asked := r.run(alone("Bleach/Bleach - 01.mkv", "Bleach/Bleach - 02.mkv")); cmp.Diff(want, asked) != "" {
			t.Errorf("files, run %d: asked about %q", run, asked)
		}
		want = []string{"Trigun (1)"}[:len(want)/2] // the two others are alone in the list as well
		if _, asked := r.run(list()); !slices.Equal(want, asked) {
			t.Errorf("list, run %d: asked about %q", run, asked)
		}
		r.asks()
	}
}

type nopCloser struct{ *strings.Reader }

func (nopCloser) Close() error { return nil }

// A folder too large to be looked at together is remembered part by part.
func TestALargeFolderIsRememberedInParts(t *testing.T) {
	r := newRerun(t)
	var names []string
	for i := range 2*maxBatchFiles + 7 {
		names = append(names, fmt.Sprintf("Naruto/Naruto - %04d.mkv", i))
	}
	r.add(names...)
	first, asked := r.walk()
	if len(first) != len(names) || len(asked) != 3 {
		t.Fatalf("%d records, asked about %q", len(first), asked)
	}
	again, asked := r.walk()
	if diff := cmp.Diff(first, again); diff != "" || len(asked) > 0 {
		t.Errorf("asked about %q\n%s", asked, diff)
	}
}

// A list of names is decided by its names alone, so the same names are the same series.
func TestNamesAreRememberedByThemselves(t *testing.T) {
	r := newRerun(t)
	for _, row := range []struct {
		name, list string
		asked      []string
	}{
		{"new names", "Bleach - 01.mkv\nBleach - 02.mkv\n", []string{"Bleach (2)"}},
		{"the same names, and blank lines", "\nBleach - 01.mkv\n \nBleach - 02.mkv\n\n", nil},
		{"in another list", "Naruto - 01.mkv\nBleach - 01.mkv\nBleach - 02.mkv\n", []string{"Naruto (1)"}},
		{"one name more", "Bleach - 01.mkv\nBleach - 02.mkv\nBleach - 03.mkv\n", []string{"Bleach (3)"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, asked := r.run(Names(nopCloser{strings.NewReader(row.list)}))
			if diff := cmp.Diff(row.asked, asked); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A run that decides everything anew replaces what was remembered.
func TestNewDecisionsAreRemembered(t *testing.T) {
	r := newRerun(t)
	r.add(shows...)
	r.walk()
	r.anew, r.c.id = true, 77
	r.asks("Bleach (2)", "Naruto (1)", "Trigun (2)")
	r.anew, r.c.id = false, 0
	told, asked := r.walk()
	if len(asked) > 0 {
		t.Errorf("asked about %q", asked)
	}
	for _, line := range told {
		if !strings.HasSuffix(line, " 77") && !strings.Contains(line, "sample") {
			t.Errorf("not what the last run has decided: %s", line)
		}
	}
}
