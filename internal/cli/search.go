package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/decide"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/pins"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/ui"
)

type jsonSearchResult struct {
	_             struct{}  `constant:"type=entry" doc:"always \"entry\""`
	Kind          string    `json:"kind" doc:"tv or movie"`
	TMDBID        int       `json:"tmdb_id" doc:"the TMDB entry; unique only together with kind"`
	Year          int       `json:"year,omitempty" doc:"of the first broadcast or the release"`
	Title         string    `json:"title" doc:"its title in the display language"`
	OriginalTitle string    `json:"original_title,omitempty" doc:"its title in its own language"`
	Seasons       int       `json:"seasons,omitempty" doc:"of a series: how many, without specials"`
	Episodes      int       `json:"episodes,omitempty" doc:"of a series: how many in all seasons"`
	Source        string    `json:"source" doc:"network, cache or index; stale where the answer had expired"`
	CachedAt      time.Time `json:"cached_at,omitempty" doc:"when a cached answer was fetched, RFC 3339"`
}

func newSearch(f *factory) *cobra.Command {
	var offline, orders bool
	var year int
	cmd := f.setRun(command("search"), []string{"table", "json", "ndjson"}, func(c invocation) error {
		if orders {
			return listOrders(f, c, offline)
		}
		w := decide.TitleSearch{Text: strings.Join(c.args, " "), Year: year}
		kind, id, noID := pins.ParseEntry(w.Text)
		const firstFilm, lastYear = 1874, 2200
		switch {
		case noID == nil:
			return usagef(lang.Textf("to choose it for a file or folder: anivault pin PATH %s/%d", kind, id),
				"%s/%d is an id, and search looks for titles", kind, id)
		case strings.TrimSpace(w.Text) == "":
			return usagef("a variable in your script may be empty", "TITLE is empty")
		case c.cmd.Flags().Changed("year") && (year < firstFilm || year > lastYear):
			return usagef("for example: --year 2023", "--year: %d is not a year between %d and %d", year, firstFilm, lastYear)
		}
		cfg, err := f.load(c.cmd)
		if err != nil {
			return err
		}
		if cfg.Match.Type != "auto" {
			w.Kind = match.Kind(cfg.Match.Type)
		}
		return withApp(c.cmd.Context(), f, cfg, offline, func(run *app.App) error {
			return runSearch(c.cmd.Context(), f, run, w, c.format, offline)
		})
	})
	addRequestFlags(cmd, &offline)
	addSettingFlags(cmd, cmd.Flags(), "match.type")
	cmd.Flags().Lookup("type").Usage = "`KIND` to look for: auto (either), tv or movie"
	cmd.Flags().BoolVar(&orders, "orders", false, "list the orders that the series tv/ID has, for --order")
	cmd.Flags().IntVar(&year, "year", 0, "only results from `YEAR`; for a series, any year in which an episode aired")
	return cmd
}

// groupTypes are TMDB's types of episode groups.
var groupTypes = map[int]lang.Text{
	1: "original air date", 2: "absolute", 3: "DVD", 4: "digital", 5: "story arc", 6: "production", 7: "TV",
}

func listOrders(f *factory, c invocation, offline bool) error {
	kind, id, err := pins.ParseEntry(strings.Join(c.args, " "))
	if err != nil || kind != match.TV {
		return usagef("for example: anivault search tv/209867 --orders", "--orders needs a series, tv/ID")
	}
	cfg, err := f.load(c.cmd)
	if err != nil {
		return err
	}
	return withApp(c.cmd.Context(), f, cfg, offline, func(run *app.App) error {
		found, err := run.Orders(c.cmd.Context(), id)
		if err != nil && c.cmd.Context().Err() == nil {
			code, why := app.Explain(err)
			return exitErrorf(exitIncomplete, code.Info().Next, "the orders of tv/%d are not known: %s", id, why)
		}
		if c.format != "table" {
			text, encodeErr := encodeList(c.format, "orders", found, nil)
			_, writeErr := f.streams.Out.Write(text)
			return errors.Join(err, encodeErr, writeErr)
		}
		lines := mapped(found, orderLine)
		return errors.Join(err, writeColumns(f.streams.Out, []string{"ORDER", "TYPE", "PARTS", "EPISODES"}, lines))
	})
}

func orderLine(o decide.Order) []string {
	return []string{
		ui.Printable(o.Name), lang.Say(groupTypes[o.Type]), strconv.Itoa(o.Parts), strconv.Itoa(o.Episodes),
	}
}

func withApp(ctx context.Context, f *factory, cfg *config.Config, offline bool, do func(*app.App) error) (err error) {
	if !offline && cfg.LacksKey() {
		return noKeyError()
	}
	logs, err := f.openLogs(cfg, f.streams.Err, false)
	if err != nil {
		return err
	}
	var summary report.Summary
	defer logs.end(&summary, &err)
	run, err := app.Open(cfg, app.Options{Offline: offline, Warn: logs.warn, Log: logs.handler})
	if err != nil {
		return err
	}
	err = do(run)
	summary = run.Summary(summary)
	err = errors.Join(err, run.Close())
	if refusal := run.Unauthorized(); refusal != nil && ctx.Err() == nil {
		return keyRefusedError(cfg, refusal)
	}
	return err
}

func runSearch(
	ctx context.Context, f *factory, run *app.App, w decide.TitleSearch, format string, offline bool,
) error {
	found, more, failed := run.Search(ctx, w)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	list := mapped(found, newJSONSearchResult)
	text := []byte(foundTable(list, f.streams.OutWidth()))
	if format != "table" {
		var err error
		if text, err = encodeList(format, "results", list, nil); err != nil {
			return err
		}
	}
	if _, err := f.streams.Out.Write(text); err != nil {
		return err
	}
	if more {
		f.say("there are more results: narrow them down with --year and --type\n")
	}
	if failed != nil {
		switch code, why := run.Explain(failed); {
		case !offline:
			return exitErrorf(exitIncomplete, cmp.Or(tmdbHint(failed), code.Info().Next), "the results are incomplete: %s", why)
		case len(found) == 0:
			return exitErrorf(exitIncomplete, "leave out --offline to ask TMDB",
				"neither the cache nor the index has the title %s", ui.Printable(w.Text))
		}
	} else if len(found) == 0 {
		f.say("TMDB has nothing with the title %s\n", ui.Printable(w.Text))
	}
	return nil
}

func newJSONSearchResult(f decide.SearchResult) jsonSearchResult {
	seasons, episodes := f.SeasonAndEpisodeCount()
	w := jsonSearchResult{
		Kind: string(f.Hit.Kind), TMDBID: f.Hit.ID, Year: f.Hit.Year, Title: f.Hit.Title, OriginalTitle: f.Hit.OriginalTitle,
		Seasons: seasons, Episodes: episodes, Source: f.Origin.Freshness.String(), CachedAt: f.Origin.FetchedAt,
	}
	if f.FromIndex {
		w.Source = string(match.DecidedByIndex)
	}
	return w
}

// foundTable returns lines such as "tv/209867  2023   1 season   Title  Original title".
func foundTable(list []jsonSearchResult, width int) string {
	ids := 0
	for _, f := range list {
		ids = max(ids, len(f.ref()))
	}
	var b strings.Builder
	for _, f := range list {
		seasons := ""
		if f.Seasons != 0 {
			seasons = lang.Say(lang.Count(f.Seasons, "season"))
		}
		line := fmt.Sprintf("%s  %4s  %s  %s", ui.Pad(f.ref(), ids), ui.Number(f.Year), ui.Pad(seasons, len("20 seasons")),
			ui.Printable(f.Title))
		if f.OriginalTitle != "" && f.OriginalTitle != f.Title {
			line += "  " + ui.Printable(f.OriginalTitle)
		}
		b.WriteString(ui.Cut(line, width) + "\n")
	}
	return b.String()
}

func (f *jsonSearchResult) ref() string { return fmt.Sprintf("%s/%d", f.Kind, f.TMDBID) }
