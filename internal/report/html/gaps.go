package html

import (
	"fmt"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/ui"
)

// missing is the view of what is not there, or there twice.
const missing = "missing"

// titledUpTo is how many missing episodes of a season are told by their titles.
const titledUpTo = 12

// gapCard is a series of which something is missing, or there twice.
type gapCard struct {
	Title, Ref, URL, Note string
	Rows                  []gapRow
}

// gapRow is one of its seasons.
type gapRow struct {
	Label string   // S02
	Text  string   // "11 of 12, missing 7"
	Lines []string // titles of what is missing, files of what is there twice
}

// missingIn returns how many episodes are missing, and whether the view has anything to show.
func missingIn(gaps []report.Gap) (episodes int, shown bool) {
	for _, g := range gaps {
		episodes += len(g.Missing)
		shown = shown || told(&g)
	}
	return episodes, shown
}

// told reports whether there is anything to tell: a list that is not at hand is no gap.
func told(g *report.Gap) bool { return g.Season != nil && len(g.Missing)+len(g.Twice) > 0 }

func gapCards(gaps []report.Gap) []*gapCard {
	var out []*gapCard
	for i := range gaps {
		g := &gaps[i]
		if !told(g) {
			continue
		}
		if len(out) == 0 || out[len(out)-1].Ref != g.Ref() {
			c := &gapCard{Title: g.Entry(), Ref: g.Ref(), URL: url("tv", g.TMDBID)}
			if g.Unplaced > 0 {
				c.Note = lang.Sprintf("%s without an episode may be what is missing", ui.Count(g.Unplaced, "file"))
			}
			out = append(out, c)
		}
		c := out[len(out)-1]
		c.Rows = append(c.Rows, rowOf(g))
	}
	return out
}

func rowOf(g *report.Gap) gapRow {
	row := gapRow{Label: fmt.Sprintf("S%02d", *g.Season)}
	switch {
	case g.Here == 0 && len(g.Missing) > 0:
		row.Text = lang.Say("not there: " + ui.Count(g.Aired, "episode"))
	case len(g.Missing) > 0:
		row.Text = lang.Sprintf("%d of %d", g.Here, g.Aired) + ", " + lang.Say("missing "+g.MissingRuns())
	}
	if n := len(g.Missing); n <= titledUpTo && g.Here > 0 {
		for _, e := range g.Missing {
			line := fmt.Sprintf("E%02d", e.Episode)
			for _, more := range []string{e.Title, e.AirDate} {
				if more != "" {
					line += "  " + ui.Printable(more)
				}
			}
			row.Lines = append(row.Lines, line)
		}
	}
	for i, c := range g.Twice {
		if i == 0 || g.Twice[i-1].Episode != c.Episode {
			row.Lines = append(row.Lines, lang.Sprintf("E%02d is there more than once:", c.Episode))
		}
		row.Lines = append(row.Lines, ui.Printable(c.Path))
	}
	return row
}
