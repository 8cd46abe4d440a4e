package app

import (
	"strings"
	"testing"

	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/machine"
)

// The text says in words what stops requests, never only by the reason's key.
func TestEachReasonToStopHasWords(t *testing.T) {
	over := map[string]bool{"resume": true, "auto_recover": true, "retry_after_elapsed": true} // a block has ended
	for _, r := range machine.Rules() {
		if r.To != ratelimit.Sleep && r.To != ratelimit.CacheOnly || over[r.Reason.String()] {
			continue
		}
		t.Run(r.To.String()+" "+r.Reason.String(), func(t *testing.T) {
			why := BlockText(ratelimit.Block{State: r.To, Cause: r.Reason}).String()
			if strings.Contains(why, "("+r.Reason.String()+")") {
				t.Errorf("Why says only %q: add a case to it", why)
			}
		})
	}
}
