//go:build unix

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
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

func contextWithCause(cause error) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	return ctx
}
