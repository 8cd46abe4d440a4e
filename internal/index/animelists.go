package index

// This file reads Anime-Lists: <anime anidbid tmdbtv tmdbseason tmdboffset tmdbid> with a <name> and, rarely, mappings
// that carry tmdbseason. What is there for TVDB only says nothing of TMDB and is passed over.

import (
	"encoding/xml"
	"io"
	"strconv"
	"strings"
)

// readAnimeLists yields every entry that has an AniDB id. An attribute that is no number ("unknown", "movie") counts as absent:
// the lists use words there.
func readAnimeLists(r io.Reader, yield func(anime) error) error {
	d := newXML(r)
	var cur *anime
	var mapping *Range
	var text strings.Builder
	return d.walk("anime-list", func(path []string, tok xml.Token) error {
		switch t := tok.(type) {
		case xml.StartElement:
			text.Reset()
			switch {
			case len(path) == 2 && path[1] == "anime":
				a := animeOf(t)
				cur = &a
			case cur != nil && path[len(path)-1] == "mapping":
				mapping = rangeOf(t)
			}
		case xml.CharData:
			text.Write(t)
		case xml.EndElement:
			switch {
			case len(path) == 2 && cur != nil:
				done := *cur
				cur = nil
				if done.ID > 0 {
					return yield(done)
				}
			case len(path) == 3 && path[2] == "name" && cur != nil:
				cur.Name = strings.TrimSpace(text.String())
			case path[len(path)-1] == "mapping" && mapping != nil && cur != nil:
				mapping.Pairs = pairsOf(text.String())
				cur.Ranges = append(cur.Ranges, *mapping)
				mapping = nil
			}
		}
		return nil
	})
}

func animeOf(t xml.StartElement) anime {
	a := anime{ID: attrNumber(t, "anidbid"), TV: attrNumber(t, "tmdbtv"), Offset: attrInteger(t, "tmdboffset")}
	switch s := attr(t, "tmdbseason"); {
	case s == "a":
		a.Absolute = true
	case s != "":
		if n, err := strconv.Atoi(s); err == nil && n >= 0 && n <= maxNumber {
			a.Season = &n
		}
	}
	for _, id := range strings.Split(attr(t, "tmdbid"), ",") {
		if n, err := strconv.Atoi(strings.TrimSpace(id)); err == nil && n > 0 && n <= maxID && len(a.Movies) < maxMovies {
			a.Movies = append(a.Movies, n)
		}
	}
	return a
}

// Bounds of numbers that make sense; what is beyond them counts as absent.
const (
	maxID     = 1 << 31
	maxNumber = 99999
	maxMovies = 64
	maxPairs  = 5000
)

// rangeOf reads a mapping of regular episodes to a season of TMDB's; nil for any other.
func rangeOf(t xml.StartElement) *Range {
	season, err := strconv.Atoi(attr(t, "tmdbseason"))
	if err != nil || season < 0 || season > maxNumber || attr(t, "anidbseason") != "1" {
		return nil
	}
	return &Range{Season: season, Start: attrNumber(t, "start"), End: attrNumber(t, "end"), Offset: attrInteger(t, "offset")}
}

// pairsOf reads ";1-5;2-6+7;3-0;": the anime's episode, and those it is on TMDB, 0 for none.
func pairsOf(s string) map[int]Target {
	var out map[int]Target
	for _, p := range strings.Split(s, ";") {
		from, to, ok := strings.Cut(strings.TrimSpace(p), "-")
		n, err := strconv.Atoi(from)
		if !ok || err != nil || n < 1 || n > maxNumber || len(out) >= maxPairs {
			continue
		}
		var t Target
		for _, e := range strings.Split(to, "+") {
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

func attr(t xml.StartElement, name string) string {
	for _, a := range t.Attr {
		if a.Name.Local == name {
			return strings.TrimSpace(a.Value)
		}
	}
	return ""
}

// attrNumber is a positive number, 0 for anything else.
func attrNumber(t xml.StartElement, name string) int {
	n, err := strconv.Atoi(attr(t, name))
	if err != nil || n < 0 || n > maxID {
		return 0
	}
	return n
}

// attrInteger is a number of either sign, 0 for anything else.
func attrInteger(t xml.StartElement, name string) int {
	n, err := strconv.Atoi(attr(t, name))
	if err != nil || n < -maxNumber || n > maxNumber {
		return 0
	}
	return n
}
