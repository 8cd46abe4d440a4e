package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/cache"
)

func (c *command) cacheClearCommand() *cobra.Command {
	return c.onCache(&cobra.Command{
		Use:     "clear",
		Short:   "Remove every cached answer",
		Example: "  anivault cache clear",
	}, nil, func(ctx context.Context, store *cache.Store, _ []string, _ string) error {
		err := store.Clear(ctx)
		if err == nil {
			c.say("the cache is empty\n")
		}
		return err
	})
}
