package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/notify"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/ratelimit"
)

// newStatus makes the command status, or limiter_show, which does the same.
func newStatus(f *factory, name string) *cobra.Command {
	var watch bool
	cmd := f.setRunWithConfig(command(name), textOrJSON, func(c invocation) error {
		store, done, err := app.OpenState(c.cfg, 0, func(err error) { f.warn("%v", err) })
		if err != nil {
			return err
		}
		defer func() { _ = done() }() // an error is harmless after reading
		for tick := time.Tick(time.Second); ; {
			view, err := readStatus(c.cmd.Context(), f, c.cfg, store)
			switch {
			case watch && c.cmd.Context().Err() != nil:
				return nil // Ctrl-C ends --watch without an error
			case err != nil:
				return err
			case watch && c.format == "text" && f.streams.OutTTY:
				fmt.Fprint(f.streams.Out, "\x1b[H\x1b[2J")
			}
			if err := printStatus(f, view, c.format); err != nil || !watch {
				return err
			}
			select {
			case <-tick:
			case <-c.cmd.Context().Done():
				return nil
			}
		}
	})
	cmd.Flags().BoolVar(&watch, "watch", false,
		"redraw every second until Ctrl-C; with --format json, one line per second")
	return cmd
}

type statusView struct {
	limiter     ratelimit.Status
	cache       *cache.Stats // nil if it can't be read
	baseURL     string
	coordinator string            // the URL of the shared server; "" without one
	accounts    []app.AccountView // nil unless there are several
	unusable    bool              // all accounts
	runs        []unfinishedRun
	notices     int // that wait to be delivered
}

func readStatus(ctx context.Context, f *factory, cfg *config.Config, store ratelimit.Store) (statusView, error) {
	st, err := ratelimit.Operator{Store: store}.Status(ctx, cfg.Tuning, cfg.LimiterAccounts()...)
	if err != nil {
		return statusView{}, lang.Error("read the limiter's state: %w", err)
	}
	view := statusView{limiter: st, baseURL: cfg.TMDB.BaseURL.String(), notices: notify.Waiting(cfg.Dirs.Data)}
	view.unusable = app.AllUnusable(cfg, st)
	if cfg.Coordinator == "redis" {
		view.coordinator = cfg.Redis.Address.String()
	}
	if len(cfg.Accounts) > 1 {
		view.accounts = app.ViewAccounts(cfg, st)
	}
	if answers, err := app.OpenCache(cfg, 0, func(error) {}); err == nil {
		if s, err := answers.Stats(ctx); errors.Join(err, answers.Close()) == nil {
			view.cache = &s
		}
	}
	if view.runs, err = findUnfinishedRuns(ctx, cfg); err != nil && ctx.Err() == nil {
		f.warn("%v", err)
	}
	return view, nil
}

func printStatus(f *factory, v statusView, format string) error {
	if format == "json" {
		return f.printJSON(v.toJSON())
	}
	sentence := ui.Wrap(lang.Say(statusSentence(v.limiter, v.unusable)), f.streams.OutWidth())
	if _, err := fmt.Fprintln(f.streams.Out, strings.Join(sentence, "\n")); err != nil {
		return err
	}
	return v.rows().write(f.streams.Out, f.streams.OutWidth())
}

func statusSentence(s ratelimit.Status, unusable bool) lang.Text {
	pace := lang.Textf("%.3g requests a second allowed, %d under way", s.Rate, s.Running)
	switch {
	case s.State == ratelimit.CacheOnly:
		return lang.Textf("%s; only the cache answers", stoppedText(s))
	case s.State == ratelimit.Sleep && s.Until.After(s.At):
		return lang.Textf("%s; no requests are sent until %s", app.BlockText(s.Block), ui.Clock(s.Until))
	case s.State == ratelimit.Sleep:
		return lang.Textf("%s; the next request tests whether it works again", app.BlockText(s.Block))
	case s.PauseUntil.After(s.At):
		return lang.Textf("TMDB asks all clients to wait until %s", ui.Clock(s.PauseUntil))
	case unusable:
		return "nothing can be sent: every key is refused, disabled or blocked, or has no quota left; " +
			"see: anivault accounts list"
	case s.Budget.On() && s.BudgetUsed >= s.Budget.Requests:
		return lang.Textf("the request budget is used up until %s", ui.Clock(s.BudgetRenews))
	case s.State == ratelimit.HalfOpen:
		return "testing whether TMDB answers, one request at a time"
	case s.State == ratelimit.Throttle:
		return lang.Textf("TMDB has trouble, so anivault sends fewer requests: %s", pace)
	}
	return lang.Textf("TMDB is fine; %s", pace)
}

// rows returns the lines of status below its first sentence.
func (v statusView) rows() rows {
	s := v.limiter
	state := lang.Text(s.State.String())
	if s.Cause != ratelimit.ReasonNone && s.Cause != ratelimit.ReasonFresh {
		state = lang.Textf("%s (%s)", state, s.Cause)
	}
	if !s.Since.IsZero() {
		state = lang.Textf("%s, for %s", state, ui.Duration(s.At.Sub(s.Since)))
	}
	var out rows
	out.add("upstream", "%s", v.baseURL)
	switch {
	case v.coordinator != "" && s.Alone:
		out.add("coordinator", "%s can't be used, so this machine is alone", v.coordinator)
	case v.coordinator != "":
		out.add("coordinator", "%s", v.coordinator)
	}
	out.add("state", "%s", state)
	switch {
	case s.Until.After(s.At):
		out.add("until", "%s (in %s)", ui.Clock(s.Until), ui.Countdown(s.Until.Sub(s.At)))
	case !s.Until.IsZero():
		out.add("until", "the next request, as a probe")
	}
	if !s.PauseUntil.IsZero() {
		out.add("pause", "all processes wait until %s (in %s)", ui.Clock(s.PauseUntil), ui.Countdown(s.PauseUntil.Sub(s.At)))
	}
	if s.Rate > 0 {
		out.add("rate", "%.3g requests a second, %.1f of %.3g tokens in the bucket", s.Rate, s.Tokens, s.Burst)
	} else {
		out.add("rate", "0: nothing is sent in %s", s.State)
	}
	out.add("ceiling", "%d of %d permits in the last %s", s.Granted, s.Ceiling, s.CeilingWindow)
	if s.Slots > 0 {
		out.add("slots", "%d of %d in use, %d waiting; %d for one process", s.Running, s.Slots, s.Waiting, s.OwnSlots)
	} else {
		out.add("requests", "%d still under way, %d waiting", s.Running, s.Waiting)
	}
	out.add(lang.Say(windowLabel(s)), "%d ok, %d refused (429), %d server errors, %d without answer; error ratio %.2f",
		s.Counts.OK, s.Counts.Throttled, s.Counts.Server, s.Counts.Network, s.ErrRatio)
	if v.notices > 0 {
		out.add("notices", "%d wait to be delivered", v.notices)
	}
	out = append(out, mapped(limitTexts(s), func(limit lang.Text) row { return row{"limit", limit} })...)
	if s.Budget.On() {
		renews := lang.Text("not begun")
		if !s.BudgetRenews.IsZero() {
			renews = lang.Textf("renews %s", ui.Clock(s.BudgetRenews))
		}
		out.add("budget", "%d used and %d reserved of %s, %s", s.BudgetUsed, s.BudgetHeld, s.Budget, renews)
	}
	if len(v.accounts) > 0 {
		texts := mapped(v.accounts, func(a app.AccountView) string { return a.Name + " " + lang.Say(a.Standing) })
		out.add("accounts", "%s", strings.Join(texts, ", "))
	}
	for _, o := range s.Overrides {
		until := lang.Text("until reset")
		if !o.Until.IsZero() {
			until = lang.Textf("until %s", ui.Clock(o.Until))
		}
		out.add("override", "%s=%s %s", o.Key, o.Value, until)
	}
	for _, p := range s.Processes {
		out.add("process", "%s: %d running, %d waiting, %s", ui.Printable(p.ID), p.Running, p.Waiting, paceText(s, p))
	}
	if v.cache != nil {
		out.add("cache", "%s (%d fresh, %d expired), %s of at most %s", lang.Count(v.cache.Entries, "answer"),
			v.cache.Fresh, v.cache.Expired, ui.Size(v.cache.Used), ui.Size(v.cache.MaxSize))
	}
	for i := range v.runs {
		out.add("run", "%s", v.runs[i].text())
		switch r := &v.runs[i]; {
		case r.Err != nil:
			out.add("hint", "%s", journalHint(r.Err))
		case !r.running:
			out.add("hint", "%s", continueOrUndoHint(r.ID))
		}
	}
	if s.State == ratelimit.CacheOnly {
		out.add("hint", "%s", restartText(s))
	}
	return out
}

// limitTexts describes the limits that the upstream stated in headers, and those learned from its 429s.
func limitTexts(s ratelimit.Status) (out []lang.Text) {
	if s.Stated.Requests > 0 {
		out = append(out, lang.Textf("%d requests in %s, stated in the answers' RateLimit-Policy, last at %s",
			s.Stated.Requests, ui.Period(s.Stated.Period), ui.Clock(s.Stated.Since)))
	}
	if s.Learned.Rate > 0 {
		out = append(out, lang.Textf("%.3g requests a second, learned from 429s at %s; configured %.3g",
			s.Learned.Rate, ui.Clock(s.Learned.Since), s.Tuning.RateBase))
	}
	return out
}

// windowLabel names the period of the counts: "last 30s", or "since Throttle began", because each state starts new
// counts.
func windowLabel(s ratelimit.Status) lang.Text {
	if s.Cause != ratelimit.ReasonFresh && s.At.Sub(s.Since) < s.Tuning.Window {
		return lang.Textf("since %s began", s.State)
	}
	return lang.Textf("last %s", ui.Countdown(s.Tuning.Window))
}

func paceText(s ratelimit.Status, p ratelimit.ProcessStatus) lang.Text {
	switch {
	case s.Rate == 0:
		return lang.Textf("sends nothing in %s", s.State)
	case s.PauseUntil.After(s.At):
		return "sends nothing during the pause"
	}
	return lang.Textf("at most %.3g requests a second", min(p.Rate, s.Rate))
}

// jsonStatus is the output of status --format json. Times are RFC 3339, and absent if they do not apply.
type jsonStatus struct {
	Upstream    string `json:"upstream" doc:"the base URL whose limiter this is"`
	Coordinator string `json:"coordinator,omitempty" doc:"the server that several machines share, without its password"`

	State       string              `json:"state" doc:"the state: Normal, Throttle, Sleep, HalfOpen or CacheOnly"`
	Cause       string              `json:"cause" doc:"why: a reason of limiter rules, or fresh, reset, corrupt_state"`
	Since       string              `json:"since,omitempty" doc:"when the state was entered, RFC 3339"`
	Until       string              `json:"until,omitempty" doc:"when it ends, RFC 3339; absent if unknown"`
	PauseUntil  string              `json:"pause_until,omitempty" doc:"until when all processes wait, RFC 3339"`
	Rate        float64             `json:"rate" doc:"requests per second that this process may send"`
	Burst       float64             `json:"burst" doc:"size of the token bucket"`
	Tokens      float64             `json:"tokens" doc:"tokens in the bucket now"`
	Ceiling     int                 `json:"ceiling" doc:"most permits in a window, all processes together"`
	Granted     int                 `json:"granted_in_ceiling_window" doc:"permits in the last window"`
	Running     int                 `json:"running" doc:"requests in progress, all processes together"`
	Slots       int                 `json:"slots" doc:"most requests in progress at once, all processes together"`
	OwnSlots    int                 `json:"slots_per_process" doc:"the share of slots of one process"`
	Waiting     int                 `json:"waiting" doc:"requests that wait for permission"`
	Window      jsonWindow          `json:"window" doc:"the recent answers that the limiter judges by"`
	Streak429   int                 `json:"consec429" doc:"429 answers in a row"`
	Failures    int                 `json:"consec_failures" doc:"5xx and network errors in a row"`
	Cooldown    float64             `json:"cooldown_s" doc:"length of the next Sleep, seconds"`
	Recover     float64             `json:"auto_recover_s" doc:"when CacheOnly ends by itself, in seconds; 0: never"`
	LearnedRate float64             `json:"learned_rate,omitempty" doc:"a limit below rate_base, learned from 429s"`
	LearnedAt   string              `json:"learned_at,omitempty" doc:"when it was learned"`
	Stated      *jsonStatedLimit    `json:"stated_limit,omitempty" doc:"a limit that the upstream states in its answers"`
	Budget      *jsonBudget         `json:"budget,omitempty" doc:"the request budget, if there is one"`
	Accounts    []app.AccountView   `json:"accounts,omitempty" doc:"if there are several: as in accounts list"`
	Overrides   []app.OverrideView  `json:"overrides" doc:"settings changed by limiter tune"`
	Processes   []jsonProcess       `json:"processes" doc:"the processes that share the state"`
	Cache       *jsonCache          `json:"cache,omitempty" doc:"the fields of cache stats; absent if it can't be read"`
	Unfinished  []jsonUnfinishedRun `json:"unfinished,omitempty" doc:"runs of organize that are at work or interrupted"`
	Notices     jsonNotices         `json:"notices" doc:"what notify sends"`
}

type jsonNotices struct {
	Waiting int `json:"waiting" doc:"how many notices were not delivered yet"`
}

type jsonUnfinishedRun struct {
	Run    string `json:"run" doc:"the id of the run"`
	Begun  string `json:"begun" doc:"when it began, RFC 3339"`
	Stage  string `json:"stage" doc:"how far it is, as in history; damaged: its journal can't be trusted"`
	AtWork bool   `json:"at_work" doc:"true: a process is working on it; false: it was interrupted"`
}

type jsonWindow struct {
	OK        int     `json:"count_2xx" doc:"good answers"`
	Throttled int     `json:"count_429" doc:"429 answers, which ask to slow down"`
	Server    int     `json:"count_5xx" doc:"server errors"`
	Other     int     `json:"count_other" doc:"requests without an answer"`
	ErrRate   float64 `json:"err_rate_30s" doc:"share of failed requests, 0 to 1"`
}

type jsonStatedLimit struct {
	Requests int     `json:"requests" doc:"requests in a period"`
	Period   float64 `json:"period_s" doc:"length of the period, seconds"`
	From     string  `json:"from" doc:"the header field that states it"`
	At       string  `json:"at" doc:"when the newest answer stated it, RFC 3339"`
}

type jsonBudget struct {
	Limit    int     `json:"limit" doc:"requests in a period"`
	Period   float64 `json:"period_s" doc:"length of the period, seconds"`
	Used     int     `json:"used" doc:"requests used"`
	Reserved int     `json:"reserved" doc:"requests reserved and not yet used"`
	Renews   string  `json:"renews,omitempty" doc:"when the period ends, RFC 3339"`
}

type jsonProcess struct {
	ID       string  `json:"id" doc:"name of the process"`
	Running  int     `json:"running" doc:"its requests in progress"`
	Waiting  int     `json:"waiting" doc:"its requests that wait for permission"`
	Reserved int     `json:"reserved" doc:"its reserved requests of the budget"`
	Rate     float64 `json:"rate" doc:"requests per second that it may send in Normal; see state and the rate above"`
}

func (v statusView) toJSON() jsonStatus {
	s := v.limiter
	if !s.Until.After(s.At) {
		s.Until = time.Time{} // the period is over, but the state changes only with the next request
	}
	out := jsonStatus{
		Upstream: v.baseURL, Coordinator: v.coordinator, State: s.State.String(), Cause: s.Cause.String(),
		Since: ui.Timestamp(s.Since), Until: ui.Timestamp(s.Until), PauseUntil: ui.Timestamp(s.PauseUntil),
		Rate: s.Rate, Burst: s.Burst, Tokens: s.Tokens, Ceiling: s.Ceiling, Granted: s.Granted,
		Running: s.Running, Slots: s.Slots, OwnSlots: s.OwnSlots, Waiting: s.Waiting,
		Window:    jsonWindow{s.Counts.OK, s.Counts.Throttled, s.Counts.Server, s.Counts.Network, s.ErrRatio},
		Streak429: s.Streak429, Failures: s.Failures, Cooldown: s.Cooldown.Seconds(), Recover: s.AutoRecover.Seconds(),
		LearnedRate: s.Learned.Rate, LearnedAt: ui.Timestamp(s.Learned.Since), Accounts: v.accounts,
		Overrides: app.ViewOverrides(s.Overrides), Processes: []jsonProcess{},
		Notices: jsonNotices{v.notices},
	}
	if l := s.Stated; l.Requests > 0 {
		out.Stated = &jsonStatedLimit{l.Requests, l.Period.Seconds(), "RateLimit-Policy", ui.Timestamp(l.Since)}
	}
	if s.Budget.On() {
		out.Budget = &jsonBudget{
			s.Budget.Requests, s.Budget.Period.Seconds(), s.BudgetUsed, s.BudgetHeld, ui.Timestamp(s.BudgetRenews),
		}
	}
	for _, p := range s.Processes {
		out.Processes = append(out.Processes, jsonProcess{p.ID, p.Running, p.Waiting, p.Reserved, p.Rate})
	}
	for _, r := range v.runs {
		stage := string(r.Stage)
		if r.Err != nil {
			stage = stageDamaged
		}
		out.Unfinished = append(out.Unfinished, jsonUnfinishedRun{r.ID, ui.Timestamp(r.Begun), stage, r.running})
	}
	if v.cache != nil {
		out.Cache = newJSONCache(*v.cache)
	}
	return out
}
