package results

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/report"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// shelf is a Store in memory that works.
type shelf struct {
	mu    sync.Mutex
	items map[string]cache.Item
	err   error
}

func (s *shelf) GetBatch(_ context.Context, keys []string) ([]cache.Item, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]cache.Item, len(keys))
	for i, k := range keys {
		out[i] = s.items[k]
	}
	return out, s.err
}

func (s *shelf) Put(_ context.Context, items ...cache.Item) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if s.items == nil {
		s.items = map[string]cache.Item{}
	}
	for _, it := range items {
		s.items[it.Key] = it
	}
	return nil
}

var (
	question = Question{Upstream: "https://api.themoviedb.org", Language: "en-US", Type: "auto", MinConfidence: 0.8}
	basis    = Basis{Program: "1", Index: "2", Pins: "3"}
)

func ptr[T any](v T) *T { return &v }

// folder has the episodes 1 to n of a show, and a sample.
func folder(n int) Folder {
	f := Folder{Abs: "/lib/Show", View: "Show/"}
	for i := range n {
		name := fmt.Sprintf("Show - %02d.mkv", i+1)
		f.Files = append(f.Files, library.File{Path: "lib/Show/" + name, Name: name, Size: int64(100 + i), ModTime: now.Add(-time.Hour)})
	}
	f.Files = append(f.Files, library.File{Path: "lib/Show/sample.mkv", Name: "sample.mkv", Skip: library.SkipSample})
	return f
}

// decided is one record per file of a folder, as of two hours ago.
func decided(f Folder) []report.Record {
	records := make([]report.Record, len(f.Files))
	for i, file := range f.Files {
		if file.Skip != "" {
			records[i] = report.Record{Path: file.Path, Status: report.Skipped, Reason: file.Skip, Parsed: &report.Parsed{Title: "sample", Kind: "extra"}}
			continue
		}
		records[i] = report.Record{
			Path: file.Path, Status: report.Matched, Confidence: ptr(0.97), Kind: "tv", TMDBID: 26209, Title: "Show", OriginalTitle: "ショー", Year: 1999,
			Season: ptr(0), Episodes: []int{0, i}, EpisodeTitles: []string{"", file.Name}, Source: "cache", CachedAt: now.Add(-2 * time.Hour), Reason: "because",
			Parsed:     &report.Parsed{Title: "Show", Titles: []string{"Show", "S"}, Seasons: []int{1}, Season: ptr(1), Episodes: []float64{float64(i), 12.5}, Extension: "mkv"},
			Candidates: []report.Candidate{{Kind: "movie", TMDBID: 1, Title: "Other", Year: 2000, Confidence: 0.4}},
		}
	}
	return records
}

// all is the group of every file that is media.
func all(f Folder) Group {
	var g Group
	for i := range f.Files {
		if f.Files[i].Skip == "" {
			g.Files = append(g.Files, i)
		}
	}
	return g
}

func remember(t *testing.T, m *Memory, at time.Time, f Folder, records []report.Record, groups ...Group) {
	t.Helper()
	if err := m.Remember(context.Background(), at, f, nil, records, groups); err != nil {
		t.Fatal(err)
	}
}

// recall asks one memory for one folder.
func recall(t *testing.T, m *Memory, at time.Time, f Folder) *Known {
	t.Helper()
	known, err := m.Recall(context.Background(), at, []Folder{{Abs: "another"}, f})
	if err != nil || len(known) != 2 || known[0] != nil {
		t.Fatalf("recalled %v, %v", known, err)
	}
	return known[1]
}

// whole reports whether all of a folder is known.
func whole(t *testing.T, m *Memory, at time.Time, f Folder) bool {
	t.Helper()
	k := recall(t, m, at, f)
	if k == nil {
		return false
	}
	return k.All(f.Files, new(Records))
}

func TestWhatWasRememberedIsRecalled(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*report.Record)
		want   func(*report.Record)
	}{
		{"as it was", func(*report.Record) {}, func(*report.Record) {}},
		{
			"from the network is from the cache now",
			func(r *report.Record) { r.Source, r.CachedAt = "network", time.Time{} },
			func(r *report.Record) { r.Source, r.CachedAt = "cache", now },
		},
		{
			"a pin stays a pin",
			func(r *report.Record) { r.Source, r.CachedAt = "pin", time.Time{} },
			func(r *report.Record) { r.Source, r.CachedAt = "pin", time.Time{} },
		},
		{
			"what only explains is not kept",
			func(r *report.Record) {
				r.Steps = []report.Step{{Stage: "query"}}
				r.Candidates[0].Score, r.Candidates[0].Reasons = 3, []report.Reason{{Name: "title"}}
			},
			func(*report.Record) {},
		},
		{
			"no season and no episode", func(r *report.Record) { r.Season, r.Episodes, r.EpisodeTitles = nil, nil, nil },
			func(r *report.Record) { r.Season, r.Episodes, r.EpisodeTitles = nil, nil, nil },
		},
		{"ambiguous", func(r *report.Record) { r.Status = report.Ambiguous }, func(r *report.Record) { r.Status = report.Ambiguous }},
		{"an extra by its name", func(r *report.Record) { *r = report.Record{Path: r.Path, Status: report.Skipped} }, func(r *report.Record) { *r = report.Record{Path: r.Path, Status: report.Skipped} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := folder(3)
			in, want := decided(f), decided(f)
			c.change(&in[1])
			c.want(&want[1])
			m := New(&shelf{}, question, basis)
			remember(t, m, now, f, in, all(f))
			k := recall(t, m, now.Add(time.Hour), f)
			var got Records
			ok := k.All(f.Files, &got)
			if diff := cmp.Diff(want, got.List); diff != "" || !ok || k.Groups() != 1 {
				t.Error(ok, diff)
			}
			some, _, ok := k.Group(f.Files, []int{0, 1, 2})
			if diff := cmp.Diff(want[:3], some); diff != "" || !ok {
				t.Error(ok, diff)
			}
		})
	}
}

func TestWhatHasChangedIsNotKnown(t *testing.T) {
	store := &shelf{}
	m := New(store, question, basis)
	f := folder(4)
	remember(t, m, now, f, decided(f), Group{Files: []int{0, 1}}, Group{Files: []int{2, 3}})
	change := func(c func(*Folder)) Folder {
		f := folder(4)
		c(&f)
		return f
	}
	if !whole(t, m, now, f) {
		t.Fatal("the unchanged folder is not known")
	}
	for name, c := range map[string]struct {
		now    Folder
		second bool // the second group is still known
	}{
		"size":        {change(func(f *Folder) { f.Files[0].Size++ }), true},
		"time":        {change(func(f *Folder) { f.Files[1].ModTime = f.Files[1].ModTime.Add(1) }), true},
		"name":        {change(func(f *Folder) { f.Files[0].Name = "Show - 00.mkv" }), true},
		"left out":    {change(func(f *Folder) { f.Files[0].Skip = "excluded" }), true},
		"sample":      {change(func(f *Folder) { f.Files[4].Skip = "" }), true},
		"gone":        {change(func(f *Folder) { f.Files = slices.Delete(f.Files, 0, 1) }), true},
		"all gone":    {change(func(f *Folder) { f.Files = slices.Delete(f.Files, 0, 2) }), true},
		"sample gone": {change(func(f *Folder) { f.Files = f.Files[:4] }), true},
		"new":         {change(func(f *Folder) { f.Files = append(f.Files, library.File{Name: "new.mkv", ModTime: now}) }), true},
		"order":       {change(func(f *Folder) { f.Files[0], f.Files[1] = f.Files[1], f.Files[0] }), true},
		"both":        {change(func(f *Folder) { f.Files[0].Size++; f.Files[2].Size++ }), false},
		"view":        {change(func(f *Folder) { f.View = "" }), false},
		"folder":      {change(func(f *Folder) { f.Abs = "/lib/Other" }), false},
		"part":        {change(func(f *Folder) { f.Part = "1" }), false},
	} {
		if whole(t, m, now, c.now) {
			t.Errorf("%s: still known whole", name)
		}
		var second []int
		for i, file := range c.now.Files {
			if file.Name == f.Files[2].Name || file.Name == f.Files[3].Name {
				second = append(second, i)
			}
		}
		if _, term, ok := recall(t, m, now, c.now).Group(c.now.Files, second); ok != c.second || ok && term == nil {
			t.Errorf("%s: second group known: %v", name, ok)
		}
	}
	for name, b := range map[string]Basis{"program": {"9", "2", "3"}, "index": {"1", "9", "3"}, "pins": {"1", "2", "9"}, "shift": {"12", "", "3"}} {
		if recall(t, New(store, question, b), now, f) != nil {
			t.Errorf("another basis (%s) and still known", name)
		}
	}
	for i := range reflect.TypeOf(question).NumField() {
		q := question
		switch v := reflect.ValueOf(&q).Elem().Field(i); v.Kind() {
		case reflect.String:
			v.SetString("ko-KR")
		case reflect.Float64:
			v.SetFloat(0.5)
		case reflect.Bool:
			v.SetBool(true)
		default:
			t.Fatalf("field %d has a kind that this test can't change", i)
		}
		if recall(t, New(store, q, basis), now, f) != nil {
			t.Errorf("another question %+v and still known", q)
		}
	}
}

// Files are evidence for each other: a group is told again only with exactly the files that it had.
func TestAGroupIsKnownWholeOrNotAtAll(t *testing.T) {
	m := New(&shelf{}, question, basis)
	f := folder(4)
	remember(t, m, now, f, decided(f), Group{Files: []int{0, 1, 2}}, Group{Files: []int{3}})
	for _, row := range []struct {
		group []int
		known bool
	}{
		{[]int{0, 1, 2}, true},
		{[]int{2, 0, 1}, true},
		{[]int{3}, true},
		{[]int{0, 1}, false},
		{[]int{0}, false},
		{[]int{0, 1, 2, 3}, false},
		{[]int{2, 3}, false},
		{[]int{4}, false}, // the sample
		{nil, false},
	} {
		if _, _, ok := recall(t, m, now, f).Group(f.Files, row.group); ok != row.known {
			t.Errorf("%v: known %v", row.group, ok)
		}
	}
	if _, _, ok := (*Known)(nil).Group(f.Files, []int{0}); ok {
		t.Error("nothing is remembered and a group is known")
	}
}

func TestHowLongADecisionHolds(t *testing.T) {
	with := func(change func(*report.Record)) report.Record {
		r := decided(folder(1))[0]
		change(&r)
		return r
	}
	for _, c := range []struct {
		name  string
		r     report.Record
		holds time.Duration // after now; 0: never remembered
	}{
		{"matched: a day after its oldest answer", with(func(*report.Record) {}), 22 * time.Hour},
		{"matched by TMDB just now", with(func(r *report.Record) { r.Source, r.CachedAt = "network", time.Time{} }), 24 * time.Hour},
		{"unmatched: eight hours", report.Record{Status: report.Unmatched, Source: "network"}, 8 * time.Hour},
		{"ambiguous: a day", report.Record{Status: report.Ambiguous, Source: "network"}, 24 * time.Hour},
		{"an extra: a day", report.Record{Status: report.Skipped}, 24 * time.Hour},
		{"an old answer", with(func(r *report.Record) { r.CachedAt = now.Add(-48 * time.Hour) }), 0},
		{"an answer from the future counts as now", report.Record{Status: report.Unmatched, Source: "cache", CachedAt: now.Add(time.Hour)}, 8 * time.Hour},
		{"stale", with(func(r *report.Record) { r.Source, r.CachedAt = "stale", now }), 0},
		{"pending", report.Record{Status: report.Pending, Error: &report.Error{}}, 0},
		{"failed", report.Record{Status: report.Failed, Error: &report.Error{}}, 0},
		{"with an error", with(func(r *report.Record) { r.Error = &report.Error{} }), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := &shelf{}
			m := New(store, question, basis)
			f := folder(2)
			records := decided(f)
			records[1] = c.r
			records[0].Source, records[0].CachedAt = "network", time.Time{} // it alone would hold for a day
			remember(t, m, now, f, records, all(f))
			if c.holds == 0 {
				if len(store.items) > 0 {
					t.Error("it was remembered")
				}
				return
			}
			if !whole(t, m, now.Add(c.holds-1), f) {
				t.Errorf("not known after %v", c.holds-1)
			}
			if whole(t, m, now.Add(c.holds), f) {
				t.Errorf("still known after %v", c.holds)
			}
			for _, it := range store.items {
				if !it.ExpiresAt.Equal(now.Add(c.holds)) || it.FetchedAt.After(now) {
					t.Errorf("stored as of %v until %v", it.FetchedAt, it.ExpiresAt)
				}
			}
			if whole(t, m, now.Add(-time.Hour), f) {
				t.Error("known before it was remembered: the clock went back, and nothing tells how far")
			}
		})
	}
}

// What is told again and written down again holds no longer for it.
func TestAGroupKeepsItsTerm(t *testing.T) {
	m := New(&shelf{}, question, basis)
	f := folder(4)
	remember(t, m, now, f, decided(f), Group{Files: []int{0, 1}}, Group{Files: []int{2, 3}})
	later := now.Add(21 * time.Hour)
	f.Files[0].Size++
	k := recall(t, m, later, f)
	records, term, ok := k.Group(f.Files, []int{2, 3})
	if !ok {
		t.Fatal("the unchanged group is not known")
	}
	again := decided(f)
	for i := range 2 {
		again[i].Source, again[i].CachedAt = "network", time.Time{}
	}
	copy(again[2:], records)
	remember(t, m, later, f, again, Group{Files: []int{0, 1}}, Group{Files: []int{2, 3}, Term: term})
	if !whole(t, m, now.Add(22*time.Hour-1), f) {
		t.Error("not known before the first group's answers are old")
	}
	k = recall(t, m, now.Add(22*time.Hour), f)
	if k.All(f.Files, new(Records)) {
		t.Error("known whole although a group is no longer fresh")
	}
	if _, _, ok := k.Group(f.Files, []int{0, 1}); !ok {
		t.Error("the fresh group is not known")
	}
	if _, _, ok := k.Group(f.Files, []int{2, 3}); ok {
		t.Error("writing a group down again made it fresh")
	}
}

// A group that has to be asked again is left out, the others stay.
func TestWhatIsPendingLeavesTheRestKnown(t *testing.T) {
	m := New(&shelf{}, question, basis)
	f := folder(4)
	records := decided(f)
	records[0] = report.Record{Status: report.Pending, Error: &report.Error{Code: report.CodeBlocked}}
	remember(t, m, now, f, records, Group{Files: []int{0, 1}}, Group{Files: []int{2, 3}})
	k := recall(t, m, now, f)
	if k.All(f.Files, new(Records)) {
		t.Error("known whole although a file is pending")
	}
	if _, _, ok := k.Group(f.Files, []int{2, 3}); !ok {
		t.Error("the settled group is not known")
	}
	if _, _, ok := k.Group(f.Files, []int{0, 1}); ok {
		t.Error("a pending file is known")
	}
}

// A folder that is never known whole is not written again with every run.
func TestWhatIsTheSameAgainIsNotWritten(t *testing.T) {
	store := &shelf{}
	m := New(store, question, basis)
	f := folder(4)
	records := decided(f)
	records[0] = report.Record{Status: report.Failed, Error: &report.Error{Code: report.CodeNotFound}}
	remember(t, m, now, f, records, Group{Files: []int{0, 1}}, Group{Files: []int{2, 3}})
	for row, c := range []struct {
		change  func(*Folder)
		written bool
	}{{func(*Folder) {}, false}, {func(f *Folder) { f.Files[4].Name = "a.mkv" }, true}} {
		now := now.Add(time.Hour)
		c.change(&f)
		k := recall(t, m, now, f)
		again, term, ok := k.Group(f.Files, []int{2, 3})
		if !ok {
			t.Fatal("the settled group is not known")
		}
		records := decided(f)
		copy(records[2:], again)
		records[0] = report.Record{Status: report.Failed, Error: &report.Error{Code: report.CodeNotFound}}
		store.err = errors.New("it was written")
		err := m.Remember(context.Background(), now, f, k, records, []Group{{Files: []int{0, 1}}, {Files: []int{2, 3}, Term: term}})
		store.err = nil
		if (err != nil) != c.written {
			t.Errorf("row %d: %v", row, err)
		}
	}
}

func TestAFolderOfNothingButExtrasIsKnown(t *testing.T) {
	m := New(&shelf{}, question, basis)
	f := folder(0)
	remember(t, m, now, f, decided(f))
	var got Records
	if !recall(t, m, now, f).All(f.Files, &got) || cmp.Diff(decided(f), got.List) != "" {
		t.Errorf("%+v", got.List)
	}
}

func TestTroubleWithTheStoreLosesOnlyTime(t *testing.T) {
	store := &shelf{}
	m := New(store, question, basis)
	f := folder(2)
	remember(t, m, now, f, decided(f), all(f))
	store.err = cache.ErrLocked
	known, err := m.Recall(context.Background(), now, []Folder{f})
	if !errors.Is(err, cache.ErrLocked) || len(known) != 1 || known[0] == nil {
		t.Errorf("recalled %v, %v", known, err)
	}
	if err := m.Remember(context.Background(), now, f, nil, decided(f), []Group{all(f)}); !errors.Is(err, cache.ErrLocked) {
		t.Errorf("remembering gave %v", err)
	}
	store.err = nil
	for key, it := range store.items {
		it.Value = append([]byte{version + 1}, it.Value[1:]...)
		store.items[key] = it
	}
	if recall(t, m, now, f) != nil {
		t.Error("a value of another version was read")
	}
}

// The real store takes it, and another run reads it.
func TestInTheCache(t *testing.T) {
	dir := t.TempDir()
	f := folder(2)
	for run := range 2 {
		store, err := cache.Open(dir, cache.Options{})
		if err != nil {
			t.Fatal(err)
		}
		bucket, err := store.Bucket(Bucket)
		if err != nil {
			t.Fatal(err)
		}
		m := New(bucket, question, basis)
		at := time.Now()
		records := decided(f)
		for i := range records {
			records[i].CachedAt = at.Round(0)
		}
		if run == 0 {
			remember(t, m, at, f, records, all(f))
		} else if !whole(t, m, at, f) {
			t.Error("the second run knows nothing")
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func BenchmarkRecall(b *testing.B) {
	m := New(&shelf{}, question, basis)
	f := folder(50)
	if err := m.Remember(context.Background(), now, f, nil, decided(f), []Group{all(f)}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	var records Records
	for b.Loop() {
		known, err := m.Recall(context.Background(), now, []Folder{f})
		if err != nil {
			b.Fatal(err)
		}
		if !known[0].All(f.Files, &records) {
			b.Fatal("not known")
		}
	}
}
