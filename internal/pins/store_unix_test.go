//go:build unix

package pins

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/anivault/anivault/internal/lockfile"
)

// A pipe in the file's place, or in its lock's, is an error at once: opening it would wait for its other end.
func TestAPipeInTheFilesPlaceHangsNobody(t *testing.T) {
	for _, name := range []string{"", ".lock"} {
		t.Run(FileName+name, func(t *testing.T) {
			store := Open(t.TempDir())
			if err := syscall.Mkfifo(store.Path()+name, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := store.Update(t.Context(), func(*Set) error { return nil })
			if !errors.As(err, new(*lockfile.NotRegularError)) || !strings.Contains(err.Error(), store.Path()+name) {
				t.Errorf("error %v", err)
			}
		})
	}
}
