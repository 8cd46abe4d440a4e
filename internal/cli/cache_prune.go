package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/ui"
)

func (c *command) cachePruneCommand() *cobra.Command {
	var options cache.PruneOptions
	cmd := c.onCache(&cobra.Command{
		Use:     "prune",
		Short:   "Remove what must not be kept any longer, and what is above the size bound",
		Example: "  anivault cache prune",
	}, nil, func(ctx context.Context, store *cache.Store, _ []string, _ string) error {
		res, err := store.Prune(ctx, options)
		if err == nil {
			c.say("removed %d records; %s in use\n", res.Removed, ui.Size(res.Used))
		}
		return err
	})
	cmd.Flags().BoolVar(&options.Expired, "expired", false, "remove all that is expired, also what could still serve in an outage")
	return cmd
}
