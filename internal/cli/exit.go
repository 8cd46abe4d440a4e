package cli

import (
	"context"
	_ "embed" // for exit codes and hints
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/internal/wordlist"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/redisstore"
	"github.com/anivault/anivault/tmdb"
)

// Exit statuses, described in exitCodes. If several apply, the order of precedence is 143/130, 5, 2, 1, 4, 3, 0.
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

var exitCodes = wordlist.Table[struct {
	Code    int
	Meaning string
}](exitCodesJSON)

//go:embed exitcodes.json
var exitCodesJSON []byte

// exitError is an error with the exit status of the process.
type exitError struct {
	code int
	err  error     // nil if it has been printed already
	hint lang.Text // advice to the user; "" to use the one of hintForError, if any
}

func (e *exitError) Error() string { return e.Text().String() }

func (e *exitError) Unwrap() error { return e.err }

func (e *exitError) Text() lang.Text {
	if e.err == nil {
		return lang.Textf("exit status %d", e.code)
	}
	return lang.TextOf(e.err)
}

func usagef(hint lang.Text, format string, args ...any) error {
	return exitErrorf(exitUsage, hint, format, args...)
}

func exitErrorf(code int, hint lang.Text, format string, args ...any) error {
	return &exitError{code, lang.Error(format, args...), hint}
}

func keyRefusedError(cfg *config.Config, cause *tmdb.UnauthorizedError) error {
	what, hint := lang.Text("key"), tmdbHint(cause)
	switch {
	case len(cfg.Accounts) > 0:
		what = "keys of all accounts"
		hint = "see which and why: anivault accounts list; once they are fixed: anivault accounts test"
	case !cfg.HasKey():
		what = "request without a key"
	case cfg.TMDB.Token.IsSet():
		what = "token"
	}
	if from := cfg.KeyOrigin(); from != "" {
		hint = lang.Textf("%s\n      the %s comes from %s", hint, what, from)
	}
	return refusedCredentialError(what, cause, hint)
}

func refusedCredentialError(what lang.Text, cause *tmdb.UnauthorizedError, hint lang.Text) error {
	text := lang.Textf("TMDB refused the %s", what)
	if c := cause.Cause; c != nil {
		text = lang.Textf("TMDB refused the %s (%d)", what, c.HTTPStatus)
		if c.Gateway != "" {
			text = lang.Textf("the gateway refused the %s (%d)", what, c.HTTPStatus)
		}
		if c.Message != "" {
			text = lang.Textf("%s: %s", text, c.Message)
		}
	}
	return exitErrorf(exitUnauthorized, hint, "%s", text)
}

// exitStatusOf returns the exit status for the error of a command. If started is false, the command itself did not run,
// so the error is about the command line.
func exitStatusOf(err error, started bool) int {
	var known *exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &known):
		return known.code
	case errors.As(err, new(*config.Error)), !started:
		return exitUsage
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitInternal
}

func printError(s ui.Streams, err error) {
	if known, ok := errors.AsType[*exitError](err); ok && known.err == nil {
		return
	}
	printMessage(s, lang.TextOf(err))
	if hint := hintForError(err); hint != "" {
		printHint(s, hint)
	}
}

func printMessage(s ui.Streams, text lang.Text) {
	message := ui.Escaped(ui.OneLine(lang.Say(text)))
	fmt.Fprintln(s.Err, ui.WrapHanging("anivault: "+message, s.ErrWidth(), len("anivault: ")))
}

func printHint(s ui.Streams, hint lang.Text) {
	indent := ui.Width(lang.Sprintf("hint: %s", ""))
	fmt.Fprintln(s.Err, ui.WrapHanging(lang.Sprintf("hint: %s", hint), s.ErrWidth(), indent))
}

type signalError struct{ signal os.Signal }

func (s *signalError) Error() string { return s.signal.String() }

// withSignals returns a context that the first SIGINT or SIGTERM cancels, with a *signalError as its cause. Soon after,
// signals have their default effect again, so another one ends the process at once.
func withSignals(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	if !signal.Ignored(os.Interrupt) { // a script's background jobs ignore it
		signal.Notify(signals, os.Interrupt)
	}
	var listener sync.WaitGroup
	listener.Go(func() {
		select {
		case s := <-signals:
			cancel(&signalError{s})
			time.AfterFunc(100*time.Millisecond, func() { signal.Stop(signals) }) // timeout(1) sends each signal twice
		case <-ctx.Done():
			signal.Stop(signals)
		}
	})
	return ctx, func() {
		cancel(nil)
		listener.Wait()
	}
}

// readUntil returns a reader of in that fails with ctx's cause once ctx ends, even while in blocks.
func readUntil(ctx context.Context, in io.ReadCloser) io.ReadCloser {
	out, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, in)
		w.CloseWithError(errors.Join(err, in.Close()))
	}()
	context.AfterFunc(ctx, func() { w.CloseWithError(context.Cause(ctx)) })
	return out
}

func exitStatusOfSignal(ctx context.Context) int {
	cause, ok := errors.AsType[*signalError](context.Cause(ctx))
	switch {
	case !ok:
		return 0
	case cause.signal == syscall.SIGTERM:
		return exitTerminated
	}
	return exitInterrupted
}

func hintForError(err error) lang.Text {
	if known, ok := errors.AsType[*exitError](err); ok && known.hint != "" {
		return known.hint
	}
	if _, ok := errors.AsType[*redisstore.Fault](err); ok && errors.Is(err, ratelimit.ErrNotShared) {
		return "anivault doctor checks the coordinator"
	}
	if errors.Is(err, ratelimit.ErrNotShared) {
		return "anivault doctor checks the folder and its files; resume or end any process that is stopped (Ctrl-Z)"
	}
	if file, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, syscall.ENOSPC) {
		if file.Path == os.Stdout.Name() {
			return "the output is incomplete: free some space on its disk, and run the command again"
		}
		if !filepath.IsAbs(file.Path) {
			return "free some space on that disk and run the command again; what was there is unchanged"
		}
		return lang.Textf("free some space on the disk of %s and run the command again; what was there is unchanged",
			ui.Printable(filepath.Dir(file.Path)))
	}
	return tmdbHint(err)
}

// noKeyError is the first error that most users see, so its hint lists all steps.
func noKeyError() error { return usagef(findHint("no_key"), "no TMDB key is set") }

// hints are about keys, answers and each tmdb.ConfigKind, and about commands that users of other programs try.
var hints = wordlist.Table[struct {
	Kind string
	Hint lang.Text
}](hintsJSON)

//go:embed hints.json
var hintsJSON []byte

func findHint(kind string) lang.Text {
	for _, row := range hints() {
		if row.Kind == kind {
			return row.Hint
		}
	}
	return ""
}

func tmdbHint(err error) lang.Text {
	var (
		config  *tmdb.ConfigError
		refused *tmdb.UnauthorizedError
		dns     *net.DNSError
		decode  *tmdb.DecodeError
		answer  *tmdb.Error
	)
	switch {
	case errors.As(err, &config):
		return findHint(string(config.Kind))
	case errors.As(err, &refused):
		return refusedKeyHint(refused)
	case errors.As(err, &dns) && dns.IsNotFound:
		return lang.Textf("the name %s does not exist: is tmdb.base_url (ANIVAULT_TMDB_BASE_URL) spelt right? "+
			"Some providers block it in their DNS; another resolver may help", ui.Escaped(dns.Name))
	case errors.As(err, &decode) && decode.Reason == tmdb.ReasonHTML,
		errors.As(err, &answer) && answer.Foreign == tmdb.ReasonHTML:
		return findHint("web_page")
	case errors.Is(err, ratelimit.ErrBudget), errors.As(err, &answer) && answer.Gateway == "quota":
		return findHint("budget")
	case answer != nil && answer.Gateway != "" && answer.HTTPStatus > 500 && answer.Outcome() == ratelimit.Client:
		return lang.Textf("the operator of %s can let it send again; then run the same command again", answer.Host)
	}
	return ""
}

func refusedKeyHint(e *tmdb.UnauthorizedError) lang.Text {
	switch {
	case e.Cause != nil && e.Cause.Gateway != "":
		return findHint("token_at_gateway")
	case e.KeyAsToken:
		return findHint("v3_key_as_token")
	case e.Cause != nil && (e.Cause.Code == tmdb.CodeSuspendedKey || e.Cause.Code == tmdb.CodeSuspended):
		return findHint("suspended_key")
	}
	return findHint("refused_key")
}
