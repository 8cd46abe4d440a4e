// Package catalogfile reads a catalogue of the stand-in for TMDB from a file: one
// JSON object a line, a work with its titles and seasons, and with the series of
// its source that lie in each season.
package catalogfile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/anivault/anivault/internal/tmdbfake"
)

// lineWork is one line of a catalogue file.
type lineWork struct {
	Kind     tmdbfake.Kind `json:"kind"`
	ID       int           `json:"tmdb_id"`
	Titles   []lineTitle   `json:"titles"`
	Year     int           `json:"year"`
	Seasons  []lineSeason  `json:"seasons"`
	Absolute bool          `json:"absolute"` // numbered through, whatever the seasons
	Multi    bool          `json:"multi"`    // one of several films under one title
}

type lineTitle struct {
	Lang   string     `json:"lang"`
	Type   string     `json:"type"` // main, official, synonym, short ...
	Title  string     `json:"title"`
	Season seasonMark `json:"season"`
	Offset int        `json:"offset"` // of the series inside its season
	Source int        `json:"anidb"`  // the series whose title it is
}

// seasonMark is a season number; "a" (absolute) and a missing one are noSeason.
type seasonMark int

const noSeason seasonMark = -1

// UnmarshalJSON reads a number or the letter a.
func (s *seasonMark) UnmarshalJSON(b []byte) error {
	var n int
	if err := json.Unmarshal(b, &n); err == nil {
		*s = seasonMark(n)
		return nil
	}
	if bytes.Equal(b, []byte(`"a"`)) {
		*s = noSeason
		return nil
	}
	return fmt.Errorf("season %.20s is neither a number nor \"a\"", b)
}

// UnmarshalJSON reads a title; a season that is not there is noSeason.
func (t *lineTitle) UnmarshalJSON(b []byte) error {
	type plain lineTitle
	p := plain{Season: noSeason}
	if err := json.Unmarshal(b, &p); err != nil {
		return err
	}
	*t = lineTitle(p)
	t.Title = strings.ReplaceAll(t.Title, "`", "'") // how some lists write an apostrophe
	return nil
}

type lineSeason struct {
	Number   int         `json:"season"`
	Cours    []lineCour  `json:"cours"`
	Episodes int         `json:"episodes"` // 0: unknown
	Ranges   []lineRange `json:"ranges"`
	First    int         `json:"first"` // of the numbers the ranges name
	Last     int         `json:"last"`
	Stale    bool        `json:"stale"` // some list has it, TMDB does not: its episodes lie in another season
}

// lineCour is a source series that lies in a season after offset episodes.
type lineCour struct {
	Source   int `json:"anidb"`
	Offset   int `json:"offset"`
	Episodes int `json:"episodes"` // 0: unknown
	Year     int `json:"year"`
}

// lineRange maps episodes of a source series to numbers of the season.
type lineRange struct {
	Source int    `json:"anidb"`
	To     [2]int `json:"tmdb"`
}

// Bounds that a catalogue file must keep.
const (
	maxLine     = 4 << 20
	maxEpisodes = 5_000
	maxSeason   = 500
)

// Read reads a catalogue file. Blank lines are allowed; an error names the line.
func Read(r io.Reader) (*tmdbfake.Catalogue, error) {
	var works []tmdbfake.Work
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 1<<20), maxLine)
	for n := 1; sc.Scan(); n++ {
		line := bytes.TrimSpace(sc.Bytes())
		if len(line) == 0 {
			continue
		}
		var l lineWork
		if err := json.Unmarshal(line, &l); err != nil {
			return nil, fmt.Errorf("catalogue line %d: %w", n, err)
		}
		if err := l.validate(); err != nil {
			return nil, fmt.Errorf("catalogue line %d: %w", n, err)
		}
		l.placeTitles()
		works = append(works, l.work())
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("read catalogue: %w", err)
	}
	return tmdbfake.NewCatalogue(works)
}

func (l *lineWork) validate() error {
	switch {
	case l.Kind != tmdbfake.TV && l.Kind != tmdbfake.Movie:
		return fmt.Errorf("kind %q: want %q or %q", l.Kind, tmdbfake.TV, tmdbfake.Movie)
	case l.ID <= 0 || l.ID > tmdbfake.MaxID:
		return fmt.Errorf("tmdb_id %d is outside 1..%d", l.ID, tmdbfake.MaxID)
	case len(l.Titles) == 0:
		return fmt.Errorf("%s %d has no title", l.Kind, l.ID)
	case l.Year != 0 && (l.Year < 1000 || l.Year > 9999):
		return fmt.Errorf("year %d is outside 1000..9999", l.Year)
	}
	for i := range l.Seasons {
		if err := l.Seasons[i].validate(); err != nil {
			return err
		}
	}
	return nil
}

func (s *lineSeason) validate() error {
	if s.Number < 0 || s.Number > maxSeason {
		return fmt.Errorf("season %d is outside 0..%d", s.Number, maxSeason)
	}
	small := func(n int) bool { return n >= 0 && n <= maxEpisodes }
	if !small(s.Episodes) || !small(s.First) || !small(s.Last) {
		return fmt.Errorf("season %d: an episode number is outside 0..%d", s.Number, maxEpisodes)
	}
	for _, c := range s.Cours {
		if !small(c.Offset) || !small(c.Episodes) || c.Year < 0 || c.Year > 9999 {
			return fmt.Errorf("season %d: a cour's numbers are outside 0..%d", s.Number, maxEpisodes)
		}
	}
	for _, g := range s.Ranges {
		if !small(g.To[0]) || !small(g.To[1]) {
			return fmt.Errorf("season %d: a range is outside 0..%d", s.Number, maxEpisodes)
		}
	}
	return nil
}
