package match

import (
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/title"
)

// isSpecial reports whether the name says that it is no regular episode. A word that is in the entry's own title says
// nothing if a season follows: "Title OVA S01E02".
func (p *placer) isSpecial() bool {
	if n, one := p.rel.Season(); p.e != nil && one && n > 0 && p.rel.Special != "" &&
		slices.Contains(strings.Fields(strings.ToUpper(p.e.Title)), p.rel.Special) {
		return false
	}
	if p.rel.Kind == release.Special || p.rel.Special != "" {
		return true
	}
	n, ok := p.rel.Season()
	return ok && n == 0
}

func (p *placer) special() placement {
	if len(p.specials) == 0 {
		return placement{why: "a special, and TMDB lists none"}
	}
	if n, explicit := p.rel.Season(); explicit && n == 0 && !p.half() && len(p.rel.Episodes) > 0 {
		eps := whole(p.rel.Episodes)
		return either(
			p.found(literal(p.specials, eps), viaSpecialNumber, "season 0 has the number"),
			placement{why: lang.Textf("season 0 holds no %s", episodesText(eps))})
	}
	if at := specialTitle(p); at.ok {
		return at
	}
	if at := specialDate(p); at.ok {
		return at
	}
	if at := onlySpecial(p); at.ok && len(p.rel.Episodes) == 0 {
		return at
	}
	return placement{why: "a special: neither its title nor its date tells which"}
}

const (
	specialLeast = 0.9
	specialWhole = 0.97
)

type specialName struct {
	named
	stem   string
	number int // 0 for none
}

func specialNameOf(text string) specialName {
	n := specialName{named: name(text, AltTitle{})}
	if placeholderEpisode(n.norm) {
		return specialName{}
	}
	n.stem = n.norm
	if i := strings.LastIndexByte(n.norm, ' '); i > 0 {
		if v, err := strconv.Atoi(n.norm[i+1:]); err == nil && v > 0 && v < 1000 {
			n.stem, n.number = n.norm[:i], v
		}
	}
	return n
}

// specialTitle finds the one special with the file's title or episode title, or with the same part after a title of the
// show: "Title: Part" and "題 Part".
func specialTitle(p *placer) placement {
	if len(p.specials) == 0 {
		return placement{}
	}
	if at := p.one(p.specialsNamed(alike(p.specialTexts(), specialLeast)), "by the title of a special"); at.ok {
		return at
	}
	if at := p.one(p.specialsNamed(alike(p.wholeTexts(), specialWhole)), "by the whole title of a special"); at.ok {
		return at
	}
	rests := p.rests()
	if len(rests) == 0 {
		return placement{}
	}
	return p.one(p.specialsNamed(func(name string) bool {
		own := afterTitle(name, p.titles)
		return own != name && slices.Contains(rests, title.Plain(withoutArcWord(own)))
	}), "by its own part of the title of a special")
}

func alike(texts []string, least float64) func(name string) bool {
	return func(name string) bool {
		return slices.ContainsFunc(texts, func(t string) bool { return title.Similarity(name, t) >= least })
	}
}

func (p *placer) rests() []string {
	if p.hint.Arc > 0 {
		return nil
	}
	var out []string
	for _, a := range p.hint.Arcs {
		if _, seq := splitSequel("x " + a.Rest); seq.Zero() && len(nameWords(a.Rest)) > 0 {
			out = append(out, title.Plain(withoutArcWord(a.Rest)))
		}
	}
	return out
}

func (p *placer) specialTexts() []string {
	var texts []string
	add := func(s string) {
		if n := title.Normalize(s); n != "" && !placeholderEpisode(n) {
			texts = append(texts, n)
		}
	}
	add(p.rel.EpisodeTitle)
	for _, a := range p.hint.Arcs {
		add(a.Text)
		if _, seq := splitSequel("x " + a.Rest); seq.Zero() {
			add(a.Rest)
		}
	}
	return texts
}

func (p *placer) wholeTexts() []string {
	if n, stated := p.rel.Season(); stated && n > 0 {
		return nil
	}
	var texts []string
	add := func(s string) {
		n := title.Normalize(s)
		if n == "" || slices.ContainsFunc(p.titles, func(t named) bool { return t.primary && t.matches(n) }) ||
			slices.ContainsFunc(p.e.Seasons, func(x Season) bool { return x.Number > 0 && title.Normalize(x.Name) == n }) {
			return
		}
		texts = append(texts, n)
	}
	for _, t := range p.rel.Titles {
		add(t.Text)
		if p.rel.Special != "" {
			add(t.Text + " " + p.rel.Special)
		}
		if p.rel.Year != 0 && p.rel.Year != p.e.Year && !airedIn(p.all, p.rel.Year) {
			add(t.Text + " " + strconv.Itoa(p.rel.Year))
		}
	}
	return texts
}

func (t named) matches(norm string) bool {
	return title.Similarity(t.norm, norm) >= simExact ||
		t.seq == Sequel{Year: t.seq.Year} && title.Similarity(t.base, norm) >= simExact
}

func (p *placer) specialsNamed(like func(name string) bool) []slot {
	var whole, stem []slot
	for i, s := range p.specials {
		n := p.names[i]
		if n.norm == "" {
			continue
		}
		switch {
		case like(n.norm):
			whole = append(whole, s)
		case n.number > 0 && len(p.rel.Episodes) == 1 && n.number == int(p.rel.Episodes[0]) && like(n.stem):
			stem = append(stem, s)
		}
	}
	if len(stem) == 1 && len(whole) == 0 {
		return stem
	}
	return whole
}

func (p *placer) one(hits []slot, why lang.Text) placement {
	numbers, n := p.rel.Episodes, 0
	if len(numbers) == 1 {
		n = int(numbers[0])
	}
	switch {
	case len(numbers) > 1, len(hits) == 0:
	case len(hits) == 1 && (len(numbers) == 0 || numbers[0] <= 1 || n == p.numberOf(hits[0])):
		return p.found(hits, viaSpecialTitle, "%s", why)
	case len(hits) > 1 && n >= 1 && n <= len(hits):
		return p.found(hits[n-1:n], viaSpecialOrder, "%s, of several that have it", why)
	}
	return placement{}
}

func (p *placer) numberOf(special slot) int {
	return p.names[slices.IndexFunc(p.specials, func(s slot) bool {
		return s.episode.Number == special.episode.Number
	})].number
}

func specialDate(p *placer) placement {
	if p.year == 0 || len(p.rel.Episodes) > 1 || airedIn(p.all, p.year) {
		return placement{}
	}
	hits := slices.DeleteFunc(slices.Clone(p.specials), func(s slot) bool {
		return s.aired.IsZero() || s.aired.Year() != p.year
	})
	return p.one(hits, lang.Textf("the specials of %d", p.year))
}

// onlySpecial takes the only special for a file without a number that names a part of the show.
func onlySpecial(p *placer) placement {
	if len(p.specials) != 1 || p.rel.Extension == "" || p.hint.Arc > 0 || p.part > 0 {
		return placement{}
	}
	rest := afterTitle(p.hint.title.norm, p.titles)
	if !p.severalSeasons() && !p.matchedShowTitle() && !p.isShowTitle(p.hint.title.norm, title.Reads) &&
		rest != p.hint.title.norm && !words().whole[rest] {
		return p.found(p.specials, viaOnlySpecial, "%q is one file, and there is only one special", p.hint.title.text)
	}
	if p.hint.Rest == "" || p.showHasSubtitle() {
		return placement{}
	}
	return p.found(p.specials, viaOnlySpecial, "%q names a part of the show, and there is only one special", p.hint.Rest)
}

// onlyWork takes the special with the file's number if the show has one season and all specials are numbered parts of
// one work.
func onlyWork(p *placer) placement {
	if len(p.specials) < 2 || len(p.eps) != 1 || p.severalSeasons() || p.hint.Rest == "" || p.hint.Arc > 0 || p.part > 0 ||
		p.season > 0 || p.showHasSubtitle() ||
		slices.ContainsFunc(p.names, func(n specialName) bool { return n.number == 0 || n.stem != p.names[0].stem }) {
		return placement{}
	}
	i := slices.IndexFunc(p.names, func(n specialName) bool { return n.number == p.eps[0] })
	if i < 0 {
		return placement{}
	}
	return p.found(p.specials[i:i+1], viaOnlySpecial, "%q names a part of the show, and the specials are of one work",
		p.hint.Rest)
}

func placeholderEpisode(norm string) bool { return placeholderRE().MatchString(norm) }
