package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/ratelimit"
)

func (c *command) limiterCacheOnlyCommand() *cobra.Command {
	var recover string
	cmd := leaf(&cobra.Command{
		Use:   "cache-only",
		Short: "Stop all requests of all processes until resume",
		Example: `  anivault limiter cache-only
  anivault limiter cache-only --auto-recover=15m`,
	}, nil, func(cmd *cobra.Command, _ []string, _ string) error {
		var t ratelimit.Tuning
		field, _ := ratelimit.FieldByKey("auto_recover")
		if err := field.Set(&t, recover); err != nil {
			return tuneError(err)
		}
		return c.operate(cmd, func(ctx context.Context, _ *config.Config, store ratelimit.Store) error {
			if _, _, err := (ratelimit.Operator{Store: store}).ForceCacheOnly(ctx, t.AutoRecover); err != nil {
				return err
			}
			ends := "until: anivault limiter resume"
			if t.AutoRecover > 0 {
				ends = "for " + ui.Period(t.AutoRecover) + ", or until: anivault limiter resume"
			}
			c.say("no process asks TMDB any more, %s\n", ends)
			return nil
		})
	})
	cmd.Flags().StringVar(&recover, "auto-recover", config.Default("limiter.auto_recover"),
		"end by itself after this `PERIOD`, such as 15m")
	return cmd
}
