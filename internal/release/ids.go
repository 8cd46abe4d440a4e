package release

import (
	"strings"
)

// This file decides what is a catalogue id that the user wrote into a path.

// tagCatalogueID: "[tmdbid-26209]", "{tmdb-26209}", "tmdbid=26209", "imdb-tt0061265", "{tvdb-1}", "[anidb-1]".
func (p *tagged) tagCatalogueID(i int) bool {
	source := ""
	w := lower(p.word(i))
	switch strings.TrimSuffix(w, "id") {
	case "tmdb", "themoviedb":
		source = "tmdb"
	case "imdb":
		source = "imdb"
	case "tvdb", "thetvdb":
		source = "tvdb"
	case "anidb":
		source = "anidb"
	default:
		if p.tokens[i].group >= 0 && len(w) >= 9 && w[:2] == "tt" && allDigits(w[2:]) {
			p.ids = append(p.ids, ID{Source: "imdb", Value: w})
			p.set(i, i+1, tagID)
			return true
		}
		return false
	}
	j, kind := i+1, ""
	if j < len(p.tokens) && idGap(p.gap(i)) {
		switch k := lower(p.word(j)); k {
		case "tv", "movie":
			kind = k
			j++
		case "id":
			j++
		}
	}
	if j >= len(p.tokens) || !idGap(p.gap(j-1)) || p.tokens[j].group != p.tokens[i].group {
		return false
	}
	v := lower(p.word(j))
	switch {
	case source == "imdb" && len(v) > 2 && v[:2] == "tt" && allDigits(v[2:]):
	case source == "imdb" && p.tokens[j].class == number:
		v = "tt" + v
	case p.tokens[j].class != number || p.tokens[i].group < 0 && w == source && p.gap(j-1) == " ":
		return false
	}
	p.ids = append(p.ids, ID{Source: source, Kind: kind, Value: v})
	p.set(i, j+1, tagID)
	return true
}

func idGap(g string) bool { return len(g) == 1 && strings.IndexByte("-=:_ /", g[0]) >= 0 || g == ": " }

func allDigits(s string) bool {
	for i := 0; i < len(s); i++ {
		if !digit(s[i]) {
			return false
		}
	}
	return s != ""
}
