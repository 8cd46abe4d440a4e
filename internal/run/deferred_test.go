package run

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anivault/anivault/internal/match"
)

// flaky is a decider whose requests about a title fail a number of times, each a second later.
type flaky struct {
	mu    sync.Mutex
	fails map[string]int
	asked []string
}

type triesKey struct{}

// oneTry is the Tries of a series with one request.
type oneTry struct {
	count  int
	failed bool
	due    time.Time
}

func (o *oneTry) With(ctx context.Context) context.Context {
	o.failed = false
	return context.WithValue(ctx, triesKey{}, o)
}

func (o *oneTry) Failed() (int, time.Time) {
	if !o.failed {
		return 0, time.Time{}
	}
	return o.count, o.due
}

func (o *oneTry) Restart() { o.count = 0 }

func (d *flaky) Decide(ctx context.Context, s match.Series, decided func(match.File, match.Decision)) {
	time.Sleep(100 * time.Millisecond) // in virtual time
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, s.Title())
	out := match.Decision{Outcome: match.Outcome{Status: match.Matched}}
	if d.fails[s.Title()] > 0 {
		d.fails[s.Title()]--
		o := ctx.Value(triesKey{}).(*oneTry)
		o.count, o.failed, o.due = o.count+1, true, time.Now().Add(time.Second)
		out.Status = match.Pending
	}
	for _, f := range s.Files {
		decided(f, out)
	}
}

// tried runs through titles, one after the other, and returns the requests and their results.
func tried(
	t *testing.T, d *flaky, titles []string,
) (asked string, statuses map[string]match.Status, took time.Duration) {
	t.Helper()
	var batches []Batch
	for i, title := range titles {
		batches = append(batches, batchOf(fmt.Sprintf("lib/%04d", i), title+" - 01.mkv"))
	}
	statuses = map[string]match.Status{}
	start := time.Now()
	retry := RetryPolicy{func() AttemptCounter { return new(oneTry) }, 2}
	p := &pipeline{Config: Config{Decider: d, MaxConcurrent: 1, Retry: retry}}
	err := p.run(t.Context(), produce(batches...), func(l *Line) error {
		statuses[strings.TrimSuffix(l.File.Name, " - 01.mkv")] = l.Decision.Status
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(d.asked, " "), statuses, time.Since(start)
}

func TestASeriesThatFailsIsSetAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &flaky{fails: map[string]int{"Amber": 2}}
		titles := []string{"Amber"}
		for i := range 30 {
			titles = append(titles, fmt.Sprintf("Title%c", 'A'+i))
		}
		asked, statuses, took := tried(t, d, titles)
		if n := strings.Count(asked, "Amber"); n != 3 || statuses["Amber"] != match.Matched {
			t.Errorf("asked %d times, %s", n, statuses["Amber"])
		}
		if took != 33*100*time.Millisecond { // nothing waits for it
			t.Errorf("took %s", took)
		}
	})
}

func TestASeriesThatAlwaysFailsIsAskedAgainAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &flaky{fails: map[string]int{"Amber": 99}}
		titles := []string{"Amber"}
		for i := range 50 {
			titles = append(titles, fmt.Sprintf("Title%c", 'A'+i))
		}
		asked, statuses, _ := tried(t, d, titles)
		if n := strings.Count(asked, "Amber"); n != 6 || statuses["Amber"] != match.Pending || len(statuses) != 51 {
			t.Errorf("asked %d times, %s, %d decided", n, statuses["Amber"], len(statuses))
		}
		if !strings.HasSuffix(asked, " Amber Amber Amber") {
			t.Errorf("not at the end: %s", asked)
		}
	})
}

// A series begins its last round once all others have been tried, although another is still in its first round.
func TestTheLastRoundDoesNotWaitForOtherRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &flaky{fails: map[string]int{"Amber": 3, "Birch": 99}}
		titles := []string{"Amber"}
		for i := range 30 {
			titles = append(titles, fmt.Sprintf("Title%c", 'A'+i))
		}
		asked, statuses, _ := tried(t, d, append(titles, "Birch"))
		if statuses["Amber"] != match.Matched || !strings.Contains(asked, "Title^ Birch Amber Birch") {
			t.Errorf("%s: %s", statuses["Amber"], asked)
		}
	})
}

// A record that is held back holds back all those behind it, so a full output ends the wait.
func TestAFullOutputDoesNotWaitForTheEndOfTheList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &flaky{fails: map[string]int{"Amber": 4}}
		titles := []string{"Amber"}
		for range maxHeldLines + 500 {
			titles = append(titles, "Birch")
		}
		asked, statuses, _ := tried(t, d, titles)
		if statuses["Amber"] != match.Matched || strings.Count(asked, "Amber") != 5 {
			t.Errorf("asked %d times, %s", strings.Count(asked, "Amber"), statuses["Amber"])
		}
		if strings.HasSuffix(asked, "Amber") {
			t.Error("asked at the end")
		}
	})
}

func TestARunThatIsInterruptedWaitsForNoSeriesThatIsSetAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &flaky{fails: map[string]int{"Amber": 99}}
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		retry := RetryPolicy{func() AttemptCounter { return new(oneTry) }, 2}
		p := &pipeline{Config: Config{Decider: d, MaxConcurrent: 1, Retry: retry}}
		var got []match.Status
		err := p.run(ctx, produce(batchOf("lib", "Amber - 01.mkv", "Birch - 01.mkv")), func(l *Line) error {
			got = append(got, l.Decision.Status)
			return nil
		})
		if err == nil || len(got) != 2 || got[0] != match.Pending || got[1] != match.Matched {
			t.Errorf("%v %v", got, err)
		}
	})
}

// claimed is a decider that waits for another process's request about the titles that begin with "Claimed".
type claimed struct {
	mu      sync.Mutex
	decided []string
}

func (d *claimed) Decide(ctx context.Context, s match.Series, decided func(match.File, match.Decision)) {
	wait := 100 * time.Millisecond
	if strings.HasPrefix(s.Title(), "Claimed") {
		FreeSlot(ctx)
		FreeSlot(ctx) // both of its requests wait
		wait = time.Minute
	}
	time.Sleep(wait)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.decided = append(d.decided, s.Title())
	for _, f := range s.Files {
		decided(f, match.Decision{Outcome: match.Outcome{Status: match.Matched}})
	}
}

func runClaimed(t *testing.T, titles []string, concurrent int) *claimed {
	t.Helper()
	var batches []Batch
	for i, title := range titles {
		batches = append(batches, batchOf(fmt.Sprintf("lib/%04d", i), title+" - 01.mkv"))
	}
	d := new(claimed)
	p := &pipeline{Config: Config{Decider: d, MaxConcurrent: concurrent}}
	if err := p.run(t.Context(), produce(batches...), func(*Line) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if len(d.decided) != len(titles) {
		t.Errorf("decided %d of %d", len(d.decided), len(titles))
	}
	return d
}

func TestASeriesThatWaitsForAnotherProcessTakesNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		d := runClaimed(t, []string{"Claimed A", "Claimed B", "Claimed C", "First", "Second", "Third"}, 2)
		if got := strings.Join(d.decided[:3], " "); strings.Contains(got, "Claimed") {
			t.Errorf("first were decided %s", got)
		}
		if took := time.Since(begun); took > time.Minute+time.Second {
			t.Errorf("took %v", took)
		}
	})
}
