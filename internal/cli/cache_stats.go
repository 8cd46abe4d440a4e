package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/ui"
)

func newCacheStats(f *factory) *cobra.Command {
	return f.onCache(&cobra.Command{
		Use:     "stats",
		Short:   "Say how much is cached",
		Example: "  anivault cache stats\n  anivault cache stats --format json",
	}, textOrJSON, func(ctx context.Context, store *cache.Store, _ []string, format string) error {
		s, err := store.Stats(ctx)
		switch {
		case err != nil:
			return err
		case format == "json":
			return f.printJSON(wireCacheOf(s))
		}
		return statsText(f.streams.Out, s, store.Path(), f.streams.OutWidth())
	})
}

// wireCache is the cache in JSON: bytes, and counts of answers.
type wireCache struct {
	Entries  int            `json:"entries" doc:"stored answers"`
	Fresh    int            `json:"fresh" doc:"of them, those that answer without asking"`
	Expired  int            `json:"expired" doc:"of them, those that answer only when TMDB can't be asked"`
	Negative int            `json:"negative" doc:"of them, those that say that TMDB has nothing (404)"`
	FileSize int64          `json:"file_bytes" doc:"size of the database file"`
	Used     int64          `json:"used_bytes" doc:"of it in use; cache compact returns the rest to the file system"`
	MaxSize  int64          `json:"max_bytes" doc:"size it is kept below"`
	Oldest   string         `json:"oldest,omitempty" doc:"when the oldest answer was fetched, RFC 3339"`
	Newest   string         `json:"newest,omitempty" doc:"when the newest answer was fetched, RFC 3339"`
	Classes  map[string]int `json:"classes" doc:"answers by kind of question"`
	SetAside []string       `json:"set_aside" doc:"damaged databases that were set aside"`
}

func wireCacheOf(s cache.Stats) *wireCache {
	w := &wireCache{
		Entries: s.Entries, Fresh: s.Fresh, Expired: s.Expired, Negative: s.Negative, FileSize: s.FileSize, Used: s.Used,
		MaxSize: s.MaxSize, Oldest: ui.Stamp(s.Oldest), Newest: ui.Stamp(s.Newest),
		Classes: map[string]int{}, SetAside: append([]string{}, s.SetAside...),
	}
	for class, n := range s.ByClass {
		w.Classes[class.String()] = n
	}
	return w
}

// cacheLine is the cache in one line.
func cacheLine(s cache.Stats) string {
	return fmt.Sprintf("%d answers (%d fresh, %d expired), %s of at most %s", s.Entries, s.Fresh, s.Expired,
		ui.Size(s.Used), ui.Size(s.MaxSize))
}

func statsText(out io.Writer, s cache.Stats, path string, width int) error {
	var lines rows
	lines.add("path", "%s", path)
	lines.add("answers", "%d: %d fresh, %d expired (served when TMDB can't be asked), %d \"not found\"",
		s.Entries, s.Fresh, s.Expired, s.Negative)
	var classes []string
	for class, n := range s.ByClass {
		classes = append(classes, fmt.Sprintf("%s %d", class, n))
	}
	slices.Sort(classes)
	if len(classes) > 0 {
		lines.add("of them", "%s", strings.Join(classes, ", "))
	}
	lines.add("size", "%s in use of at most %s, file %s", ui.Size(s.Used), ui.Size(s.MaxSize), ui.Size(s.FileSize))
	if !s.Oldest.IsZero() {
		const minute = "2006-01-02 15:04"
		lines.add("fetched", "%s", lang.Sprintf("from %s to %s", s.Oldest.Local().Format(minute), s.Newest.Local().Format(minute)))
	}
	for _, f := range s.SetAside {
		lines.add("set aside", "%s (damaged; can be deleted)", f)
	}
	return lines.write(out, width)
}
