package index

import (
	"io"
	"strconv"
	"strings"
)

// animeElement is an <anime> of Anime-Lists. What is there for TVDB only says nothing about TMDB and is passed over.
type animeElement struct {
	ID       string           `xml:"anidbid,attr"`
	TV       string           `xml:"tmdbtv,attr"`
	Season   string           `xml:"tmdbseason,attr"`
	Offset   string           `xml:"tmdboffset,attr"`
	Movies   string           `xml:"tmdbid,attr"`
	Name     string           `xml:"name"`
	Mappings []mappingElement `xml:"mapping-list>mapping"`
}

type mappingElement struct {
	From   string `xml:"anidbseason,attr"`
	Season string `xml:"tmdbseason,attr"`
	Start  string `xml:"start,attr"`
	End    string `xml:"end,attr"`
	Offset string `xml:"offset,attr"`
	Pairs  string `xml:",chardata"`
}

// readAnimeLists yields every entry that has an AniDB id. Attributes that should be numbers may be words ("unknown",
// "movie"), and then count as absent.
func readAnimeLists(r io.Reader, yield func(anime) error) error {
	return eachElement(r, "anime-list", "anime", func(e animeElement) error {
		a := anime{ID: number(e.ID), Name: strings.TrimSpace(e.Name), TV: number(e.TV), Offset: integer(e.Offset)}
		if a.ID == 0 {
			return nil
		}
		if season := strings.TrimSpace(e.Season); season == "a" {
			a.Absolute = true
		} else if n, ok := seasonNumber(season); ok {
			a.Season = &n
		}
		for id := range strings.SplitSeq(e.Movies, ",") {
			if n := number(id); n > 0 && len(a.Movies) < maxMovies {
				a.Movies = append(a.Movies, n)
			}
		}
		for _, m := range e.Mappings {
			// Only regular episodes are mapped, and only to TMDB.
			if season, ok := seasonNumber(m.Season); ok && strings.TrimSpace(m.From) == "1" {
				a.Ranges = append(a.Ranges, Range{
					Season: season, Start: number(m.Start), End: number(m.End), Offset: integer(m.Offset), Pairs: pairsOf(m.Pairs),
				})
			}
		}
		return yield(a)
	})
}

// Bounds of numbers that make sense; what is beyond them counts as absent.
const (
	maxID     = 1 << 31
	maxNumber = 99999
	maxMovies = 64
	maxPairs  = 5000
)

// pairsOf reads ";1-5;2-6+7;3-0;": an episode of the anime, and its episodes on TMDB, 0 for none.
func pairsOf(s string) map[int]Target {
	var out map[int]Target
	for p := range strings.SplitSeq(s, ";") {
		from, to, ok := strings.Cut(strings.TrimSpace(p), "-")
		n, err := strconv.Atoi(from)
		if !ok || err != nil || n < 1 || n > maxNumber || len(out) >= maxPairs {
			continue
		}
		var t Target
		for e := range strings.SplitSeq(to, "+") {
			if m, err := strconv.Atoi(e); err == nil && m > 0 && m <= maxNumber {
				t = append(t, m)
			}
		}
		if out == nil {
			out = map[int]Target{}
		}
		out[n] = t
	}
	return out
}

// number reads a positive number, 0 for anything else.
func number(s string) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || n < 0 || n > maxID {
		return 0
	}
	return n
}

// integer reads a number of either sign, 0 for anything else.
func integer(s string) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || n < -maxNumber || n > maxNumber {
		return 0
	}
	return n
}

// seasonNumber reads a season, which may be 0.
func seasonNumber(s string) (n int, ok bool) {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	return n, err == nil && n >= 0 && n <= maxNumber
}
