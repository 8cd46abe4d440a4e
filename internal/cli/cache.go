package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/atomicfile"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/tmdb"
)

func (f *factory) cacheCommand(
	cmd *cobra.Command, formats []string, do func(c invocation, store *cache.Store) error,
) *cobra.Command {
	return f.setRunWithConfig(cmd, formats, func(c invocation) error {
		store, err := app.OpenCache(c.cfg, 0, func(err error) { f.warn("%v", err) })
		if err != nil {
			return err
		}
		return errors.Join(do(c, store), store.Close())
	})
}

// recordKindsText explains the word records in messages. Stats counts only answers, so its numbers are lower.
const recordKindsText lang.Text = "answers and decisions based on them"

func newCachePath(f *factory) *cobra.Command {
	return f.setRunWithConfig(command("cache_path"), nil, func(c invocation) error {
		_, err := fmt.Fprintln(f.streams.Out, c.cfg.Dirs.Cache)
		return err
	})
}

func newCacheList(f *factory) *cobra.Command {
	return f.cacheCommand(command("cache_list"), []string{"text", "ndjson"}, func(c invocation, store *cache.Store) error {
		now := time.Now()
		return store.Range(c.cmd.Context(), func(e *cache.Entry) error {
			if c.format == "ndjson" {
				return f.printJSON(jsonEntry{
					e.Key, e.Status, e.Fresh(now), ui.Timestamp(e.FetchedAt), ui.Timestamp(e.ExpiresAt), len(e.Body),
				})
			}
			state := map[bool]string{true: "fresh", false: "expired"}[e.Fresh(now)]
			_, err := fmt.Fprintf(f.streams.Out, "%-8s %d  %s  %s\n", state, e.Status,
				e.FetchedAt.Local().Format(time.DateTime), ui.Printable(e.Key))
			return err
		})
	})
}

type jsonEntry struct {
	Key     string `json:"key" doc:"the method and URL of the request, without credentials"`
	Status  int    `json:"status" doc:"the HTTP status, 200 or 404"`
	Fresh   bool   `json:"fresh" doc:"whether it can be used without asking TMDB"`
	Fetched string `json:"fetched_at" doc:"when TMDB last sent or confirmed it, RFC 3339"`
	Expires string `json:"expires_at" doc:"until when it can be used without asking TMDB, RFC 3339"`
	Bytes   int    `json:"bytes" doc:"size of the body"`
}

func newCacheGet(f *factory) *cobra.Command {
	return f.cacheCommand(command("cache_get"), nil, func(c invocation, store *cache.Store) error {
		key, ok := cache.ParseKey(c.args[0])
		if !ok {
			return usagef("anivault cache list shows the keys", "KEY is neither a cache key nor a URL such as https://...")
		}
		e, found, err := store.Get(c.cmd.Context(), key)
		switch {
		case err != nil:
			return err
		case !found:
			return exitErrorf(exitIncomplete, "anivault cache list shows the keys; everything after the ? is part of a key",
				"nothing is cached under %s", ui.Printable(key)) // without the credentials of what was typed
		}
		body := string(e.Body)
		if f.streams.OutTTY {
			body = ui.EscapedLines(body)
		}
		_, err = fmt.Fprintln(f.streams.Out, body)
		return err
	})
}

func newCacheVerify(f *factory) *cobra.Command {
	return f.cacheCommand(command("cache_verify"), nil, func(c invocation, store *cache.Store) error {
		r, err := store.Verify(c.cmd.Context())
		if err != nil {
			return err
		}
		for _, p := range r.Problems {
			if _, err := fmt.Fprintln(f.streams.Out, ui.Printable(p.String())); err != nil {
				return err
			}
		}
		if len(r.Problems) > 0 {
			return &exitError{code: exitInternal, err: lang.Error("the cache has %d problems", len(r.Problems))}
		}
		f.say("%d records OK: %s\n", r.Records, recordKindsText)
		return nil
	})
}

func newCachePrune(f *factory) *cobra.Command {
	var options cache.PruneOptions
	cmd := f.cacheCommand(command("cache_prune"), nil, func(c invocation, store *cache.Store) error {
		res, err := store.Prune(c.cmd.Context(), options)
		if err == nil {
			f.say("removed %d records; %s in use\n", res.Removed, ui.Size(res.Used))
		}
		return err
	})
	cmd.Flags().BoolVar(&options.Expired, "expired", false,
		"remove all expired answers, including those that could still serve in an outage")
	return cmd
}

func newCacheCompact(f *factory) *cobra.Command {
	return f.cacheCommand(command("cache_compact"), nil, func(c invocation, store *cache.Store) error {
		res, err := store.Compact(c.cmd.Context())
		if err == nil {
			f.say("%s before, %s now\n", ui.Size(res.Before), ui.Size(res.After))
		}
		return err
	})
}

func newCacheClear(f *factory) *cobra.Command {
	var yes bool
	cmd := f.cacheCommand(command("cache_clear"), nil, func(c invocation, store *cache.Store) error {
		what := lang.Text("the cache") // for a damaged cache, whose content is unknown
		if s, err := store.Stats(c.cmd.Context()); err == nil {
			what = lang.Textf("%s, %s", lang.Count(s.Entries, "answer"), ui.Size(s.Used))
		}
		question := lang.Textf("Remove %s from %s?", what, ui.Printable(store.Path()))
		if ok, err := f.confirm(c.cmd.Context(), yes, question, "nothing was removed\n"); !ok {
			return err
		}
		err := store.Clear(c.cmd.Context())
		if err == nil {
			f.say("removed %s\n", what)
		}
		return err
	})
	addYesFlag(cmd, &yes)
	return cmd
}

func newCacheExport(f *factory) *cobra.Command {
	return f.cacheCommand(command("cache_export"), nil, func(c invocation, store *cache.Store) (err error) {
		n := 0
		write := func(out io.Writer) error {
			n, err = store.Export(c.cmd.Context(), out)
			return err
		}
		if len(c.args) == 0 || c.args[0] == "-" {
			err = write(f.streams.Out)
		} else {
			err = atomicfile.Write(c.args[0], 0o600, write)
		}
		if err == nil {
			f.say("exported %d records: %s\n", n, recordKindsText)
		}
		return err
	})
}

func newCacheImport(f *factory) *cobra.Command {
	return f.cacheCommand(command("cache_import"), nil, func(c invocation, store *cache.Store) error {
		in, err := openInput(f, append(c.args, "-")[0])
		if err != nil {
			return err
		}
		defer in.Close()
		res, err := store.Import(c.cmd.Context(), in, tmdb.Valid)
		if err != nil && res.Imported == 0 {
			return err
		}
		f.say("imported %d records; skipped %d that are not newer and %d older than 180 days\n",
			res.Imported, res.Older, res.Expired)
		if res.Refused > 0 {
			f.say("skipped %d that are not answers from TMDB\n", res.Refused)
		}
		return err
	})
}

func newCacheStats(f *factory) *cobra.Command {
	return f.cacheCommand(command("cache_stats"), textOrJSON, func(c invocation, store *cache.Store) error {
		s, err := store.Stats(c.cmd.Context())
		switch {
		case err != nil:
			return err
		case c.format == "json":
			return f.printJSON(newJSONCache(s))
		}
		return writeCacheStats(f.streams.Out, s, store.Path(), f.streams.OutWidth())
	})
}

type jsonCache struct {
	Entries  int            `json:"entries" doc:"stored answers"`
	Fresh    int            `json:"fresh" doc:"answers that can be used without asking TMDB"`
	Expired  int            `json:"expired" doc:"answers that are used only if TMDB can't be asked"`
	Negative int            `json:"negative" doc:"answers that say that TMDB has no such entry (404)"`
	FileSize int64          `json:"file_bytes" doc:"size of the database file"`
	Used     int64          `json:"used_bytes" doc:"the used part of the file; cache compact frees the rest"`
	MaxSize  int64          `json:"max_bytes" doc:"the size limit"`
	Oldest   string         `json:"oldest,omitempty" doc:"when the oldest answer was fetched, RFC 3339"`
	Newest   string         `json:"newest,omitempty" doc:"when the newest answer was fetched, RFC 3339"`
	Classes  map[string]int `json:"classes" doc:"number of answers by kind of request"`
	SetAside []string       `json:"set_aside" doc:"damaged databases that were set aside"`
}

func newJSONCache(s cache.Stats) *jsonCache {
	w := &jsonCache{
		Entries: s.Entries, Fresh: s.Fresh, Expired: s.Expired, Negative: s.Negative, FileSize: s.FileSize, Used: s.Used,
		MaxSize: s.MaxSize, Oldest: ui.Timestamp(s.Oldest), Newest: ui.Timestamp(s.Newest),
		Classes: map[string]int{}, SetAside: append([]string{}, s.DamagedFiles...),
	}
	for class, n := range s.ByClass {
		w.Classes[class.String()] = n
	}
	return w
}

func writeCacheStats(out io.Writer, s cache.Stats, path string, width int) error {
	var lines rows
	lines.add("path", "%s", path)
	lines.add("answers", "%d: %d fresh, %d expired (used when TMDB is not available), %d \"not found\"",
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
		from, to := s.Oldest.Local().Format(minute), s.Newest.Local().Format(minute)
		lines.add("fetched", "%s", lang.Sprintf("from %s to %s", from, to))
	}
	for _, f := range s.DamagedFiles {
		lines.add("set aside", "%s (damaged; can be deleted)", f)
	}
	return lines.write(out, width)
}
