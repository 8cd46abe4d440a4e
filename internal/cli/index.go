package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/index"
	"github.com/anivault/anivault/internal/ui"
)

// The commands of the local title index.

func (c *command) indexCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "index",
		Short: "Know titles without asking: the local title index",
		Long: `The title index says which TMDB entry, season and offset a title is, in any script, from lists that you fetch once:
Anime-Lists' XML, AniDB's anime-titles and TMDB's daily exports. With it, match needs no search requests, works with
--offline on a library that it has never seen, finds romanised titles and places sequels.`,
		Example: "  anivault index update\n  anivault index import anime-list.xml anime-titles.xml.gz\n  anivault index lookup \"Sousou no Frieren\"\n  anivault index stats",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.indexImportCommand(), c.indexUpdateCommand(), c.indexLookupCommand(), c.indexStatsCommand())
	return cmd
}

func (c *command) indexImportCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE...",
		Short: "Import lists into the title index",
		Long: `Import Anime-Lists' XML, AniDB's anime-titles (.xml or .dat) and TMDB's exports of ids (tv_series_ids, movie_ids),
gzipped or not; what each file is, its content says. A list that is imported again replaces what it was before.
If one file is damaged, nothing is imported.`,
		Example: "  anivault index import anime-list.xml anime-titles.dat.gz\n  anivault index import tv_series_ids_*.json.gz movie_ids_*.json.gz",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("for example: anivault index import anime-list.xml anime-titles.xml.gz", "no FILE given")
			}
			cfg, err := c.load(cmd)
			if err != nil {
				return err
			}
			infos, err := index.Import(cmd.Context(), cfg.Dirs.Data, args...)
			if err != nil {
				return err
			}
			for _, info := range infos {
				c.say("imported %s from %s: %d entries, %d titles\n", info.Source, ui.Printable(info.File), info.Rows, info.Titles)
			}
			return c.sayUntied(cfg.Dirs.Data)
		},
	}
}

// untied is said where AniDB's titles lead nowhere.
const untied = "AniDB's titles find nothing by themselves: only Anime-Lists ties them to TMDB (anivault index update fetches it)"

// sayUntied tells of titles that were imported and can't be found.
func (c *command) sayUntied(dir string) error {
	x, err := index.Open(dir)
	if err != nil {
		return err
	}
	if leadNowhere(x) {
		c.say("note: %s\n", untied)
	}
	return x.Close()
}

// leadNowhere reports whether there are AniDB's titles, and nothing that says which entries they are.
func leadNowhere(x *index.Index) bool {
	infos, _, err := x.Stats()
	has := func(source index.Source) bool {
		return slices.ContainsFunc(infos, func(i index.SourceInfo) bool { return i.Source == source })
	}
	return err == nil && has(index.AniDB) && !has(index.AnimeLists)
}

// withIndex runs do on the opened index.
func (c *command) withIndex(cmd *cobra.Command, do func(*index.Index) error) error {
	cfg, err := c.load(cmd)
	if err != nil {
		return err
	}
	x, err := index.Open(cfg.Dirs.Data)
	if errors.Is(err, index.ErrNone) {
		return usagef("make one with: anivault index update, or: anivault index import FILE...", "%s", err)
	}
	if err != nil {
		return err
	}
	return errors.Join(do(x), x.Close())
}

// wireCandidate is a line of `index lookup` in JSON.
type wireCandidate struct {
	Kind       string  `json:"kind" doc:"tv or movie"`
	TMDBID     int     `json:"tmdb_id" doc:"the TMDB entry"`
	Title      string  `json:"title" doc:"the title that was found"`
	Original   string  `json:"original_title,omitempty" doc:"the title in its own language"`
	Popularity float64 `json:"popularity,omitempty" doc:"as TMDB's export has it"`
	Season     *int    `json:"season,omitempty" doc:"the season that the title means"`
	Absolute   bool    `json:"absolute,omitempty" doc:"true where its numbers count over all seasons"`
	Offset     int     `json:"offset,omitempty" doc:"what is added to its episode numbers"`
	Mapped     bool    `json:"episodes_mapped,omitempty" doc:"true where single episodes are mapped"`
	AniDB      int     `json:"anidb_id,omitempty" doc:"the AniDB entry"`
}

func (c *command) indexLookupCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "lookup TITLE",
		Short:   "Say which entries have a title; its words need no quotation marks",
		Example: "  anivault index lookup \"Sousou no Frieren\"\n  anivault index lookup --format json 葬送のフリーレン",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(format, "text", "json"); err != nil {
				return err
			}
			if len(args) == 0 {
				return usagef("for example: anivault index lookup \"Sousou no Frieren\"", "no TITLE given")
			}
			text := strings.Join(args, " ")
			return c.withIndex(cmd, func(x *index.Index) error {
				found, err := x.Lookup(text)
				if err != nil {
					return err
				}
				for _, f := range found {
					if err := writeCandidate(c.streams.Out, format, f); err != nil {
						return err
					}
				}
				if len(found) == 0 {
					c.say("no entry has the title %s\n", ui.Printable(text))
					if leadNowhere(x) {
						c.say("note: %s\n", untied)
					} else {
						c.say("hint: titles are found whole: anivault parse NAME prints what is read from a name, anivault index stats what was imported\n")
					}
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "`FORM` of the output: text or json, an object a line")
	completeWords(cmd, "format", "text", "json")
	return cmd
}

func writeCandidate(out io.Writer, format string, f index.Candidate) error {
	if format == "json" {
		return json.NewEncoder(out).Encode(wireCandidate{
			Kind: string(f.Kind), TMDBID: f.ID, Title: f.Text, Original: f.Original, Popularity: f.Popularity,
			Season: f.Season, Absolute: f.Absolute, Offset: f.Offset, Mapped: len(f.Ranges) > 0, AniDB: f.Anime,
		})
	}
	parts := []string{fmt.Sprintf("%s/%d", f.Kind, f.ID), ui.Escaped(f.Text)}
	if f.Season != nil {
		parts = append(parts, fmt.Sprintf("season %d", *f.Season))
	}
	if f.Absolute {
		parts = append(parts, "counted over all seasons")
	}
	if f.Offset != 0 {
		parts = append(parts, fmt.Sprintf("after episode %d", f.Offset))
	}
	if f.Anime != 0 {
		parts = append(parts, fmt.Sprintf("AniDB %d", f.Anime))
	}
	_, err := fmt.Fprintln(out, strings.Join(parts, "  "))
	return err
}

// wireIndex is what the index holds, in JSON.
type wireIndex struct {
	Bytes   int64              `json:"file_bytes" doc:"size of the index"`
	Sources []index.SourceInfo `json:"sources" doc:"the lists it was made from"`
}

func (c *command) indexStatsCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "stats",
		Short:   "Say what was imported, and when",
		Example: "  anivault index stats",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkFormat(format, "text", "json"); err != nil {
				return err
			}
			return c.withIndex(cmd, func(x *index.Index) error {
				infos, size, err := x.Stats()
				if err != nil {
					return err
				}
				if format == "json" {
					return json.NewEncoder(c.streams.Out).Encode(wireIndex{size, append([]index.SourceInfo{}, infos...)})
				}
				for _, i := range infos {
					_, err := fmt.Fprintf(c.streams.Out, "%-12s  %8d entries  %8d titles  %s  %s\n", i.Source, i.Rows, i.Titles, i.Imported.Local().Format(time.DateTime), ui.Printable(i.File))
					if err != nil {
						return err
					}
				}
				_, err = fmt.Fprintf(c.streams.Out, "%s in all\n", ui.Size(size))
				return err
			})
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "`FORM` of the output: text or json")
	completeWords(cmd, "format", "text", "json")
	return cmd
}
