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
	minArcSimilarity  = 0.9
	minNameSimilarity = 0.97
)

// namedSeason is a season whose name is not a placeholder; norm is the normalised name.
type namedSeason struct {
	Season
	norm string
}

func (e *Entry) namedSeasons() []namedSeason {
	var out []namedSeason
	for _, s := range e.Seasons {
		if n := title.Normalize(s.Name); s.Number != 0 && n != "" && !isPlaceholderSeason(n) {
			out = append(out, namedSeason{s, n})
		}
	}
	return out
}

// seasonNamedIn returns the number of the season whose name best matches a title, or the text rest after the show's own
// title; 0 for none.
func seasonNamedIn(e *Entry, titles []entryTitle, text, norm, rest string) int {
	best, bestSim := 0, 0.0
	for _, s := range e.namedSeasons() {
		n := s.norm
		if isShowName(e, s.Name, text) {
			continue
		}
		sim := max(title.Similarity(n, norm), title.Similarity(withoutArticles(n), withoutArticles(norm)))
		if sim < minNameSimilarity {
			sim = 0
		}
		if title.SpellingKey(n) == title.SpellingKey(norm) {
			sim = max(sim, minNameSimilarity)
		}
		if rest != "" {
			own := textAfterTitle(n, titles)
			if alike := title.SpellingKey(withoutArcWord(own)); alike != "" && alike == title.SpellingKey(withoutArcWord(rest)) {
				sim = max(sim, minArcSimilarity)
			}
			if part := max(title.Similarity(own, rest),
				title.Similarity(withoutArcWord(own), withoutArcWord(rest))); part >= minArcSimilarity {
				sim = max(sim, part)
			}
		}
		if sim > bestSim {
			best, bestSim = s.Number, sim
		}
	}
	return best
}

// seasonByJapaneseReading returns the season whose Japanese name may be pronounced like rest. It returns 0 if there is
// none, if another title fits better, or if another season fits about as well.
func seasonByJapaneseReading(e *Entry, titles []entryTitle, rest string) int {
	type japanese struct {
		season int
		text   string
		misfit float64
	}
	var all []japanese
	add := func(season int, norm string) {
		own := textAfterTitle(norm, titles)
		misfit, ok := title.ReadingMisfit(own, rest)
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
		if title.Script(t.text) == "ja" || t.alt.Region == "JP" && hasSpacelessScript(t.norm) {
			add(0, t.norm)
		}
	}
	slices.SortStableFunc(all, func(a, b japanese) int { // the seasons were added first
		return cmp.Compare(a.misfit, b.misfit)
	})
	best := all[0]
	rival := func(o japanese) bool { return o.season > 0 && o.misfit-best.misfit < minMisfitLead }
	if slices.ContainsFunc(all[1:], rival) {
		return 0
	}
	return best.season
}

const minMisfitLead = 0.5 // how much better the best season must fit than any other

// hasEastAsianNames reports whether all season names are in East Asian scripts, because the details were fetched in
// such a language. Most seasons have only an English name.
func hasEastAsianNames(e *Entry) bool {
	named := slices.DeleteFunc(slices.Clone(e.Seasons), func(s Season) bool { return s.Name == "" })
	other := func(s Season) bool { return !slices.Contains([]string{"ja", "ko", "zh"}, title.Script(s.Name)) }
	return len(named) > 0 && !slices.ContainsFunc(named, other)
}

// foreignArcTitle returns the first East Asian title that may name a season, with its language; "" for none.
func foreignArcTitle(arcs []ArcTitle, titles []entryTitle) (ArcTitle, string) {
	for _, a := range arcs {
		switch title.Script(a.Title) {
		case "ja":
			return a, "ja-JP"
		case "ko":
			return a, "ko-KR"
		case "zh":
			return a, chineseLanguage(titles)
		}
	}
	return ArcTitle{}, ""
}

// chineseLanguage returns the Chinese variant that is likeliest to have season names. One variant is enough, because
// the comparison ignores the difference between traditional and simplified characters.
func chineseLanguage(titles []entryTitle) string {
	for _, region := range []string{"CN", "TW", "HK"} {
		if slices.ContainsFunc(titles, func(t entryTitle) bool { return t.alt.Region == region }) {
			return "zh-" + region
		}
	}
	return "zh-CN"
}

// isShowName reports whether a season has the same name as the show. If the two differ only in signs ("Title!" and
// "Title!!"), the one that equals text decides.
func isShowName(e *Entry, season, text string) bool {
	for _, t := range []string{e.Title, e.OriginalTitle} {
		base, _ := splitSequel(title.Normalize(t))
		if title.Similarity(base, season) >= minNameSimilarity &&
			(!strings.EqualFold(season, text) || strings.EqualFold(t, text)) {
			return true
		}
	}
	return false
}

var placeholderSeasonRE = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:(?:` + words().seasonPattern + `) ?\d*|specials?|extras|` +
		`第 ?\d+ ?(?:季|期|シーズン)|\d+ (?:seria|sezon|сезон|series))$`)
})

func isPlaceholderSeason(norm string) bool { return placeholderSeasonRE().MatchString(norm) }

func withoutArticles(norm string) string {
	return strings.TrimPrefix(strings.ReplaceAll(norm, " the ", " "), "the ")
}

func withoutArcWord(s string) string {
	for _, w := range words().arcWords {
		s = strings.TrimSuffix(s, w)
	}
	return s
}

// placeBySeasonName handles a season number that counts within an arc: "Title Arc Season 3" is the season with that
// name, whatever its number, and "題 第五季 / Title Arc" the season called "Title Arc".
func placeBySeasonName(p *placer) placement {
	if !p.statesSeason() || !p.hasSeveralSeasons() {
		return placement{}
	}
	n := seasonByNumberedName(p, p.entry)
	if n == 0 {
		n = seasonByOtherTitle(p)
	}
	if n == 0 && slices.ContainsFunc(p.entry.Seasons, func(s Season) bool { return p.nameBeforeNumber(s) != "" }) {
		readings := make([]ArcTitle, len(p.rel.Titles))
		for i, t := range p.rel.Titles {
			readings[i].Title = t.Text
		}
		if _, language := foreignArcTitle(readings, p.titles); language != "" {
			if e := p.withSeasonNamesIn(language); e != nil {
				n = seasonByNumberedName(p, e)
			}
		}
	}
	if n == 0 || n == p.season {
		return placement{}
	}
	return p.placementAt(slotsByNumber(seasonSlots(p.episodes, n), p.numbers), viaSeasonName, "season %d has %s", n,
		nameEvidence(viaSeasonName))
}

// nameBeforeNumber returns the name of a season that ends in the number of the file's season, without that number; ""
// for other seasons.
func (p *placer) nameBeforeNumber(s Season) string {
	base, seq := splitSequel(title.Normalize(s.Name))
	if s.Number == 0 || s.Number == p.season || seq != (Sequel{Season: p.season}) ||
		isPlaceholderSeason(base) || p.isShowTitle(base, nil) {
		return ""
	}
	return base
}

func seasonByNumberedName(p *placer, e *Entry) int {
	found := 0
	for _, s := range e.Seasons {
		if base := p.nameBeforeNumber(s); base == "" || !p.hasTitle(base) {
			continue
		}
		if found != 0 {
			return 0
		}
		found = s.Number
	}
	return found
}

// seasonByOtherTitle returns the season whose name is one of the file's titles, if the stated number may come from
// another title; 0 for none.
func seasonByOtherTitle(p *placer) int {
	stated, ok := p.entry.season(p.season)
	if !ok || isPlaceholderSeason(title.Normalize(stated.Name)) || p.hasTitle(title.Normalize(stated.Name)) {
		return 0
	}
	for _, s := range p.entry.namedSeasons() {
		if p.isShowTitle(s.norm, nil) || !p.hasTitle(s.norm) {
			continue
		}
		inOtherScript := func(t release.Title) bool { return title.Script(t.Text) != title.Script(s.Name) }
		if slices.ContainsFunc(p.rel.Titles, inOtherScript) {
			return s.Number
		}
	}
	return 0
}

func (p *placer) hasTitle(norm string) bool {
	return slices.ContainsFunc(p.rel.Titles, func(t release.Title) bool {
		return title.SpellingKey(title.Normalize(t.Text)) == title.SpellingKey(norm)
	})
}
