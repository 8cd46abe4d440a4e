package cache

// What goes, and when.

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

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
	tr := &Transport{
		Store: s, Next: roundTrip(func(*http.Request) (*http.Response, error) { return nil, errDown }), Offline: true,
	}
	if _, _, source := get(t, tr, "http://h/3/tv/1"); source != "error" {
		t.Errorf("offline it answers: %s", source)
	}
	// A run that only reads takes them off the disk.
	clk.advance(2 * day)
	reader, err := openStore(dir, Options{Now: clk.Now})
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
		e := &Entry{
			Key: tvKey(name), Status: 200, Body: []byte(`{"pad":"` + randomText(size) + `"}`),
			FetchedAt: begin.Add(time.Duration(i) * day),
		}
		e.ExpiresAt = e.FetchedAt.Add(fresh)
		if err := s.Put(t.Context(), e); err != nil {
			t.Fatal(err)
		}
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

// A plain value that is no longer of use goes with the daily prune; an answer that has expired may still serve.
func TestPlainValuesGoWhenTheyExpire(t *testing.T) {
	clk := newClock()
	s := open(t, t.TempDir(), Options{Now: clk.Now})
	b, err := s.Bucket("results")
	if err != nil {
		t.Fatal(err)
	}
	putAnswer(t, s, tvKey("1"), clk.Now(), time.Hour, 10)
	if err := b.Put(
		t.Context(), Item{Key: "an hour", ExpiresAt: clk.Now().Add(time.Hour)},
		Item{Key: "a day", ExpiresAt: clk.Now().Add(day)}, Item{Key: "no date"},
	); err != nil {
		t.Fatal(err)
	}
	clk.advance(2 * time.Hour)
	if res, err := s.Prune(t.Context(), PruneOptions{}); err != nil || res.Removed != 1 {
		t.Fatal(res, err)
	}
	for key, want := range map[string]bool{"an hour": false, "a day": true, "no date": true} {
		if _, ok, err := b.Get(t.Context(), key); ok != want || err != nil {
			t.Errorf("%s: %v %v", key, ok, err)
		}
	}
	if got := keysOf(t, s); !slices.Equal(got, []string{"1"}) {
		t.Errorf("answers left: %v", got)
	}
}

func TestTheSizeBoundHoldsByItself(t *testing.T) {
	clk := newClock()
	s := open(t, t.TempDir(), Options{Now: clk.Now, MaxSize: 1 << 20})
	for i := range 30 {
		for j := range 10 {
			key := tvKey(fmt.Sprintf("%03d", i*10+j))
			e := &Entry{
				Key: key, Status: 200, Body: []byte(`{"pad":"` + randomText(10_000) + `"}`), FetchedAt: clk.Now(),
				ExpiresAt: clk.Now().Add(day),
			}
			if err := s.Put(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			clk.advance(time.Second)
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
