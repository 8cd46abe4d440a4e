package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/operate"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/ratelimit"
)

func newLimiterTune(f *factory) *cobra.Command {
	var lasts string
	var reset bool
	cmd := leaf(&cobra.Command{
		Use:   "tune KEY=VALUE...",
		Short: "Change settings of every running process",
		Long: `Change the limiter's settings for every running process, and for those that start while the change lasts. It
overrides flags, environment and config file until it ends. Keys are the limiter's settings without "limiter.":
anivault config show lists them.`,
		Example: `  anivault limiter tune rate_base=10
  anivault limiter tune rate_base=20 concurrency=2 --for 8h
  anivault limiter tune --reset rate_base
  anivault limiter tune --reset`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: completeTuning(func(string) bool { return true }),
	}, nil, func(cmd *cobra.Command, args []string, _ string) error {
		if reset {
			return resetTuning(f, cmd, args)
		}
		values, err := tuneValues(args)
		if err != nil {
			return err
		}
		period, err := tunePeriod(lasts)
		if err != nil {
			return err
		}
		return f.operate(cmd, func(ctx context.Context, cfg *config.Config, store ratelimit.Store) error {
			target := operate.Target{Operator: ratelimit.Operator{Store: store}, Config: cfg}
			if _, err := target.Tune(ctx, operate.Order{Set: values, Lasts: period}); err != nil {
				return tuneError(err)
			}
			f.say("tuned %s %s\n", strings.Join(args, " "), periodText(period))
			return nil
		})
	})
	cmd.Flags().StringVar(&lasts, "for", "1h", "`DURATION` to keep the change, such as 30m, or always")
	completeWords(cmd, "for", "1h", "8h", "always")
	cmd.Flags().BoolVar(&reset, "reset", false, "end the named changes, or all of them")
	return cmd
}

// completeTuning offers KEY= for every setting of the limiter that use accepts.
func completeTuning(use func(key string) bool) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var keys []string
		for _, f := range ratelimit.Fields() {
			if use(f.Key) {
				keys = append(keys, f.Key+"=")
			}
		}
		return keys, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}
}

func resetTuning(f *factory, cmd *cobra.Command, keys []string) error {
	for _, k := range keys {
		if _, ok := ratelimit.FieldByKey(k); !ok {
			return unknownKnob(k)
		}
	}
	return f.operate(cmd, func(ctx context.Context, cfg *config.Config, store ratelimit.Store) error {
		target := operate.Target{Operator: ratelimit.Operator{Store: store}, Config: cfg}
		if _, err := target.Tune(ctx, operate.Order{Reset: keys, ResetAll: len(keys) == 0}); err != nil {
			return err
		}
		what := "all changes"
		if len(keys) > 0 {
			what = strings.Join(keys, ", ")
		}
		f.say("reset %s\n", what)
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
	return usagef(suggest(key, keys, "", lang.Textf("allowed: %s", strings.Join(keys, ", "))), "%q is not a limiter setting", key)
}

// tunePeriod reads --for; 0 means always.
func tunePeriod(text string) (time.Duration, error) {
	d, ok := operate.Period(text)
	if !ok {
		return 0, usagef("allowed: a time such as 30m or 8h, or always", "flag --for: %q is not a time", text)
	}
	return d, nil
}

func periodText(d time.Duration) lang.Text {
	if d == 0 {
		return "until it is reset"
	}
	return lang.Textf("for %s", ui.Period(d))
}

// tuneError makes a refused value a usage error.
func tuneError(err error) error {
	if t, ok := errors.AsType[*ratelimit.TuningError](err); ok {
		return usagef(config.RemedyText(t), "%s: %s", app.Tuned(t), lang.Text(t.Reason))
	}
	return err
}
