package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"syscall"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/tmdb"
)

// Explain returns the code of an error in a record, and a message for people without secrets: it never has the URL of a
// request.
func Explain(err error) (report.Code, string) {
	var (
		unauthorized *tmdb.UnauthorizedError
		setup        *tmdb.ConfigError
		answer       *tmdb.Error
		garbled      *tmdb.DecodeError
		blocked      *ratelimit.BlockedError
		budget       *ratelimit.BudgetError
		opErr        *net.OpError
	)
	switch {
	case errors.As(err, &unauthorized):
		return report.CodeUnauthorized, refusal(unauthorized)
	case errors.As(err, &setup):
		return report.CodeTLS, setup.Error()
	case errors.As(err, &blocked):
		return report.CodeBlocked, block(blocked, time.Now())
	case errors.As(err, new(*BadQuestionError)):
		return report.CodeUpstream, err.Error()
	case errors.As(err, &budget):
		return report.CodeBudget, budget.Error()
	case errors.Is(err, ratelimit.ErrAcquireTimeout), errors.Is(err, cache.ErrWait):
		return report.CodeAcquireTimeout, plain(err)
	case errors.Is(err, ratelimit.ErrRequestTimeout):
		return report.CodeRequestTimeout, plain(err)
	case errors.As(err, &garbled):
		return report.CodeMalformedResponse, garbled.Error()
	case errors.Is(err, tmdb.ErrNotFound):
		return report.CodeNotFound, plain(err)
	case errors.As(err, &answer):
		if answer.Outcome() == tmdb.OutcomeClient {
			return report.CodeInternal, answer.Error()
		}
		return report.CodeUpstream, answer.Error()
	case errors.Is(err, fs.ErrNotExist):
		return report.CodeNotFound, plain(err)
	case errors.As(err, new(*fs.PathError)), errors.As(err, new(*os.SyscallError)) && !errors.As(err, &opErr):
		return report.CodeUnreadable, plain(err)
	case errors.As(err, new(net.Error)), isTransferError(err):
		return report.CodeNetwork, plain(err)
	case errors.Is(err, context.DeadlineExceeded):
		return report.CodeRequestTimeout, plain(err)
	}
	return report.CodeInternal, plain(err)
}

// refusal returns in TMDB's words why it refuses the key.
func refusal(u *tmdb.UnauthorizedError) string {
	if u.Cause != nil && u.Cause.Message != "" {
		return "TMDB refused the key: " + u.Cause.Message
	}
	return "TMDB refused the key"
}

// block returns why nothing may be sent now, and until when.
func block(b *ratelimit.BlockedError, now time.Time) string {
	until := ""
	if b.Until.After(now) { // and no countdown: it is read later
		until = " until " + b.Until.Local().Format(time.TimeOnly)
	}
	switch {
	case b.Cause == ratelimit.ReasonNoAccount:
		return "all accounts are disabled; see: anivault accounts list"
	case b.Offline():
		return "offline, and not in the cache"
	case b.Cause == ratelimit.ReasonPause:
		return "TMDB asks everybody to wait" + until + ", longer than --max-wait allows"
	case b.State == ratelimit.CacheOnly:
		return fmt.Sprintf("nothing is asked: CacheOnly (%s)%s", b.Cause, until)
	}
	return fmt.Sprintf("nothing is asked: %s (%s)%s", b.State, b.Cause, until)
}

// isTransferError reports whether the connection ended in the middle of an answer.
func isTransferError(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)
}

// plain returns the error's text without the request's URL, which *url.Error repeats whole: it may contain a v3 key.
func plain(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		return plain(u.Err)
	}
	return err.Error()
}
