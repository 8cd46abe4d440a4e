//go:build unix

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/anivault/anivault/internal/ui"
)

// The signal is known by its type: what any other cause says makes no difference.
func TestTheExitStatusMatchesTheSignal(t *testing.T) {
	for _, row := range []struct {
		signal syscall.Signal
		want   int
	}{{syscall.SIGINT, exitInterrupted}, {syscall.SIGTERM, exitTerminated}} {
		t.Run(row.signal.String(), func(t *testing.T) {
			ctx, stop := withSignals(t.Context())
			defer stop()
			if err := syscall.Kill(os.Getpid(), row.signal); err != nil {
				t.Fatal(err)
			}
			<-ctx.Done()
			if got := exitStatusOfSignal(ctx); got != row.want {
				t.Errorf("status %d, want %d", got, row.want)
			}
			if got := exitStatusOfSignal(contextWithCause(fmt.Errorf("stop: %w", context.Cause(ctx)))); got != row.want {
				t.Errorf("wrapped: status %d, want %d", got, row.want)
			}
		})
	}
	for name, cause := range map[string]error{
		"none": nil, "its words": errors.New("terminated signal received"),
		"another": context.DeadlineExceeded,
	} {
		t.Run(name, func(t *testing.T) {
			if got := exitStatusOfSignal(contextWithCause(cause)); got != 0 {
				t.Errorf("status %d", got)
			}
		})
	}
	ctx, stop := withSignals(t.Context())
	stop()
	if got := exitStatusOfSignal(ctx); got != 0 || ctx.Err() == nil {
		t.Errorf("after the end: status %d, %v", got, ctx.Err())
	}
}

// The program timeout sends each signal twice, once to its child and once to the group. That is one request to end.
func TestASignalThatComesTwiceIsOne(t *testing.T) {
	const isChild = "TEST_GETS_EACH_SIGNAL_TWICE"
	if os.Getenv(isChild) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), isChild+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	ctx, stop := withSignals(t.Context())
	defer stop()
	for range 2 {
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		time.Sleep(10 * time.Millisecond)
	}
}

// Another process ignores the interrupt, because a Go program that has ignored it can't undo that for its children.
func TestAnIgnoredInterruptStaysIgnored(t *testing.T) {
	const ignores = "TEST_IGNORES_INTERRUPTS"
	if os.Getenv(ignores) == "" {
		const script = `trap '' INT; exec "$0" -test.run "^$1\$"`
		cmd := exec.CommandContext(t.Context(), "sh", "-c", script, os.Args[0], t.Name())
		cmd.Env = append(os.Environ(), ignores+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	ctx, stop := withSignals(t.Context())
	defer stop()
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
	}
	<-ctx.Done()
	if got := exitStatusOfSignal(ctx); got != exitTerminated {
		t.Errorf("status %d, want %d", got, exitTerminated)
	}
}

// A program that writes into anivault's stdin may hang, and a signal to anivault alone must end it nevertheless.
func TestASignalEndsACommandThatReadsStdin(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("ANIVAULT_TMDB_TOKEN", "none")
	t.Setenv("ANIVAULT_TMDB_BASE_URL", "http://127.0.0.1:1")
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"} {
		t.Setenv(name, "")
	}
	for _, line := range []string{
		"parse", "match --names-from -", "match --files-from -", "apply -", "cache import",
		"organize --from - --to " + t.TempDir(), "config init",
	} {
		t.Run(line, func(t *testing.T) {
			in := silentReader{begun: make(chan struct{}, 10), never: make(chan struct{})}
			defer close(in.never)
			var errs strings.Builder
			status := make(chan int, 1)
			go func() {
				status <- Main(t.Context(), strings.Fields(line), ui.Streams{In: in, Out: io.Discard, Err: &errs})
			}()
			select {
			case <-in.begun:
			case got := <-status:
				t.Fatalf("ended before it read, with status %d: %s", got, errs.String())
			}
			if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			select {
			case got := <-status:
				if got != exitTerminated || strings.Contains(errs.String(), "terminated") {
					t.Errorf("status %d, want %d; stderr: %s", got, exitTerminated, errs.String())
				}
			case <-time.After(10 * time.Second):
				t.Error("still reading")
			}
		})
	}
}

type silentReader struct{ begun, never chan struct{} }

func (r silentReader) Read([]byte) (int, error) {
	r.begun <- struct{}{}
	<-r.never
	return 0, io.EOF
}

func contextWithCause(cause error) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	return ctx
}
