package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
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

func newAccountsList(f *factory) *cobra.Command {
	return f.setRunWithConfig(command("accounts_list"), textOrJSON, func(c invocation) error {
		list, err := readAccounts(c.cmd.Context(), f, c.cfg)
		if err != nil {
			return err
		}
		if c.format == "json" {
			return f.printJSON(list)
		}
		return printAccounts(f, list)
	})
}

func readAccounts(ctx context.Context, f *factory, cfg *config.Config) ([]app.AccountView, error) {
	store, done, err := app.OpenState(cfg, 0, func(err error) { f.warn("%v", err) })
	if err != nil {
		return nil, err
	}
	defer func() { _ = done() }() // an error is harmless after reading
	st, err := ratelimit.Operator{Store: store}.Status(ctx, cfg.Tuning, cfg.LimiterAccounts()...)
	if err != nil {
		return nil, lang.Error("read the limiter's state: %w", err)
	}
	return app.ViewAccounts(cfg, st), nil
}

func printAccounts(f *factory, list []app.AccountView) error {
	if len(list) == 0 {
		f.say("there is no key: %s\n", findHint("no_key"))
		return nil
	}
	var lines [][]string
	for _, a := range list {
		limit, rate, quota := cmp.Or(ui.Number(a.Limit), "-"), "-", "-"
		if a.Rate > 0 {
			rate = fmt.Sprintf("%g/s", a.Rate)
		}
		if q := a.Quota; q != nil {
			quota = lang.Sprintf("%d+%d of %d/%s", q.Used, q.Reserved, q.Limit, q.Period)
			if at, err := time.Parse(time.RFC3339, q.Renews); err == nil {
				quota = lang.Sprintf("%s, renews %s", quota, ui.Clock(at))
			}
		}
		keys := mapped(a.Keys, func(k app.KeyView) string { return fmt.Sprintf("%d %s", k.Number, lang.Say(k.Standing)) })
		lines = append(lines, []string{
			a.Name, strconv.Itoa(a.Priority), standingText(a), fmt.Sprintf("%d/%s", a.Running, limit), rate, quota,
			strings.Join(keys, ", "),
		})
	}
	header := []string{"NAME", "PRIORITY", "STANDING", "RUNNING", "RATE", "QUOTA", "KEYS"}
	return writeColumns(f.streams.Out, header, lines)
}

func standingText(a app.AccountView) string {
	text := lang.Say(a.Standing)
	if a.Reason != "" {
		text += " (" + lang.Say(a.Reason) + ")"
	}
	if at, err := time.Parse(time.RFC3339, a.Since); err == nil && a.Standing != "accepted" && a.Standing != "unproven" {
		text = lang.Sprintf("%s since %s", text, ui.Clock(at))
	}
	if at, err := time.Parse(time.RFC3339, a.Until); err == nil {
		text = lang.Sprintf("%s, until %s", text, ui.Clock(at))
	}
	return text
}

// selectAccounts returns the configured accounts with these names; all of them if names is empty.
func selectAccounts(cfg *config.Config, names []string) ([]config.Account, error) {
	all := cfg.EffectiveAccounts()
	if len(all) == 0 {
		return nil, noKeyError()
	}
	if len(names) == 0 {
		return all, nil
	}
	known, _ := accountNames(cfg)
	var out []config.Account
	for _, name := range names {
		i := slices.IndexFunc(all, func(a config.Account) bool { return a.Name == name })
		if i < 0 {
			return nil, usagef(didYouMeanOrAllowed(name, known), "there is no account %q in the configuration", name)
		}
		out = append(out, all[i])
	}
	return out, nil
}

func newAccountsTest(f *factory) *cobra.Command {
	return f.setRunWithConfig(command("accounts_test"), nil, func(c invocation) error {
		list, err := selectAccounts(c.cfg, c.args)
		if err != nil {
			return err
		}
		run, err := app.Open(probeConfig(c.cfg), app.Options{Warn: func(err error) { f.warn("%v", err) }})
		if err != nil {
			return err
		}
		refused, unreachable := 0, 0
		for _, a := range list {
			for _, t := range run.TestAccount(c.cmd.Context(), a) {
				switch {
				case c.cmd.Context().Err() != nil:
					return errors.Join(c.cmd.Context().Err(), run.Close())
				case t.Refused:
					refused++
				case t.Err != nil:
					unreachable++
				}
				fmt.Fprint(f.streams.Out, lang.Sprintf("%s key %d: %s\n", a.Name, t.Number, ui.Escaped(lang.Say(t.Text))))
			}
		}
		err = run.Close()
		switch {
		case refused > 0:
			const hint = "replace it in the configuration, or ask TMDB"
			return exitErrorf(exitUnauthorized, hint, "TMDB refused %s", lang.Count(refused, "key"))
		case unreachable > 0:
			return exitErrorf(exitIncomplete, "anivault status", "%s could not be tested", lang.Count(unreachable, "key"))
		}
		return err
	})
}

func newAccountsEnable(f *factory, enable bool) *cobra.Command {
	name, done := "accounts_disable", "disabled %s\n"
	if enable {
		name, done = "accounts_enable", "enabled %s\n"
	}
	return f.setRun(command(name), nil, func(c invocation) error {
		return f.withTarget(c.cmd, c.args[0], func(ctx context.Context, target operate.Target) error {
			if _, err := target.Enable(ctx, enable, 0); err != nil {
				return err
			}
			f.say(done, c.args[0])
			return nil
		})
	})
}

func newAccountsTune(f *factory) *cobra.Command {
	const example = "for example: anivault accounts tune main rate=5"
	return f.setTuneRun(command("accounts_tune"), example, "end these changes of the account, or all of them", true)
}

// warnIfRateTooHigh warns of an account rate above rate_base, the limit for all accounts together.
func (f *factory) warnIfRateTooHigh(ctx context.Context, target operate.Target, text string) error {
	rate, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil //nolint:nilerr // no rate was given, or "off"
	}
	st, err := ratelimit.Operator{Store: target.Store}.Status(ctx, target.Config.Tuning)
	if err == nil && rate > st.Tuning.RateBase {
		f.warn("an account has at most rate_base: rate=%g is used", st.Tuning.RateBase)
	}
	return err
}
