package cache

import (
	"os"
	"testing"
	"time"
)

func TestAnOlderRecordThatIsMergedLaterChangesNothing(t *testing.T) {
	clk := newClock()
	dir := t.TempDir()
	var stores []*Store
	for range 2 {
		s := open(t, dir, Options{Now: clk.Now, MergeEvery: time.Hour})
		putAnswer(t, s, tvKey("1"), clk.Now(), day, 10)
		stores = append(stores, s)
		clk.advance(time.Minute)
	}
	for _, i := range []int{1, 0} {
		if _, err := stores[i].Merge(t.Context()); err != nil {
			t.Fatal(err)
		}
		e, ok, err := stores[1-i].Get(t.Context(), tvKey("1"))
		if err != nil || !ok || !e.FetchedAt.Equal(clk.Now().Add(-time.Minute)) {
			t.Errorf("after the merge of store %d: %+v %v", i, e, err)
		}
	}
}

func TestADeletionOutlivesOlderJournals(t *testing.T) {
	clk := newClock()
	dir := t.TempDir()
	a := open(t, dir, Options{Now: clk.Now, MergeEvery: time.Hour})
	b := open(t, dir, Options{Now: clk.Now, MergeEvery: time.Hour})
	putAnswer(t, a, tvKey("1"), clk.Now(), day, 10)
	clk.advance(time.Second)
	if err := b.Delete(t.Context(), tvKey("1")); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Store{b, a} {
		if _, err := s.Merge(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := keysOf(t, s); len(got) != 0 {
			t.Errorf("it is back: %v", got)
		}
	}
	// A week later not even the tombstone is there.
	clk.advance(7 * day)
	if _, err := a.Prune(t.Context(), PruneOptions{}); err != nil {
		t.Fatal(err)
	}
	if rep, err := a.Verify(t.Context()); err != nil || rep.Records != 0 {
		t.Errorf("%d records: %v", rep.Records, err)
	}
}

func TestClearedRecordsAreNotMergedBackIn(t *testing.T) {
	clk := newClock()
	dir := t.TempDir()
	a := open(t, dir, Options{Now: clk.Now, MergeEvery: time.Hour})
	b := open(t, dir, Options{Now: clk.Now, MergeEvery: time.Hour})
	putAnswer(t, a, tvKey("1"), clk.Now(), day, 10)
	clk.advance(time.Second)
	if err := b.Clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Merge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rep, err := a.Verify(t.Context()); err != nil || rep.Records != 0 {
		t.Errorf("%d records: %v", rep.Records, err)
	}
}

func TestAClockThatGoesBackLosesNoWrite(t *testing.T) {
	clk := newClock()
	dir := t.TempDir()
	up := &upstream{serve: always(200, endedBody)}
	first := open(t, dir, Options{Now: clk.Now, MergeEvery: time.Hour})
	get(t, &Transport{Store: first, Next: up}, tvURL)
	clk.advance(-24 * time.Hour) // what was fetched tomorrow is not fresh today
	up.serve = always(200, runsBody)
	second := open(t, dir, Options{Now: clk.Now, MergeEvery: time.Hour})
	tr := &Transport{Store: second, Next: up}
	for i, want := range []string{"network", "fresh"} {
		if _, body, source := get(t, tr, tvURL); source != want || body != runsBody {
			t.Errorf("%d: %s %s", i, source, body)
		}
	}
	for _, s := range []*Store{second, first} {
		if _, err := s.Merge(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, body, source := get(t, tr, tvURL); source != "fresh" || body != runsBody {
		t.Errorf("after the merges: %s %s", source, body)
	}
}

func TestAFailedAppendLeavesTheJournalAsItWas(t *testing.T) {
	dir := t.TempDir()
	j := newJournal(dir, journalName{owner: "x", seq: 1})
	if err := j.create(); err != nil {
		t.Fatal(err)
	}
	defer j.close()
	rec := journalRecord{bucket: "b", key: "k", value: record{stamp: 1}.encode(nil, "b", "k")}
	if err := j.append(rec); err != nil {
		t.Fatal(err)
	}
	f := j.f
	readOnly, err := os.Open(j.path)
	if err != nil {
		t.Fatal(err)
	}
	j.f = readOnly
	size := j.size
	if err := j.append(rec, rec); err == nil || j.count != 1 || j.size != size {
		t.Errorf("a write that failed: %v, %d records", err, j.count)
	}
	readOnly.Close()
	j.f = f
	if err := j.append(rec); err != nil {
		t.Fatal(err)
	}
	again := newJournal(dir, j.name)
	defer again.close()
	if err := again.refresh(); err != nil || again.bad != nil || again.count != 2 {
		t.Errorf("%d records: %v %v", again.count, err, again.bad)
	}
}
