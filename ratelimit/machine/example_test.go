package machine_test

import (
	"fmt"
	"time"

	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/machine"
)

// A snapshot can be driven in virtual time: here an upstream that is down for
// half a minute, asked by one client ten times a second.
func ExampleSnapshot() {
	tuning := ratelimit.Default()
	now := ratelimit.Instant{Wall: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), BootID: "virtual"}
	snapshot := machine.NewSnapshot(now)
	ask := machine.Ask{Owner: "client", Tuning: &tuning, MaxWait: time.Hour}
	sent := 0
	for now.Boot < time.Minute {
		grant := snapshot.TryGrant(now, ask)
		ask.Ticket = grant.Ticket
		step := grant.Wait
		if grant.Granted {
			sent++
			event := ratelimit.Event{Outcome: ratelimit.OK, Status: 200}
			if now.Boot < 30*time.Second {
				event = ratelimit.Event{Outcome: ratelimit.Server, Status: 503}
			}
			report := machine.Report{Owner: "client", Tuning: &tuning, Pass: grant.Pass, Event: event}
			if done := snapshot.Record(now, report); done.Transitioned {
				fmt.Println(now.Boot, done.Transition.From, "to", done.Transition.To, done.Transition.Reason)
			}
			step = 100 * time.Millisecond
		}
		now.Wall, now.Boot = now.Wall.Add(step), now.Boot+step
	}
	fmt.Println(sent > 200)
	// Output:
	// 700ms Normal to Sleep consecutive_failures
	// 2.7s HalfOpen to Sleep probe_failed
	// 6.7s HalfOpen to Sleep probe_failed
	// 14.7s HalfOpen to Sleep probe_failed
	// 24.7s HalfOpen to Sleep probe_failed
	// 36.033333336s HalfOpen to Normal probe_ok
	// true
}

func ExampleRules() {
	for _, rule := range machine.Rules()[:2] {
		fmt.Printf("%v to %s when %s\n  %s, %s\n", rule.From, rule.To, rule.Condition, rule.Confirmation, rule.Reason)
	}
	// Output:
	// [] to CacheOnly when an operator says so
	//   at once, operator
	// [] to CacheOnly when Retry-After > sleep_max of a 429, or of a 503 that pauses everybody
	//   at once, retry_after_long
}
