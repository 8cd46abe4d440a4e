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
	b := start(t, setup{watches: true, listens: func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Error(err)
		}
	}})
	eventually(t, "the configuration is read anew",
		func() bool { return strings.Contains(b.log.String(), "event=reloaded") })
}

// Without a handler the signal would end the process, and with it what is under way.
func TestASignalToReloadDoesNotEndADrain(t *testing.T) {
	b := start(t, setup{watches: true})
	b.must(200, "/3/configuration")
	open := b.up.shut()
	defer open()
	sent := b.later("/3/tv/9000001")
	<-b.up.arrived
	go b.stop()
	eventually(t, "it drains", func() bool { return strings.Contains(b.log.String(), "event=draining") })
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	open()
	if a := <-sent; a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
}
