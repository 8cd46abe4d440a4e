//go:build unix

package library

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Opening a FIFO waits for its other end for ever: one called like an ignore file is passed over.
func TestAFIFOInTheIgnoreFilesPlaceHangsNothing(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, IgnoreFile), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "Show - 01.mkv"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan int, 1)
	go func() {
		files := 0
		err := Walk(context.Background(), []string{dir}, Options{}, func(d Dir) error {
			files += len(d.Files)
			return d.Err
		})
		if err != nil {
			t.Error(err)
		}
		done <- files
	}()
	select {
	case files := <-done:
		if files != 1 {
			t.Errorf("%d files, want 1", files)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the walk hangs")
	}
}
