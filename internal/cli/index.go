package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/index"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lockfile"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/internal/version"
)

func (f *factory) indexCommand(
	cmd *cobra.Command, formats []string, do func(c invocation, x *index.Index) error,
) *cobra.Command {
	return f.setRunWithConfig(cmd, formats, func(c invocation) error {
		x, err := index.Open(c.cfg.Dirs.Data)
		switch {
		case errors.Is(err, index.ErrNoIndex):
			return usagef("make one with: anivault index update, or: anivault index import FILE...", "%s", err)
		case err != nil:
			return err
		}
		return errors.Join(do(c, x), x.Close())
	})
}

// suggestIndex says what a title index would gain, unless there is one. It creates the data folder, so that the next
// run says nothing. Doctor creates the folder too, but then it has mentioned the index.
func suggestIndex(f *factory, cfg *config.Config, s report.Summary) {
	if _, err := os.Stat(cfg.Dirs.Data); s.Matched == 0 || !errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err := lockfile.MkdirAll(cfg.Dirs.Data); err != nil {
		return // without the folder, each run would repeat the note
	}
	text := lang.Textf("note: this run sent %s to TMDB. A title index saves most searches (about one per title), places "+
		"sequels, and works with --offline.\nTo make one: anivault index update", lang.Count(int(s.Requests), "request"))
	f.say("\n%s", ui.WrapHanging(lang.Say(text)+"\n", f.streams.ErrWidth(), 0))
}

const missingMappingNote lang.Text = "AniDB's titles find nothing by themselves: only Anime-Lists links them to TMDB " +
	"(anivault index update fetches it)"

func lacksMapping(x *index.Index) bool {
	infos, _, err := x.Stats()
	has := func(source index.Source) bool {
		return slices.ContainsFunc(infos, func(i index.SourceInfo) bool { return i.Source == source })
	}
	return err == nil && has(index.AniDB) && !has(index.AnimeLists)
}

func newIndexImport(f *factory) *cobra.Command {
	return f.setRunWithConfig(command("index_import"), nil, func(c invocation) error {
		infos, err := index.Import(c.cmd.Context(), c.cfg.Dirs.Data, c.args...)
		if errors.Is(err, fs.ErrNotExist) {
			return usagef("check the path", "%s", lang.TextOf(err))
		}
		if err != nil {
			return err
		}
		for _, info := range infos {
			f.say("imported %s from %s: %d entries, %d titles\n", info.Source, ui.Printable(info.File), info.Rows, info.Titles)
		}
		x, err := index.Open(c.cfg.Dirs.Data)
		if err != nil {
			return err
		}
		if lacksMapping(x) {
			f.say("note: %s\n", missingMappingNote)
		}
		return x.Close()
	})
}

func newIndexMappings(f *factory) *cobra.Command {
	return f.indexCommand(command("index_mappings"), nil, func(c invocation, x *index.Index) error {
		_, wrong, err := index.LoadMappings(c.cfg.Dirs.Data)
		for _, line := range wrong {
			f.warn("%v", line)
		}
		text, xmlErr := x.MappingsXML()
		if err = errors.Join(err, xmlErr); err != nil {
			return err
		}
		_, err = f.streams.Out.Write(text)
		return err
	})
}

type jsonCandidate struct {
	Kind       string  `json:"kind" doc:"tv or movie"`
	TMDBID     int     `json:"tmdb_id" doc:"the TMDB entry"`
	Title      string  `json:"title" doc:"the title that was found"`
	Original   string  `json:"original_title,omitempty" doc:"the title in its own language"`
	Popularity float64 `json:"popularity,omitempty" doc:"its popularity in TMDB's export"`
	Season     *int    `json:"season,omitempty" doc:"the season that the title means"`
	Absolute   bool    `json:"absolute,omitempty" doc:"true if its episode numbers count over all seasons"`
	Offset     int     `json:"offset,omitempty" doc:"the number added to its episode numbers"`
	Mapped     bool    `json:"episodes_mapped,omitempty" doc:"true if single episodes are mapped"`
	AniDB      int     `json:"anidb_id,omitempty" doc:"the AniDB entry"`
}

func newIndexLookup(f *factory) *cobra.Command {
	return f.indexCommand(command("index_lookup"), textOrJSON, func(c invocation, x *index.Index) error {
		text := strings.Join(c.args, " ")
		found, err := x.Lookup(text)
		if err != nil {
			return err
		}
		for _, candidate := range found {
			if err := printCandidate(f, c.format, candidate); err != nil {
				return err
			}
		}
		if len(found) > 0 {
			return nil
		}
		f.say("no entry has the title %s\n", ui.Printable(text))
		if lacksMapping(x) {
			f.say("note: %s\n", missingMappingNote)
		} else {
			f.say("hint: only whole titles are found: anivault parse NAME prints what it reads from a name, and anivault " +
				"index stats what was imported\n")
		}
		return nil
	})
}

func printCandidate(f *factory, format string, c index.Candidate) error {
	if format == "json" {
		return f.printJSON(jsonCandidate{
			Kind: string(c.Kind), TMDBID: c.ID, Title: c.Text, Original: c.Original, Popularity: c.Popularity,
			Season: c.Season, Absolute: c.Absolute, Offset: c.Offset, Mapped: len(c.Ranges) > 0, AniDB: c.AniDBID,
		})
	}
	parts := []string{fmt.Sprintf("%s/%d", c.Kind, c.ID), ui.Escaped(c.Text)}
	if c.Season != nil {
		parts = append(parts, lang.Sprintf("season %d", *c.Season))
	}
	if c.Absolute {
		parts = append(parts, lang.Say("counted over all seasons"))
	}
	if c.Offset != 0 {
		parts = append(parts, lang.Sprintf("after episode %d", c.Offset))
	}
	if c.AniDBID != 0 {
		parts = append(parts, fmt.Sprintf("AniDB %d", c.AniDBID))
	}
	_, err := fmt.Fprintln(f.streams.Out, strings.Join(parts, "  "))
	return err
}

type jsonIndex struct {
	Bytes   int64              `json:"file_bytes" doc:"size of the index"`
	Sources []index.SourceInfo `json:"sources" doc:"the lists it was made from"`
}

func newIndexStats(f *factory) *cobra.Command {
	return f.indexCommand(command("index_stats"), textOrJSON, func(c invocation, x *index.Index) error {
		infos, size, err := x.Stats()
		switch {
		case err != nil:
			return err
		case c.format == "json":
			return f.printJSON(jsonIndex{size, append([]index.SourceInfo{}, infos...)})
		}
		var b strings.Builder
		for _, i := range infos {
			b.WriteString(lang.Sprintf("%-12s  %8d entries  %8d titles  %s\n", i.Source, i.Rows, i.Titles, listOrigin(i)))
		}
		_, err = fmt.Fprint(f.streams.Out, b.String(), lang.Sprintf("%s in all\n", ui.Size(size)))
		return err
	})
}

// listOrigin returns the age and source of a list: "2026-11-01 (3 days ago) from https://...".
func listOrigin(i index.SourceInfo) string {
	now := time.Now()
	text := lang.Sprintf("%s (%d days ago) from %s", i.Imported.Local().Format(time.DateOnly),
		int(now.Sub(i.Imported).Hours()/24), ui.Printable(cmp.Or(i.URL, i.File)))
	if i.IsStale(now) {
		text = lang.Sprintf("%s; no new entry since %s", text, i.Grew.Local().Format(time.DateOnly))
	}
	return text
}

const responseHeaderTimeout = 30 * time.Second

func newIndexUpdate(f *factory) *cobra.Command {
	return f.setRunWithConfig(command("index_update"), nil, func(c invocation) error {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.ResponseHeaderTimeout = responseHeaderTimeout
		defer transport.CloseIdleConnections()
		updater := index.Updater{
			Dir: c.cfg.Dirs.Data, Client: &http.Client{Transport: transport}, UserAgent: version.UserAgent(), Now: time.Now,
			Addresses: c.cfg.Index, Say: func(what string) { f.say("fetching %s\n", ui.Escaped(what)) },
		}
		outcomes, err := updater.Update(c.cmd.Context())
		if err != nil {
			return err
		}
		return reportUpdate(f, outcomes)
	})
}

func reportUpdate(f *factory, outcomes []index.Outcome) error {
	var failed []index.Outcome
	for _, o := range outcomes {
		if o.Refused != nil {
			printMessage(f.streams, lang.TextOf(o.Refused))
		}
		switch {
		case o.Err != nil:
			failed = append(failed, o)
		case o.Unchanged:
			f.say("%s is up to date\n", o.Source)
		default:
			f.say("imported %s: %d entries, %d titles\n", o.Info.Source, o.Info.Rows, o.Info.Titles)
		}
	}
	if len(outcomes) == 0 {
		return usagef("set index.anime_lists_url, index.anidb_titles_url, index.tmdb_exports_url or index.anime_ids_url",
			"every address is off")
	}
	if len(failed) > 0 {
		reportFetchFailures(f, failed)
		return &exitError{code: exitIncomplete}
	}
	return nil
}

func reportFetchFailures(f *factory, failed []index.Outcome) {
	var settings []string
	for _, o := range failed {
		printMessage(f.streams, lang.Textf("fetch %s: %v", o.Source, o.Err))
		if o.Info.Rows > 0 {
			f.say("the list of %s with %d entries is kept\n", o.Info.Imported.Local().Format(time.DateOnly), o.Info.Rows)
		}
		if s := cmp.Or(sourceURLSettings[o.Source], "index.tmdb_exports_url"); !slices.Contains(settings, s) {
			settings = append(settings, s)
		}
	}
	printHint(f.streams, lang.Textf("check the network and run it again; another address, or off, goes into %s",
		strings.Join(settings, ", ")))
}

var sourceURLSettings = map[index.Source]string{
	index.AnimeLists: "index.anime_lists_url", index.AniDB: "index.anidb_titles_url",
	index.AnimeIDs: "index.anime_ids_url",
}
