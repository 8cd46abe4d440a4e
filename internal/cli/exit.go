package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/tmdb"
)

// Exit statuses. Where several hold, the order of precedence is 143/130, 5, 2, 1, 4, 3, 0. The table is
// what `anivault help exit-codes` and the documents print.
const (
	exitOK           = 0
	exitInternal     = 1
	exitUsage        = 2
	exitStrict       = 3
	exitIncomplete   = 4
	exitUnauthorized = 5
	exitInterrupted  = 130
	exitTerminated   = 143
)

// exitCodes explains each status.
var exitCodes = []struct {
	Code    int
	Meaning string
}{
	{exitOK, "ran to the end; unmatched files are results, not failures"},
	{exitInternal, "internal error"},
	{exitUsage, "usage or configuration error, no key (unless --offline), or no PATH that exists: before any work"},
	{exitStrict, "--strict was given and something is unmatched or ambiguous"},
	{exitIncomplete, "incomplete: some files are pending or in error; running again resumes"},
	{exitUnauthorized, "TMDB refused the credentials"},
	{exitInterrupted, "interrupted (SIGINT); what was found so far is printed and cached"},
	{exitTerminated, "terminated (SIGTERM); what was found so far is printed and cached"},
}

// exitError carries an exit status with an error that has been, or needs no, printing (err nil).
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usageError is a command line that can't be carried out; the hint says what can.
type usageError struct{ message, hint string }

func (e *usageError) Error() string { return e.message }

func usagef(hint, format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...), hint}
}

// refusedError is TMDB's refusal in a line for people. The hint names the place that the key came from.
type refusedError struct {
	what  string // "token" or "key"
	cause *tmdb.UnauthorizedError
	hint  string
}

func refused(cfg *config.Config, cause *tmdb.UnauthorizedError) error {
	e := &refusedError{what: "key", cause: cause, hint: tmdbHint(cause)}
	if cfg.TMDB.Token.IsSet() {
		e.what = "token"
	}
	if from := cfg.KeyOrigin(); from != "" {
		e.hint += fmt.Sprintf("\n      the %s comes from %s", e.what, from)
	}
	return e
}

func (e *refusedError) Error() string {
	text := "TMDB refused the " + e.what
	if c := e.cause.Cause; c != nil {
		text += fmt.Sprintf(" (%d)", c.HTTPStatus)
		if c.Message != "" {
			text += ": " + c.Message
		}
	}
	return text
}

func (e *refusedError) Unwrap() error { return e.cause }

// statusOf returns the exit status for what a command returned. started reports whether the command's own code ran: an
// error before that is about the command line.
func statusOf(err error, started bool) int {
	var exit *exitError
	var usage *usageError
	var setting *config.Error
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		return exit.code
	case errors.As(err, &usage), errors.As(err, &setting), !started:
		return exitUsage
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitInternal
}

// printError writes "anivault: message" and, where there is one, a hint below it. An exitError without
// an error prints nothing: its command has already said everything.
func printError(s ui.Streams, err error) {
	if exit, ok := errors.AsType[*exitError](err); ok && exit.err == nil {
		return
	}
	complain(s, err.Error())
	if hint := hintFor(err); hint != "" {
		advise(s, hint)
	}
}

// complain writes "anivault: message" on one line, on a terminal wrapped at words.
func complain(s ui.Streams, message string) {
	fmt.Fprintln(s.Err, ui.Hanging("anivault: "+ui.Escaped(ui.OneLine(message)), s.ErrWidth(), len("anivault: ")))
}

// advise writes "hint: what can be done", as complain does.
func advise(s ui.Streams, hint string) {
	fmt.Fprintln(s.Err, ui.Hanging("hint: "+hint, s.ErrWidth(), len("hint: ")))
}

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
