//go:build unix && !illumos && !solaris

package filestore_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/anivault/anivault/ratelimit/internal/filestore"
	"github.com/anivault/anivault/ratelimit/internal/shared"
)

// Opening a pipe that nobody writes to waits for ever, and SIGTERM doesn't end it.
func TestPipesInPlaceOfTheFilesHangNothing(t *testing.T) {
	for _, c := range []struct {
		name, file string
		parts      int
		events     string
	}{
		{"the lock", filestore.LockName, 2, "state_unavailable"},
		{"the state", filestore.StateName, 0, "state_corrupt"},
		{"another's alive file", filestore.AlivePrefix + "00112233445566aa", 0, ""},
		{"the new state", filestore.StateName + ".new", 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, syscall.Mkfifo(filepath.Join(dir, c.file), 0o600))
			s := openTest(t, dir, filestore.Options{})
			s.mark(3)
			if _, parts := s.look(); parts != c.parts || s.marked() != 3 {
				t.Errorf("in %d parts, mark %d; want %d, 3", parts, s.marked(), c.parts)
			}
			s.wantEvents(c.events)
			s.Dead([]string{"00112233445566aa"})
			must(t, os.RemoveAll(filepath.Join(dir, c.file)))
			s.clock.pass(shared.RetryEvery)
			s.look()
			if s.IsolationCause() != nil {
				t.Errorf("still apart: %v", s.IsolationCause())
			}
		})
	}
}
