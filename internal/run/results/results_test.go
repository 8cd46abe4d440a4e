package results

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/match"
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

const scope = "settings, program, index and pins"

// nothingNewer is a cache without answers.
func nothingNewer(_ context.Context, entries []Entry) ([]time.Time, error) {
	return make([]time.Time, len(entries)), nil
}

func ptr[T any](v T) *T { return &v }

// folder has the episodes 1 to n of a show, and a sample.
func folder(n int) Folder {
	f := Folder{AbsDir: "/lib/Show", NamePrefix: "Show/"}
	for i := range n {
		name := fmt.Sprintf("Show - %02d.mkv", i+1)
		f.Files = append(f.Files, library.File{
			Path: "lib/Show/" + name, Name: name, Size: int64(100 + i),
			ModTime: now.Add(-time.Hour),
		})
	}
	f.Files = append(f.Files, library.File{Path: "lib/Show/sample.mkv", Name: "sample.mkv", Skip: library.SkipSample})
	return f
}

// decided is one record per file of a folder, as of two hours ago.
func decided(f Folder) []report.Record {
	records := make([]report.Record, len(f.Files))
	for i, file := range f.Files {
		if file.Skip != "" {
			records[i] = report.Record{
				Path: file.Path, Status: report.Skipped, Reason: file.Skip,
				Parsed: &report.Parsed{Title: "sample", Kind: "extra"},
			}
			continue
		}
		records[i] = report.Record{
			Path: file.Path, Status: report.Matched, Confidence: ptr(0.97), Kind: "tv", TMDBID: 26209, Title: "Show",
			OriginalTitle: "ショー", Year: 1999, Season: ptr(0), Episodes: []int{0, i}, EpisodeTitles: []string{"", file.Name},
			Source: "cache", CachedAt: now.Add(-2 * time.Hour), Reason: "because",
			Parsed: &report.Parsed{
				Title: "Show", Titles: []string{"Show", "S"}, Seasons: []int{1}, Season: ptr(1),
				Episodes: []float64{float64(i), 12.5}, Extension: "mkv",
			},
			Candidates: []report.Candidate{{Kind: "movie", TMDBID: 1, Title: "Other", Year: 2000, Confidence: 0.4}},
		}
	}
	return records
}

// listOf is the list of a folder whose series are some of its files each.
func listOf(m *Memory, f Folder, series ...[]int) *SeriesList {
	var l SeriesList
	for _, files := range series {
		l.Add(m.Key(&f, files), files)
	}
	return &l
}

// remember remembers a folder of three files and a sample as two series: the first two files, and the others.
func remember(t *testing.T, m *Memory, f Folder, records []report.Record, seen ...match.UsedEntry) *SeriesList {
	t.Helper()
	l := listOf(m, f, []int{0, 1}, []int{2, 3})
	var d []DecidedSeries
	for n, files := range l.Files {
		one := DecidedSeries{Key: l.Keys[n], UsedEntries: seen}
		for _, i := range files {
			one.Records = append(one.Records, records[i])
		}
		d = append(d, one)
	}
	if err := m.Remember(t.Context(), now, &f, l, d); err != nil {
		t.Fatal(err)
	}
	return l
}

// recall returns which series are known, and the records of those that are.
func recall(t *testing.T, m *Memory, at time.Time, f Folder, l *SeriesList) (known []bool, records []report.Record) {
	t.Helper()
	found, err := m.Recall(t.Context(), at, l.Keys)
	if err != nil {
		t.Fatal(err)
	}
	records = make([]report.Record, len(f.Files))
	for n, k := range found {
		known = append(known, k != nil && k.ReadRecords(records, f.Files, l.Files[n]))
	}
	return known, records
}

func TestRememberedDecisionsAreRecalled(t *testing.T) {
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
			"a pin stays a pin, and its answer has a date now",
			func(r *report.Record) { r.Source, r.CachedAt = "pin", time.Time{} },
			func(r *report.Record) { r.Source, r.CachedAt = "pin", now },
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
		{
			"ambiguous", func(r *report.Record) { r.Status = report.Ambiguous },
			func(r *report.Record) { r.Status = report.Ambiguous },
		},
		{
			"an extra by its name", func(r *report.Record) { *r = report.Record{Path: r.Path, Status: report.Skipped} },
			func(r *report.Record) { *r = report.Record{Path: r.Path, Status: report.Skipped} },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := folder(3)
			in, want := decided(f), decided(f)
			c.change(&in[1])
			c.want(&want[1])
			m := New(&shelf{}, nothingNewer, scope)
			l := remember(t, m, f, in)
			known, got := recall(t, m, now.Add(time.Hour), f, l)
			if diff := cmp.Diff([]bool{true, true}, known) + cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			lists, err := m.Lists(t.Context(), []Folder{{}, f})
			if diff := cmp.Diff([]*SeriesList{nil, l}, lists); diff != "" || err != nil {
				t.Error(err, diff)
			}
		})
	}
}

// Files are evidence for each other: a series is known with exactly the files that it had, as they were.
func TestAnotherSeriesHasAnotherKey(t *testing.T) {
	m := New(&shelf{}, nothingNewer, scope)
	base := folder(3)
	key := m.Key(&base, []int{0, 1})
	l := remember(t, m, base, decided(base))
	for _, c := range []struct {
		name   string
		change func(*Folder) []int
		series bool // the first series has the same key
		list   bool // the list stands
	}{
		{"nothing", func(*Folder) []int { return []int{0, 1} }, true, true},
		{"other files", func(*Folder) []int { return []int{0, 1, 2} }, false, true},
		{"another order", func(*Folder) []int { return []int{1, 0} }, false, true},
		{"a size", func(f *Folder) []int { f.Files[0].Size++; return []int{0, 1} }, false, false},
		{"a time", func(f *Folder) []int { f.Files[1].ModTime = now; return []int{0, 1} }, false, false},
		{"a name", func(f *Folder) []int { f.Files[0].Name = "Show - 00.mkv"; return []int{0, 1} }, false, false},
		{"left out", func(f *Folder) []int { f.Files[0].Skip = "excluded"; return []int{0, 1} }, false, false},
		{"a size in another series", func(f *Folder) []int { f.Files[2].Size++; return []int{0, 1} }, true, false},
		{"a sample's size", func(f *Folder) []int { f.Files[3].Size++; return []int{0, 1} }, true, true},
		{"a sample gone", func(f *Folder) []int { f.Files = f.Files[:3]; return []int{0, 1} }, true, false},
		{
			"the order of the folder", func(f *Folder) []int {
				f.Files[0], f.Files[1] = f.Files[1], f.Files[0]
				return []int{1, 0}
			}, true, false,
		},
		{
			"how the path was spelt", func(f *Folder) []int { f.Files[0].Path = "/lib/Show/Show - 01.mkv"; return []int{0, 1} },
			true, true,
		},
		{"the view", func(f *Folder) []int { f.NamePrefix = ""; return []int{0, 1} }, false, false},
		{"the folder", func(f *Folder) []int { f.AbsDir = "/lib/Other"; return []int{0, 1} }, false, false},
		{"the part", func(f *Folder) []int { f.PartID = "1"; return []int{0, 1} }, true, false},
		{"listed as media", func(f *Folder) []int { f.ListedAsMedia = true; return []int{0, 1} }, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := folder(3)
			files := c.change(&f)
			if got := m.Key(&f, files) == key; got != c.series {
				t.Errorf("the same key: %v", got)
			}
			lists, err := m.Lists(t.Context(), []Folder{f})
			if got := lists[0] != nil; got != c.list || err != nil {
				t.Errorf("the list stands: %v, %v", got, err)
			}
		})
	}
	if other := New(&shelf{}, nothingNewer, "another"); other.Key(&base, l.Files[0]) == key {
		t.Error("another scope has the same key")
	}
}

// Whoever has stored a newer answer about an entry, what stands on the older one is void.
func TestANewerAnswerVoidsADecision(t *testing.T) {
	read := now.Add(-time.Minute)
	seen := []match.UsedEntry{
		{Kind: match.TV, ID: 26209, ReadAt: read},
		{Kind: match.Movie, ID: 5, ReadAt: read.Add(-time.Hour)},
	}
	for _, c := range []struct {
		name      string
		tv, movie time.Time
		err       error
		known     bool
	}{
		{"nothing is cached any more", time.Time{}, time.Time{}, nil, true},
		{"the answers that were read", read.Add(-time.Hour), read.Add(-2 * time.Hour), nil, true},
		{"one was fetched as it was read", read, time.Time{}, nil, true},
		{"a newer one about the entry", read.Add(time.Millisecond), time.Time{}, nil, false},
		{"a newer one about a rival", time.Time{}, read.Add(-time.Minute), nil, false},
		{"it can't be told", time.Time{}, time.Time{}, errors.New("input/output error"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := New(&shelf{}, func(_ context.Context, entries []Entry) ([]time.Time, error) {
				if diff := cmp.Diff([]Entry{{match.TV, 26209}, {match.Movie, 5}}, entries); diff != "" {
					t.Error(diff)
				}
				return []time.Time{c.tv, c.movie}, c.err
			}, scope)
			f := folder(3)
			l := remember(t, m, f, decided(f), seen...)
			found, err := m.Recall(t.Context(), now, l.Keys)
			if (found[0] != nil) != c.known || !errors.Is(err, c.err) {
				t.Errorf("known: %v, %v", found[0] != nil, err)
			}
		})
	}
}

func TestHowLongADecisionHolds(t *testing.T) {
	answered := func(from match.Freshness, age time.Duration) match.Origin {
		return match.Origin{Freshness: from, FetchedAt: now.Add(-age)}
	}
	for _, c := range []struct {
		name   string
		r      report.Record
		origin match.Origin
		holds  time.Duration // after now; 0: never remembered
	}{
		{
			"matched: a day after its oldest answer",
			report.Record{Status: report.Matched},
			answered(match.FromCache, 2*time.Hour), 22 * time.Hour,
		},
		{"matched by TMDB just now", report.Record{Status: report.Matched}, match.Origin{}, 24 * time.Hour},
		{"unmatched: eight hours", report.Record{Status: report.Unmatched}, match.Origin{}, 8 * time.Hour},
		{"ambiguous: a day", report.Record{Status: report.Ambiguous}, match.Origin{}, 24 * time.Hour},
		{"an extra: a day", report.Record{Status: report.Skipped}, match.Origin{}, 24 * time.Hour},
		{"an old answer", report.Record{Status: report.Matched}, answered(match.FromCache, 48*time.Hour), 0},
		{
			"an answer from the future counts as now",
			report.Record{Status: report.Unmatched},
			answered(match.FromCache, -time.Hour), 8 * time.Hour,
		},
		{"stale", report.Record{Status: report.Matched}, answered(match.FromStale, time.Hour), 0},
		{
			"an extra of what stale answers say",
			report.Record{Status: report.Skipped},
			answered(match.FromStale, time.Hour),
			0,
		},
		{"pending", report.Record{Status: report.Pending, Error: &report.Error{}}, match.Origin{}, 0},
		{"failed", report.Record{Status: report.Failed, Error: &report.Error{}}, match.Origin{}, 0},
		{"with an error", report.Record{Status: report.Matched, Error: &report.Error{}}, match.Origin{}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := &shelf{}
			m := New(store, nothingNewer, scope)
			f := folder(3)
			l := listOf(m, f, []int{0, 1}, []int{2, 3})
			// the first alone would hold for a day
			d := DecidedSeries{Key: l.Keys[0], Records: []report.Record{{Status: report.Matched}, c.r}}
			d.AddSources(match.Decision{})
			d.AddSources(match.Decision{Outcome: match.Outcome{Origin: c.origin}})
			if err := m.Remember(t.Context(), now, &f, l, []DecidedSeries{d}); err != nil {
				t.Fatal(err)
			}
			at := func(d time.Duration) bool {
				known, _ := recall(t, m, now.Add(d), f, l)
				return known[0]
			}
			if got := []bool{at(0), at(max(0, c.holds-1)), at(c.holds)}; !slices.Equal(got,
				[]bool{c.holds > 0, c.holds > 0, false}) {
				t.Errorf("known now, just before and at the end: %v", got)
			}
			if at(-time.Hour) {
				t.Error("known before it was remembered: the clock went back, and nothing tells how far")
			}
			if it := store.items[l.Keys[0].storeKey()]; c.holds > 0 &&
				(!it.ExpiresAt.Equal(now.Add(c.holds)) || it.FetchedAt.After(now)) {
				t.Errorf("stored as of %v until %v", it.FetchedAt, it.ExpiresAt)
			}
		})
	}
}

// A series that has to be asked again is left out, the others stay.
func TestPendingFilesLeaveTheRestRemembered(t *testing.T) {
	m := New(&shelf{}, nothingNewer, scope)
	f := folder(3)
	records := decided(f)
	records[0] = report.Record{Status: report.Pending, Error: &report.Error{Code: report.CodeBlocked}}
	l := remember(t, m, f, records)
	if known, _ := recall(t, m, now, f, l); !slices.Equal(known, []bool{false, true}) {
		t.Errorf("known: %v", known)
	}
}

func TestNamesWithoutAFolderHaveNoList(t *testing.T) {
	store := &shelf{}
	m := New(store, nothingNewer, scope)
	f := Folder{ListedAsMedia: true, Files: []library.File{{Path: "a/Show - 01.mkv", Name: "Show - 01.mkv"}}}
	l := listOf(m, f, []int{0})
	d := []DecidedSeries{{Key: l.Keys[0], Records: []report.Record{{Status: report.Matched, Source: "network"}}}}
	if err := m.Remember(t.Context(), now, &f, l, d); err != nil || len(store.items) != 1 {
		t.Errorf("%d items, %v", len(store.items), err)
	}
	if known, _ := recall(t, m, now, f, l); !known[0] {
		t.Error("not known")
	}
	f.Files[0].Path = "b/Show - 01.mkv"
	if m.Key(&f, []int{0}) == l.Keys[0] {
		t.Error("a name in another folder has the same key")
	}
}

func TestTroubleWithTheStoreLosesOnlyTime(t *testing.T) {
	store := &shelf{}
	m := New(store, nothingNewer, scope)
	f := folder(3)
	l := remember(t, m, f, decided(f))
	store.err = cache.ErrLocked
	known, err := m.Recall(t.Context(), now, l.Keys)
	if !errors.Is(err, cache.ErrLocked) || len(known) != 2 || known[0] == nil {
		t.Errorf("recalled %v, %v", known, err)
	}
	if lists, err := m.Lists(t.Context(), []Folder{f}); !errors.Is(err, cache.ErrLocked) || lists[0] == nil {
		t.Errorf("listed %v, %v", lists, err)
	}
	if err := m.Remember(t.Context(), now.Add(collectFor), &f, l, nil); !errors.Is(err, cache.ErrLocked) {
		t.Errorf("remembering gave %v", err)
	}
}

func TestSeriesDecidedSoonAfterEachOtherAreStoredTogether(t *testing.T) {
	store := &shelf{}
	m := New(store, nothingNewer, scope)
	for i := range 5 {
		f := Folder{AbsDir: fmt.Sprint("/lib/", i), Files: folder(3).Files}
		l := listOf(m, f, []int{0, 1, 2, 3})
		if err := m.Remember(t.Context(), now.Add(time.Duration(i)*collectFor/3), &f, l, nil); err != nil {
			t.Fatal(err)
		}
		if want := []int{1, 1, 1, 4, 4}[i]; len(store.items) != want {
			t.Errorf("after folder %d the store has %d items, want %d", i, len(store.items), want)
		}
	}
	if err := m.Flush(t.Context(), now); err != nil || len(store.items) != 5 {
		t.Errorf("at the end the store has %d items, %v", len(store.items), err)
	}
}

// The real store takes it, and another run reads it.
func TestInTheCache(t *testing.T) {
	dir := t.TempDir()
	f := folder(3)
	for run := range 2 {
		store, err := cache.Open(dir, cache.Options{})
		if err != nil {
			t.Fatal(err)
		}
		bucket, err := store.Bucket(Bucket)
		if err != nil {
			t.Fatal(err)
		}
		m := New(bucket, nothingNewer, scope)
		if run == 0 {
			l := listOf(m, f, []int{0, 1, 2, 3})
			d := []DecidedSeries{{Key: l.Keys[0], Records: decided(f)}}
			for i := range d[0].Records {
				d[0].Records[i].CachedAt = time.Now().Round(0)
			}
			if err := m.Remember(t.Context(), time.Now(), &f, l, d); err != nil {
				t.Fatal(err)
			}
		} else {
			lists, err := m.Lists(t.Context(), []Folder{f})
			if err != nil || lists[0] == nil {
				t.Fatalf("the second run has no list: %v", err)
			}
			if known, _ := recall(t, m, time.Now(), f, lists[0]); !known[0] {
				t.Error("the second run knows nothing")
			}
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func BenchmarkRecall(b *testing.B) {
	m := New(&shelf{}, nothingNewer, scope)
	f := folder(50)
	records := decided(f)
	files := make([]int, len(records))
	for i := range files {
		files[i] = i
	}
	l := listOf(m, f, files)
	if err := m.Remember(b.Context(), now, &f, l, []DecidedSeries{{Key: l.Keys[0], Records: records}}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		lists, err := m.Lists(b.Context(), []Folder{f})
		if err != nil {
			b.Fatal(err)
		}
		known, err := m.Recall(b.Context(), now, lists[0].Keys)
		if err != nil {
			b.Fatal(err)
		}
		if !known[0].ReadRecords(make([]report.Record, len(f.Files)), f.Files, lists[0].Files[0]) {
			b.Fatal("not known")
		}
	}
}
