package match

import (
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/title"
)

// isSpecial reports whether the name states that the file is a special. In "Title OVA S01E02", "OVA" does not count if
// the entry's own title contains it, or if the path has TMDB's id and so its numbers.
func (p *placer) isSpecial() bool {
	n, one := p.rel.Season()
	isTMDB := func(id release.ID) bool { return id.Source == orders.TMDB }
	ofSeason := one && n > 0 && p.rel.Special != "" && (!p.rel.Folder.Special && slices.ContainsFunc(p.rel.IDs, isTMDB) ||
		slices.Contains(strings.Fields(strings.ToUpper(p.entry.Title)), p.rel.Special))
	return !ofSeason && (p.rel.Kind == release.Special || p.rel.Special != "" || one && n == 0)
}

func (p *placer) placeSpecial() placement {
	if len(p.specials) == 0 {
		return placement{reason: "a special, and TMDB lists none"}
	}
	if n, one := p.rel.Season(); one && n == 0 && !p.rel.Folder.Special && !p.hasFraction() && len(p.rel.Episodes) > 0 {
		eps := toInts(p.rel.Episodes)
		at := p.placementAt(slotsByNumber(p.specials, eps), viaSpecialNumber, "season 0 has the number")
		own := similarToAny([]string{title.Normalize(p.rel.EpisodeTitle)}, minWholeSimilarity)
		if hits := p.specialsWhere(own); len(hits) == 1 && len(eps) == 1 && hits[0].episode.Number != eps[0] &&
			(!at.ok || p.specialNames[slices.Index(p.specials, at.slots[0])].norm != "") {
			return p.placementAt(hits, viaSpecialTitle, "by the title of a special") // the number is another catalogue's
		}
		return firstFound(at, placement{reason: lang.Textf("season 0 has no %s", episodesText(eps))})
	}
	at := firstFound(placeBySpecialTitle(p), placeBySpecialDate(p))
	if !at.ok && len(p.rel.Episodes) == 0 {
		at = placeInOnlySpecial(p)
	}
	return firstFound(at, placement{reason: "a special, but neither its title nor its date says which one"})
}

const (
	minSpecialSimilarity = 0.9
	minWholeSimilarity   = 0.97
)

// specialName is the name of a special. withoutNumber is norm without a number at its end.
type specialName struct {
	entryTitle
	withoutNumber string
	number        int // 0 for none
}

func parseSpecialName(text string) specialName {
	n := specialName{entryTitle: newEntryTitle(text, AltTitle{})}
	if placeholderRE().MatchString(n.norm) {
		return specialName{}
	}
	n.withoutNumber = n.norm
	if i := strings.LastIndexByte(n.norm, ' '); i > 0 {
		if v, err := strconv.Atoi(n.norm[i+1:]); err == nil && v > 0 && v < 1000 {
			n.withoutNumber, n.number = n.norm[:i], v
		}
	}
	return n
}

// placeBySpecialTitle takes the only special with the file's title or episode title, or with the same subtitle after
// any title of the show: "Title: Part" and "題 Part".
func placeBySpecialTitle(p *placer) placement {
	own := []string{title.Normalize(p.rel.EpisodeTitle)}
	isOwn := similarToAny(own, minSpecialSimilarity)
	if hits := p.specialsWhere(isOwn); len(hits) == 1 && own[0] != "" && p.isSpecial() {
		return p.placementAt(hits, viaSpecialTitle, "by the title of a special")
	}
	isNamed := func(s slot) bool {
		return slices.Contains(p.numbers, s.episode.Number) && isOwn(title.Normalize(s.episode.Name))
	}
	if own[0] != "" && !p.isSpecial() && slices.ContainsFunc(p.episodes, isNamed) {
		return placement{} // "S01E01 - Pilot" of a show that has a special called Pilot too
	}
	rests := p.partNames()
	return firstFound(
		p.singleSpecial(p.specialsWhere(similarToAny(p.possibleSpecialTitles(), minSpecialSimilarity)),
			"by the title of a special"),
		p.singleSpecial(p.specialsWhere(similarToAny(p.wholeTitles(), minWholeSimilarity)),
			"by the whole title of a special"),
		p.singleSpecial(p.specialsWhere(func(name string) bool {
			own := textAfterTitle(name, p.titles)
			return own != name && slices.Contains(rests, title.SpellingKey(withoutArcWord(own)))
		}), "by its own part of a special's title"))
}

func similarToAny(texts []string, least float64) func(name string) bool {
	return func(name string) bool {
		return slices.ContainsFunc(texts, func(t string) bool { return title.Similarity(name, t) >= least })
	}
}

// partNames returns the texts after the show's title that may name a special.
func (p *placer) partNames() []string {
	if p.hint.Arc > 0 {
		return nil
	}
	var out []string
	for _, a := range p.hint.Arcs {
		if _, seq := splitSequel("x " + a.Remainder); seq.IsZero() && len(significantWords(a.Remainder)) > 0 {
			out = append(out, title.SpellingKey(withoutArcWord(a.Remainder)))
		}
	}
	return out
}

func (p *placer) possibleSpecialTitles() []string {
	var texts []string
	add := func(s string) {
		if n := title.Normalize(s); n != "" && !placeholderRE().MatchString(n) {
			texts = append(texts, n)
		}
	}
	add(p.rel.EpisodeTitle)
	for _, a := range p.hint.Arcs {
		add(a.Title)
		if _, seq := splitSequel("x " + a.Remainder); seq.IsZero() {
			add(a.Remainder)
		}
	}
	return texts
}

// wholeTitles returns the file's titles, also with the word for a special or the year added. It omits those that are
// titles of the show or a season.
func (p *placer) wholeTitles() []string {
	if n, stated := p.rel.Season(); stated && n > 0 {
		return nil
	}
	var texts []string
	add := func(s string) {
		n := title.Normalize(s)
		if n == "" || slices.ContainsFunc(p.titles, func(t entryTitle) bool { return t.primary && t.matches(n) }) ||
			slices.ContainsFunc(p.entry.Seasons, func(x Season) bool { return x.Number > 0 && title.Normalize(x.Name) == n }) {
			return
		}
		texts = append(texts, n)
	}
	for _, t := range p.rel.Titles {
		add(t.Text)
		if p.rel.Special != "" {
			add(t.Text + " " + p.rel.Special)
		}
		if p.rel.Year != 0 && p.rel.Year != p.entry.Year && !airedInYear(p.episodes, p.rel.Year) {
			add(t.Text + " " + strconv.Itoa(p.rel.Year))
		}
	}
	return texts
}

func (t entryTitle) matches(norm string) bool {
	return title.Similarity(t.norm, norm) >= simExact ||
		t.sequel == Sequel{Year: t.sequel.Year} && title.Similarity(t.base, norm) >= simExact
}

// specialsWhere returns the specials with a matching name. If there are none, the name may match without its number if
// that is the file's episode number.
func (p *placer) specialsWhere(like func(name string) bool) []slot {
	var whole, stem []slot
	for i, s := range p.specials {
		n := p.specialNames[i]
		if n.norm == "" {
			continue
		}
		switch {
		case like(n.norm):
			whole = append(whole, s)
		case n.number > 0 && len(p.rel.Episodes) == 1 && n.number == int(p.rel.Episodes[0]) && like(n.withoutNumber):
			stem = append(stem, s)
		}
	}
	if len(stem) == 1 && len(whole) == 0 {
		return stem
	}
	return whole
}

// singleSpecial places the file at the only hit. If there are several, it takes the one that the episode number
// selects.
func (p *placer) singleSpecial(hits []slot, why lang.Text) placement {
	numbers, n := p.rel.Episodes, 0
	if len(numbers) == 1 {
		n = int(numbers[0])
	}
	switch {
	case len(numbers) > 1, len(hits) == 0:
	case len(hits) == 1 && (len(numbers) == 0 || numbers[0] <= 1 ||
		n == p.specialNames[slices.Index(p.specials, hits[0])].number):
		return p.placementAt(hits, viaSpecialTitle, "%s", why)
	case len(hits) > 1 && n >= 1 && n <= len(hits):
		return p.placementAt(hits[n-1:n], viaSpecialOrder, "%s (several match)", why)
	}
	return placement{}
}

// placeBySpecialDate takes the special of the date or year in the name, if no regular episode aired then.
func placeBySpecialDate(p *placer) placement {
	when := p.rel.Date
	if when == "" && p.year != 0 {
		when = strconv.Itoa(p.year)
	}
	aired := func(s slot) bool { return strings.HasPrefix(s.episode.AirDate, when) }
	if when == "" || len(p.rel.Episodes) > 1 || slices.ContainsFunc(p.episodes, aired) {
		return placement{}
	}
	hits := slices.DeleteFunc(slices.Clone(p.specials), func(s slot) bool { return !aired(s) })
	return p.singleSpecial(hits, lang.Textf("the specials of %s", when))
}

// placeInOnlySpecial takes the only special for a file whose title continues after the show's own title.
func placeInOnlySpecial(p *placer) placement {
	if len(p.specials) != 1 || p.rel.Extension == "" || p.hint.Arc > 0 || p.part > 0 {
		return placement{}
	}
	rest := textAfterTitle(p.hint.matched.norm, p.titles)
	if !p.hasSeveralSeasons() && !p.matchedShowTitle() && !p.isShowTitle(p.hint.matched.norm, title.MayBeReading) &&
		rest != p.hint.matched.norm && !words().wholeShowWords[rest] {
		return p.placementAt(p.specials, viaOnlySpecial, "%q is one file, and there is only one special", p.hint.matched.text)
	}
	if p.hint.Remainder == "" || p.subtitleMayBeOfShow() {
		return placement{}
	}
	return p.placementAt(p.specials, viaOnlySpecial, "%q names a part of the show, and there is only one special",
		p.hint.Remainder)
}

// placeInOnlySpecialWork takes the special with the file's number, if the show has one season and one special, or all
// specials have the same name except for their numbers.
func placeInOnlySpecialWork(p *placer) placement {
	if len(p.numbers) != 1 || p.hasSeveralSeasons() || p.hint.Remainder == "" || p.hint.Arc > 0 || p.part > 0 ||
		p.season > 0 || p.subtitleMayBeOfShow() {
		return placement{}
	}
	if len(p.specials) == 1 && p.highestNumber() == 1 {
		return p.placementAt(p.specials, viaOnlySpecial, "%q names a part of the show, and there is only one special",
			p.hint.Remainder)
	}
	other := func(n specialName) bool { return n.number == 0 || n.withoutNumber != p.specialNames[0].withoutNumber }
	i := slices.IndexFunc(p.specialNames, func(n specialName) bool { return n.number == p.numbers[0] })
	if i < 0 || len(p.specials) < 2 || slices.ContainsFunc(p.specialNames, other) {
		return placement{}
	}
	return p.placementAt(p.specials[i:i+1], viaOnlySpecial,
		"%q names a part of the show, and the specials are of one work", p.hint.Remainder)
}
