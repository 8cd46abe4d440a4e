package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/ratelimit"
)

func (c *command) limiterResetCommand() *cobra.Command {
	var force bool
	cmd := leaf(&cobra.Command{
		Use:     "reset",
		Short:   "Forget what was learned: state, evidence, cooldown, budget, tuning",
		Example: "  anivault limiter reset",
		Long: `Forget what was learned: state, evidence, cooldown, ramp, budget and tuning. A pause that TMDB asked for stays
unless --force is given.`,
	}, nil, func(cmd *cobra.Command, _ []string, _ string) error {
		return c.operate(cmd, func(ctx context.Context, cfg *config.Config, store ratelimit.Store) error {
			if err := (ratelimit.Operator{Store: store}).Reset(ctx, force); err != nil {
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
	})
	cmd.Flags().BoolVar(&force, "force", false, "end a pause that TMDB asked for, too")
	return cmd
}
