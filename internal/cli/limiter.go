package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/ratelimit"
)

func (c *command) limiterCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "limiter",
		Short: "Look at the limiter, tune it, or tell it what to do",
		Long: `Look at the limiter that every request to TMDB has to pass, tune it, or tell it what to do. All of your processes
on this machine share it.`,
		Example: `  anivault limiter show
  anivault limiter tune rate_base=10 --for 2h
  anivault limiter resume`,
	},
		c.limiterShowCommand(), c.limiterTuneCommand(), c.limiterCacheOnlyCommand(), c.limiterResumeCommand(),
		c.limiterResetCommand(), c.limiterRulesCommand(), c.limiterGraphCommand(), c.limiterSimulateCommand(),
	)
}

func (c *command) limiterShowCommand() *cobra.Command {
	cmd := c.statusCommand()
	cmd.Use = "show"
	cmd.Short = "Say in which state the limiter is (as: anivault status)"
	cmd.Example = "  anivault limiter show\n  anivault limiter show --watch"
	return cmd
}

// operate opens the shared state for an operator's command; a process's own memory can't be reached.
func (c *command) operate(cmd *cobra.Command, do func(context.Context, *config.Config, ratelimit.Store) error) error {
	cfg, err := c.load(cmd)
	if err != nil {
		return err
	}
	if cfg.Coordinator == "memory" {
		return usagef("unset ANIVAULT_COORDINATOR, or set it to file", "with ANIVAULT_COORDINATOR=memory no other process can be reached")
	}
	store, err := ratelimit.OpenFileStore(app.StateDir(cfg), ratelimit.FileOptions{
		Processes: cfg.Tuning.Processes, Patience: operatorPatience,
		OnWarning: func(err error) {
			if w, ok := errors.AsType[*ratelimit.StoreWarning](err); !ok || w.Parts == 0 { // going on alone is no use here; do's error says why
				c.warn("%v", err)
			}
		},
	})
	if err != nil {
		return err
	}
	return errors.Join(do(cmd.Context(), cfg, store), store.Close())
}

// operatorPatience is how long an operator's command waits for the shared state. A process that holds its lock for
// longer does not run.
const operatorPatience = 5 * time.Second
