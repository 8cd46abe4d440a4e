package app

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/anivault/anivault/ratelimit"
)

func TestACauseIsReportedOnce(t *testing.T) {
	var seen WarnOnce
	lost := &ratelimit.StoreWarning{Event: "coordinator_lost", Err: errors.New("no answer")}
	denied := &fs.PathError{Op: "open", Path: "cache.lock", Err: fs.ErrPermission}
	for i, c := range []struct {
		err   error
		first bool
	}{
		{denied, true},
		{fmt.Errorf("recall results: %w", denied), false},
		{&fs.PathError{Op: "open", Path: "cache.lock", Err: fs.ErrPermission}, false},
		{&fs.PathError{Op: "open", Path: "other.lock", Err: fs.ErrPermission}, true},
		{errors.New("a pin is odd"), true},
		{errors.New("another pin is odd"), true},
		{errors.New("a pin is odd"), false},
		{lost, true},
		{lost, true},
	} {
		if got := seen.isNew(c.err); got != c.first {
			t.Errorf("%d: %v: first is %t", i, c.err, got)
		}
	}
}
