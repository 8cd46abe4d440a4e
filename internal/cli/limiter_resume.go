package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/ratelimit"
)

func (c *command) limiterResumeCommand() *cobra.Command {
	return leaf(&cobra.Command{
		Use:     "resume",
		Short:   "End CacheOnly: probe TMDB, then go on",
		Example: "  anivault limiter resume",
	}, nil, func(cmd *cobra.Command, _ []string, _ string) error {
		return c.operate(cmd, func(ctx context.Context, cfg *config.Config, store ratelimit.Store) error {
			tr, moved, err := (ratelimit.Operator{Store: store}).Resume(ctx)
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
	})
}
