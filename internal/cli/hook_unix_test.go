//go:build unix

package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/anivault/anivault/internal/apply"
	"github.com/anivault/anivault/internal/ui"
)

// A program whose time is over is ended, with all that it has started.
func TestAHookThatTakesTooLongIsEnded(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	alive := func() bool {
		f, err := os.OpenFile(pid, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return false // nobody has it open for reading
		}
		f.Close()
		return true
	}
	if err := syscall.Mkfifo(pid, 0o600); err != nil {
		t.Skip("no pipes here: ", err)
	}
	// The grandchild holds the pipe open for as long as it lives.
	h := hook{
		argv: []string{"sh", "-c", `sleep 600 < "$1" & exec 3<> "$1"; sleep 600`, "hook", pid},
		env:  os.Environ(), timeout: 300 * time.Millisecond,
		streams: ui.Streams{Err: new(bytes.Buffer)}, changedDirs: []string{"/lib/Show"},
	}
	err := h.run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "sh was stopped: it took more than") {
		t.Error(err)
	}
	for end := time.Now().Add(10 * time.Second); alive(); {
		if time.Now().After(end) {
			t.Fatal("what it has started still runs")
		}
	}
}

// A program that is ended with anivault has failed.
func TestAHookEndsWithAnivault(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h := hook{
		argv: []string{"sleep", "600"}, env: os.Environ(), timeout: time.Hour,
		streams: ui.Streams{Err: new(bytes.Buffer)},
	}
	if err := h.run(ctx); err == nil {
		t.Error("no error")
	}
}

// Keys are no part of a program's environment; all else that anivault has is.
func TestAHookGetsNoSecrets(t *testing.T) {
	got := hookEnv([]string{
		"PATH=/bin", "ANIVAULT_TMDB_TOKEN=secret", "ANIVAULT_TMDB_API_KEY=secret",
		"ANIVAULT_DATA_DIR=/d", "ANIVAULT_TMDB_TOKEN=again",
	}, &apply.Outcome{Run: "r", Results: []apply.Result{{Status: apply.StatusDone}, {Status: apply.StatusRefused}}})
	if want := "PATH=/bin ANIVAULT_DATA_DIR=/d ANIVAULT_RUN_ID=r ANIVAULT_CHANGED=1"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
}
