package filestore_test

import (
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/internal/filestore"
)

// versionBefore is what the version before has written 1.7e9 seconds after 1970 with 1 h since boot "b", as format 2
// without accounts and as format 3 with two of them: after three good answers of a budget of 10 in 24h, a 429 that
// says to wait 100 s, eight failures in a row, or an operator's stop.
var versionBefore = map[string]string{
	"2 pause": "AoCA0OLGv86XL4CA0OLGv86XL4CAxYvG0QEBYgAAAQGA0JX/vDECD4TQlf+8MQD/n7eH6QUAAAKE0JX/vDEAAAYAAAAAAAAAAAAA" +
		"AAAAAAAAAAAAAAAAAAIAAAAEAAAAAqfy/mwAAAQAAAAAAAAAAgiAgPiUkqUnAAABEDAwMTEyMjMzNDQ1NTY2NzcAAgAAAAAAgEFA" +
		"AAAAAACAQUCn8v5sUIDqrekHCCAAAg==",
	"2 sleep": "AoCA0OLGv86XL4CA0OLGv86XL4CAxYvG0QEBYgAAAQKB0JX/vDECA4vQlf+8Mf/T29IPAAAAAAAAEAAAAAAAAAAAAAAAAAAAAAAA" +
		"AAAAgEFAAAIAAIvQlf+8MQCt+tyrAgAACwAAAAAAAAAAAAAAAAAAAgaAgPiUkqUnAAABEDAwMTEyMjMzNDQ1NTY2NzcAAgAAAAAA" +
		"gEFAAAAAAACAQUCt+tyrAlCA6q3pBwggAAI=",
	"2 cacheonly": "AoCA0OLGv86XL4CA0OLGv86XL4CAxYvG0QEBYgAAAQSB0JX/vDECC4PQlf+8MQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACA" +
		"QUAAAAAAAADdld9RAAADAAAAAAAAAgaAgPiUkqUnAAABEDAwMTEyMjMzNDQ1NTY2NzcAAgAAAAAAgEFAAAAAAACAQUDdld9RUIDq" +
		"rekHCCAAAg==",
	"3 pause": "A4CA0OLGv86XL4CA0OLGv86XL4CAxYvG0QEBYgAAAQYBgNCV/7wxAg+E0JX/vDEA/5+3h+kFAAAChNCV/7wxAAAGAAAAAAAAAAAA" +
		"AAAAAAAAAAAAAAAAAAACAAAABAAAAAKn8v5sAAAEAAAAAAAAAAIIgID4lJKlJwAAARAwMDExMjIzMzQ0NTU2Njc3AAIAAAAAAIBB" +
		"QAAAAAAAgEFAp/L+bFCA6q3pBwggAAIBAgYCYTICAgACgIDFi8bRAQYCBfqr86nsoKWBcgICAQIE2amT5PXo6qxdAgIBAgAAAwJi" +
		"MQIC/4fevgEAAAABAqfEtqiGhufAMgICAQIAAAEBAgYGAABkgIDFi8bRAQMAAAEAAAAAAAAUQAAA",
	"3 sleep": "A4CA0OLGv86XL4CA0OLGv86XL4CAxYvG0QEBYgAAAQYCgdCV/7wxAgOL0JX/vDH/09vSDwAAAAAAABAAAAAAAAAAAAAAAAAAAAAA" +
		"AAAAAIBBQAACAACL0JX/vDEArfrcqwIAAAsAAAAAAAAAAAAAAAAAAAIGgID4lJKlJwAAARAwMDExMjIzMzQ0NTU2Njc3AAIAAAAA" +
		"AIBBQAAAAAAAgEFArfrcqwJQgOqt6QcIIAACAQIGAmEyAgIAAoCAxYvG0QEEAgX6q/Op7KClgXICAgECBNmpk+T16OqsXQICAQIA" +
		"AAMCYjECAv+H3r4BAAAAAQKnxLaohobnwDICAgECAAABAQIGBgAAZICAxYvG0QEDAAABAAAAAAAAFEAAAA==",
	"3 cacheonly": "A4CA0OLGv86XL4CA0OLGv86XL4CAxYvG0QEBYgAAAQYEgdCV/7wxAguD0JX/vDEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" +
		"gEFAAAAAAAAA3ZXfUQAAAwAAAAAAAAIGgID4lJKlJwAAARAwMDExMjIzMzQ0NTU2Njc3AAIAAAAAAIBBQAAAAAAAgEFA3ZXfUVCA" +
		"6q3pBwggAAIBAgYCYTICAgACgIDFi8bRAQQCBfqr86nsoKWBcgICAQIE2amT5PXo6qxdAgIBAgAAAwJiMQIC/4fevgEAAAABAqfE" +
		"tqiGhufAMgICAQIAAAEBAgYGAABkgIDFi8bRAQMAAAEAAAAAAAAUQAAA",
}

func TestStateOfThePreviousVersionIsReadAndContinued(t *testing.T) {
	wants := map[string]struct {
		state ratelimit.State
		cause ratelimit.Reason
		pause time.Duration
		until time.Duration // of the block
		used  int
	}{
		"pause": {
			state: ratelimit.Normal, cause: ratelimit.ReasonFresh, pause: 40 * time.Second,
			until: 40 * time.Second, used: 4,
		},
		"sleep": {
			state: ratelimit.Sleep, cause: ratelimit.ReasonConsecutiveFailures,
			until: 2100*time.Millisecond - time.Minute, used: 3,
		},
		"cacheonly": {state: ratelimit.CacheOnly, cause: ratelimit.ReasonOperator, used: 3},
	}
	for name, stored := range versionBefore {
		t.Run(name, func(t *testing.T) {
			want := wants[name[2:]]
			payload, err := base64.StdEncoding.DecodeString(stored)
			must(t, err)
			content, err := filestore.FirstFile(1, payload)
			must(t, err)
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, filestore.StateName), content, 0o600))
			for range 2 { // the second finds what the first has written
				s := openTest(t, dir, filestore.Options{})
				s.clock.pass(time.Minute)
				tuning := ratelimit.Default()
				tuning.Budget = ratelimit.Budget{Requests: 10, Period: 24 * time.Hour}
				must(t, s.Update(context.Background(), func(ratelimit.Instant, *ratelimit.Snapshot) error { return nil }))
				got, err := ratelimit.Operator{Store: s}.Status(context.Background(), tuning)
				must(t, err)
				var pause, until time.Duration
				if !got.PauseUntil.IsZero() {
					pause = got.PauseUntil.Sub(s.clock.at.Wall)
				}
				if !got.Until.IsZero() {
					until = got.Until.Sub(s.clock.at.Wall)
				}
				if got.State != want.state || got.Cause != want.cause || pause != want.pause || until != want.until ||
					got.BudgetUsed != want.used {
					t.Errorf("%v (%v), pause %v, until %v, used %d; want %+v", got.State, got.Cause, pause, until, got.BudgetUsed,
						want)
				}
				if accounts := 2 * int(name[0]-'2'); len(got.Accounts) != accounts {
					t.Errorf("%d accounts, want %d", len(got.Accounts), accounts)
				}
				s.wantEvents("")
				s.Close()
			}
			if found := corruptFiles(t, dir); len(found) != 0 {
				t.Errorf("set aside %q", found)
			}
		})
	}
}
