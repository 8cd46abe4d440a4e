package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/ui"
)

func (c *command) cacheCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "Look at, check and tidy the cache of TMDB's answers",
		Long: `Answers of TMDB are kept so that a second run asks nothing and an outage stops nobody; nothing older than 180
days is ever kept. All of your processes share one cache.`,
		Example: "  anivault cache stats\n  anivault cache verify\n  anivault cache export backup.ndjson",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		c.cacheStatsCommand(), c.cacheListCommand(), c.cacheGetCommand(), c.cachePruneCommand(), c.cacheCompactCommand(),
		c.cacheVerifyCommand(), c.cacheExportCommand(), c.cacheImportCommand(), c.cacheClearCommand(), c.cachePathCommand(),
	)
	return cmd
}

// withCache runs do on the opened cache.
func (c *command) withCache(cmd *cobra.Command, do func(context.Context, *cache.Store) error) error {
	cfg, err := c.load(cmd)
	if err != nil {
		return err
	}
	store, err := app.OpenCache(cfg, func(err error) { c.warn("%v", err) })
	if err != nil {
		return err
	}
	return errors.Join(do(cmd.Context(), store), store.Close())
}

// wireCache is the cache in JSON: bytes, and counts of answers.
type wireCache struct {
	Entries  int            `json:"entries" doc:"stored answers"`
	Fresh    int            `json:"fresh" doc:"of them, those that answer without asking"`
	Expired  int            `json:"expired" doc:"of them, those that answer only when TMDB can't be asked"`
	Negative int            `json:"negative" doc:"of them, those that say that TMDB has nothing (404)"`
	FileSize int64          `json:"file_bytes" doc:"size of the database file"`
	Used     int64          `json:"used_bytes" doc:"of it in use; cache compact gives the rest back"`
	MaxSize  int64          `json:"max_bytes" doc:"size it is kept below"`
	Unmerged int            `json:"unmerged" doc:"records in journals that are not merged yet"`
	Journals int            `json:"journals" doc:"journals that are not merged yet"`
	Oldest   string         `json:"oldest,omitempty" doc:"when the oldest answer was fetched, RFC 3339"`
	Newest   string         `json:"newest,omitempty" doc:"when the newest answer was fetched, RFC 3339"`
	Classes  map[string]int `json:"classes" doc:"answers by kind of question"`
	SetAside []string       `json:"set_aside" doc:"damaged databases that were set aside"`
}

func wireCacheOf(s cache.Stats) *wireCache {
	w := &wireCache{
		Entries: s.Entries, Fresh: s.Fresh, Expired: s.Expired, Negative: s.Negative, FileSize: s.FileSize, Used: s.Used,
		MaxSize: s.MaxSize, Unmerged: s.Unmerged, Journals: s.Journals, Oldest: ui.Stamp(s.Oldest), Newest: ui.Stamp(s.Newest),
		Classes: map[string]int{}, SetAside: append([]string{}, s.SetAside...),
	}
	for class, n := range s.ByClass {
		w.Classes[class.String()] = n
	}
	return w
}

// cacheLine is the cache in one line.
func cacheLine(s cache.Stats) string {
	return fmt.Sprintf("%d answers (%d fresh, %d expired), %s of at most %s", s.Entries, s.Fresh, s.Expired, ui.Size(s.Used), ui.Size(s.MaxSize))
}

func (c *command) cacheStatsCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "stats",
		Short:   "Say how much is cached",
		Example: "  anivault cache stats\n  anivault cache stats --format json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkFormat(format, "text", "json"); err != nil {
				return err
			}
			return c.withCache(cmd, func(ctx context.Context, store *cache.Store) error {
				s, err := store.Stats(ctx)
				if err != nil {
					return err
				}
				if format == "json" {
					return json.NewEncoder(c.streams.Out).Encode(wireCacheOf(s))
				}
				return statsText(c.streams.Out, s, store.Path(), c.tableWidth())
			})
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "`FORM` of the output: text or json")
	completeWords(cmd, "format", "text", "json")
	return cmd
}

func statsText(out io.Writer, s cache.Stats, path string, width int) error {
	var rows [][2]string
	row := func(label, format string, args ...any) {
		rows = append(rows, [2]string{label, fmt.Sprintf(format, args...)})
	}
	row("path", "%s", path)
	row("answers", "%d: %d fresh, %d expired (served when TMDB can't be asked), %d \"not found\"", s.Entries, s.Fresh, s.Expired, s.Negative)
	var classes []string
	for class, n := range s.ByClass {
		classes = append(classes, fmt.Sprintf("%s %d", class, n))
	}
	slices.Sort(classes)
	if len(classes) > 0 {
		row("of them", "%s", strings.Join(classes, ", "))
	}
	row("size", "%s in use of at most %s, file %s", ui.Size(s.Used), ui.Size(s.MaxSize), ui.Size(s.FileSize))
	if !s.Oldest.IsZero() {
		row("fetched", "from %s to %s", s.Oldest.Local().Format("2006-01-02 15:04"), s.Newest.Local().Format("2006-01-02 15:04"))
	}
	row("not merged yet", "%d records in %d journals", s.Unmerged, s.Journals)
	for _, f := range s.SetAside {
		row("set aside", "%s (damaged; can be deleted)", f)
	}
	return writeRows(out, rows, width)
}

func (c *command) cacheListCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List what is cached, a line an answer",
		Example: "  anivault cache list\n  anivault cache list --format ndjson",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkFormat(format, "text", "ndjson"); err != nil {
				return err
			}
			return c.withCache(cmd, func(ctx context.Context, store *cache.Store) error {
				enc := json.NewEncoder(c.streams.Out)
				now := time.Now()
				return store.Range(ctx, func(e *cache.Entry) error {
					if format == "ndjson" {
						return enc.Encode(wireEntryOf(e, now))
					}
					state := "expired"
					if e.Fresh(now) {
						state = "fresh"
					}
					_, err := fmt.Fprintf(c.streams.Out, "%-8s %d  %s  %s\n", state, e.Status, e.FetchedAt.Local().Format("2006-01-02 15:04:05"), ui.Printable(e.Key))
					return err
				})
			})
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "`FORM` of the output: text or ndjson")
	completeWords(cmd, "format", "text", "ndjson")
	return cmd
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

func (c *command) cacheGetCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "get KEY|URL",
		Short:   "Print a cached answer's body",
		Example: `  anivault cache get "https://api.themoviedb.org/3/movie/149?append_to_response=alternative_titles%2Ctranslations%2Cexternal_ids&language=en-US"`,
		Args:    exactArgs("KEY|URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			key, ok := cache.ParseKey(args[0])
			if !ok {
				return usagef("anivault cache list shows the keys", "%s is neither a key nor a URL", ui.Printable(args[0]))
			}
			return c.withCache(cmd, func(ctx context.Context, store *cache.Store) error {
				e, found, err := store.Get(ctx, key)
				switch {
				case err != nil:
					return err
				case !found:
					return &exitError{exitIncomplete, usagef("anivault cache list shows the keys; all that follows the ? belongs to a key", "nothing is cached under %s", ui.Printable(shownKey(key)))}
				}
				body := string(e.Body)
				if c.streams.OutTTY {
					body = ui.EscapedLines(body)
				}
				_, err = fmt.Fprintln(c.streams.Out, body)
				return err
			})
		},
	}
}

// shownKey is a key as a person writes its URL.
func shownKey(key string) string {
	key = strings.TrimPrefix(key, "GET ")
	if u, err := url.Parse(key); err == nil && (u.Scheme == "https" && u.Port() == "443" || u.Scheme == "http" && u.Port() == "80") {
		u.Host = strings.TrimSuffix(u.Host, ":"+u.Port())
		return u.String()
	}
	return key
}

// recordKinds says what the records of a cache are: stats counts answers alone.
const recordKinds = "answers, and what was decided from them"

func (c *command) cachePruneCommand() *cobra.Command {
	var options cache.PruneOptions
	cmd := &cobra.Command{
		Use:     "prune",
		Short:   "Remove what must not be kept any longer, and what is above the size bound",
		Example: "  anivault cache prune",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withCache(cmd, func(ctx context.Context, store *cache.Store) error {
				res, err := store.Prune(ctx, options)
				if err == nil {
					c.say("removed %d records; %s in use\n", res.Removed, ui.Size(res.Used))
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&options.Expired, "expired", false, "remove all that is expired, also what could still serve in an outage")
	return cmd
}

// say tells a person what was done, on stderr.
func (c *command) say(format string, args ...any) {
	if !c.quiet {
		fmt.Fprintf(c.streams.Err, format, args...)
	}
}

func (c *command) cacheCompactCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "compact",
		Short:   "Give the space of removed answers back",
		Example: "  anivault cache compact",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withCache(cmd, func(ctx context.Context, store *cache.Store) error {
				res, err := store.Compact(ctx)
				if err == nil {
					c.say("%s before, %s now\n", ui.Size(res.Before), ui.Size(res.After))
				}
				return err
			})
		},
	}
}

func (c *command) cacheVerifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "verify",
		Short:   "Check every record; exit 1 if something is damaged",
		Example: "  anivault cache verify",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withCache(cmd, func(ctx context.Context, store *cache.Store) error {
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
		},
	}
}

func (c *command) cacheExportCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "export [FILE]",
		Short:   "Write the whole cache as NDJSON (to stdout without FILE)",
		Example: "  anivault cache export backup.ndjson\n  anivault cache export | zstd > backup.ndjson.zst",
		Args:    atMostOne("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withCache(cmd, func(ctx context.Context, store *cache.Store) error {
				n, err := 0, error(nil)
				if len(args) == 0 || args[0] == "-" {
					n, err = store.Export(ctx, c.streams.Out)
				} else {
					n, err = exportFile(ctx, store, args[0])
				}
				if err == nil {
					c.say("exported %d records: %s\n", n, recordKinds)
				}
				return err
			})
		},
	}
}

// exportFile writes an export under a temporary name first: there is a whole file or none.
func exportFile(ctx context.Context, store *cache.Store, path string) (int, error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".anivault-export-*") // 0600
	if err != nil {
		return 0, fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(tmp.Name()) // after the rename there is nothing to remove
	n, err := store.Export(ctx, tmp)
	if err = errors.Join(err, tmp.Close()); err != nil {
		return 0, err
	}
	return n, os.Rename(tmp.Name(), path)
}

func (c *command) cacheImportCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "import [FILE]",
		Short:   "Add an export to the cache (from stdin without FILE); what is newer stays",
		Example: "  anivault cache import backup.ndjson",
		Args:    atMostOne("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := "-"
			if len(args) > 0 {
				path = args[0]
			}
			in, err := c.openList(path)
			if err != nil {
				return err
			}
			defer in.Close()
			return c.withCache(cmd, func(ctx context.Context, store *cache.Store) error {
				res, err := store.Import(ctx, in)
				if err != nil && res.Imported == 0 {
					return err
				}
				c.say("imported %d records; left out %d that are no newer and %d past 180 days\n", res.Imported, res.Older, res.Expired)
				return err
			})
		},
	}
}

func (c *command) cacheClearCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "clear",
		Short:   "Remove every cached answer",
		Example: "  anivault cache clear",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withCache(cmd, func(ctx context.Context, store *cache.Store) error {
				err := store.Clear(ctx)
				if err == nil {
					c.say("the cache is empty\n")
				}
				return err
			})
		},
	}
}

func (c *command) cachePathCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "path",
		Short:   "Print the cache's folder",
		Example: "  anivault cache path",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.load(cmd)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.streams.Out, cfg.Dirs.Cache)
			return err
		},
	}
}
