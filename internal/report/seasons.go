package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/ui"
)

// seasons is the table with one line for all files of a season. Files that need a person stand below it, as in table. A
// season is held until a folder of another entry begins, so a folder for each episode still makes one line.
type seasons struct {
	*table
	last  string // the folder of the latest file
	left  bool   // files that were left out are shown
	held  []*season
	files strings.Builder // the lines of single files
	above block           // the block of the line above
}

type block uint8

const (
	nothing block = iota
	seasonLines
	fileLines
)

type season struct {
	key      seasonKey
	title    string
	episodes []int
	files    int
	least    float64
}

type seasonKey struct {
	kind   string
	id     int
	season int // -1: none
	age    lang.Text
}

const heldSeasons = 64

const (
	titleCol  = 60 // at most
	placesCol = 18 // "S01 1-12,14-24,26"
	filesCol  = 10 // "1234 files"
)

func (s *seasons) Match(r Record) error {
	if r.Status == Skipped && !s.left {
		return nil
	}
	s.measure()
	dir, name := r.Split()
	if s.last != dir && !s.continues(&r) || len(s.held) >= heldSeasons {
		if err := s.release(); err != nil {
			return err
		}
	}
	s.last = dir
	if r.Status == Matched && !r.LacksEpisode() {
		s.hold(&r)
	} else {
		s.record(&s.files, r, dir, name)
	}
	return nil
}

func (s *seasons) Close(Summary) error {
	if err := s.release(); err != nil {
		return err
	}
	return s.Flush()
}

func (s *seasons) continues(r *Record) bool {
	return r.Status == Matched && s.files.Len() == 0 && slices.ContainsFunc(s.held, func(h *season) bool {
		return h.key.kind == r.Kind && h.key.id == r.TMDBID
	})
}

func (s *seasons) hold(r *Record) {
	key := seasonKey{kind: r.Kind, id: r.TMDBID, season: -1, age: r.Age()}
	if r.Season != nil {
		key.season = *r.Season
	}
	i := slices.IndexFunc(s.held, func(h *season) bool { return h.key == key })
	if i < 0 {
		i = len(s.held)
		s.held = append(s.held, &season{key: key, title: strings.Clone(r.Entry()), least: 1})
	}
	h := s.held[i]
	h.files++
	h.episodes = append(h.episodes, r.Episodes...)
	for _, least := range []*float64{r.Confidence, r.EpisodeConfidence} {
		if least != nil {
			h.least = min(h.least, *least)
		}
	}
}

func (s *seasons) release() error {
	var b strings.Builder
	if len(s.held) > 0 && s.above == fileLines {
		b.WriteByte('\n')
	}
	for _, h := range s.held {
		s.above = seasonLines
		s.lineOf(&b, h)
	}
	if s.files.Len() > 0 {
		if s.above != nothing {
			b.WriteByte('\n')
		}
		s.above = fileLines
		b.WriteString(s.files.String())
	}
	s.held, s.begun = nil, false
	s.files.Reset()
	return s.write([]byte(b.String()))
}

// lineOf writes one season: "Frieren (2023)  S01 1-28  28 files  99 %".
func (s *seasons) lineOf(b *strings.Builder, h *season) {
	title, places, files := ui.Printable(h.title), lang.Say(h.places()), lang.Say(lang.Count(h.files, "file"))
	width := s.opts.Width
	if width > 0 {
		files = strings.Repeat(" ", max(filesCol-ui.Width(files), 0)) + files
	}
	rest, age := fmt.Sprintf("  %s %3s %%", files, strings.TrimSuffix(Percent(h.least), "%")), ""
	if h.key.age != "" {
		age = "  [" + lang.Say(h.key.age) + "]"
	}
	if width > 0 { // where there is no room, first the title gives way, then what it stands on
		at := min(placesCol, max((width-ui.Width(rest))/3, 8))
		room := width - 2 - at - ui.Width(rest)
		room = min(max(room-ui.Width(age), min(room, 12)), titleCol)
		title, places = ui.Pad(ui.Cut(title, room), room), ui.Pad(ui.Cut(places, at), at)
		age = ui.Cut(age, max(width-room-2-at-ui.Width(rest), 1))
	}
	rest += age
	b.WriteString(ui.Style(s.opts.Color, ui.Bold, title) + "  " + ui.Style(s.opts.Color, ui.Green, places))
	s.line(b, ui.Dim, rest)
}

// places are the episodes of a season that are there: "S01 1-12,14".
func (h *season) places() string {
	switch {
	case h.key.kind == "movie":
		return "movie"
	case h.key.season < 0:
		return "extras"
	}
	slices.Sort(h.episodes)
	return strings.TrimSuffix(fmt.Sprintf("S%02d %s", h.key.season, runs("%d", slices.Compact(h.episodes))), " ")
}
