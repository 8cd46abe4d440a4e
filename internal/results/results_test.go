package results

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/match"
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
	episode  = File{Path: "Show/Show - 03.mkv", Abs: "/lib/Show/Show - 03.mkv", Size: 0, ModTime: now.Add(-time.Hour)}
)

func ptr[T any](v T) *T { return &v }

func decided() match.Decision {
	return match.Decision{
		Status: match.Matched, Confidence: 0.97, Kind: match.TV, ID: 26209, Title: "Show", OriginalTitle: "ショー", Year: 1999, Season: ptr(0),
		Episodes: []int{0, 3}, EpisodeTitles: []string{"", "Third"}, Origin: match.Origin{From: match.FromCache, FetchedAt: now.Add(-2 * time.Hour)}, Reason: "because",
		Candidates: []match.Candidate{{Kind: match.Movie, ID: 1, Title: "Other", Year: 2000, Confidence: 0.4}},
	}
}

// recall asks one memory for one file.
func recall(t *testing.T, m *Memory, at time.Time, f File) *match.Decision {
	t.Helper()
	known, err := m.Recall(context.Background(), at, []File{{Path: "another"}, f})
	if err != nil || len(known) != 2 || known[0] != nil {
		t.Fatalf("recalled %v, %v", known, err)
	}
	return known[1]
}

func TestWhatWasRememberedIsRecalled(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*match.Decision)
		want   func(*match.Decision)
	}{
		{"as it was", func(*match.Decision) {}, func(*match.Decision) {}},
		{
			"from the network is from the cache now",
			func(d *match.Decision) { d.Origin = match.Origin{From: match.FromNetwork} },
			func(d *match.Decision) { d.Origin = match.Origin{From: match.FromCache, FetchedAt: now} },
		},
		{
			"a pin stays a pin",
			func(d *match.Decision) { d.Origin = match.Origin{From: match.FromPin} },
			func(d *match.Decision) { d.Origin = match.Origin{From: match.FromPin} },
		},
		{
			"what only explains is not kept",
			func(d *match.Decision) {
				d.Steps = []match.Step{{Stage: "query"}}
				d.Candidates[0].Score, d.Candidates[0].Reasons = 3, []match.Reason{{Name: "title"}}
			},
			func(*match.Decision) {},
		},
		{
			"no season and no episode", func(d *match.Decision) { d.Season, d.Episodes, d.EpisodeTitles = nil, nil, nil },
			func(d *match.Decision) { d.Season, d.Episodes, d.EpisodeTitles = nil, nil, nil },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			in, want := decided(), decided()
			c.change(&in)
			c.want(&want)
			m := New(&shelf{}, question, basis)
			if err := m.Remember(context.Background(), now, Entry{File: episode, Decision: in}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&want, recall(t, m, now.Add(time.Hour), episode)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatHasChangedIsNotKnown(t *testing.T) {
	store := &shelf{}
	m := New(store, question, basis)
	if err := m.Remember(context.Background(), now, Entry{File: episode, Decision: decided()}); err != nil {
		t.Fatal(err)
	}
	change := func(f func(*File)) File {
		c := episode
		f(&c)
		return c
	}
	for name, f := range map[string]File{
		"size":   change(func(f *File) { f.Size++ }),
		"time":   change(func(f *File) { f.ModTime = f.ModTime.Add(1) }),
		"name":   change(func(f *File) { f.Abs = "/lib/Show/Show - 04.mkv" }),
		"view":   change(func(f *File) { f.Path = "Show - 03.mkv" }),
		"folder": change(func(f *File) { f.Abs = "/lib/Other/Show - 03.mkv" }),
	} {
		if recall(t, m, now, f) != nil {
			t.Errorf("another %s and still known", name)
		}
	}
	for name, b := range map[string]Basis{"program": {"9", "2", "3"}, "index": {"1", "9", "3"}, "pins": {"1", "2", "9"}, "shift": {"12", "", "3"}} {
		if recall(t, New(store, question, b), now, episode) != nil {
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
		if recall(t, New(store, q, basis), now, episode) != nil {
			t.Errorf("another question %+v and still known", q)
		}
	}
	if recall(t, m, now, episode) == nil {
		t.Error("the unchanged file is not known")
	}
}

func TestHowLongADecisionHolds(t *testing.T) {
	for _, c := range []struct {
		name  string
		d     match.Decision
		until time.Time
		holds time.Duration // after now; 0: never remembered
	}{
		{"matched: a day after its oldest answer", decided(), time.Time{}, 22 * time.Hour},
		{"unmatched: eight hours", match.Decision{Status: match.Unmatched}, time.Time{}, 8 * time.Hour},
		{"ambiguous: a day", match.Decision{Status: match.Ambiguous}, time.Time{}, 24 * time.Hour},
		{"as long as its answers are fresh", decided(), now.Add(5 * time.Minute), 5 * time.Minute},
		{"answers that are no longer fresh", decided(), now, 0},
		{"an old answer", match.Decision{Status: match.Matched, Origin: match.Origin{From: match.FromCache, FetchedAt: now.Add(-48 * time.Hour)}}, time.Time{}, 0},
		{"an answer from the future counts as now", match.Decision{Status: match.Unmatched, Origin: match.Origin{From: match.FromCache, FetchedAt: now.Add(time.Hour)}}, time.Time{}, 8 * time.Hour},
		{"stale", match.Decision{Status: match.Matched, Origin: match.Origin{From: match.FromStale, FetchedAt: now}}, time.Time{}, 0},
		{"pending", match.Decision{Status: match.Pending}, time.Time{}, 0},
		{"failed", match.Decision{Status: match.Failed}, time.Time{}, 0},
		{"skipped", match.Decision{Status: match.Skipped}, time.Time{}, 0},
		{"with an error", match.Decision{Status: match.Matched, Err: errors.New("season could not be asked")}, time.Time{}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := &shelf{}
			m := New(store, question, basis)
			if err := m.Remember(context.Background(), now, Entry{File: episode, Decision: c.d, FreshUntil: c.until}); err != nil {
				t.Fatal(err)
			}
			if c.holds == 0 {
				if len(store.items) > 0 {
					t.Error("it was remembered")
				}
				return
			}
			if recall(t, m, now.Add(c.holds-1), episode) == nil {
				t.Errorf("not known after %v", c.holds-1)
			}
			if recall(t, m, now.Add(c.holds), episode) != nil {
				t.Errorf("still known after %v", c.holds)
			}
			for _, it := range store.items {
				if !it.ExpiresAt.Equal(now.Add(c.holds)) || it.FetchedAt.After(now) {
					t.Errorf("stored as of %v until %v", it.FetchedAt, it.ExpiresAt)
				}
			}
			if recall(t, m, now.Add(-time.Hour), episode) != nil {
				t.Error("known before it was remembered: the clock went back, and nothing tells how far")
			}
		})
	}
}

func TestTroubleWithTheStoreLosesOnlyTime(t *testing.T) {
	store := &shelf{}
	m := New(store, question, basis)
	if err := m.Remember(context.Background(), now, Entry{File: episode, Decision: decided()}); err != nil {
		t.Fatal(err)
	}
	store.err = cache.ErrLocked
	known, err := m.Recall(context.Background(), now, []File{episode})
	if !errors.Is(err, cache.ErrLocked) || len(known) != 1 || known[0] == nil {
		t.Errorf("recalled %v, %v", known, err)
	}
	if err := m.Remember(context.Background(), now, Entry{File: episode, Decision: decided()}); !errors.Is(err, cache.ErrLocked) {
		t.Errorf("remembering gave %v", err)
	}
	store.err = nil
	for key, it := range store.items {
		it.Value = append([]byte{version + 1}, it.Value[1:]...)
		store.items[key] = it
	}
	if recall(t, m, now, episode) != nil {
		t.Error("a value of another version was read")
	}
}

// The real store takes it, and another run reads it.
func TestInTheCache(t *testing.T) {
	dir := t.TempDir()
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
		d := decided()
		d.Origin.FetchedAt = at.Round(0)
		if run == 0 {
			err = m.Remember(context.Background(), at, Entry{File: episode, Decision: d})
		} else if known := recall(t, m, at, episode); known == nil || known.ID != d.ID {
			t.Errorf("the second run knows %v", known)
		}
		if err := errors.Join(err, store.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// Every field of a decision is either kept or left out on purpose; a new one has to be decided about.
func TestEveryFieldIsDecidedAbout(t *testing.T) {
	fields := func(v any) (names []string) {
		for i := range reflect.TypeOf(v).NumField() {
			names = append(names, reflect.TypeOf(v).Field(i).Name)
		}
		return names
	}
	if diff := cmp.Diff([]string{
		"Status", "Confidence", "Kind", "ID", "Title", "OriginalTitle", "Year", "Season", "Episodes", "EpisodeTitles", "Origin", "Reason", "Candidates", "Steps", "Err",
	}, fields(match.Decision{})); diff != "" {
		t.Errorf("match.Decision has changed: extend the codec and raise its version\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Kind", "ID", "Title", "Year", "Score", "Confidence", "Reasons"}, fields(match.Candidate{})); diff != "" {
		t.Errorf("match.Candidate has changed: extend the codec and raise its version\n%s", diff)
	}
	if diff := cmp.Diff([]string{"From", "FetchedAt"}, fields(match.Origin{})); diff != "" {
		t.Errorf("match.Origin has changed: extend the codec and raise its version\n%s", diff)
	}
}

func anyRemembered(t *rapid.T) remembered {
	moment := func(label string) time.Time {
		if rapid.Bool().Draw(t, label+" is known") {
			return time.Unix(0, rapid.Int64Range(1, 1<<62).Draw(t, label)).UTC()
		}
		return time.Time{}
	}
	text := rapid.String()
	d := match.Decision{
		Status:     rapid.SampledFrom([]match.Status{match.Matched, match.Ambiguous, match.Unmatched}).Draw(t, "status"),
		Confidence: rapid.Float64Range(0, 1).Draw(t, "confidence"),
		Kind:       match.Kind(text.Draw(t, "kind")), ID: rapid.Int().Draw(t, "id"),
		Title: text.Draw(t, "title"), OriginalTitle: text.Draw(t, "original"), Year: rapid.Int().Draw(t, "year"),
		Origin: match.Origin{From: match.From(rapid.IntRange(0, int(match.FromPin)).Draw(t, "from")), FetchedAt: moment("fetched")},
		Reason: text.Draw(t, "reason"),
	}
	if rapid.Bool().Draw(t, "placed") {
		d.Season = ptr(rapid.Int().Draw(t, "season"))
		d.Episodes = rapid.SliceOfN(rapid.Int(), 1, 5).Draw(t, "episodes")
		d.EpisodeTitles = rapid.SliceOfN(text, 1, 5).Draw(t, "episode titles")
	}
	for range rapid.IntRange(0, 3).Draw(t, "candidates") {
		d.Candidates = append(d.Candidates, match.Candidate{
			Kind: match.Kind(text.Draw(t, "kind")), ID: rapid.Int().Draw(t, "id"), Title: text.Draw(t, "title"),
			Year: rapid.Int().Draw(t, "year"), Confidence: rapid.Float64().Draw(t, "confidence"),
		})
	}
	r := remembered{size: rapid.Int64().Draw(t, "size"), modTime: rapid.Int64().Draw(t, "modtime"), at: moment("at"), freshUntil: moment("until"), decision: d}
	copy(r.basis[:], rapid.SliceOfN(rapid.Byte(), basisSize, basisSize).Draw(t, "basis"))
	return r
}

func TestCodecRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyRemembered(t)
		b := encode(want)
		got, err := decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(remembered{})); diff != "" {
			t.Fatal(diff)
		}
		if cut := rapid.IntRange(0, len(b)-1).Draw(t, "cut"); decodes(b[:cut]) || decodes(append(b, 0)) {
			t.Fatalf("a value cut to %d of %d bytes, or with one more, was read", cut, len(b))
		}
	})
}

func decodes(b []byte) bool {
	_, err := decode(b)
	return err == nil
}

// Whatever the store gives is read without harm, and what is read is written as it was.
func FuzzDecode(f *testing.F) {
	f.Add(encode(remembered{at: now, freshUntil: now, decision: decided()}))
	f.Add([]byte{})
	f.Add([]byte{version, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decode(b)
		if err != nil {
			return
		}
		again, err := decode(encode(r))
		if err != nil {
			t.Fatal(err)
		}
		if math.IsNaN(r.decision.Confidence) {
			t.Fatal("a confidence that is no number was read")
		}
		for _, c := range r.decision.Candidates {
			if math.IsNaN(c.Confidence) { // it differs from itself, also in the comparison below
				return
			}
		}
		if diff := cmp.Diff(r, again, cmp.AllowUnexported(remembered{})); diff != "" {
			t.Error(diff)
		}
	})
}

func BenchmarkRecall(b *testing.B) {
	store := &shelf{}
	m := New(store, question, basis)
	files := make([]File, 500)
	for i := range files {
		files[i] = File{Path: fmt.Sprintf("/lib/Show/Show - %03d.mkv", i), ModTime: now}
		if err := m.Remember(context.Background(), now, Entry{File: files[i], Decision: decided()}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if known, err := m.Recall(context.Background(), now, files); err != nil || known[499] == nil {
			b.Fatal(known, err)
		}
	}
}
