package cache

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// TestStoresTogetherAreOneMap: several stores over one directory, opened,
// closed and merged at will, are the same as one map.
func TestStoresTogetherAreOneMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp("", "cache-model-")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(dir)
		clk := newClock()
		options := Options{Now: clk.Now, MergeEvery: time.Hour, noSync: true, shy: rapid.Bool().Draw(rt, "shy")}
		openOne := func() *Store {
			s, err := Open(dir, options)
			if err != nil {
				rt.Fatal(err)
			}
			return s
		}
		stores := []*Store{openOne(), openOne()}
		defer func() {
			for _, s := range stores {
				if err := s.Close(); err != nil {
					rt.Fatal(err)
				}
			}
		}()
		model := map[string]string{}
		keys := rapid.SampledFrom([]string{"a", "b", "c", "long/" + strings.Repeat("k", 300)})
		pick := func() (int, *Bucket) {
			i := rapid.IntRange(0, len(stores)-1).Draw(rt, "store")
			b, err := stores[i].Bucket("results")
			if err != nil {
				rt.Fatal(err)
			}
			return i, b
		}
		ctx := context.Background()
		check := func(err error) {
			if err != nil {
				rt.Fatal(err)
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"put": func(*rapid.T) {
				_, b := pick()
				k, v := keys.Draw(rt, "key"), rapid.StringN(0, 50, -1).Draw(rt, "value")
				clk.advance(time.Microsecond)
				check(b.Put(ctx, Item{Key: k, Value: []byte(v)}))
				model[k] = v
			},
			"delete": func(*rapid.T) {
				_, b := pick()
				k := keys.Draw(rt, "key")
				clk.advance(time.Microsecond)
				check(b.Delete(ctx, k))
				delete(model, k)
			},
			"merge": func(*rapid.T) {
				i, _ := pick()
				_, err := stores[i].Merge(ctx)
				check(err)
			},
			"reopen": func(*rapid.T) {
				i, _ := pick()
				check(stores[i].Close())
				stores[i] = openOne()
			},
			"clear": func(*rapid.T) {
				i, _ := pick()
				clk.advance(time.Microsecond)
				check(stores[i].Clear(ctx))
				clk.advance(time.Microsecond)
				clear(model)
			},
			"compact": func(*rapid.T) {
				i, _ := pick()
				_, err := stores[i].Compact(ctx)
				check(err)
			},
			"prune": func(*rapid.T) {
				i, _ := pick()
				_, err := stores[i].Prune(ctx, PruneOptions{})
				check(err)
			},
			"carry over": func(*rapid.T) {
				i, _ := pick()
				var text strings.Builder
				_, err := stores[i].Export(ctx, &text)
				check(err)
				clk.advance(time.Microsecond)
				check(stores[i].Clear(ctx))
				clk.advance(time.Microsecond)
				_, err = stores[1-i].Import(ctx, strings.NewReader(text.String()))
				check(err)
			},
			"": func(*rapid.T) {
				_, b := pick()
				got := map[string]string{}
				check(b.Range(ctx, func(it Item) error {
					got[it.Key] = string(it.Value)
					return nil
				}))
				if diff := cmp.Diff(model, got); diff != "" {
					rt.Fatalf("range: %s", diff)
				}
				all := slices.Sorted(maps.Keys(model))
				items, err := b.GetBatch(ctx, append(all, "absent"))
				check(err)
				for j, k := range all {
					if items[j].Key != k || string(items[j].Value) != model[k] {
						rt.Fatalf("get %q: %+v, want %q", k, items[j], model[k])
					}
				}
				if items[len(all)].Key != "" {
					rt.Fatal("an absent key is there")
				}
				rep, err := stores[0].Verify(ctx)
				check(err)
				if len(rep.Problems) > 0 {
					rt.Fatalf("verify: %v", rep.Problems)
				}
			},
		})
	})
}

func putAnswer(t testing.TB, s *Store, key string, fetched time.Time, fresh time.Duration, size int) {
	t.Helper()
	e := &Entry{
		Key: key, Status: 200, ETag: `"e"`, Body: []byte(`{"status":"Ended","pad":"` + strings.Repeat(key[len(key)-1:]+"!", size/2) + `"}`),
		FetchedAt: fetched, ExpiresAt: fetched.Add(fresh),
	}
	if err := s.Put(t.Context(), e); err != nil {
		t.Fatal(err)
	}
}

func keysOf(t testing.TB, s *Store) []string {
	t.Helper()
	var keys []string
	err := s.Range(t.Context(), func(e *Entry) error {
		keys = append(keys, strings.TrimPrefix(e.Key, "GET http://h:80/3/tv/"))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func tvKey(name string) string { return "GET http://h:80/3/tv/" + name }

func TestNothingIsGivenOrKeptAfter180Days(t *testing.T) {
	clk := newClock()
	dir := t.TempDir()
	s := open(t, dir, Options{Now: clk.Now})
	putAnswer(t, s, tvKey("1"), clk.Now(), 400*day, 10)
	b, err := s.Bucket("results")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Put(t.Context(), Item{Key: "k", Value: []byte("v")}); err != nil {
		t.Fatal(err)
	}
	present := func() (answer, value bool) {
		t.Helper()
		_, a, err1 := s.Get(t.Context(), tvKey("1"))
		_, v, err2 := b.Get(t.Context(), "k")
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		return a, v
	}
	clk.advance(180*day - time.Millisecond)
	if a, v := present(); !a || !v {
		t.Errorf("a moment before: %v %v", a, v)
	}
	clk.advance(time.Millisecond)
	if a, v := present(); a || v {
		t.Errorf("at 180 days: %v %v", a, v)
	}
	tr := &Transport{Store: s, Next: roundTrip(func(*http.Request) (*http.Response, error) { return nil, errDown }), Offline: true}
	if _, _, source := get(t, tr, "http://h/3/tv/1"); source != "error" {
		t.Errorf("offline it answers: %s", source)
	}
	if _, err := s.Merge(t.Context()); err != nil {
		t.Fatal(err)
	}
	// A run that only reads takes them off the disk.
	clk.advance(2 * day)
	reader, err := Open(dir, Options{Now: clk.Now})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, err := reader.Get(t.Context(), tvKey("1")); ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	rep, err := open(t, dir, Options{Now: clk.Now}).Verify(t.Context())
	if err != nil || rep.Records != 0 {
		t.Errorf("%d records are still on disk: %v", rep.Records, err)
	}
}

func TestPruneTakesExpiredFirstThenTheOldest(t *testing.T) {
	clk := newClock()
	s := open(t, t.TempDir(), Options{Now: clk.Now, MaxSize: 1 << 30})
	begin := clk.Now()
	const size = 20_000
	for i, name := range []string{"old-expired", "old-fresh", "mid-expired", "mid-fresh", "new-fresh"} {
		fresh := time.Hour
		if strings.HasSuffix(name, "fresh") {
			fresh = 100 * day
		}
		e := &Entry{Key: tvKey(name), Status: 200, Body: []byte(`{"pad":"` + randomText(size) + `"}`), FetchedAt: begin.Add(time.Duration(i) * day)}
		e.ExpiresAt = e.FetchedAt.Add(fresh)
		if err := s.Put(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Merge(t.Context()); err != nil {
		t.Fatal(err)
	}
	clk.advance(10 * day)
	rows := []struct {
		max  int64
		want []string
	}{
		{200_000, []string{"mid-expired", "mid-fresh", "new-fresh", "old-expired", "old-fresh"}},
		{85_000, []string{"mid-fresh", "new-fresh", "old-fresh"}},
		{55_000, []string{"mid-fresh", "new-fresh"}},
	}
	for _, r := range rows {
		res, err := s.Prune(t.Context(), PruneOptions{MaxSize: r.max})
		if err != nil {
			t.Fatal(err)
		}
		if got := keysOf(t, s); !slices.Equal(got, r.want) || res.Used > r.max {
			t.Errorf("to %d: %d used, left %v, want %v", r.max, res.Used, got, r.want)
		}
	}
}

func TestPruneOfEverythingExpired(t *testing.T) {
	clk := newClock()
	s := open(t, t.TempDir(), Options{Now: clk.Now})
	putAnswer(t, s, tvKey("1"), clk.Now(), time.Hour, 10)
	putAnswer(t, s, tvKey("2"), clk.Now(), 3*time.Hour, 10)
	if _, err := s.Merge(t.Context()); err != nil {
		t.Fatal(err)
	}
	clk.advance(2 * time.Hour)
	for _, want := range []struct {
		o    PruneOptions
		left []string
	}{{PruneOptions{}, []string{"1", "2"}}, {PruneOptions{Expired: true}, []string{"2"}}} {
		if _, err := s.Prune(t.Context(), want.o); err != nil {
			t.Fatal(err)
		}
		if got := keysOf(t, s); !slices.Equal(got, want.left) {
			t.Errorf("%+v: left %v", want.o, got)
		}
	}
}

func TestTheSizeBoundHoldsByItself(t *testing.T) {
	clk := newClock()
	s := open(t, t.TempDir(), Options{Now: clk.Now, MaxSize: 1 << 20, MergeEvery: time.Hour})
	for i := range 30 {
		for j := range 10 {
			key := tvKey(fmt.Sprintf("%03d", i*10+j))
			e := &Entry{Key: key, Status: 200, Body: []byte(`{"pad":"` + randomText(10_000) + `"}`), FetchedAt: clk.Now(), ExpiresAt: clk.Now().Add(day)}
			if err := s.Put(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			clk.advance(time.Second)
		}
		if _, err := s.Merge(t.Context()); err != nil {
			t.Fatal(err)
		}
		st, err := s.Stats(t.Context())
		if err != nil || st.Used > 1<<20 {
			t.Fatalf("round %d: %d bytes are used: %v", i, st.Used, err)
		}
	}
	keys := keysOf(t, s)
	if len(keys) < 30 || keys[len(keys)-1] != "299" {
		t.Errorf("%d left, the last is %s", len(keys), keys[len(keys)-1])
	}
	before, err := s.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prune(t.Context(), PruneOptions{MaxSize: 200_000}); err != nil {
		t.Fatal(err)
	}
	res, err := s.Compact(t.Context())
	if err != nil || res.Before != before.FileSize || res.After > 300_000 {
		t.Errorf("compact: %+v of %d: %v", res, before.FileSize, err)
	}
}

func TestStatsCountWhatIsThere(t *testing.T) {
	clk := newClock()
	dir := t.TempDir()
	s := open(t, dir, Options{Now: clk.Now, MergeEvery: time.Hour})
	begin := clk.Now()
	putAnswer(t, s, tvKey("1"), begin, time.Hour, 10)
	putAnswer(t, s, "GET http://h:80/3/search/tv?query=x", begin.Add(time.Minute), 3*time.Hour, 10)
	if _, err := s.Merge(t.Context()); err != nil {
		t.Fatal(err)
	}
	gone := &Entry{Key: tvKey("2"), Status: 404, Body: []byte(missing), FetchedAt: begin.Add(time.Hour), ExpiresAt: begin.Add(9 * time.Hour)}
	if err := s.Put(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	b, err := s.Bucket("results")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Put(t.Context(), Item{Key: "k"}, Item{Key: "l"}); err != nil {
		t.Fatal(err)
	}
	clk.advance(2 * time.Hour)
	got, err := s.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := Stats{
		Entries: 3, Fresh: 2, Expired: 1, Negative: 1, Bytes: got.Bytes,
		ByClass: map[Class]int{TVDetails: 2, Search: 1}, Buckets: map[string]int{},
		Oldest: begin, Newest: begin.Add(time.Hour),
		FileSize: got.FileSize, Used: got.Used, MaxSize: DefaultMaxSize,
		Journals: 1, Unmerged: 3, Processes: 1,
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	if got.Bytes < int64(len(missing)) || got.Used <= 0 || got.Used > got.FileSize {
		t.Errorf("bytes %d, used %d of %d", got.Bytes, got.Used, got.FileSize)
	}
}

func TestClearCoversWhatOthersHaveInTheirJournals(t *testing.T) {
	clk := newClock()
	dir := t.TempDir()
	a := open(t, dir, Options{Now: clk.Now, MergeEvery: time.Hour})
	b := open(t, dir, Options{Now: clk.Now, MergeEvery: time.Hour})
	putAnswer(t, a, tvKey("1"), clk.Now(), day, 10)
	clk.advance(time.Second)
	if err := b.Clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	clk.advance(time.Second)
	if got := keysOf(t, b); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
	putAnswer(t, a, tvKey("2"), clk.Now(), day, 10)
	for _, merge := range []*Store{nil, a, b} {
		if merge != nil {
			if _, err := merge.Merge(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := keysOf(t, b); !slices.Equal(got, []string{"2"}) {
			t.Errorf("left: %v", got)
		}
	}
}

func TestFilesAreForTheirOwnerOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "cache")
	s := open(t, dir, Options{MergeEvery: time.Hour})
	putAnswer(t, s, tvKey("1"), time.Now(), day, 10)
	if _, err := s.Merge(t.Context()); err != nil {
		t.Fatal(err)
	}
	putAnswer(t, s, tvKey("2"), time.Now(), day, 10)
	seen := 0
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := os.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if seen++; filepath.Separator == '/' && info.Mode().Perm() != want {
			t.Errorf("%s has mode %v", p, info.Mode().Perm())
		}
		return nil
	})
	if err != nil || seen < 7 {
		t.Errorf("%d files: %v", seen, err)
	}
	tag, err := os.ReadFile(filepath.Join(dir, "CACHEDIR.TAG"))
	if err != nil || !strings.HasPrefix(string(tag), "Signature: 8a477f597d28d172789f06886806bc55\n") {
		t.Errorf("CACHEDIR.TAG: %q %v", tag, err)
	}
}

func TestWritesThatMakeNoSenseAreRefused(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	b, err := s.Bucket("results")
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"HTML":       s.Put(t.Context(), &Entry{Key: "k", Status: 200, Body: []byte("<html>")}),
		"no key":     s.Put(t.Context(), &Entry{Status: 200, Body: []byte(endedBody)}),
		"long key":   b.Put(t.Context(), Item{Key: strings.Repeat("k", maxKey+1)}),
		"empty key":  b.Put(t.Context(), Item{Value: []byte("v")}),
		"huge value": b.Put(t.Context(), Item{Key: "k", Value: make([]byte, maxBody+1)}),
	} {
		if err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	for _, name := range []string{"", "meta", "responses", "Über", "-x", "a b"} {
		if _, err := s.Bucket(name); err == nil {
			t.Errorf("bucket %q was taken", name)
		}
	}
	for _, o := range []Options{{MaxSize: -1}, {MergeRecords: -1}, {MergeEvery: -1}, {LockWait: -1}, {ClaimTimeout: -1}} {
		if _, err := Open(t.TempDir(), o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	if _, err := Open("", Options{}); err == nil {
		t.Error("no directory was taken")
	}
}

func TestAClosedStoreSaysSo(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	putAnswer(t, s, tvKey("1"), time.Now(), day, 10)
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Put(t.Context(), &Entry{Key: "k", Status: 200, Body: []byte(endedBody)}); !errors.Is(err, errClosed) {
		t.Errorf("put: %v", err)
	}
	if _, _, err := s.Get(t.Context(), tvKey("1")); !errors.Is(err, errClosed) {
		t.Errorf("get: %v", err)
	}
}

func TestManyValuesAreReadInOneGo(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	b, err := s.Bucket("results")
	if err != nil {
		t.Fatal(err)
	}
	const n = 3*batchKeys + 17
	var items []Item
	var keys []string
	for i := range n {
		keys = append(keys, fmt.Sprintf("%06d", i))
		if i%3 != 0 {
			items = append(items, Item{Key: keys[i], Value: []byte(keys[i])})
		}
	}
	if err := b.Put(t.Context(), items...); err != nil {
		t.Fatal(err)
	}
	got, err := b.GetBatch(t.Context(), keys)
	if err != nil {
		t.Fatal(err)
	}
	for i, it := range got {
		if want := i%3 != 0; (it.Key != "") != want || string(it.Value) != it.Key {
			t.Fatalf("%d: %+v", i, it)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.GetBatch(ctx, keys); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
