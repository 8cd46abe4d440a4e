package cli

import (
	"context"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/apply"
	"github.com/anivault/anivault/internal/config"
)

func (c *command) undoCommand() *cobra.Command {
	var a applying
	cmd := leaf(&cobra.Command{
		Use:   "undo [ID]",
		Short: "Put back what a run of apply has changed",
		Long: `Put back what a run of anivault apply has changed, the last one without an ID: names, folders and their times.
What can't be put back safely is kept and listed with its reason: a name that something else has now, a file that was
moved on, a link whose original is gone. Nothing is ever replaced, and no last name of a file removed.`,
		Example: `  anivault undo
  anivault undo 20261122-020431-k3f9 --dry-run
  anivault undo --only '*Frieren*'`,
		Args: atMostOne("ID"),
	}, nil, func(cmd *cobra.Command, args []string, _ string) error {
		return c.undo(cmd, &a, args)
	})
	flags := cmd.Flags()
	flags.BoolVar(&a.dryRun, "dry-run", false, "say what would be put back, and change nothing")
	flags.StringVar(&a.only, "only", "", "only units of which a path, or its last part, fits `GLOB`")
	flags.DurationVar(&a.wait, "wait", 0, "wait up to `TIME` for another run to end")
	streamFormat(cmd, &a.format, organizeFormats...)
	return cmd
}

func (c *command) undo(cmd *cobra.Command, a *applying, args []string) error {
	a.began = time.Now()
	if err := c.tableOr(&a.format, organizeFormats...); err != nil {
		return err
	}
	opts := apply.UndoOptions{DryRun: a.dryRun}
	if a.only != "" {
		if _, err := path.Match(a.only, ""); err != nil {
			return usagef(`* stands for anything but a slash; quote the pattern for the shell`, "flag --only: %q is no pattern", a.only)
		}
		opts.Only = func(source, target string) bool { return fits(a.only, source) || fits(a.only, target) }
	}
	cfg, err := c.load(cmd)
	if err != nil {
		return err
	}
	return c.putBack(cmd.Context(), cfg, a, args, opts)
}

func (c *command) putBack(ctx context.Context, cfg *config.Config, a *applying, args []string, opts apply.UndoOptions) error {
	return c.withEngine(ctx, cfg, a, func(e *apply.Engine) error {
		id, err := pickRun(e, args, func(r *apply.Run) bool { return r.Stage != apply.Undone })
		if err != nil {
			return err
		}
		if id == "" {
			c.say("there is nothing to put back\n")
			return nil
		}
		out, err := e.Undo(ctx, id, opts)
		if err != nil {
			return c.explainRun(ctx, err, out)
		}
		return c.tellRun(ctx, a, out)
	})
}

// fits reports whether a pattern fits a path, or a part of it.
func fits(glob, name string) bool {
	if whole, _ := path.Match(glob, name); whole {
		return true
	}
	for part := range strings.SplitSeq(name, "/") {
		if ok, _ := path.Match(glob, part); ok {
			return true
		}
	}
	return false
}
