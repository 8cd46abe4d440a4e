package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/ratelimit"
)

// The commands that tell the limiter what to do. They act on the shared state; running processes obey at
// their next request.

// operate opens the shared state for an operator's command; a process's own memory can't be reached.
func (c *command) operate(cmd *cobra.Command, do func(context.Context, *config.Config, ratelimit.Store) error) error {
	cfg, err := c.load(cmd)
	if err != nil {
		return err
	}
	if cfg.Coordinator == "memory" {
		return usagef("unset ANIVAULT_COORDINATOR, or set it to file", "with ANIVAULT_COORDINATOR=memory no other process can be reached")
	}
	store, err := ratelimit.OpenFileStore(app.StateDir(cfg), ratelimit.FileOptions{Processes: cfg.Tuning.Processes, Patience: operatorPatience, OnWarning: func(err error) {
		if w, ok := errors.AsType[*ratelimit.StoreWarning](err); !ok || w.Parts == 0 { // to go on alone is no use here: what do returns says why
			c.warn("%v", err)
		}
	}})
	if err != nil {
		return err
	}
	return errors.Join(do(cmd.Context(), cfg, store), store.Close())
}

// operatorPatience is how long an operator's command waits for the shared state. A process that holds its lock for
// longer does not run.
const operatorPatience = 5 * time.Second

func (c *command) limiterShowCommand() *cobra.Command {
	cmd := c.statusCommand()
	cmd.Use = "show"
	cmd.Short = "Say in which state the limiter is (as: anivault status)"
	cmd.Example = "  anivault limiter show\n  anivault limiter show --watch"
	return cmd
}

func (c *command) limiterTuneCommand() *cobra.Command {
	var lasts string
	var reset bool
	cmd := &cobra.Command{
		Use:   "tune KEY=VALUE...",
		Short: "Change settings of every running process",
		Long: `Change the limiter's settings for every running process, and for those that start while the change lasts. It
stands above flags, environment and config file until it ends. Keys are the limiter's settings without
"limiter.": anivault config show lists them.`,
		Example: `  anivault limiter tune rate_base=10
  anivault limiter tune rate_base=20 concurrency=2 --for 8h
  anivault limiter tune --reset rate_base
  anivault limiter tune --reset`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if reset {
				return c.resetTuning(cmd, args)
			}
			values, err := tuneValues(args)
			if err != nil {
				return err
			}
			period, err := tunePeriod(lasts)
			if err != nil {
				return err
			}
			return c.operate(cmd, func(ctx context.Context, cfg *config.Config, store ratelimit.Store) error {
				if err := checkTuned(ctx, store, cfg.Tuning, values); err != nil {
					return tuneError(err)
				}
				if err := ratelimit.Tune(ctx, store, values, period); err != nil {
					return tuneError(err)
				}
				c.say("tuned %s %s\n", strings.Join(args, " "), periodText(period))
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&lasts, "for", "1h", "how `LONG` it lasts: a time such as 30m, or always")
	completeWords(cmd, "for", "1h", "8h", "always")
	cmd.Flags().BoolVar(&reset, "reset", false, "end the named changes, or all of them")
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var keys []string
		for _, f := range ratelimit.Fields() {
			keys = append(keys, f.Key+"=")
		}
		return keys, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

// checkTuned refuses values that cross those that are in force here. A process with others of its own clamps
// what crosses them, and warns.
func checkTuned(ctx context.Context, store ratelimit.Store, own ratelimit.Tuning, values map[string]string) error {
	st, err := ratelimit.ReadStatus(ctx, store, own)
	if err != nil {
		return err
	}
	t := st.Tuning
	for key, value := range values {
		field, _ := ratelimit.FieldByKey(key)
		if err := field.Set(&t, value); err != nil {
			return err
		}
	}
	return t.Validate()
}

func (c *command) resetTuning(cmd *cobra.Command, keys []string) error {
	for _, k := range keys {
		if _, ok := ratelimit.FieldByKey(k); !ok {
			return unknownKnob(k)
		}
	}
	return c.operate(cmd, func(ctx context.Context, _ *config.Config, store ratelimit.Store) error {
		if err := ratelimit.ResetTuning(ctx, store, keys...); err != nil {
			return err
		}
		what := "all changes"
		if len(keys) > 0 {
			what = strings.Join(keys, ", ")
		}
		c.say("reset %s\n", what)
		return nil
	})
}

// tuneValues reads KEY=VALUE arguments.
func tuneValues(args []string) (map[string]string, error) {
	if len(args) == 0 {
		return nil, usagef("for example: anivault limiter tune rate_base=10", "no KEY=VALUE given")
	}
	values := map[string]string{}
	for _, a := range args {
		key, value, ok := strings.Cut(a, "=")
		if !ok {
			return nil, usagef("for example: anivault limiter tune rate_base=10", "%q is not KEY=VALUE", a)
		}
		if _, known := ratelimit.FieldByKey(key); !known {
			return nil, unknownKnob(key)
		}
		if _, twice := values[key]; twice {
			return nil, usagef("give it once", "%s is given twice", key)
		}
		values[key] = value
	}
	return values, nil
}

func unknownKnob(key string) error {
	var keys []string
	for _, f := range ratelimit.Fields() {
		keys = append(keys, f.Key)
	}
	slices.Sort(keys)
	hint := "allowed: " + strings.Join(keys, ", ")
	if near, ok := config.Nearest(key, keys); ok {
		hint = "did you mean " + near + "?"
	}
	return usagef(hint, "%q is not a limiter setting", key)
}

// tunePeriod reads --for; 0 means for ever.
func tunePeriod(text string) (time.Duration, error) {
	if text == "always" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, usagef("allowed: a time such as 30m or 8h, or always", "flag --for: %q is not a time", text)
	}
	return d, nil
}

func periodText(d time.Duration) string {
	if d == 0 {
		return "until it is reset"
	}
	return "for " + ui.Period(d)
}

// tuneError makes a refused value a usage error.
func tuneError(err error) error {
	var t *ratelimit.TuningError
	if errors.As(err, &t) {
		return usagef(t.Remedy, "%s", strings.TrimSuffix(t.Error(), "; "+t.Remedy))
	}
	return err
}

func (c *command) limiterCacheOnlyCommand() *cobra.Command {
	var recover string
	cmd := &cobra.Command{
		Use:   "cache-only",
		Short: "Stop all requests of all processes until resume",
		Example: `  anivault limiter cache-only
  anivault limiter cache-only --auto-recover=15m`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var t ratelimit.Tuning
			field, _ := ratelimit.FieldByKey("auto_recover")
			if err := field.Set(&t, recover); err != nil {
				return tuneError(err)
			}
			return c.operate(cmd, func(ctx context.Context, _ *config.Config, store ratelimit.Store) error {
				if _, _, err := ratelimit.ForceCacheOnly(ctx, store, t.AutoRecover); err != nil {
					return err
				}
				ends := "until: anivault limiter resume"
				if t.AutoRecover > 0 {
					ends = "for " + ui.Period(t.AutoRecover) + ", or until: anivault limiter resume"
				}
				c.say("no process asks TMDB any more, %s\n", ends)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&recover, "auto-recover", "off", "end by itself after this `PERIOD`, such as 15m")
	return cmd
}

func (c *command) limiterResumeCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "resume",
		Short:   "End CacheOnly: probe TMDB, then go on",
		Example: "  anivault limiter resume",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.operate(cmd, func(ctx context.Context, cfg *config.Config, store ratelimit.Store) error {
				tr, moved, err := ratelimit.Resume(ctx, store)
				if err != nil {
					return err
				}
				if moved {
					c.say("resumed: %s, then HalfOpen, then Normal\n", tr.To)
					return nil
				}
				st, err := ratelimit.ReadStatus(ctx, store, cfg.Tuning)
				if err != nil {
					return err
				}
				c.say("nothing to resume: the limiter is in %s\n", st.State)
				return nil
			})
		},
	}
}

func (c *command) limiterResetCommand() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:     "reset",
		Short:   "Forget what was learned: state, evidence, cooldown, budget, tuning",
		Example: "  anivault limiter reset",
		Long: `Forget what was learned: state, evidence, cooldown, ramp, budget and tuning. A pause that TMDB asked for stays
unless --force is given.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.operate(cmd, func(ctx context.Context, cfg *config.Config, store ratelimit.Store) error {
				if err := ratelimit.Reset(ctx, store, force); err != nil {
					return err
				}
				st, err := ratelimit.ReadStatus(ctx, store, cfg.Tuning)
				if err != nil {
					return err
				}
				kept := ""
				if !st.PauseUntil.IsZero() {
					kept = fmt.Sprintf("; TMDB's pause stays until %s (--force ends it)", ui.Clock(st.PauseUntil))
				}
				c.say("the limiter is in %s%s\n", st.State, kept)
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "end a pause that TMDB asked for, too")
	return cmd
}
