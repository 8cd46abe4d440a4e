package cli

import (
	"time"

	"github.com/anivault/anivault/internal/ui"
)

// wireStatus is status --format json. Times are RFC 3339, left out where they do not apply; durations are
// seconds.
type wireStatus struct {
	Upstream   string        `json:"upstream" doc:"the base URL whose limiter this is"`
	State      string        `json:"state" doc:"the state: Normal, Throttle, Sleep, HalfOpen or CacheOnly"`
	Cause      string        `json:"cause" doc:"why: a reason of limiter rules"`
	Since      string        `json:"since,omitempty" doc:"when the state was entered, RFC 3339"`
	Until      string        `json:"until,omitempty" doc:"when it ends, RFC 3339; absent where nobody knows"`
	PauseUntil string        `json:"pause_until,omitempty" doc:"until when all processes wait, RFC 3339"`
	Rate       float64       `json:"rate" doc:"requests per second that this process may send"`
	Burst      float64       `json:"burst" doc:"size of the bucket"`
	Tokens     float64       `json:"tokens" doc:"what is in the bucket"`
	Ceiling    int           `json:"ceiling" doc:"most permits in a window, all processes together"`
	Granted    int           `json:"granted_in_ceiling_window" doc:"permits in the last window"`
	Running    int           `json:"running" doc:"requests under way, all processes together"`
	Slots      int           `json:"slots" doc:"requests that may be under way at once, all processes together"`
	OwnSlots   int           `json:"slots_per_process" doc:"of them, for one process"`
	Waiting    int           `json:"waiting" doc:"requests that wait for permission"`
	Window     wireWindow    `json:"window" doc:"the answers that are judged"`
	Streak429  int           `json:"consec429" doc:"429 answers in a row"`
	Failures   int           `json:"consec_failures" doc:"5xx and network errors in a row"`
	Cooldown   float64       `json:"cooldown_s" doc:"length of the next Sleep, seconds"`
	Recover    float64       `json:"auto_recover_s" doc:"period after which CacheOnly is left, seconds; 0: never"`
	RampRate   float64       `json:"ramp_rate,omitempty" doc:"the rate while it is raised again after trouble"`
	Budget     *wireBudget   `json:"budget,omitempty" doc:"the request budget, if there is one"`
	Overrides  []wireTuned   `json:"overrides" doc:"settings changed by limiter tune"`
	Processes  []wireProcess `json:"processes" doc:"those that share the state"`
	Cache      *wireCache    `json:"cache,omitempty" doc:"the fields of cache stats, where it can be read"`
}

type wireWindow struct {
	OK        int     `json:"count_2xx" doc:"good answers"`
	Throttled int     `json:"count_429" doc:"answers that told us to slow down"`
	Server    int     `json:"count_5xx" doc:"server errors"`
	Other     int     `json:"count_other" doc:"requests without an answer"`
	ErrRate   float64 `json:"err_rate_30s" doc:"share of failed ones, 0 to 1"`
}

type wireBudget struct {
	Limit    int     `json:"limit" doc:"requests in a period"`
	Period   float64 `json:"period_s" doc:"length of the period, seconds"`
	Used     int     `json:"used" doc:"requests used"`
	Reserved int     `json:"reserved" doc:"requests booked and not yet used"`
	Renews   string  `json:"renews,omitempty" doc:"when the period ends, RFC 3339"`
}

type wireTuned struct {
	Key   string `json:"key" doc:"the setting"`
	Value string `json:"value" doc:"its value"`
	Until string `json:"until,omitempty" doc:"until when, RFC 3339; absent: until limiter tune --reset"`
}

type wireProcess struct {
	ID       string  `json:"id" doc:"name of the process"`
	Running  int     `json:"running" doc:"its requests under way"`
	Waiting  int     `json:"waiting" doc:"its requests that wait"`
	Reserved int     `json:"reserved" doc:"its booked requests of the budget"`
	Rate     float64 `json:"rate" doc:"requests per second that it may send in Normal; see state and the rate above"`
}

func (v statusView) wire() wireStatus {
	s := v.limiter
	if !s.Until.After(s.At) {
		s.Until = time.Time{} // over; the next request finds out
	}
	out := wireStatus{
		Upstream: v.baseURL, State: s.State.String(), Cause: s.Cause.String(), Since: ui.Stamp(s.Since), Until: ui.Stamp(s.Until),
		PauseUntil: ui.Stamp(s.PauseUntil), Rate: s.Rate, Burst: s.Burst, Tokens: s.Tokens, Ceiling: s.Ceiling, Granted: s.Granted,
		Running: s.Running, Slots: s.Slots, OwnSlots: s.OwnSlots, Waiting: s.Waiting,
		Window:    wireWindow{s.Counts.OK, s.Counts.Throttled, s.Counts.Server, s.Counts.Network, s.ErrRatio},
		Streak429: s.Streak429, Failures: s.Failures, Cooldown: s.Cooldown.Seconds(), Recover: s.AutoRecover.Seconds(),
		RampRate: s.RampRate, Overrides: []wireTuned{}, Processes: []wireProcess{},
	}
	if s.Budget.On() {
		out.Budget = &wireBudget{s.Budget.Requests, s.Budget.Period.Seconds(), s.BudgetUsed, s.BudgetHeld, ui.Stamp(s.BudgetRenews)}
	}
	for _, o := range s.Overrides {
		out.Overrides = append(out.Overrides, wireTuned{o.Key, o.Value, ui.Stamp(o.Until)})
	}
	for _, p := range s.Processes {
		out.Processes = append(out.Processes, wireProcess{p.ID, p.Running, p.Waiting, p.Reserved, p.Rate})
	}
	if v.cache != nil {
		out.Cache = wireCacheOf(*v.cache)
	}
	return out
}
