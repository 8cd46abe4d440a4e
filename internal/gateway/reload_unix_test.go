//go:build unix

package gateway

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/anivault/anivault/internal/config"
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

// A list of clients that is there but can't be read, such as one that root made in folders of its own, is not "no
// clients": until the gateway knows who may ask, nobody may.
func TestAClientsFileThatCannotBeReadClosesTheGateway(t *testing.T) {
	b := start(t, setup{})
	w := configWatcher{s: b.service, readConfig: b.read, current: statFiles(b.service.Config())}
	looks := func() {
		for range 4 {
			w.checkFiles()
		}
	}
	b.must(200, "/3/tv/9000001")
	path := config.ClientsFile(b.service.Config().Dirs.Data)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Base(path), path); err != nil { // a loop: root can't read it either
		t.Fatal(err)
	}
	looks()
	b.must(401, "/3/tv/9000001")
	b.configure("limiter: {rate_base: 90}\n")
	looks()
	b.must(401, "/3/tv/9000001")
	if log := b.log.String(); strings.Count(log, "event=reload_refused") != 2 || !strings.Contains(log, "clients.yaml") ||
		!strings.Contains(log, "event=no_clients") {
		t.Errorf("the log:\n%s", log)
	}
	b.configure("")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	looks()
	b.must(200, "/3/tv/9000001") // there never was a client
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	b.configure("serve: {anonymous: true}\n")
	looks()
	b.must(401, "/3/tv/9000001") // the setting was not taken
}
