// Package notify tells media servers which folders have changed, and tells people what happened. Notices wait in a file
// until they are delivered, so they survive the process; a notice may be delivered twice.
package notify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/anivault/anivault/internal/atomicfile"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lockfile"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/ratelimit"
)

// The events of notices, as config.NotifyEvents has them.
const (
	Changed     = "changed"     // a run has changed folders of a library
	Failed      = "failed"      // a run could not put files where they belong
	Skipped     = "left"        // watch has skipped new files
	Limiter     = "limiter"     // no requests are sent, or they are sent again
	Key         = "key"         // TMDB refuses a key, or accepts it again
	Budget      = "budget"      // 80 % of the request budget is used, or all of it
	Coordinator = "coordinator" // the state that several processes share is out of reach, or back
)

// Notice is one message. A webhook gets it as JSON.
type Notice struct {
	_       struct{}                `constant:"type=notice" doc:"always \"notice\""`
	Event   string                  `json:"event" doc:"changed, failed, left, limiter, key, budget or coordinator"`
	Run     string                  `json:"run,omitempty" doc:"the run's id, with changed and failed"`
	At      time.Time               `json:"at" doc:"when it happened, RFC 3339"`
	Text    string                  `json:"text" doc:"what happened, for people"`
	Folders []string                `json:"folders,omitempty" doc:"with changed: the folders of series and films"`
	Summary *report.OrganizeSummary `json:"summary,omitempty" doc:"with changed and failed: the run's summary"`
	Limiter *LimiterState           `json:"limiter,omitempty" doc:"with limiter: its state"`
}

// LimiterState is what a notice says of the limiter.
type LimiterState struct {
	State string    `json:"state" doc:"Normal, Throttle, Sleep, HalfOpen or CacheOnly"`
	Cause string    `json:"cause,omitempty" doc:"why: a reason of limiter rules"`
	Until time.Time `json:"until,omitempty" doc:"when it ends, RFC 3339"`
}

const (
	fileVersion  = 1
	mostWaiting  = 1000             // older notices are dropped
	giveUpAfter  = 10 * time.Minute // a notice that could not be delivered for so long is dropped
	lockPatience = 5 * time.Second
	longestDelay = time.Minute
	pollInterval = time.Second
)

// Queue holds the notices that wait for delivery, in one file for all processes. Without targets it stays empty.
type Queue struct {
	path    string
	targets []config.NotifyTarget
	client  *http.Client
	sending time.Time            // when observe last saw that requests may be sent, or that the last one was answered
	warned  map[string]lang.Text // the trouble that Run has warned of, by subject
}

type waiting struct {
	ID     uint64 `json:"id"`
	To     string `json:"to"` // targetID
	Notice Notice `json:"notice"`
	// Open means that the run has not ended. End replaces the notice, or Recover after a crash.
	Open bool `json:"open,omitempty"`
}

type content struct {
	Version int       `json:"version"`
	Waiting []waiting `json:"waiting"`
	// Reported is what observe has reported last, by subject, so that each change is reported by one process.
	Reported map[string]string `json:"reported,omitempty"`
}

// Open returns the queue in a data folder.
func Open(dataDir string, targets []config.NotifyTarget) *Queue {
	path := filepath.Join(dataDir, "notices.json")
	return &Queue{path: path, targets: targets, client: newClient(), warned: map[string]lang.Text{}}
}

// Begin records that a run is about to change folders, so that their notice is not lost with the process.
func (q *Queue) Begin(run string) error {
	return q.update(func(c *content) {
		if !slices.ContainsFunc(c.Waiting, func(w waiting) bool { return w.Open && w.Notice.Run == run }) {
			c.add(q.targets, Notice{Event: Changed, Run: run, At: time.Now()}, true)
		}
	})
}

// End replaces the notice of Begin with what happened. No notices means that nothing changed.
func (q *Queue) End(run string, notices ...Notice) error {
	return q.update(func(c *content) {
		c.Waiting = slices.DeleteFunc(c.Waiting, func(w waiting) bool { return w.Open && w.Notice.Run == run })
		for _, n := range notices {
			c.add(q.targets, n, false)
		}
	})
}

// Add adds notices for each target that wants them.
func (q *Queue) Add(notices ...Notice) error { return q.End("", notices...) }

// OpenRuns returns the runs that have begun and not ended.
func (q *Queue) OpenRuns() (runs []string) {
	for _, w := range q.read().Waiting {
		if w.Open && !slices.Contains(runs, w.Notice.Run) {
			runs = append(runs, w.Notice.Run)
		}
	}
	return runs
}

// Waiting returns how many notices wait in a data folder.
func Waiting(dataDir string) int { return len(Open(dataDir, nil).read().Waiting) }

// targetID tells targets on one host apart. It is a hash, because the address may hold a secret.
func targetID(t *config.NotifyTarget) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(t.Kind+" "+t.URL.String())))
}

func (c *content) add(targets []config.NotifyTarget, n Notice, open bool) {
	for i := range targets {
		if slices.Contains(targets[i].On, n.Event) {
			c.Waiting = append(c.Waiting, waiting{rand.Uint64(), targetID(&targets[i]), n, open})
		}
	}
	c.Waiting = c.Waiting[max(0, len(c.Waiting)-mostWaiting):]
}

// read returns an empty content for a file that is missing or damaged: it is not worth stopping a run.
func (q *Queue) read() content {
	c := content{Version: fileVersion, Reported: map[string]string{}}
	const mostBytes = 16 << 20
	raw, err := lockfile.ReadFile(q.path, mostBytes)
	found := content{Reported: map[string]string{}}
	if err != nil || json.Unmarshal(raw, &found) != nil || found.Version != fileVersion {
		return c
	}
	return found
}

func (q *Queue) update(change func(*content)) error {
	if len(q.targets) == 0 {
		return nil
	}
	if err := lockfile.MkdirAll(filepath.Dir(q.path)); err != nil {
		return err
	}
	release, err := lockfile.Acquire(context.Background(), q.path+".lock", lockfile.Exclusive, lockPatience)
	if err != nil {
		return err
	}
	defer release()
	c := q.read()
	before, err := json.Marshal(c)
	if err != nil {
		return err
	}
	change(&c)
	after, err := json.Marshal(c)
	if err != nil || string(after) == string(before) {
		return err
	}
	return atomicfile.WriteText(q.path, 0o600, after)
}

// Send tries to deliver what waits, each target once. The changed folders of several runs become one notice. If another
// process is sending, Send does nothing. The error names each target that failed; what it did not get stays in the
// queue, unless it has waited for too long.
func (q *Queue) Send(ctx context.Context) error {
	if len(q.targets) == 0 || len(q.read().Waiting) == 0 {
		return nil
	}
	release, err := lockfile.Acquire(ctx, q.path+".send", lockfile.Exclusive, 0)
	if errors.Is(err, lockfile.ErrBusy) {
		return nil
	} else if err != nil {
		return err
	}
	defer release()
	var failures []error
	for i := range q.targets {
		if err := q.sendTo(ctx, &q.targets[i]); err != nil {
			failures = append(failures, lang.Error("%s: %w", q.targets[i].Name(), err))
		}
	}
	return errors.Join(failures...)
}

func (q *Queue) sendTo(ctx context.Context, t *config.NotifyTarget) error {
	due := slices.DeleteFunc(q.read().Waiting, func(w waiting) bool { return w.Open || w.To != targetID(t) })
	var failure error
	done := map[uint64]bool{}
	if t.IsMediaServer() && len(due) > 0 {
		all := due[0].Notice
		for _, w := range due[1:] {
			all.Folders = append(all.Folders, w.Notice.Folders...)
		}
		all.Folders = slices.Compact(slices.Sorted(slices.Values(all.Folders)))
		failure = send(ctx, q.client, t, &all)
	}
	for _, w := range due {
		if !t.IsMediaServer() && failure == nil {
			failure = send(ctx, q.client, t, &w.Notice)
		}
		done[w.ID] = failure == nil || time.Since(w.Notice.At) > giveUpAfter
	}
	err := q.update(func(c *content) {
		c.Waiting = slices.DeleteFunc(c.Waiting, func(w waiting) bool { return done[w.ID] })
	})
	return errors.Join(failure, err)
}

// SetTargets replaces the targets. Only the status function of Run may call it while Run is running.
func (q *Queue) SetTargets(targets []config.NotifyTarget) { q.targets = targets }

// Run delivers what waits and reports changes of the limiter, until ctx ends. It calls warn when targets begin to fail,
// or notices can't be kept, when no requests are sent and when they are sent again.
func (q *Queue) Run(ctx context.Context, status func(context.Context) (ratelimit.Status, error), warn func(error)) {
	failures := 0
	var retry time.Time
	for tick := time.Tick(pollInterval); ; {
		var err error
		if st, unknown := status(ctx); unknown == nil {
			_, err = q.observe(&st)
			q.warn(&st, warn)
		}
		if now := time.Now(); !now.Before(retry) {
			err = errors.Join(err, q.Send(ctx))
			switch {
			case err == nil:
				failures = 0
			case ctx.Err() == nil:
				if failures++; failures == 1 {
					warn(err)
				}
				retry = now.Add(rand.N(min(longestDelay, time.Second<<min(failures, 10)))) // full jitter
			}
		}
		select {
		case <-ctx.Done():
			ctx = context.WithoutCancel(ctx)
			if st, err := status(ctx); err == nil {
				if added, _ := q.observe(&st); added { // such as the refused key that ends watch
					_ = q.Send(ctx)
				}
			}
			return
		case <-tick:
		}
	}
}

// sleepPatience is how long the limiter may send nothing before it is reported: most outages are shorter.
const sleepPatience = time.Minute

// finding is what is the matter with a part of the limiter.
type finding struct {
	event, subject string
	trouble        lang.Text // "": nothing
}

func (f *finding) id() string { return f.event + " " + f.subject }

// findings describes the limiter. blocked is for how long nothing has been sent.
func findings(st *ratelimit.Status, blocked time.Duration) []finding {
	limiter, shared := finding{event: Limiter}, finding{event: Coordinator}
	switch {
	case st.State == ratelimit.CacheOnly:
		limiter.trouble = lang.Textf("no requests are sent to TMDB (CacheOnly, %s)", st.Cause)
	case st.State == ratelimit.Sleep && st.PauseUntil.Sub(st.At) > sleepPatience: // also after CacheOnly was resumed
		limiter.trouble = "TMDB asked for a long pause, so requests were stopped"
	case blocked >= sleepPatience:
		limiter.trouble = "TMDB has not answered for more than a minute"
	}
	if st.Alone {
		shared.trouble = "the state that several processes or machines share can't be reached"
	}
	out := []finding{limiter, shared, {Budget, "", budgetTrouble(st.Budget, st.BudgetUsed)}}
	for _, a := range st.Accounts {
		own := finding{event: Limiter, subject: a.Name}
		if a.State == ratelimit.CacheOnly { // with limited_by: account
			own.trouble = lang.Textf("no requests are sent through the account %s (CacheOnly, %s)", a.Name, a.Cause)
		}
		out = append(out, own, finding{Budget, a.Name, budgetTrouble(a.Quota, a.QuotaUsed)})
		for _, k := range a.Keys {
			key := finding{event: Key, subject: a.Name + " " + k.Key.String()}
			if k.Standing.Unusable() {
				key.trouble = lang.Textf("a key of the account %s can't be used: %s", a.Name, k.Standing)
			}
			out = append(out, key)
		}
	}
	return out
}

func budgetTrouble(b ratelimit.Budget, used int) lang.Text {
	switch {
	case !b.On() || 5*used < 4*b.Requests:
		return ""
	case used < b.Requests:
		return lang.Textf("80 %% of the budget of %d requests are used", b.Requests)
	}
	return lang.Textf("the budget of %d requests is used up", b.Requests)
}

// warn calls warn if requests are no longer sent, or are sent again.
func (q *Queue) warn(st *ratelimit.Status, warn func(error)) {
	for _, f := range findings(st, st.At.Sub(q.sending)) {
		if before := q.warned[f.id()]; (f.event == Limiter || f.event == Budget) && before != f.trouble {
			q.warned[f.id()] = f.trouble
			warn(lang.Error("%s", cmp.Or(f.trouble, lang.Textf("over: %s", before))))
		}
	}
}

// observe adds a notice for each finding that has changed since it was last reported. The queue's file has what was
// reported, so each change is reported by one process. If the file can't be written, the next look tries again.
func (q *Queue) observe(st *ratelimit.Status) (added bool, err error) {
	reported := q.read().Reported
	switch {
	case st.State == ratelimit.Normal || st.State == ratelimit.Throttle || st.Failures+st.Streak429 == 0:
		q.sending = st.At
	case q.sending.IsZero() && reported[Limiter+" "] != "":
		q.sending = st.At.Add(-sleepPatience) // another process has waited and reported it
	case q.sending.IsZero():
		q.sending = st.Since
	}
	now := findings(st, st.At.Sub(q.sending))
	if !slices.ContainsFunc(now, func(f finding) bool { return reported[f.id()] != f.trouble.String() }) {
		return false, nil // nearly always, and without the lock
	}
	err = q.update(func(c *content) {
		for _, f := range now {
			id, trouble := f.id(), f.trouble.String()
			if c.Reported[id] == trouble {
				continue
			}
			n := Notice{Event: f.event, At: st.At, Text: trouble}
			if f.event == Limiter && f.subject == "" {
				n.Limiter = &LimiterState{State: st.State.String(), Cause: st.Cause.String(), Until: st.Until}
			}
			if trouble == "" {
				n.Text = "over: " + c.Reported[id]
			}
			c.Reported[id] = trouble
			c.add(q.targets, n, false)
		}
	})
	return err == nil, err
}
