package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/index"
	"github.com/anivault/anivault/internal/ui"
)

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
	return leaf(&cobra.Command{
		Use:     "lookup TITLE",
		Short:   "Say which entries have a title; its words need no quotation marks",
		Example: "  anivault index lookup \"Sousou no Frieren\"\n  anivault index lookup --format json 葬送のフリーレン",
		Args:    atLeastOne("TITLE", `for example: anivault index lookup "Sousou no Frieren"`),
	}, textOrJSON, func(cmd *cobra.Command, args []string, format string) error {
		text := strings.Join(args, " ")
		return c.withIndex(cmd, func(x *index.Index) error {
			found, err := x.Lookup(text)
			if err != nil {
				return err
			}
			for _, f := range found {
				if err := c.printCandidate(format, f); err != nil {
					return err
				}
			}
			if len(found) > 0 {
				return nil
			}
			c.say("no entry has the title %s\n", ui.Printable(text))
			if leadNowhere(x) {
				c.say("note: %s\n", untied)
			} else {
				c.say("hint: titles are found whole: anivault parse NAME prints what is read from a name, anivault index stats what was imported\n")
			}
			return nil
		})
	})
}

func (c *command) printCandidate(format string, f index.Candidate) error {
	if format == "json" {
		return c.printJSON(wireCandidate{
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
	_, err := fmt.Fprintln(c.streams.Out, strings.Join(parts, "  "))
	return err
}
