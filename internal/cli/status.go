package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/ratelimit"
)

func (c *command) statusCommand() *cobra.Command {
	var watch bool
	cmd := c.configured(&cobra.Command{
		Use:   "status",
		Short: "Say how TMDB, the limiter and the cache are doing",
		Long: `Say in which state the limiter is, why, until when, what has been sent of late, which processes take part, and
how much the cache holds. It asks TMDB nothing.`,
		Example: "  anivault status\n  anivault status --watch\n  anivault status --format json | jq .state",
	}, textOrJSON, func(ctx context.Context, cfg *config.Config, _ []string, format string) error {
		store, err := app.OpenState(cfg, func(err error) { c.warn("%v", err) })
		if err != nil {
			return err
		}
		if closer, ok := store.(io.Closer); ok {
			defer closer.Close() // it has written nothing
		}
		if watch {
			return c.watchStatus(ctx, cfg, store, format)
		}
		view, err := c.readStatus(ctx, cfg, store)
		if err != nil {
			return err
		}
		return c.printStatus(view, format)
	})
	cmd.Flags().BoolVar(&watch, "watch", false, "redraw every second until Ctrl-C; with --format json, a line a second")
	return cmd
}

// statusView is what status shows.
type statusView struct {
	limiter ratelimit.Status
	cache   *cache.Stats // nil where it can't be read
	baseURL string
}

func (c *command) readStatus(ctx context.Context, cfg *config.Config, store ratelimit.Store) (statusView, error) {
	st, err := ratelimit.ReadStatus(ctx, store, cfg.Tuning)
	if err != nil {
		return statusView{}, fmt.Errorf("read the limiter's state: %w", err)
	}
	view := statusView{limiter: st, baseURL: cfg.TMDB.BaseURL.String()}
	if s, err := app.ReadCacheStats(ctx, cfg); err == nil {
		view.cache = &s
	}
	return view, nil
}

func (c *command) watchStatus(ctx context.Context, cfg *config.Config, store ratelimit.Store, format string) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		view, err := c.readStatus(ctx, cfg, store)
		if ctx.Err() != nil {
			return nil // Ctrl-C is how a watch ends
		}
		if err != nil {
			return err
		}
		if format == "text" && c.streams.OutTTY {
			fmt.Fprint(c.streams.Out, "\x1b[H\x1b[2J")
		}
		if err := c.printStatus(view, format); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (c *command) printStatus(v statusView, format string) error {
	if format == "json" {
		return c.printJSON(v.wire())
	}
	return writeRows(c.streams.Out, v.rows(), c.streams.OutWidth())
}

// rows are labels and beside them their texts.
type rows [][2]string

func (r *rows) add(label, format string, args ...any) {
	*r = append(*r, [2]string{label, fmt.Sprintf(format, args...)})
}

// writeRows writes rows wrapped to the terminal's width; 0: never.
func writeRows(out io.Writer, rows rows, width int) error {
	labels := 0
	for _, row := range rows {
		labels = max(labels, ui.Width(row[0]))
	}
	var b strings.Builder
	for _, row := range rows {
		lines := []string{row[1]}
		if width > 0 {
			lines = ui.Wrap(row[1], max(width-labels-2, 20))
		}
		for i, line := range lines {
			label := row[0]
			if i > 0 {
				label = ""
			}
			fmt.Fprintf(&b, "%s  %s\n", ui.Pad(label, labels), line)
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// rows returns the texts of status, the most telling first.
func (v statusView) rows() rows {
	s := v.limiter
	state := s.State.String()
	if s.Cause != ratelimit.ReasonNone && s.Cause != ratelimit.ReasonFresh {
		state += " (" + s.Cause.String() + ")"
	}
	if !s.Since.IsZero() {
		state += ", for " + ui.Duration(s.At.Sub(s.Since))
	}
	out := rows{{"upstream", v.baseURL}, {"state", state}}
	switch {
	case s.Until.After(s.At):
		out.add("until", "%s (in %s)", ui.Clock(s.Until), ui.Countdown(s.Until.Sub(s.At)))
	case !s.Until.IsZero():
		out.add("until", "the next request, which is a probe")
	}
	if !s.PauseUntil.IsZero() {
		out.add("pause", "all processes wait until %s (in %s)", ui.Clock(s.PauseUntil), ui.Countdown(s.PauseUntil.Sub(s.At)))
	}
	if s.Rate > 0 {
		out.add("rate", "%.3g requests a second, %.1f of %.3g tokens in the bucket", s.Rate, s.Tokens, s.Burst)
	} else {
		out.add("rate", "0: nothing is sent in %s", s.State)
	}
	out.add("ceiling", "%d of %d permits in the last %s", s.Granted, s.Ceiling, s.CeilingWindow)
	if s.Slots > 0 {
		out.add("slots", "%d of %d in use, %d waiting; %d for one process", s.Running, s.Slots, s.Waiting, s.OwnSlots)
	} else {
		out.add("requests", "%d still under way, %d waiting", s.Running, s.Waiting)
	}
	out.add(judged(s), "%d ok, %d refused (429), %d server errors, %d without answer; error ratio %.2f",
		s.Counts.OK, s.Counts.Throttled, s.Counts.Server, s.Counts.Network, s.ErrRatio)
	if s.RampRate > 0 {
		out.add("ramp", "%.3g requests a second, more at %s", s.RampRate, ui.Clock(s.RampNext))
	}
	if s.Budget.On() {
		renews := "not begun"
		if !s.BudgetRenews.IsZero() {
			renews = "renews " + ui.Clock(s.BudgetRenews)
		}
		out.add("budget", "%d used and %d reserved of %s, %s", s.BudgetUsed, s.BudgetHeld, s.Budget, renews)
	}
	for _, o := range s.Overrides {
		until := "until reset"
		if !o.Until.IsZero() {
			until = "until " + ui.Clock(o.Until)
		}
		out.add("override", "%s=%s %s", o.Key, o.Value, until)
	}
	for _, p := range s.Processes {
		out.add("process", "%s: %d running, %d waiting, %s", ui.Printable(p.ID), p.Running, p.Waiting, pace(s, p))
	}
	if v.cache != nil {
		out.add("cache", "%s", cacheLine(*v.cache))
	}
	if s.State == ratelimit.CacheOnly {
		out.add("hint", "anivault limiter resume lets requests go again")
	}
	return out
}

// judged is which answers are counted: every state begins without any.
func judged(s ratelimit.Status) string {
	if s.Cause != ratelimit.ReasonFresh && s.At.Sub(s.Since) < s.Tuning.Window {
		return "since " + s.State.String() + " began"
	}
	return "last " + ui.Countdown(s.Tuning.Window)
}

// pace is what a process may send now.
func pace(s ratelimit.Status, p ratelimit.ProcessStatus) string {
	switch {
	case s.Rate == 0:
		return "sends nothing in " + s.State.String()
	case s.PauseUntil.After(s.At):
		return "sends nothing in the pause"
	}
	return fmt.Sprintf("at most %.3g requests a second", min(p.Rate, s.Rate))
}
