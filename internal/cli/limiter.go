package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
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
	"github.com/anivault/anivault/ratelimit/machine"
)

// withTarget runs do with a target to change: the limiter that all processes share, or one account of it if account is
// not "". It fails for a coordinator in memory, which other processes can't reach.
func (f *factory) withTarget(cmd *cobra.Command, account string, do func(context.Context, operate.Target) error) error {
	cfg, err := f.load(cmd)
	if err != nil {
		return err
	}
	if cfg.Coordinator == "memory" {
		return usagef("unset ANIVAULT_COORDINATOR, or set it to file",
			"with ANIVAULT_COORDINATOR=memory, no other process can be reached")
	}
	store, done, err := app.OpenState(cfg, stateLockTimeout, func(err error) {
		if w, ok := errors.AsType[*ratelimit.StoreWarning](err); !ok || w.Parts == 0 {
			f.warn("%v", err) // if it has Parts, the shared state can't be used, and do returns an error
		}
	})
	if err != nil {
		return err
	}
	if account != "" {
		_, err = selectAccounts(cfg, []string{account})
	}
	if err == nil {
		target := operate.Target{Operator: ratelimit.Operator{Store: store}, Config: cfg, Account: account}
		err = do(cmd.Context(), target)
	}
	return errors.Join(err, done())
}

// stateLockTimeout limits the wait for the lock of the shared state. Only a stopped process holds the lock for longer.
const stateLockTimeout = 5 * time.Second

func newLimiterCacheOnly(f *factory) *cobra.Command {
	var recover string
	cmd := f.setRun(command("limiter_cache-only"), nil, func(c invocation) error {
		var t ratelimit.Tuning
		field, _ := ratelimit.FieldByKey("auto_recover")
		if err := field.Set(&t, recover); err != nil {
			return tuningUsageError(err)
		}
		return f.withTarget(c.cmd, "", func(ctx context.Context, target operate.Target) error {
			if _, err := target.CacheOnly(ctx, t.AutoRecover); err != nil {
				return err
			}
			f.say("paused: nothing is sent to TMDB; to continue: anivault limiter resume\n")
			if t.AutoRecover > 0 {
				f.say("it ends by itself in %s\n", ui.Period(t.AutoRecover))
			}
			return nil
		})
	})
	cmd.Flags().StringVar(&recover, "auto-recover", config.SettingByKey("limiter.auto_recover").Default,
		"end on its own after this `PERIOD`, such as 15m")
	return cmd
}

func newLimiterResume(f *factory) *cobra.Command {
	return f.setRun(command("limiter_resume"), nil, func(c invocation) error {
		return f.withTarget(c.cmd, "", func(ctx context.Context, target operate.Target) error {
			before, err := target.Operator.Status(ctx, target.Config.Tuning)
			if err != nil {
				return err
			}
			tr, moved, err := target.Operator.Resume(ctx)
			switch {
			case err != nil:
				return err
			case moved && tr.Account == "":
				f.say("resumed: %s, then HalfOpen, then Normal\n", tr.To)
			case !moved:
				f.say("nothing to resume: the limiter is in %s\n", before.State)
			}
			st, err := target.Operator.Status(ctx, target.Config.Tuning)
			if err == nil && st.PauseUntil.After(st.At) {
				f.say("%s; until then nothing is sent\n", restartText(st))
			}
			for _, a := range before.Accounts {
				if a.State == ratelimit.CacheOnly && err == nil {
					from := ui.Clock(st.ForAccount(ratelimit.Account{Name: a.Name}).Until)
					f.say("resumed account %s: its next request is a probe, at %s or later\n", a.Name, from)
				}
			}
			return err
		})
	})
}

func newLimiterReset(f *factory) *cobra.Command {
	var force, yes bool
	cmd := f.setRun(command("limiter_reset"), nil, func(c invocation) error {
		return f.withTarget(c.cmd, "", func(ctx context.Context, target operate.Target) error {
			before, err := target.Operator.Status(ctx, target.Config.Tuning)
			if err != nil {
				return err
			}
			known := learnedText(before)
			question := lang.Textf("Forget what the limiter has learned (%s)?", known)
			if ok, err := f.confirm(ctx, yes, question, "nothing was removed\n"); !ok {
				return err
			}
			if err := target.Reset(ctx, force); err != nil {
				return err
			}
			var kept lang.Text
			if !force && !before.PauseUntil.IsZero() {
				kept = lang.Textf("; TMDB's pause lasts until %s (--force ends it)", ui.Clock(before.PauseUntil))
			}
			f.say("forgot %s; the limiter is in %s%s\n", known, ratelimit.Normal, kept)
			return nil
		})
	})
	cmd.Flags().BoolVar(&force, "force", false, "end a pause that TMDB asked for, too")
	addYesFlag(cmd, &yes)
	return cmd
}

func learnedText(s ratelimit.Status) lang.Text {
	n := s.Counts.OK + s.Counts.Throttled + s.Counts.Server + s.Counts.Network
	list := []lang.Text{lang.Text(s.State.String()), lang.Textf("%s to judge by", lang.Count(n, "answer"))}
	if s.BudgetUsed > 0 {
		list = append(list, lang.Textf("%d used of the budget %s", s.BudgetUsed, s.Budget))
	}
	change := func(o ratelimit.Override) lang.Text { return lang.Textf("%s=%s", o.Key, o.Value) }
	return lang.Join(append(list, mapped(s.Overrides, change)...), ", ")
}

func newLimiterRules(f *factory) *cobra.Command {
	return f.setRun(command("limiter_rules"), textOrJSON, func(c invocation) error {
		if c.format == "text" {
			var text strings.Builder
			writeRules(&text, f.streams.OutWidth())
			_, err := io.WriteString(f.streams.Out, strings.TrimPrefix(text.String(), "\n"))
			return err
		}
		return f.encode(mapped(machine.Rules(), func(r machine.Rule) jsonRule {
			return jsonRule{fromStateNames(r), r.To.String(), r.Condition, r.Confirmation.String(), r.Reason.String()}
		}), "  ")
	})
}

func fromStateNames(r machine.Rule) []string {
	if r.From == nil {
		return []string{"any"}
	}
	return mapped(r.From, ratelimit.State.String)
}

type jsonRule struct {
	From         []string `json:"from" doc:"the states it leads from"`
	To           string   `json:"to" doc:"the state it leads to"`
	Condition    string   `json:"condition" doc:"what has to hold"`
	Confirmation string   `json:"confirmation" doc:"how often or how long it has to hold"`
	Reason       string   `json:"reason" doc:"its name in logs and status"`
}

func newLimiterGraph(f *factory) *cobra.Command {
	return f.setRun(command("limiter_graph"), nil, func(invocation) error {
		_, err := io.WriteString(f.streams.Out, machine.Graph())
		return err
	})
}

func newLimiterTune(f *factory) *cobra.Command {
	cmd := command("limiter_tune")
	cmd.ValidArgsFunction = completeTuningKeys(func(string) bool { return true })
	return f.setTuneRun(cmd, "for example: anivault limiter tune rate_base=10", "end these changes, or all of them", false)
}

// setTuneRun makes cmd change settings of the limiter or, with perAccount, limits of the account in the first argument.
func (f *factory) setTuneRun(cmd *cobra.Command, example, resetUsage lang.Text, perAccount bool) *cobra.Command {
	var duration string
	var reset bool
	f.setRun(cmd, nil, func(c invocation) error {
		account, args := "", c.args
		if perAccount {
			account, args = args[0], args[1:]
		}
		period, ok := operate.ParseDuration(duration)
		change := operate.Change{Reset: args, ResetAll: len(args) == 0}
		if !reset {
			values, err := parseTuningArgs(account, args, example)
			if err != nil {
				return err
			}
			change = operate.Change{Set: values, Duration: period}
		}
		for _, key := range change.Reset {
			if err := checkTuningKey(account, key); err != nil {
				return err
			}
		}
		if !ok {
			return usagef("allowed: a time such as 30m or 8h, or always", "--for: %q is not a time", duration)
		}
		return f.withTarget(c.cmd, account, func(ctx context.Context, target operate.Target) error {
			if _, err := target.Tune(ctx, change); err != nil {
				return tuningUsageError(err)
			}
			what, all := strings.Join(args, " "), cmp.Or(strings.Join(args, ", "), lang.Say("all changes"))
			switch {
			case reset && perAccount:
				f.say("reset %s of %s\n", all, account)
			case reset:
				f.say("reset %s\n", all)
			case perAccount:
				f.say("tuned %s of %s %s\n", what, account, durationText(period))
				return f.warnIfRateTooHigh(ctx, target, change.Set["rate"])
			default:
				f.say("tuned %s %s\n", what, durationText(period))
			}
			return nil
		})
	})
	cmd.Flags().StringVar(&duration, "for", "1h", "`DURATION` to keep the change, such as 30m, or always")
	cmd.Flags().BoolVar(&reset, "reset", false, string(resetUsage))
	completeWords(cmd, "for", "1h", "8h", "always")
	return cmd
}

// completeTuningKeys completes KEY= for every setting of the limiter for which include returns true.
func completeTuningKeys(include func(key string) bool) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var keys []string
		for _, f := range ratelimit.Fields() {
			if include(f.Key) {
				keys = append(keys, f.Key+"=")
			}
		}
		return keys, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}
}

func parseTuningArgs(account string, args []string, example lang.Text) (map[string]string, error) {
	if len(args) == 0 {
		return nil, usagef(example, "no KEY=VALUE given")
	}
	values := map[string]string{}
	for _, a := range args {
		key, value, ok := strings.Cut(a, "=")
		if !ok {
			return nil, usagef(example, "%q is not KEY=VALUE", a)
		}
		if err := checkTuningKey(account, key); err != nil {
			return nil, err
		}
		if _, twice := values[key]; twice {
			return nil, usagef("write it only once", "%s is given twice", key)
		}
		values[key] = value
	}
	return values, nil
}

func checkTuningKey(account, key string) error {
	keys := operate.Target{Account: account}.Keys()
	switch {
	case slices.Contains(keys, key):
		return nil
	case account != "":
		return usagef(didYouMeanOrAllowed(key, keys), "%q is not a limit of an account", key)
	}
	return usagef(didYouMeanOrAllowed(key, keys), "%q is not a limiter setting", key)
}

func durationText(d time.Duration) lang.Text {
	if d == 0 {
		return "until it is reset"
	}
	return lang.Textf("for %s", ui.Period(d))
}

func tuningUsageError(err error) error {
	if t, ok := errors.AsType[*ratelimit.TuningError](err); ok {
		return usagef(config.RemedyText(t), "%s: %s", app.TuningText(t), lang.Text(t.Reason))
	}
	return err
}
