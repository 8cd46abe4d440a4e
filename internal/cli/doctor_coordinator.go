package cli

import (
	"context"
	"errors"
	"time"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/ratelimit/redisstore"
)

// coordinatorChecks are what doctor says of the coordinator: whether it works, then what may be better about it.
func coordinatorChecks(cfg *config.Config) []func(context.Context) finding {
	const what = "redis"
	var (
		found redisstore.Findings
		err   error
		none  = finding{}
	)
	remark := func(is func() bool, state, fix lang.Text) func(context.Context) finding {
		return func(context.Context) finding {
			if err != nil || !is() {
				return none
			}
			return finding{what: what, state: state, fix: fix}
		}
	}
	place := cfg.Redis.Address.Place()
	return []func(context.Context) finding{
		func(ctx context.Context) finding {
			found, err = app.CheckCoordinator(ctx, cfg)
			if err == nil {
				server := lang.Textf("%s", found.Server)
				if found.Unlisted {
					server = "the server"
				}
				return finding{what: what, state: lang.Textf("%s at %s answers in %s and may do all that is needed; enough is: %s",
					server, place, found.Trip.Round(10*time.Microsecond), app.CoordinatorRule(cfg))}
			}
			if fault, ok := errors.AsType[*redisstore.Fault](err); ok {
				return finding{what: what, state: lang.TextOf(fault), fix: app.CoordinatorFix(cfg, fault), bad: true}
			}
			return fault(what, lang.TextOf(err), "anivault config validate")
		},
		remark(func() bool { return found.Skew.Abs() > 30*time.Second }, "its clock and this machine's differ: what is told as a time is by its clock",
			"set both clocks (for example: timedatectl set-ntp true); the limits hold all the same"),
		remark(func() bool { return found.Evicts != "" }, "it may throw the limiter's state away when its memory is full",
			"set its maxmemory-policy to noeviction or volatile-lru"),
		remark(func() bool { return found.Forgets }, "it keeps no append-only file: a restart forgets what the limiter knows",
			"set its appendonly to yes"),
		remark(func() bool { return found.Unlisted }, "it doesn't tell this user its version and settings", "give the user +info"),
		remark(cfg.Redis.Address.Exposed, "what is said to it can be read on the way", "use TLS: rediss:// in ANIVAULT_COORDINATOR"),
	}
}
