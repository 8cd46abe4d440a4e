package app

import (
	"strings"
	"time"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/redisstore"
	"github.com/anivault/anivault/tmdb"
)

// ErrorText returns what an error of the public packages, which know nothing of lang, tells people. It says in English what
// Error does.
func ErrorText(err error) (lang.Text, bool) {
	switch e := err.(type) { //nolint:errorlint // the error itself: lang.TextOf unwraps
	case *ratelimit.BlockedError:
		switch {
		case e.Offline():
			return "send request: offline", true
		case e.Until.IsZero():
			return lang.Textf("send request: blocked in %s (%s)", e.State, e.Cause), true
		}
		return lang.Textf("send request: blocked in %s (%s) until %s", e.State, e.Cause, stamp(e.Until)), true
	case *ratelimit.AcquireTimeoutError:
		return lang.Textf("send request: %s: waited %s, last for %s in %s", lang.Text(ratelimit.ErrAcquireTimeout.Error()),
			e.Waited.Round(time.Millisecond), e.Cause, e.State), true
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
			e.Requested, e.Budget, e.Used, e.Reserved, stamp(e.Renews)), true
	case *ratelimit.TuningError:
		return lang.Textf("%s: %s; %s", Tuned(e), lang.Text(e.Reason), config.RemedyText(e)), true
	case *ratelimit.StoreWarning:
		format, args := e.Message()
		return lang.Textf(format, args...), true
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
		case !e.Sent:
			return lang.Textf("tmdb: not asked, the key was refused before: %s", e.Cause.Error()), true
		}
		return lang.Textf("tmdb: the key was refused: %s", e.Cause.Error()), true
	}
	return "", false
}

// Tuned is what a refused change of settings was: "rate_base=0 with ceiling=5".
func Tuned(e *ratelimit.TuningError) string {
	pairs := make([]string, len(e.Keys))
	for i, key := range e.Keys {
		pairs[i] = key + "=" + e.Values[i]
	}
	return strings.Join(pairs, " with ")
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
