package admin

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/metrics"
	"github.com/anivault/anivault/internal/ui"
)

// Status is the limiter's state for all accounts together.
type Status struct {
	State       string             `json:"state" doc:"the limiter's state: Normal, Throttle, Sleep, HalfOpen or CacheOnly"`
	Reason      string             `json:"reason" doc:"why: a reason of limiter rules"`
	Since       string             `json:"since,omitempty" doc:"when the state was entered, RFC 3339"`
	Until       string             `json:"until,omitempty" doc:"when it ends, RFC 3339; absent if unknown"`
	PauseUntil  string             `json:"pause_until,omitempty" doc:"until when all processes wait, RFC 3339"`
	Rate        float64            `json:"rate" doc:"requests a second that may be sent now"`
	Granted     int                `json:"granted" doc:"permits in the last window of the ceiling, about a second"`
	Running     int                `json:"running" doc:"requests under way, all processes together"`
	Limit       int                `json:"limit" doc:"how many may be under way at once"`
	Full        []string           `json:"full" doc:"accounts with as many requests under way as allowed"`
	LatencyP50  float64            `json:"latency_p50_s" doc:"median time of TMDB's answers, rounded up, seconds"`
	LatencyP99  float64            `json:"latency_p99_s" doc:"99th percentile of the same"`
	Throttled   uint64             `json:"throttled" doc:"429 answers that this gateway has got"`
	HitRatio    float64            `json:"hit_ratio" doc:"share of this gateway's answers from the cache, 0 to 1"`
	Queue       []Queue            `json:"queue" doc:"questions that wait for their turn, by class"`
	Coordinator string             `json:"coordinator" doc:"who shares the limiter: file, memory, or a server"`
	Alone       bool               `json:"alone" doc:"it can't see other processes, so it has a part of each limit"`
	Processes   []Process          `json:"processes" doc:"who takes part"`
	Quota       *app.QuotaView     `json:"quota,omitempty" doc:"the request budget, if there is one"`
	Overrides   []app.OverrideView `json:"overrides" doc:"settings that an operator has changed"`
}

// Queue counts the waiting questions of one class.
type Queue struct {
	Class   string  `json:"class" doc:"interactive or batch"`
	Waiting uint64  `json:"waiting" doc:"how many wait now"`
	P50     float64 `json:"wait_p50_s" doc:"median wait of those admitted so far, rounded up, seconds"`
	P90     float64 `json:"wait_p90_s" doc:"90th percentile of the same"`
	P99     float64 `json:"wait_p99_s" doc:"99th percentile of the same"`
}

// Process is a process that shares the limiter.
type Process struct {
	ID      string  `json:"id" doc:"its name"`
	Own     bool    `json:"own" doc:"it is this gateway"`
	Running int     `json:"running" doc:"its requests under way"`
	Waiting int     `json:"waiting" doc:"its requests that wait in the shared queue"`
	Rate    float64 `json:"rate" doc:"requests a second that it may send in Normal"`
}

// Account is an account with this gateway's counts of it.
type Account struct {
	app.AccountView
	Throttled uint64 `json:"throttled" doc:"429 answers that this gateway has got through it"`
}

// Client is a client of the gateway.
type Client struct {
	Name     string  `json:"name" doc:"its name; anonymous stands for all who have no token"`
	Class    string  `json:"class" doc:"the best class it can have"`
	Weight   int     `json:"weight" doc:"requests a turn"`
	Admin    bool    `json:"admin" doc:"it may see this"`
	Requests uint64  `json:"requests" doc:"its requests since the gateway began"`
	HitRatio float64 `json:"hit_ratio" doc:"share of them that the cache answered, 0 to 1"`
	Refused  uint64  `json:"refused" doc:"those with an error"`
	Waiting  int     `json:"waiting" doc:"how many of its questions are waiting now"`
	LastUse  string  `json:"last_use,omitempty" doc:"its newest request, RFC 3339"`
}

func (s *Server) status(ctx context.Context) (Status, error) {
	st, err := s.gateway.Upstream().Limiter().Status(ctx)
	if err != nil {
		return Status{}, err
	}
	snap := s.gateway.Upstream().Metrics().Snapshot()
	out := Status{
		State: st.State.String(), Reason: st.Cause.String(), Since: ui.Timestamp(st.Since),
		PauseUntil: ui.Timestamp(st.PauseUntil), Rate: st.Rate, Granted: st.Granted, Running: st.Running, Limit: st.Slots,
		Throttled: uint64(snap.Value(metrics.Requests, "429")), Alone: st.Alone,
		Coordinator: s.gateway.Config().Coordinator,
		Quota:       app.ViewQuota(st.Budget, st.BudgetUsed, st.BudgetHeld, st.BudgetRenews),
		Queue:       []Queue{}, Processes: []Process{}, Overrides: app.ViewOverrides(st.Overrides), Full: []string{},
	}
	latency := func(q float64) float64 { return quantile(metrics.Latency, snap.Series(metrics.Latency), q) / 1000 }
	out.LatencyP50, out.LatencyP99 = latency(.5), latency(.99)
	for _, a := range st.Accounts {
		if a.Slots > 0 && a.Running >= a.Slots {
			out.Full = append(out.Full, a.Name)
		}
	}
	if st.Until.After(st.At) { // otherwise the state is about to end, with the next request
		out.Until = ui.Timestamp(st.Until)
	}
	for _, p := range st.Processes {
		out.Processes = append(out.Processes, Process{p.ID, p.IsOwn, p.Running, p.Waiting, p.Rate})
	}
	var hits, all float64
	for labels, n := range snap.All(metrics.GatewayRequests) {
		all += n.Value
		if _, _, hit := splitRequest(labels); hit {
			hits += n.Value
		}
	}
	out.HitRatio = ratio(hits, all)
	for _, class := range []string{"interactive", "batch"} {
		waits := snap.Series(metrics.GatewayWait, class)
		wait := func(q float64) float64 { return quantile(metrics.GatewayWait, waits, q) }
		waiting := uint64(snap.Value(metrics.GatewayQueue, class))
		out.Queue = append(out.Queue, Queue{class, waiting, wait(.5), wait(.9), wait(.99)})
	}
	return out, nil
}

func splitRequest(labels string) (client string, refused, hit bool) {
	parts := strings.Split(labels, ",")
	if len(parts) != 3 {
		return "", false, false
	}
	return parts[0], parts[1] >= "400" && parts[1] != "404", parts[2] == "fresh" || parts[2] == "stale"
}

func ratio(part, all float64) float64 {
	if all == 0 {
		return 0
	}
	return part / all
}

// quantile returns the upper bound of the bucket that contains the given quantile, at most the highest bound.
func quantile(d *metrics.Definition, s metrics.Series, q float64) float64 {
	if s.Count == 0 {
		return 0
	}
	sum := uint64(0)
	for i, n := range s.Buckets {
		if sum += n; float64(sum) >= q*float64(s.Count) {
			return d.Bounds[i]
		}
	}
	return d.Bounds[len(d.Bounds)-1]
}

func (s *Server) accounts(ctx context.Context) ([]Account, error) {
	st, err := s.gateway.Upstream().Limiter().Status(ctx)
	if err != nil {
		return nil, err
	}
	snap := s.gateway.Upstream().Metrics().Snapshot()
	out := []Account{}
	for _, a := range app.ViewAccounts(s.gateway.Config(), st) {
		out = append(out, Account{a, uint64(snap.Value(metrics.AccountRequests, a.Name, "429"))})
	}
	return out, nil
}

func (s *Server) clients() []Client {
	out := []Client{}
	for _, c := range s.gateway.Config().Serve.Clients {
		out = append(out, Client{Name: c.Name, Class: c.Class, Weight: c.Weight, Admin: c.Admin})
	}
	out = append(out, Client{Name: config.Anonymous, Class: "interactive", Weight: 1})
	asked := s.gateway.Upstream().Metrics().Snapshot().All(metrics.GatewayRequests)
	for i := range out {
		c, hits := &out[i], 0.0
		for labels, n := range asked {
			name, refused, hit := splitRequest(labels)
			if name != c.Name {
				continue
			}
			c.Requests += uint64(n.Value)
			if refused {
				c.Refused += uint64(n.Value)
			}
			if hit {
				hits += n.Value
			}
		}
		waiting, last := s.gateway.ClientUse(c.Name)
		c.HitRatio, c.Waiting, c.LastUse = ratio(hits, float64(c.Requests)), waiting, ui.Timestamp(last)
	}
	slices.SortFunc(out, func(a, b Client) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

const maxEvents = 1000

// Event is a log line.
type Event struct {
	At      time.Time `json:"at" doc:"when"`
	Level   string    `json:"level" doc:"INFO, WARN or ERROR"`
	Event   string    `json:"event" doc:"what has happened"`
	Account string    `json:"account,omitempty" doc:"the account that it is about"`
	Text    string    `json:"text" doc:"the other keys and values of the line"`
}

var keptEvents = []string{
	"state_transition", "account_transition", "account_changed", "pause", "429", "tuned", "admin_change",
	"reloaded", "listening", "draining", "key_in",
}

// Events keeps the last important lines of the log that passes through it.
type Events struct {
	next   slog.Handler
	redact func(string) string

	mu    sync.Mutex
	lines []Event
}

// NewEvents returns Events that pass all lines on to next. redact removes secrets from a text.
func NewEvents(next slog.Handler, redact func(string) string) *Events {
	return &Events{next: next, redact: redact}
}

// Handler returns the handler through which the log must pass.
func (e *Events) Handler() slog.Handler { return slog.NewMultiHandler(keepHandler{e, nil}, e.next) }

// Last returns the lines about an account and with an event, newest first; "" matches all.
func (e *Events) Last(account, event string) []Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := []Event{}
	for _, l := range slices.Backward(e.lines) {
		if (account == "" || l.Account == account) && (event == "" || l.Event == event) {
			list = append(list, l)
		}
	}
	return list
}

func (e *Events) keep(l Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lines = appendNewest(e.lines, l, maxEvents)
}

// appendNewest appends an item to a list, and removes the oldest one if there would be more than most.
func appendNewest[T any](list []T, item T, most int) []T {
	list = append(list, item)
	return slices.Delete(list, 0, max(len(list)-most, 0))
}

type keepHandler struct {
	events *Events
	attrs  []slog.Attr
}

func (k keepHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo || k.events.next.Enabled(ctx, level)
}

func (k keepHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return keepHandler{k.events, slices.Concat(k.attrs, attrs)}
}

// WithGroup implements slog.Handler. This program's log has no groups.
func (k keepHandler) WithGroup(string) slog.Handler { return k }

func (k keepHandler) Handle(_ context.Context, r slog.Record) error {
	if slices.Contains(keptEvents, r.Message) ||
		r.Level >= slog.LevelWarn && !strings.HasPrefix(r.Message, "slot_") && r.Message != "request" {
		k.events.keep(k.line(r))
	}
	return nil
}

func (k keepHandler) line(r slog.Record) Event {
	l := Event{At: r.Time, Level: r.Level.String(), Event: r.Message}
	var texts []string
	add := func(a slog.Attr) bool {
		switch value := a.Value.String(); {
		case a.Key == "comp":
		case a.Key == "account":
			l.Account = value
		case a.Key != "stack" && value != "":
			texts = append(texts, a.Key+"="+ui.Escaped(value))
		}
		return true
	}
	for _, a := range k.attrs {
		add(a)
	}
	r.Attrs(add)
	l.Text = k.events.redact(strings.Join(texts, " "))
	return l
}
