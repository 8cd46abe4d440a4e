package match

import (
	"slices"

	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/title"
)

// bySeasonCalled is for a season that the name counts within a part of the show, and TMDB over all of it: "Title Arc
// Season 3" is the season of that name, whatever its number, and "題 第五季 / Title Arc" the one that is called as the
// title without a number.
func (p *placer) bySeasonCalled() placement {
	if !p.stated() || !p.severalSeasons() {
		return placement{}
	}
	n := p.calledWithNumber(p.e)
	if n == 0 {
		n = p.calledBeside()
	}
	if n == 0 && slices.ContainsFunc(p.e.Seasons, func(s Season) bool { return p.statesNumber(s) != "" }) {
		readings := make([]ArcText, len(p.rel.Titles))
		for i, t := range p.rel.Titles {
			readings[i].Text = t.Text
		}
		if _, language := arcLanguage(readings, p.titles); language != "" {
			if e := p.calledIn(language); e != nil {
				n = p.calledWithNumber(e)
			}
		}
	}
	if n == 0 || n == p.season {
		return placement{}
	}
	return p.found(literal(seasonSlots(p.all, n), p.eps), trustName, "season %d has %s", n, inTitle(trustName))
}

// statesNumber returns what the name of a season has before the number that the file's name states, where TMDB's number
// is another and that is not what the whole show is called; "" for any other season.
func (p *placer) statesNumber(s Season) string {
	base, seq := splitSequel(title.Normalize(s.Name))
	if s.Number == 0 || s.Number == p.season || seq != (Sequel{Season: p.season}) ||
		placeholderSeason(base) || p.calledSo(base, nil) {
		return ""
	}
	return base
}

// calledWithNumber returns the only season whose name is a title of the file's name and the season's number behind it,
// 0 for none.
func (p *placer) calledWithNumber(e *Entry) int {
	found := 0
	for _, s := range e.Seasons {
		base := p.statesNumber(s)
		if base == "" || !p.titled(base) {
			continue
		}
		if found != 0 {
			return 0
		}
		found = s.Number
	}
	return found
}

// calledBeside returns the season whose whole name is one title of the file's name, where another title, in another
// script, may be what the number stands behind, and TMDB calls the season of that number otherwise; 0 for none.
func (p *placer) calledBeside() int {
	stated, ok := p.e.season(p.season)
	if !ok || placeholderSeason(title.Normalize(stated.Name)) || p.titled(title.Normalize(stated.Name)) {
		return 0
	}
	for _, s := range p.e.Seasons {
		norm := title.Normalize(s.Name)
		if s.Number == 0 || placeholderSeason(norm) || p.calledSo(norm, nil) || !p.titled(norm) {
			continue
		}
		inOther := func(t release.Title) bool { return title.Script(t.Text) != title.Script(s.Name) }
		if slices.ContainsFunc(p.rel.Titles, inOther) {
			return s.Number
		}
	}
	return 0
}

// titled reports whether a text is one of the titles of the file's name.
func (p *placer) titled(norm string) bool {
	return slices.ContainsFunc(p.rel.Titles, func(t release.Title) bool {
		return title.Plain(title.Normalize(t.Text)) == title.Plain(norm)
	})
}
