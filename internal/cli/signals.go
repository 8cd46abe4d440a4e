package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// signalled is the cause of a context that a signal has ended.
type signalled struct{ signal os.Signal }

func (s *signalled) Error() string { return s.signal.String() }

// withSignals returns a context that the first SIGINT or SIGTERM cancels, with a *signalled as its cause. From then on
// signals have their default effect again, so the second one ends the process at once. stop must be called when done.
func withSignals(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, os.Interrupt, syscall.SIGTERM)
	var listener sync.WaitGroup
	listener.Go(func() {
		select {
		case s := <-heard:
			signal.Stop(heard)
			cancel(&signalled{s})
		case <-ctx.Done():
			signal.Stop(heard)
		}
	})
	return ctx, func() {
		cancel(nil)
		listener.Wait()
	}
}

// signalStatus returns the exit status of the signal that ended ctx, 0 if none did.
func signalStatus(ctx context.Context) int {
	cause, ok := errors.AsType[*signalled](context.Cause(ctx))
	switch {
	case !ok:
		return 0
	case cause.signal == syscall.SIGTERM:
		return exitTerminated
	}
	return exitInterrupted
}
