//go:build unix

package cli

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The error for another user's file that can't be opened says whose it is and what to do.
func TestAnotherUsersFileIsNamedAsSuch(t *testing.T) {
	own := filepath.Join(t.TempDir(), "own")
	if err := os.WriteFile(own, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	theirs := "/"
	if os.Getuid() == 0 {
		theirs = filepath.Join(t.TempDir(), "theirs")
		if err := os.WriteFile(theirs, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(theirs, 1234, 1234); err != nil {
			t.Skipf("a file can't be given away here: %v", err)
		}
	}
	for _, row := range []struct {
		name, path string
		cause      error
		want       bool
	}{
		{"theirs", theirs, fs.ErrPermission, true},
		{"theirs, another error", theirs, fs.ErrInvalid, false},
		{"own", own, fs.ErrPermission, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			note := string(otherOwnerNote(
				fmt.Errorf("recall results: %w", &fs.PathError{Op: "open", Path: row.path, Err: row.cause})))
			if got := strings.Contains(note, "belongs to another user") &&
				strings.Contains(note, "ANIVAULT_CACHE_DIR"); got != row.want || !row.want && note != "" {
				t.Errorf("the note is %q", note)
			}
		})
	}
	if note := otherOwnerNote(fs.ErrPermission); note != "" {
		t.Errorf("an error without a file has the note %q", note)
	}
}
