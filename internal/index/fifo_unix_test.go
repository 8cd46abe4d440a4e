//go:build unix

package index

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Opening a FIFO waits for its other end for ever: in the place of the index or its lock it is an error, or is
// replaced.
func TestAFIFOHangsNothing(t *testing.T) {
	for name, hold := range map[string]string{"index": FileName, "lock": FileName + ".lock"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := syscall.Mkfifo(filepath.Join(dir, hold), 0o600); err != nil {
				t.Fatal(err)
			}
			if x, err := Open(dir); err == nil {
				t.Errorf("opened %v", x)
			}
			_, err := Import(context.Background(), dir, write(t, "a", animeListSample))
			if (err == nil) != (hold == FileName) {
				t.Errorf("import: %v", err)
			}
		})
	}
}

// A list may come through a pipe, and one that never ends ends with its caller.
func TestAListMayBeAPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := os.OpenFile(pipe, os.O_RDWR, 0) // both ends, so that neither opening nor reading ends by itself
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.WriteString(animeLinesSample); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Import(ctx, t.TempDir(), pipe); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
