package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/ui"
)

func (c *command) cacheVerifyCommand() *cobra.Command {
	return c.onCache(&cobra.Command{
		Use:     "verify",
		Short:   "Check every record; exit 1 if something is damaged",
		Example: "  anivault cache verify",
	}, nil, func(ctx context.Context, store *cache.Store, _ []string, _ string) error {
		r, err := store.Verify(ctx)
		if err != nil {
			return err
		}
		for _, p := range r.Problems {
			if _, err := fmt.Fprintln(c.streams.Out, ui.Printable(p.String())); err != nil {
				return err
			}
		}
		if len(r.Problems) > 0 {
			return &exitError{exitInternal, fmt.Errorf("the cache has %d problems", len(r.Problems))}
		}
		c.say("%d records (%s) and %d journals are sound\n", r.Records, recordKinds, r.Journals)
		return nil
	})
}
