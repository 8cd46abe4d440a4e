package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/app"
)

func (c *command) cacheCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "cache",
		Short: "Look at, check and tidy the cache of TMDB's answers",
		Long: `Answers of TMDB are kept so that a second run asks nothing and an outage stops nobody; nothing older than 180
days is ever kept. All of your processes share one cache.`,
		Example: "  anivault cache stats\n  anivault cache verify\n  anivault cache export backup.ndjson",
	},
		c.cacheStatsCommand(), c.cacheListCommand(), c.cacheGetCommand(), c.cachePruneCommand(), c.cacheCompactCommand(),
		c.cacheVerifyCommand(), c.cacheExportCommand(), c.cacheImportCommand(), c.cacheClearCommand(), c.cachePathCommand(),
	)
}

// onCache completes a command that works on the opened cache.
func (c *command) onCache(cmd *cobra.Command, formats []string, do func(ctx context.Context, store *cache.Store, args []string, format string) error) *cobra.Command {
	return leaf(cmd, formats, func(cmd *cobra.Command, args []string, format string) error {
		cfg, err := c.load(cmd)
		if err != nil {
			return err
		}
		store, err := app.OpenCache(cfg, func(err error) { c.warn("%v", err) })
		if err != nil {
			return err
		}
		return errors.Join(do(cmd.Context(), store, args, format), store.Close())
	})
}

// recordKinds says what the records of a cache are: stats counts answers alone.
const recordKinds = "answers, and what was decided from them"
