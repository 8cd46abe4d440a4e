//go:build unix

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
)

// The signal is known by its type: what any other cause says makes no difference.
func TestTheStatusIsThatOfTheSignal(t *testing.T) {
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
	t.Run("an interrupt that is ignored stays so", func(t *testing.T) {
		signal.Ignore(syscall.SIGINT)
		defer signal.Reset(syscall.SIGINT)
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
	})
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

func contextWithCause(cause error) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	return ctx
}
