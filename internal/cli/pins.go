package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/pins"
	"github.com/anivault/anivault/internal/ui"
)

func (c *command) pinsCommand() *cobra.Command {
	return leaf(&cobra.Command{
		Use:     "pins",
		Short:   "List what is pinned",
		Example: "  anivault pins\n  anivault pins --format json",
	}, textOrJSON, func(cmd *cobra.Command, _ []string, format string) error {
		cfg, err := c.load(cmd)
		if err != nil {
			return err
		}
		store := app.OpenPins(cfg)
		set, err := store.Load()
		if err != nil {
			return err
		}
		for _, warning := range set.Warnings(store.Path()) {
			c.warn("%v", warning)
		}
		if format == "json" {
			return c.printJSON(wirePinsOf(store.Path(), set))
		}
		return pinsText(c.streams.Out, store.Path(), set)
	})
}

func pinsText(out io.Writer, path string, set *pins.Set) error {
	for _, p := range set.All() {
		if _, err := fmt.Fprintln(out, ui.Escaped(p.String())); err != nil {
			return err
		}
	}
	state := "edit it as you like"
	if set.Len() == 0 {
		state = "nothing is pinned yet"
	}
	_, err := fmt.Fprintf(out, "# %s (%s)\n", ui.Escaped(path), state)
	return err
}

// wirePins is the list of pins in JSON.
type wirePins struct {
	File     string        `json:"file" doc:"where the pins are kept"`
	Pins     []wirePin     `json:"pins" doc:"each pin"`
	Problems []wireProblem `json:"problems" doc:"lines that can't be understood"`
}

type wirePin struct {
	Path   string `json:"path,omitempty" doc:"the pinned file or folder"`
	Title  string `json:"title,omitempty" doc:"or the pinned title"`
	Kind   string `json:"kind" doc:"tv or movie"`
	TMDBID int    `json:"tmdb_id" doc:"the TMDB entry"`
	Season *int   `json:"season,omitempty" doc:"the season, where one is set"`
	Offset int    `json:"offset,omitempty" doc:"what is added to episode numbers"`
}

type wireProblem struct {
	Line   int    `json:"line" doc:"its number"`
	Text   string `json:"text" doc:"what it says"`
	Reason string `json:"reason" doc:"what is wrong with it"`
}

func wirePinsOf(path string, set *pins.Set) wirePins {
	w := wirePins{File: path, Pins: []wirePin{}, Problems: []wireProblem{}}
	for _, p := range set.All() {
		w.Pins = append(w.Pins, wirePin{
			Path: p.Path, Title: p.Title, Kind: string(p.Kind), TMDBID: p.ID, Season: p.Season,
			Offset: p.Offset,
		})
	}
	for _, p := range set.Problems() {
		w.Problems = append(w.Problems, wireProblem{Line: p.Line, Text: p.Text, Reason: p.Reason})
	}
	return w
}
