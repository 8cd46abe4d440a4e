package app

import (
	"strings"
	"testing"
	"time"

	"github.com/anivault/anivault/ratelimit"
)

// A pause of a day ends at the time of day at which it began, so only its date says that it is not over.
func TestAPauseUntilAnotherDayIsSaidWithItsDate(t *testing.T) {
	now := time.Now()
	end := now.Add(24 * time.Hour)
	for cause, state := range map[ratelimit.Reason]ratelimit.State{
		ratelimit.ReasonRetryAfterLong: ratelimit.CacheOnly, ratelimit.ReasonPause: ratelimit.Normal,
	} {
		text := blockedText(&ratelimit.BlockedError{Block: ratelimit.Block{State: state, Cause: cause, Until: end}}, now)
		if want := end.Local().Format(time.DateTime); !strings.Contains(text.String(), want) {
			t.Errorf("%q, want it to name %s", text, want)
		}
	}
}
