package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/ui"
)

func (c *command) cacheCompactCommand() *cobra.Command {
	return c.onCache(&cobra.Command{
		Use:     "compact",
		Short:   "Give the space of removed answers back",
		Example: "  anivault cache compact",
	}, nil, func(ctx context.Context, store *cache.Store, _ []string, _ string) error {
		res, err := store.Compact(ctx)
		if err == nil {
			c.say("%s before, %s now\n", ui.Size(res.Before), ui.Size(res.After))
		}
		return err
	})
}
