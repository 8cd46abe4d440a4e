package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/ui"
)

func (c *command) cacheListCommand() *cobra.Command {
	return c.onCache(&cobra.Command{
		Use:     "list",
		Short:   "List what is cached, a line an answer",
		Example: "  anivault cache list\n  anivault cache list --format ndjson",
	}, []string{"text", "ndjson"}, func(ctx context.Context, store *cache.Store, _ []string, format string) error {
		now := time.Now()
		return store.Range(ctx, func(e *cache.Entry) error {
			if format == "ndjson" {
				return c.printJSON(wireEntryOf(e, now))
			}
			state := "expired"
			if e.Fresh(now) {
				state = "fresh"
			}
			_, err := fmt.Fprintf(c.streams.Out, "%-8s %d  %s  %s\n", state, e.Status,
				e.FetchedAt.Local().Format(time.DateTime), ui.Printable(e.Key))
			return err
		})
	})
}

// wireEntry is one answer of a listing.
type wireEntry struct {
	Key     string `json:"key" doc:"the method and URL it answers, without credentials"`
	Status  int    `json:"status" doc:"the HTTP status, 200 or 404"`
	Fresh   bool   `json:"fresh" doc:"whether it answers without asking"`
	Fetched string `json:"fetched_at" doc:"when TMDB last vouched for it, RFC 3339"`
	Expires string `json:"expires_at" doc:"until when it answers without asking, RFC 3339"`
	Bytes   int    `json:"bytes" doc:"size of the body"`
}

func wireEntryOf(e *cache.Entry, now time.Time) wireEntry {
	return wireEntry{e.Key, e.Status, e.Fresh(now), ui.Stamp(e.FetchedAt), ui.Stamp(e.ExpiresAt), len(e.Body)}
}
