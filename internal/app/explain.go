package app

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lockfile"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/redisstore"
	"github.com/anivault/anivault/tmdb"
)

// Explain returns the code of an error for records, and a message without URLs, which may contain a key.
func Explain(err error) (report.Code, lang.Text) {
	var (
		unauthorized *tmdb.UnauthorizedError
		setup        *tmdb.ConfigError
		answer       *tmdb.Error
		garbled      *tmdb.DecodeError
		blocked      *ratelimit.BlockedError
		budget       *ratelimit.BudgetError
		late         *ratelimit.AcquireTimeoutError
		opErr        *net.OpError
	)
	switch {
	case errors.As(err, &unauthorized):
		return report.CodeUnauthorized, refusalText(unauthorized)
	case errors.As(err, &setup):
		return report.CodeTLS, lang.TextOf(setup)
	case errors.As(err, &blocked):
		return report.CodeBlocked, blockedText(blocked, time.Now())
	case errors.As(err, new(*RecentFailureError)):
		return report.CodeUpstream, lang.TextOf(err)
	case errors.As(err, &budget):
		return report.CodeBudget, budgetText(budget)
	case errors.As(err, &late):
		return report.CodeAcquireTimeout, lang.Textf("not sent: it was still waiting for its turn after %s",
			ui.Duration(late.Waited))
	case errors.Is(err, cache.ErrWait):
		return report.CodeAcquireTimeout, textWithoutURL(err)
	case errors.Is(err, ratelimit.ErrRequestTimeout):
		return report.CodeRequestTimeout, textWithoutURL(err)
	case errors.As(err, &garbled):
		return report.CodeMalformedResponse, lang.TextOf(garbled)
	case errors.Is(err, cache.ErrUnexpected304):
		return report.CodeMalformedResponse, textWithoutURL(err)
	case errors.Is(err, tmdb.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return report.CodeNotFound, textWithoutURL(err)
	case errors.As(err, &answer):
		switch lasts := answer.Outcome() == ratelimit.Client; {
		case answer.Gateway != "" && lasts && answer.HTTPStatus > 500:
			return report.CodeBlocked, stoppedGatewayText(answer)
		case answer.Gateway != "":
			return report.CodeUpstream, gatewayRefusalText(answer)
		case lasts:
			return report.CodeInternal, lang.TextOf(answer)
		}
		return report.CodeUpstream, lang.TextOf(answer)
	case errors.As(err, new(*fs.PathError)), errors.As(err, new(*os.SyscallError)) && !errors.As(err, &opErr):
		return report.CodeUnreadable, textWithoutURL(err)
	case errors.As(err, new(net.Error)), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF),
		errors.Is(err, syscall.ECONNRESET): // the connection ended in the middle of an answer
		return report.CodeNetwork, lang.Textf("TMDB could not be reached: %s", networkText(err))
	}
	return report.CodeInternal, textWithoutURL(err)
}

func refusalText(u *tmdb.UnauthorizedError) lang.Text {
	if u.Cause != nil && u.Cause.Message != "" {
		return lang.Textf("TMDB refused the key: %s", u.Cause.Message)
	}
	return "TMDB refused the key"
}

func gatewayRefusalText(e *tmdb.Error) lang.Text {
	if e.RetryAt.IsZero() {
		return lang.Textf("the gateway refused this request: %s", e.Message)
	}
	return lang.Textf("the gateway refused this request until %s: %s", ui.Clock(e.RetryAt), e.Message)
}

func stoppedGatewayText(e *tmdb.Error) lang.Text {
	if time.Until(e.RetryAt) <= time.Minute { // a gateway says 60 s if it knows no end
		return lang.Textf("the gateway at %s sends nothing: %s", e.Host, e.Message)
	}
	return lang.Textf("the gateway at %s sends nothing until %s: %s", e.Host, ui.Clock(e.RetryAt), e.Message)
}

// BlockText describes why the limiter is in Sleep or CacheOnly.
func BlockText(b ratelimit.Block) lang.Text {
	return cmp.Or(blockTexts[b.Cause], "requests are paused")
}

var blockTexts = map[ratelimit.Reason]lang.Text{
	ratelimit.ReasonOperator:            "requests were stopped by anivault limiter cache-only",
	ratelimit.ReasonRetryAfterLong:      "TMDB asked for a long pause, so requests were stopped",
	ratelimit.ReasonPolicy:              "TMDB kept failing, so requests were stopped",
	ratelimit.ReasonConsecutive429:      "TMDB keeps refusing (429)",
	ratelimit.ReasonProbeFailed:         "TMDB is still failing",
	ratelimit.ReasonConsecutiveFailures: "TMDB is failing",
	ratelimit.ReasonErrorRatio:          "TMDB is failing",
	ratelimit.ReasonSustainedErrors:     "TMDB is failing",
}

func blockedText(b *ratelimit.BlockedError, now time.Time) lang.Text {
	if b.Cause == ratelimit.ReasonNoAccount {
		return "all accounts are disabled; see: anivault accounts list"
	}
	if b.Offline() {
		return "offline, and not in the cache"
	}
	ends := b.Until.After(now)
	until := ui.Clock(b.Until) // no countdown, because the text is read later
	switch {
	case b.Cause == ratelimit.ReasonPause && ends:
		return lang.Textf("TMDB asks all clients to wait until %s, longer than --max-wait allows", until)
	case b.Cause == ratelimit.ReasonPause:
		return "TMDB asks all clients to wait, longer than --max-wait allows"
	case ends:
		return lang.Textf("%s; no requests are sent until %s", BlockText(b.Block), until)
	}
	return lang.Textf("%s; no requests are sent", BlockText(b.Block))
}

func budgetText(b *ratelimit.BudgetError) lang.Text {
	switch {
	case b.Accounts:
		return lang.TextOf(b)
	case b.Renews.IsZero():
		return lang.Textf("the budget of %s requests is spent", b.Budget)
	}
	return lang.Textf("the budget of %s requests is spent; it renews at %s", b.Budget, ui.Clock(b.Renews))
}

// textWithoutURL returns the text of an error without the URL of *url.Error, which may contain a v3 key.
func textWithoutURL(err error) lang.Text {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return textWithoutURL(u.Err)
	}
	return lang.TextOf(err)
}

// networkText returns the cause of a network error: "connection refused (127.0.0.1:1)".
func networkText(err error) lang.Text {
	var (
		dns    *net.DNSError
		op     *net.OpError
		system *os.SyscallError
	)
	switch {
	case errors.As(err, &dns):
		return lang.Textf("%s (%s)", lang.Text(dns.Err), ui.Escaped(dns.Name))
	case errors.As(err, &op) && op.Addr != nil:
		cause := op.Err
		if errors.As(cause, &system) {
			cause = system.Err
		}
		return lang.Textf("%s (%s)", cause, op.Addr.String())
	}
	return textWithoutURL(err)
}

// ErrorText returns the translatable text of an error of the public packages, which do not use lang.
func ErrorText(err error) (lang.Text, bool) {
	switch e := err.(type) { //nolint:errorlint // lang.TextOf has already unwrapped err
	case *ratelimit.BlockedError:
		switch {
		case e.Offline():
			return "send request: offline", true
		case e.Until.IsZero():
			return lang.Textf("send request: blocked in %s (%s)", e.State, e.Cause), true
		}
		return lang.Textf("send request: blocked in %s (%s) until %s", e.State, e.Cause, ui.Timestamp(e.Until)), true
	case *ratelimit.AcquireTimeoutError:
		why, waited := lang.Text(ratelimit.ErrAcquireTimeout.Error()), e.Waited.Round(time.Millisecond)
		if e.Out == 0 {
			return lang.Textf("send request: %s: waited %s, last for %s in %s", why, waited, e.Cause, e.State), true
		}
		return lang.Textf("send request: %s: waited %s, last for %s in %s; permits not given back: %d",
			why, waited, e.Cause, e.State, e.Out), true
	case *ratelimit.RequestTimeoutError:
		before, ok := strings.CutPrefix(e.Error(), "await answer: "+ratelimit.ErrRequestTimeout.Error()+": ")
		return lang.Textf("await answer: %s: %s", lang.Text(ratelimit.ErrRequestTimeout.Error()), before), ok
	case *ratelimit.BudgetError:
		switch {
		case e.Accounts:
			return "", false
		case e.Renews.IsZero():
			return lang.Textf("reserve %d of the request budget %s: %d used, %d reserved",
				e.Requested, e.Budget, e.Used, e.Reserved), true
		}
		return lang.Textf("reserve %d of the request budget %s: %d used, %d reserved, renews at %s",
			e.Requested, e.Budget, e.Used, e.Reserved, ui.Timestamp(e.Renews)), true
	case *ratelimit.TuningError:
		return lang.Textf("%s: %s; %s", TuningText(e), lang.Text(e.Reason), config.RemedyText(e)), true
	case interface{ Message() (string, []any) }: // a warning of the limiter's or the cache's store
		format, args := e.Message()
		return lang.Textf(format, args...), true
	case *tmdb.Error:
		head, _, foreign := strings.Cut(e.Error(), ", not TMDB's own answer (")
		return lang.Textf("%s, not TMDB's own answer (%s)", head, lang.Text(e.Foreign)), foreign
	case *tmdb.DecodeError:
		_, behind, ok := strings.Cut(e.Error(), string(e.Reason))
		return lang.Textf("tmdb: undecodable answer to %s: %s%s", e.Path, lang.Text(e.Reason), behind), ok
	case *lockfile.NotRegularError:
		return lang.Textf("open %s: %s, not a regular file", e.Path, lang.Text(e.Kind())), true
	case *redisstore.Fault:
		return lang.Textf("Redis at %s %s", e.Place, lang.Text(e.Text)), true
	case *tmdb.ConfigError:
		text := lang.Textf("tmdb: %s", lang.Text(e.Kind))
		if behind, ok := strings.CutPrefix(e.Error(), text.String()); ok {
			return lang.Textf("%s%s", text, behind), true
		}
	case *tmdb.UnauthorizedError:
		switch {
		case e.Cause == nil:
			return "tmdb: the key was refused", true
		case !e.WasSent:
			return lang.Textf("tmdb: not sent, the key was refused before: %s", e.Cause.Error()), true
		}
		return lang.Textf("tmdb: the key was refused: %s", e.Cause.Error()), true
	}
	return "", false
}

// TuningText returns the settings of a rejected change: "rate_base=0 with ceiling=5".
func TuningText(e *ratelimit.TuningError) string {
	pairs := make([]string, len(e.Keys))
	for i, key := range e.Keys {
		pairs[i] = key + "=" + e.Values[i]
	}
	return strings.Join(pairs, " with ")
}
