package cli

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anivault/anivault/internal/ui"
)

// Ctrl-C while pin asks TMDB about the entry: nothing is pinned, and nothing is said about the question.
func TestAnInterruptedPinPinsNothing(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel(&signalError{os.Interrupt})
		<-r.Context().Done()
	}))
	defer server.Close()
	t.Setenv("HOME", dir)
	t.Setenv("ANIVAULT_DATA_DIR", dir)
	t.Setenv("ANIVAULT_TMDB_BASE_URL", server.URL)
	t.Setenv("ANIVAULT_TMDB_TOKEN", "abcdefgh12345678")
	stderr := filepath.Join(dir, "stderr")
	errs, err := os.Create(stderr) // the interrupted request may still warn when Main has ended
	if err != nil {
		t.Fatal(err)
	}
	defer errs.Close()
	streams := ui.Streams{In: strings.NewReader(""), Out: io.Discard, Err: errs, Width: 80}
	status := Main(ctx, []string{"pin", "Some Show", "tv/7"}, streams)
	text, err := os.ReadFile(stderr)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(text); status != 130 || strings.Contains(text, "pinned") || strings.Contains(text, "can't check") {
		t.Errorf("status %d, %s", status, text)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "pins.txt")); err == nil {
		t.Errorf("there are pins: %s", text)
	}
}

// Ctrl-C ends a simulation without an error about a context.
func TestAnInterruptedSimulationSaysNothing(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&signalError{os.Interrupt})
	var out, errs bytes.Buffer
	streams := ui.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Width: 80}
	if status := Main(ctx, []string{"limiter", "simulate", "--for", "2h"}, streams); status != 130 || errs.Len() > 0 {
		t.Errorf("status %d, %s", status, errs.String())
	}
}
