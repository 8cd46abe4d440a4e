package cli

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// withSignals returns a context that the first SIGINT or SIGTERM cancels. From then on signals have
// their default effect again, so the second one ends the process at once. Call stop when done.
func withSignals(parent context.Context) (ctx context.Context, stop context.CancelFunc) {
	ctx, stop = signal.NotifyContext(parent, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// signalStatus is the exit status that the signal which ended ctx asks for, 0 if none did. NotifyContext
// tells the signal only in the text of the context's cause.
func signalStatus(ctx context.Context) int {
	cause := context.Cause(ctx)
	switch {
	case cause == nil || !strings.HasSuffix(cause.Error(), " signal received"):
		return 0
	case strings.HasPrefix(cause.Error(), syscall.SIGTERM.String()):
		return exitTerminated
	}
	return exitInterrupted
}
