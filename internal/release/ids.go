package release

import "strings"

// readCatalogueID: "[tmdbid-26209]", "{tmdb-26209}", "tmdbid=26209", "imdb-tt0061265", "{tvdb-1}", "[anidb-1]", and the
// "[tt0061265]" of IMDb in a bracket.
func readCatalogueID(p *tagged, i int) bool {
	if p.w.width(i) < len("tmdb") {
		return false
	}
	switch p.w.word(i)[0] | 0x20 { // most words can't be one, and this is quick
	case 't', 'i', 'a':
	default:
		return false
	}
	w := lower(p.w.word(i))
	if p.w.tokens[i].group >= 0 && len(w) >= 9 && imdbID(w) {
		p.setID(i, i+1, ID{Source: "imdb", Value: w})
		return true
	}
	id := ID{Source: catalogue(strings.TrimSuffix(w, "id"))}
	if id.Source == "" {
		return false
	}
	j := i + 1
	if idGap(p.w.gap(i)) && j < len(p.w.tokens) {
		switch k := lower(p.w.word(j)); k {
		case "tv", "movie":
			id.Kind = k
			j++
		case "id":
			j++
		}
	}
	if !p.w.beside(i, j) || !idGap(p.w.gap(j-1)) {
		return false
	}
	id.Value = lower(p.w.word(j))
	switch {
	case id.Source == "imdb" && imdbID(id.Value):
	case p.w.tokens[j].class != number:
		return false
	case id.Source == "imdb":
		id.Value = "tt" + id.Value
	case p.w.tokens[i].group < 0 && w == id.Source && p.w.gap(j-1) == " ": // a title, for all that is known
		return false
	}
	p.setID(i, j+1, id)
	return true
}

// catalogue returns the catalogue of that name, "" when there is none.
func catalogue(name string) string {
	switch name {
	case "tmdb", "themoviedb":
		return "tmdb"
	case "tvdb", "thetvdb":
		return "tvdb"
	case "imdb", "anidb":
		return name
	}
	return ""
}

// imdbID reports whether w is "tt" and digits.
func imdbID(w string) bool { return strings.HasPrefix(w, "tt") && allDigits(w[2:]) }

// setID records the id that tokens [from, to) give.
func (p *tagged) setID(from, to int, id ID) {
	p.ids = append(p.ids, id)
	p.w.set(from, to, tagID)
}

// idGap reports whether g can stand between the name of a catalogue and an id.
func idGap(g string) bool {
	return g == ": " || len(g) == 1 && strings.Contains("-=:_ /", g)
}

// allDigits reports whether s is digits and not empty.
func allDigits(s string) bool { return s != "" && leadingDigits(s) == len(s) }
