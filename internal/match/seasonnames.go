package match

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/title"
)

const (
	arcLeast  = 0.9
	nameLeast = 0.97
)

type namedSeason struct {
	Season
	norm string
}

func (e *Entry) namedSeasons() []namedSeason {
	var out []namedSeason
	for _, s := range e.Seasons {
		if n := title.Normalize(s.Name); s.Number != 0 && n != "" && !placeholderSeason(n) {
			out = append(out, namedSeason{s, n})
		}
	}
	return out
}

func arcOf(e *Entry, titles []named, text, norm, rest string) int {
	best, bestSim := 0, 0.0
	for _, s := range e.namedSeasons() {
		n := s.norm
		if plainName(e, s.Name, text) {
			continue
		}
		sim := max(title.Similarity(n, norm), title.Similarity(withoutArticles(n), withoutArticles(norm)))
		if sim < nameLeast {
			sim = 0
		}
		if title.Plain(n) == title.Plain(norm) {
			sim = max(sim, nameLeast)
		}
		if rest != "" {
			own := afterTitle(n, titles)
			if alike := title.Plain(withoutArcWord(own)); alike != "" && alike == title.Plain(withoutArcWord(rest)) {
				sim = max(sim, arcLeast)
			}
			if part := max(title.Similarity(own, rest),
				title.Similarity(withoutArcWord(own), withoutArcWord(rest))); part >= arcLeast {
				sim = max(sim, part)
			}
		}
		if sim > bestSim {
			best, bestSim = s.Number, sim
		}
	}
	return best
}

// arcRead finds the season whose Japanese name reads like the rest of the title; 0 if another Japanese title fits
// better.
func arcRead(e *Entry, titles []named, rest string) int {
	type japanese struct {
		season int
		text   string
		misfit float64
	}
	var all []japanese
	add := func(season int, norm string) {
		own := afterTitle(norm, titles)
		misfit, ok := title.MayRead(own, rest)
		known := func(o japanese) bool { return o.text == own }
		if own != "" && (own != norm || season > 0) && ok && !slices.ContainsFunc(all, known) {
			all = append(all, japanese{season, own, misfit})
		}
	}
	for _, s := range e.namedSeasons() {
		add(s.Number, s.norm)
	}
	if len(all) == 0 {
		return 0
	}
	for _, t := range titles {
		if title.Script(t.text) == "ja" || t.alt.Region == "JP" && spaceless(t.norm) {
			add(0, t.norm)
		}
	}
	slices.SortStableFunc(all, func(a, b japanese) int { // those of seasons stand first
		return cmp.Compare(a.misfit, b.misfit)
	})
	best := all[0]
	if slices.ContainsFunc(all[1:], func(o japanese) bool { return o.season > 0 && o.misfit-best.misfit < surelyRead }) {
		return 0
	}
	return best.season
}

const surelyRead = 0.5

// eastAsian reports whether all names of seasons are in East Asian letters, because TMDB was asked in such a language.
// Most seasons have a name in English alone.
func eastAsian(e *Entry) bool {
	named := slices.DeleteFunc(slices.Clone(e.Seasons), func(s Season) bool { return s.Name == "" })
	other := func(s Season) bool { return !slices.Contains([]string{"ja", "ko", "zh"}, title.Script(s.Name)) }
	return len(named) > 0 && !slices.ContainsFunc(named, other)
}

// arcLanguage returns the reading that may name a season in another language, and that language; "" for none.
func arcLanguage(arcs []ArcText, titles []named) (ArcText, string) {
	for _, a := range arcs {
		switch title.Script(a.Text) {
		case "ja":
			return a, "ja-JP"
		case "ko":
			return a, "ko-KR"
		case "zh":
			return a, chineseOf(titles)
		}
	}
	return ArcText{}, ""
}

// chineseOf returns the Chinese in which the seasons more likely have names. One is enough, because traditional and
// simplified characters compare alike.
func chineseOf(titles []named) string {
	for _, region := range []string{"CN", "TW", "HK"} {
		if slices.ContainsFunc(titles, func(t named) bool { return t.alt.Region == region }) {
			return "zh-" + region
		}
	}
	return "zh-CN"
}

// plainName reports whether a season is named like the show. If only signs tell them apart ("Title!" and "Title!!"),
// the text decides.
func plainName(e *Entry, season, text string) bool {
	for _, t := range []string{e.Title, e.OriginalTitle} {
		base, _ := splitSequel(title.Normalize(t))
		if title.Similarity(base, season) >= nameLeast && (!strings.EqualFold(season, text) || strings.EqualFold(t, text)) {
			return true
		}
	}
	return false
}

var placeholderSeasonRE = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:(?:` + words().season + `) ?\d*|specials?|extras|` +
		`第 ?\d+ ?(?:季|期|シーズン)|\d+ (?:seria|sezon|сезон|series))$`)
})

func placeholderSeason(norm string) bool { return placeholderSeasonRE().MatchString(norm) }

func withoutArticles(norm string) string {
	return strings.TrimPrefix(strings.ReplaceAll(norm, " the ", " "), "the ")
}

func withoutArcWord(s string) string {
	for _, w := range words().arcs {
		s = strings.TrimSuffix(s, w)
	}
	return s
}

// bySeasonName is for seasons that the name counts within a part: "Title Arc Season 3" is the season of that name,
// whatever its number, and "題 第五季 / Title Arc" the one named like the title without a number.
func bySeasonName(p *placer) placement {
	if !p.stated() || !p.severalSeasons() {
		return placement{}
	}
	n := seasonByNumberedName(p, p.e)
	if n == 0 {
		n = seasonByOtherTitle(p)
	}
	if n == 0 && slices.ContainsFunc(p.e.Seasons, func(s Season) bool { return p.statesNumber(s) != "" }) {
		readings := make([]ArcText, len(p.rel.Titles))
		for i, t := range p.rel.Titles {
			readings[i].Text = t.Text
		}
		if _, language := arcLanguage(readings, p.titles); language != "" {
			if e := p.calledIn(language); e != nil {
				n = seasonByNumberedName(p, e)
			}
		}
	}
	if n == 0 || n == p.season {
		return placement{}
	}
	return p.found(literal(seasonSlots(p.all, n), p.eps), viaName, "season %d has %s", n, inTitle(viaName))
}

func (p *placer) statesNumber(s Season) string {
	base, seq := splitSequel(title.Normalize(s.Name))
	if s.Number == 0 || s.Number == p.season || seq != (Sequel{Season: p.season}) ||
		placeholderSeason(base) || p.isShowTitle(base, nil) {
		return ""
	}
	return base
}

func seasonByNumberedName(p *placer, e *Entry) int {
	found := 0
	for _, s := range e.Seasons {
		base := p.statesNumber(s)
		if base == "" || !p.hasReading(base) {
			continue
		}
		if found != 0 {
			return 0
		}
		found = s.Number
	}
	return found
}

// seasonByOtherTitle returns the season named like one title while the stated number may belong to another; 0 for none.
func seasonByOtherTitle(p *placer) int {
	stated, ok := p.e.season(p.season)
	if !ok || placeholderSeason(title.Normalize(stated.Name)) || p.hasReading(title.Normalize(stated.Name)) {
		return 0
	}
	for _, s := range p.e.namedSeasons() {
		if p.isShowTitle(s.norm, nil) || !p.hasReading(s.norm) {
			continue
		}
		inOther := func(t release.Title) bool { return title.Script(t.Text) != title.Script(s.Name) }
		if slices.ContainsFunc(p.rel.Titles, inOther) {
			return s.Number
		}
	}
	return 0
}

func (p *placer) hasReading(norm string) bool {
	return slices.ContainsFunc(p.rel.Titles, func(t release.Title) bool {
		return title.Plain(title.Normalize(t.Text)) == title.Plain(norm)
	})
}
