package notify

import (
	"time"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/ratelimit"
)

// sleepPatience is how long the limiter may send nothing before it is reported: most outages are shorter.
const sleepPatience = time.Minute

// finding is what is the matter with a part of the limiter.
type finding struct {
	event, subject string
	trouble        lang.Text // "": nothing
}

// findings describes the limiter. blocked is for how long nothing has been sent.
func findings(st *ratelimit.Status, blocked time.Duration) []finding {
	limiter, shared := finding{event: Limiter}, finding{event: Coordinator}
	switch {
	case st.State == ratelimit.CacheOnly:
		limiter.trouble = lang.Textf("no requests are sent to TMDB (CacheOnly, %s)", st.Cause)
	case blocked >= sleepPatience:
		limiter.trouble = "TMDB has not answered for more than a minute"
	}
	if st.Alone {
		shared.trouble = "the state that several processes or machines share can't be reached"
	}
	out := []finding{limiter, shared, {Budget, "", budgetTrouble(st.Budget, st.BudgetUsed)}}
	for _, a := range st.Accounts {
		out = append(out, finding{Budget, a.Name, budgetTrouble(a.Quota, a.QuotaUsed)})
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

// observe adds a notice for each finding that has changed since it was last reported. The queue's file has what was
// reported, so each change is reported by one process.
func (q *Queue) observe(st *ratelimit.Status) error {
	if st.State == ratelimit.Normal || st.State == ratelimit.Throttle {
		q.sending = st.At
	} else if q.sending.IsZero() {
		q.sending = st.Since
	}
	return q.update(func(c *content) {
		for _, f := range findings(st, st.At.Sub(q.sending)) {
			id, trouble := f.event+" "+f.subject, f.trouble.String()
			if c.Reported[id] == trouble {
				continue
			}
			n := Notice{Event: f.event, At: st.At, Text: trouble}
			if f.event == Limiter {
				n.Limiter = &LimiterState{State: st.State.String(), Cause: st.Cause.String(), Until: st.Until}
			}
			if trouble == "" {
				n.Text = "over: " + c.Reported[id]
			}
			c.Reported[id] = trouble
			c.add(q.targets, n, false)
		}
	})
}
