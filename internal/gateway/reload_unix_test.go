//go:build unix

package gateway

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// Without a handler the signal would end the process.
func TestAReloadMayBeAskedForAsSoonAsItListens(t *testing.T) {
	b := start(t, setup{listens: func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Error(err)
		}
	}})
	eventually(t, "the configuration is read anew",
		func() bool { return strings.Contains(b.log.String(), "event=reloaded") })
}
