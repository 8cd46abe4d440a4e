package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/tmdb"
)

func (c *command) cacheImportCommand() *cobra.Command {
	return c.onCache(&cobra.Command{
		Use:     "import [FILE]",
		Short:   "Add an export to the cache (from stdin without FILE); what is newer stays",
		Example: "  anivault cache import backup.ndjson",
		Args:    atMostOne("FILE"),
	}, nil, func(ctx context.Context, store *cache.Store, args []string, _ string) error {
		path := "-"
		if len(args) > 0 {
			path = args[0]
		}
		in, err := c.openList(path)
		if err != nil {
			return err
		}
		defer in.Close()
		res, err := store.Import(ctx, in, tmdb.Valid)
		if err != nil && res.Imported == 0 {
			return err
		}
		c.say("imported %d records; left out %d that are no newer and %d past 180 days\n", res.Imported, res.Older, res.Expired)
		if res.Refused > 0 {
			c.say("left out %d that are not answers of TMDB's\n", res.Refused)
		}
		return err
	})
}
