package cli

import (
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/ratelimit"
)

// What status says holds now: no end that has passed, no rate that nobody may send at, no evidence of another state.
func TestStatusSaysWhatIsTrueNow(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	process := []ratelimit.ProcessStatus{{ID: "f8246061569cff42", Waiting: 4, Rate: 35}}
	status := func(state ratelimit.State, cause ratelimit.Reason, since, until time.Duration) ratelimit.Status {
		s := ratelimit.Status{At: now, Waiting: 4, Processes: process, Tuning: ratelimit.Default(), Ceiling: 40}
		s.Block = ratelimit.Block{State: state, Cause: cause, Since: now.Add(-since)}
		if until != 0 {
			s.Until = now.Add(until)
		}
		if state == ratelimit.Normal {
			s.Rate, s.Slots, s.OwnSlots = 35, 16, 4
		}
		return s
	}
	sleep := status(ratelimit.Sleep, ratelimit.ReasonConsecutiveFailures, 10*time.Second, 20*time.Second)
	paused := status(ratelimit.Normal, ratelimit.ReasonProbeOK, time.Hour, 0)
	paused.PauseUntil = now.Add(time.Second)
	learned := status(ratelimit.Normal, ratelimit.ReasonProbeOK, time.Hour, 0)
	learned.Learned.Rate, learned.Learned.Since = 19.05, now
	stated := learned
	stated.Stated.Requests, stated.Stated.Period, stated.Stated.Since = 100, time.Minute, now
	alone := status(ratelimit.Normal, ratelimit.ReasonProbeOK, time.Hour, 0)
	alone.Alone = true
	for _, c := range []struct {
		name  string
		s     ratelimit.Status
		has   []string
		lacks []string
	}{
		{
			"Sleep", sleep,
			[]string{
				"(in 20 s)", "since Sleep began  0 ok", "0: nothing is sent in Sleep", "0 still under way, 4 waiting",
				"f8246061569cff42: 0 running, 4 waiting, sends nothing in Sleep",
			},
			[]string{"last 30 s", "slots", "0 of 0", "35"},
		},
		{
			"Sleep that is over", status(ratelimit.Sleep, ratelimit.ReasonResume, time.Minute, -150*time.Millisecond),
			[]string{"until", "the next request, as a probe", "last 30 s"},
			[]string{"(in ", "-150ms", "began"},
		},
		{
			"long in Normal", status(ratelimit.Normal, ratelimit.ReasonProbeOK, time.Hour, 0),
			[]string{"last 30 s", "0 of 16 in use", "at most 35 requests a second"},
			[]string{"until", "nothing", "learned", "alone"},
		},
		{
			"below a learned limit", learned,
			[]string{"limit", "19.1 requests a second, learned from 429s at ", "; configured 35"},
			nil,
		},
		{
			"below a limit that the answers state", stated,
			[]string{"100 requests in 1m, stated in the answers' RateLimit-Policy, last at ", "learned from 429s"},
			nil,
		},
		{
			"without the coordinator", alone,
			[]string{"coordinator  redis://nas:6379 can't be used, so this machine is alone"},
			nil,
		},
		{"fresh", status(ratelimit.Normal, ratelimit.ReasonFresh, time.Second, 0), []string{"last 30 s"}, []string{"began"}},
		{"in a pause", paused, []string{"all processes wait until", "sends nothing during the pause"}, []string{"at most"}},
		{
			"CacheOnly", status(ratelimit.CacheOnly, ratelimit.ReasonOperator, time.Minute, 0),
			[]string{"anivault limiter resume lets requests through again"},
			[]string{"until"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			if err := (statusView{limiter: c.s, coordinator: "redis://nas:6379"}).rows().write(&b, 0); err != nil {
				t.Fatal(err)
			}
			for _, want := range c.has {
				if !strings.Contains(b.String(), want) {
					t.Errorf("want %q in:\n%s", want, b.String())
				}
			}
			for _, not := range c.lacks {
				if strings.Contains(b.String(), not) {
					t.Errorf("%q is in:\n%s", not, b.String())
				}
			}
		})
	}
	want := &jsonStatedLimit{100, 60, "RateLimit-Policy", ui.Timestamp(now)}
	if diff := cmp.Diff(want, (statusView{limiter: stated}).toJSON().Stated); diff != "" {
		t.Error(diff)
	}
	if got := (statusView{limiter: status(ratelimit.Sleep, ratelimit.ReasonResume, time.Minute,
		-time.Second)}).toJSON().Until; got != "" {
		t.Errorf("in JSON an end that has passed is %q", got)
	}
}

// The first line of status is a sentence, whatever the state.
func TestStatusBeginsWithASentence(t *testing.T) {
	now := time.Now()
	soon := now.Add(time.Minute)
	for _, row := range []struct {
		state        ratelimit.State
		cause        ratelimit.Reason
		rate         float64
		running      int
		until, pause time.Time
		want         string
	}{
		{
			ratelimit.Normal, ratelimit.ReasonFresh, 35, 3,
			time.Time{},
			time.Time{},
			"TMDB is fine; 35 requests a second allowed, 3 under way",
		},
		{ratelimit.Normal, ratelimit.ReasonFresh, 35, 0, time.Time{}, soon, "TMDB asks all clients to wait until " +
			ui.Clock(soon)},
		{
			ratelimit.Throttle, ratelimit.ReasonErrorRatio, 17.5, 0,
			time.Time{},
			time.Time{},
			"TMDB has trouble, so anivault sends fewer requests: 17.5 requests a second allowed, 0 under way",
		},
		{
			ratelimit.Sleep, ratelimit.ReasonErrorRatio, 0, 0, soon,
			time.Time{},
			"TMDB is failing; no requests are sent until " +
				ui.Clock(soon),
		},
		{
			ratelimit.Sleep, ratelimit.ReasonConsecutive429, 0, 0, now.Add(-time.Minute),
			time.Time{},
			"TMDB keeps refusing (429); the next request tests whether it works again",
		},
		{
			ratelimit.HalfOpen, ratelimit.ReasonErrorRatio, 1, 0,
			time.Time{},
			time.Time{},
			"testing whether TMDB answers, one request at a time",
		},
		{
			ratelimit.CacheOnly, ratelimit.ReasonPolicy, 0, 0,
			time.Time{},
			time.Time{},
			"TMDB kept failing, so requests were stopped; only the cache answers",
		},
	} {
		t.Run(row.want, func(t *testing.T) {
			var s ratelimit.Status
			s.At, s.State, s.Cause, s.Rate = now, row.state, row.cause, row.rate
			s.Running, s.Until, s.PauseUntil = row.running, row.until, row.pause
			if got := statusSentence(s, false); got.String() != row.want {
				t.Errorf("%q", got)
			}
		})
	}
	s := ratelimit.Status{At: now, Budget: ratelimit.Budget{Requests: 5, Period: time.Hour}, BudgetUsed: 5}
	s.State, s.BudgetRenews = ratelimit.Normal, soon
	if got, want := statusSentence(s, false).String(), "the request budget is used up until "+ui.Clock(soon); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A full disk is not mended by rights or another kind of folder.
func TestAFullDiskIsReportedAsSuch(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: "/x", Err: syscall.ENOSPC}
	if got := fixUnlessDiskFull(fmt.Errorf("can't be kept: %w", full), "make it writable"); !strings.HasPrefix(
		got.String(),
		"free some space") {
		t.Error(got)
	}
	if got := fixUnlessDiskFull(fs.ErrPermission, "make it writable"); got != "make it writable" {
		t.Error(got)
	}
}
