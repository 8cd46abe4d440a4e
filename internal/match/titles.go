package match

import (
	"cmp"
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/title"
)

// Limits of similarity, and factors for titles that match only in part.
const (
	simWithoutSequel     = 0.97  // same title, but only the file's has a sequel marker
	simWithStatedMarker  = 0.995 // same title, but the entry's adds a year or season stated elsewhere in the name
	simWithExtraYear     = 0.845 // same title, but the entry's adds a year
	simOtherRomanisation = 0.975 // same title in another romanisation
	simWithoutSubtitle   = 0.93  // same title without a subtitle, for a film of the right year
	factorBothSubtitles  = 0.85  // also applies if both titles have a subtitle
	simWithoutFilmWords  = 0.96  // same title without words for a film, for a film
	factorLostNumber     = 0.85  // a folder's title that lacks a number of the file's, except for an episode
	simExact             = 0.985 // titles at least this similar are the same
)

type entryTitle struct {
	text             string
	norm             string
	base             string // norm without its sequel marker
	sequel           Sequel
	withoutSubtitle  string // norm without its subtitle, "" if it has none
	withoutFilmWords string // norm without words for a film, "" if it has none or no film is wanted
	alt              AltTitle

	primary bool // the entry's title, original title or a translation
}

func newEntryTitle(text string, alt AltTitle) entryTitle {
	n := entryTitle{text: text, norm: title.Normalize(text), alt: alt}
	n.base, n.sequel = splitSequel(n.norm)
	n.withoutSubtitle = title.Normalize(withoutSubtitle(text))
	return n
}

func hitTitles(h Hit) []entryTitle {
	return distinctEntryTitles([]AltTitle{{Title: h.Title}, {Title: h.OriginalTitle, Language: h.OriginalLanguage}}, 2)
}

func entryTitles(e *Entry) []entryTitle {
	all := make([]AltTitle, 0, len(e.Titles)+2)
	all = append(all, AltTitle{Title: e.Title}, AltTitle{Title: e.OriginalTitle, Language: e.OriginalLanguage})
	return distinctEntryTitles(append(all, e.Titles...), 2)
}

// distinctEntryTitles normalises titles, drops duplicates, and adds romanised forms of titles in kana or hangul. The
// first titles, own in number, and translations are primary.
func distinctEntryTitles(all []AltTitle, own int) []entryTitle {
	out, seen := make([]entryTitle, 0, len(all)+1), make(map[string]bool, len(all)+1)
	add := func(i int, text string, alt AltTitle) {
		n := newEntryTitle(text, alt)
		n.primary = i < own || alt.Language != ""
		if n.norm != "" && !seen[n.norm] {
			seen[n.norm] = true
			out = append(out, n)
		}
	}
	for i, a := range all {
		add(i, a.Title, a)
		if plain := strings.Replace(a.Title, "(TV)", "", 1); plain != a.Title {
			add(i, plain, a) // TMDB's mark for a series that shares its title with a film; file names lack it
		}
		for _, r := range []string{title.Romanize(a.Title), title.SpellUmlauts(a.Title)} {
			if r != a.Title {
				add(i, r, a)
			}
		}
	}
	return out
}

// titleMatch is the best matching pair of a reading and a title of an entry. sim is their similarity.
type titleMatch struct {
	sim        float64
	reading    reading
	title      entryTitle
	fileSequel Sequel // a sequel marker that only the reading has
	scripts    int    // the number of scripts in which a reading matches exactly
}

// bestTitleMatch returns the most similar pair of titles. It looks for equal titles first, because that is fast and
// usually enough.
func bestTitleMatch(readings []reading, w nameFacts, titles []entryTitle) titleMatch {
	equal := func(a, b string) float64 {
		if a == b {
			return 1
		}
		return 0
	}
	best := bestPairMatch(readings, w, titles, equal)
	for _, alike := range []func(a, b string) float64{compareRomanisations, title.Similarity} {
		if best.sim >= simAlmostExact {
			break
		}
		if near := bestPairMatch(readings, w, titles, alike); near.sim > best.sim {
			best = near
		}
	}
	return best
}

// NamesWholeEntry reports whether a whole title of the name is a title of the entry: "Title Gaiden" is not "Title".
func NamesWholeEntry(s Series, e *Entry) bool {
	var readings []release.Title
	for i, t := range s.Titles {
		if !IsPieceOfTitle(s.Titles, i) {
			readings = append(readings, t)
		}
	}
	q, titles := prepareSeries(Series{Titles: readings}), entryTitles(e)
	heads := e.Kind == Movie && e.Year == s.Year && s.Year != 0
	want := nameFacts{season: s.Season, part: s.Part, year: s.Year, ignoreSubtitles: heads}
	best := bestTitleMatch(slices.Concat(q.readings, q.variants), want, titles)
	return matchPartNames(q.readings, e, titles, best).sim >= simWithoutSubtitle
}

const simAlmostExact = 0.94

// compareRomanisations returns simOtherRomanisation if two romanisations of Japanese are equal ("yuusha wo" and "yusha
// o"), otherwise 0.
func compareRomanisations(a, b string) float64 {
	if title.SpellingKey(a) == title.SpellingKey(b) {
		return simOtherRomanisation
	}
	return 0
}

func bestPairMatch(readings []reading, want nameFacts, titles []entryTitle,
	alike func(a, b string) float64,
) titleMatch {
	var best titleMatch
	scripts := map[bool]bool{}
	for _, r := range readings {
		film := filmSpellings{}
		if want.isFilm {
			film = r.film
		}
		head := cmp.Or(r.withoutSubtitle, film.beforeFilmWord)
		top := 0.0
		for _, t := range titles {
			sim, file := compareTitles(r, want, t, alike)
			if want.ignoreSubtitles && t.withoutSubtitle != "" {
				alone := max(alike(r.norm, t.withoutSubtitle), factorBothSubtitles*alike(head, t.withoutSubtitle))
				if s := simWithoutSubtitle * alone; s > sim {
					sim, file = s, Sequel{}
				}
			}
			if film.withoutFilmWords != t.withoutFilmWords {
				own, other := cmp.Or(film.withoutFilmWords, r.norm), cmp.Or(t.withoutFilmWords, t.norm)
				if s := simWithoutFilmWords * alike(own, other); s > sim {
					sim, file = s, Sequel{}
				}
			}
			if film.sequel != (Sequel{}) && film.sequel == (Sequel{Part: film.sequel.Part}) {
				s := simWithoutFilmWords * simWithoutSequel * alike(film.withoutSequel, cmp.Or(t.withoutFilmWords, t.norm))
				if s > sim {
					sim, file = s, film.sequel
				}
			}
			top = max(top, sim)
			// If two titles are equally similar, one without a sequel marker is safer.
			if s := sim * r.weight; s > best.sim ||
				sim > 0 && s == best.sim && t.sequel.IsZero() && !best.title.sequel.IsZero() {
				best = titleMatch{sim: s, reading: r, title: t, fileSequel: file}
			}
		}
		if top >= simExact {
			scripts[hasSpacelessScript(r.norm)] = true
		}
	}
	best.scripts = len(scripts)
	return best
}

// compareTitles returns the similarity of two titles, and the sequel marker that the name has and the entry lacks.
func compareTitles(r reading, w nameFacts, t entryTitle, alike func(a, b string) float64) (float64, Sequel) {
	best, file := alike(r.norm, t.norm), r.lost
	if best == 1 {
		return best, file
	}
	if !r.sequel.IsZero() {
		if sim := simWithoutSequel * alike(r.base, t.norm); sim > best {
			best, file = sim, r.sequel
		}
	}
	if f := markerWeight(t.sequel, w); f > 0 {
		if sim := f * alike(r.norm, t.base); sim > best {
			best, file = sim, Sequel{}
		}
	}
	return best, file
}

// markerWeight returns the factor for an entry's title whose sequel marker the reading lacks, 0 for no match. A year
// may only distinguish namesakes.
func markerWeight(q Sequel, w nameFacts) float64 {
	switch {
	case q.IsZero():
		return 0
	case w.season > 0 && q == Sequel{Season: w.season}, w.part > 0 && q == Sequel{Part: w.part}, w.year > 0 &&
		q == Sequel{Year: w.year}:
		return simWithStatedMarker
	case q == Sequel{Year: q.Year}:
		return simWithExtraYear
	}
	return 0
}

// nameFacts holds what a name states besides its title. With ignoreSubtitles, titles may match without their subtitles.
type nameFacts struct {
	season, part, year int
	ignoreSubtitles    bool
	isFilm             bool // both the name and the entry are a film's
}

func hasSpacelessScript(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return scriptClass(r) == 1 })
}

// simWithPartName is the similarity of a reading that contains the name of a season or special of the entry.
const simWithPartName = 0.98

// matchPartNames improves a match with readings that name a season or special, such as "Title Second Arc", or repeat
// the title in another language.
func matchPartNames(readings []reading, e *Entry, titles []entryTitle, best titleMatch) titleMatch {
	if best.sim >= simWithPartName {
		return best
	}
	better := func(sim float64, r reading, t entryTitle) {
		if sim = sim * simWithPartName * r.weight; sim > best.sim {
			best = titleMatch{sim: sim, reading: r, title: t, scripts: best.scripts}
		}
	}
	for _, r := range readings {
		rest := textAfterTitle(r.norm, titles)
		double := func(t entryTitle) bool { return t.norm == rest && rest != r.norm } // "Gin no Michi Silver Rail"
		if i := slices.IndexFunc(titles, double); i >= 0 {
			better(1, r, titles[i])
		}
	}
	var parts []entryTitle
	specials, _ := e.season(0)
	for _, ep := range specials.Episodes {
		if n := newEntryTitle(ep.Name, AltTitle{}); n.norm != "" && !placeholderRE().MatchString(n.norm) {
			parts = append(parts, n)
		}
	}
	for _, s := range e.namedSeasons() {
		parts = append(parts, newEntryTitle(s.Name, AltTitle{}))
	}
	for _, r := range readings {
		rest := textAfterTitle(r.norm, titles)
		for _, p := range parts {
			sim := title.Similarity(r.norm, p.norm)
			if own := textAfterTitle(p.norm, titles); rest != r.norm {
				sim = max(sim, title.Similarity(rest, own), title.Similarity(withoutArcWord(rest), withoutArcWord(own)))
			}
			better(sim, r, p)
		}
	}
	return best
}

func isOfficialTitle(titles []entryTitle, norm string) bool {
	return slices.ContainsFunc(titles, func(t entryTitle) bool { return t.primary && t.norm == norm })
}
