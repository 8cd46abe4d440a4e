package match

import (
	"cmp"
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/title"
)

// How much a likeness counts that is not between whole titles.
const (
	simAgain    = 0.03  // a second reading, in another script, agrees as well
	simSequel   = 0.97  // equal but for a sequel marker that the name carries and the entry's title does not
	simStated   = 0.995 // equal but for a year or a season that the name states elsewhere
	simYearOnly = 0.845 // equal but for a year that tells namesakes apart
	simSpelling = 0.975
	simHead     = 0.93  // equal but for a subtitle, in a film of the very year
	simHeads    = 0.85  // what of that is left where both have subtitles
	simFilm     = 0.96  // equal but for a word for a film, where the name says that it is one
	simExact    = 0.985 // and above is the same title
)

// named is one title of an entry, prepared for comparison.
type named struct {
	text string
	norm string
	base string // norm without its sequel marker
	seq  Sequel
	head string // norm without its subtitle, "" if it has none
	bare string // norm without words for a film, "" if it has none or nobody wants a film
	alt  AltTitle

	primary bool // names the show as a whole: its name, original or translated title
}

func name(text string, alt AltTitle) named {
	n := named{text: text, norm: title.Normalize(text), alt: alt}
	n.base, n.seq = splitSequel(n.norm)
	n.head = title.Normalize(withoutSubtitle(text))
	return n
}

// filmTitles prepares the titles of a film for a name that says that it is one.
func filmTitles(titles []named) []named {
	for i := range titles {
		titles[i].bare = withoutFilmWords(titles[i].text)
	}
	return titles
}

// hitTitles are the titles that a search row shows.
func hitTitles(h Hit) []named {
	return distinctNames([]AltTitle{{Text: h.Title}, {Text: h.OriginalTitle, Language: h.OriginalLanguage}}, 2)
}

// entryTitles are all titles of an entry.
func entryTitles(e *Entry) []named {
	all := make([]AltTitle, 0, len(e.Titles)+2)
	all = append(all, AltTitle{Text: e.Title}, AltTitle{Text: e.OriginalTitle, Language: e.OriginalLanguage})
	return distinctNames(append(all, e.Titles...), 2)
}

// distinctNames prepares titles, each once, and adds the romanised form of those in kana or hangul.
// The first own of them, and translations, are primary.
func distinctNames(all []AltTitle, own int) []named {
	out := make([]named, 0, len(all)+1)
	seen := make(map[string]bool, len(all)+1)
	add := func(i int, text string, alt AltTitle) {
		n := name(text, alt)
		n.primary = i < own || alt.Language != ""
		if n.norm != "" && !seen[n.norm] {
			seen[n.norm] = true
			out = append(out, n)
		}
	}
	for i, a := range all {
		add(i, a.Text, a)
		if strings.Contains(a.Text, "(TV)") { // which tells a series from its film, and no name has
			add(i, strings.Replace(a.Text, "(TV)", "", 1), a)
		}
		if r := title.Romanize(a.Text); r != a.Text {
			add(i, r, a)
		}
	}
	return out
}

// likeness is the best agreement between a series' readings and an entry's titles.
type likeness struct {
	sim    float64
	read   release.Title // the reading that agrees best
	title  named         // with this title
	file   Sequel        // the marker that only the reading carries
	agreed int           // readings in different scripts that agree
}

// readingWeight returns how far the reading at i is trusted: the chosen one wholly, others and those of folders less, a small
// fragment of the chosen one least: "SOS" out of a long title is the title of something else.
func readingWeight(readings []release.Title, i int) float64 {
	t := readings[i]
	switch {
	case t.From == release.FromParent:
		return 0.95
	case t.From == release.FromFolder:
		return 0.97
	case i == 0 || goesOn(title.Normalize(t.Text), title.Normalize(readings[0].Text)):
		return 1 // the name itself, or more of it
	}
	first, part := title.Compact(readings[0].Text), title.Compact(t.Text)
	if strings.Contains(first, part) && letters(part)*3 < letters(first) {
		return 0.85
	}
	return 0.98
}

// letters measures a text in Latin letters: a character of a script without spaces says as much as a few of them.
func letters(s string) int {
	n := 0
	for _, r := range s {
		n++
		if scriptClass(r) == 1 {
			n++
		}
	}
	return n
}

// bracketless adds the readings that end in a bracket without it: "Title (Uncut)", "標題（僅限…）". What stands in it may be part of
// the title or a remark.
func bracketless(readings []release.Title) []release.Title {
	out := readings
	for _, r := range readings {
		i := strings.LastIndexAny(r.Text, "(（[［")
		if t := strings.TrimSpace(r.Text); i > 0 && strings.LastIndexAny(t, ")）]］") > i && strings.TrimSpace(r.Text[:i]) != "" {
			out = append(slices.Clip(out), release.Title{Text: r.Text[:i], Lang: r.Lang, From: r.From})
		}
	}
	return out
}

// compare finds the best agreement: equal titles first, which is cheap and usual, and the likeness of all pairs only
// where there are none. Numbers are respected by title.Similarity: "Title 2" is not "Title".
func compare(readings []release.Title, w wanted, titles []named) likeness {
	best := comparePairs(readings, w, titles, equality)
	if best.sim < almostExact {
		if near := comparePairs(readings, w, titles, sameSpelling); near.sim > best.sim {
			best = near
		}
	}
	if best.sim < almostExact {
		if near := comparePairs(readings, w, titles, title.Similarity); near.sim > best.sim {
			return near
		}
	}
	return best
}

// Whole reports whether the name as a whole is a title of the entry, not only a piece of it whose rest may name another work:
// "Title Gaiden" is not "Title". It is for callers who have seen no rivals of the entry.
func Whole(s Series, e *Entry) bool {
	var readings []release.Title
	for i, t := range s.Titles {
		if !PieceOf(s.Titles, i) {
			readings = append(readings, t)
		}
	}
	titles := entryTitles(e)
	best := compare(bracketless(readings), wanted{season: s.Season, part: s.Part, year: s.Year, heads: e.Kind == Movie && e.Year == s.Year && s.Year != 0}, titles)
	return compareParts(readings, e, titles, best).sim >= simHead
}

// almostExact ends the comparison: no inexact agreement outweighs it.
const almostExact = 0.94

func equality(a, b string) float64 {
	if a == b {
		return 1
	}
	return 0
}

// sameSpelling is for titles in Latin letters that differ only in how long vowels and particles of Japanese are written:
// "yuusha wo" and "yusha o".
func sameSpelling(a, b string) float64 {
	if title.Plain(a) == title.Plain(b) {
		return simSpelling
	}
	return 0
}

func comparePairs(readings []release.Title, want wanted, titles []named, alike func(a, b string) float64) likeness {
	var best likeness
	scripts := map[bool]bool{}
	for i, r := range readings {
		norm := title.Normalize(r.Text)
		base, seq := splitSequel(norm)
		head := title.Normalize(withoutSubtitle(r.Text))
		bare, bareBase, bareSeq := "", "", Sequel{}
		if want.film {
			bare = withoutFilmWords(r.Text)
			bareBase, bareSeq = splitSequel(bare)
			head = cmp.Or(head, beforeFilmWord(r.Text))
		}
		w := readingWeight(readings, i)
		top := 0.0
		for _, t := range titles {
			sim, file := pair(norm, base, seq, want, t, alike)
			if want.heads && t.head != "" {
				if s := simHead * max(alike(norm, t.head), simHeads*alike(head, t.head)); s > sim {
					sim, file = s, Sequel{}
				}
			}
			if bare != t.bare {
				if s := simFilm * alike(cmp.Or(bare, norm), cmp.Or(t.bare, t.norm)); s > sim {
					sim, file = s, Sequel{}
				}
			}
			if bareSeq != (Sequel{}) && bareSeq == (Sequel{Part: bareSeq.Part}) {
				if s := simFilm * simSequel * alike(bareBase, cmp.Or(t.bare, t.norm)); s > sim {
					sim, file = s, bareSeq
				}
			}
			top = max(top, sim)
			if sim*w > best.sim || sim > 0 && sim*w == best.sim && preferable(t, best.title) {
				best.sim, best.read, best.title, best.file = sim*w, r, t, file
			}
		}
		if top >= simExact {
			scripts[spaceless(norm)] = true
		}
	}
	best.agreed = len(scripts)
	return best
}

// preferable breaks ties between equal agreements: a plain title says nothing about a season, so it is safer.
func preferable(a, b named) bool { return a.seq.Zero() && !b.seq.Zero() }

// pair compares one reading with one title and returns which marker only the reading has.
func pair(norm, base string, seq Sequel, w wanted, t named, alike func(a, b string) float64) (float64, Sequel) {
	best, file := alike(norm, t.norm), Sequel{}
	if best == 1 {
		return best, file
	}
	if !seq.Zero() {
		if sim := simSequel * alike(base, t.norm); sim > best {
			best, file = sim, seq
		}
	}
	if f := markerWeight(t.seq, w); f > 0 {
		if sim := f * alike(norm, t.base); sim > best {
			best, file = sim, Sequel{}
		}
	}
	return best, file
}

// markerWeight returns how far a title counts whose marker the reading lacks: almost wholly where the name states that
// season or year elsewhere, less where the year is there to tell the entry from its namesakes.
func markerWeight(q Sequel, w wanted) float64 {
	switch {
	case q.Zero():
		return 0
	case w.season > 0 && q == Sequel{Season: w.season}, w.part > 0 && q == Sequel{Part: w.part}, w.year > 0 && q == Sequel{Year: w.year}:
		return simStated
	case q == Sequel{Year: q.Year}:
		return simYearOnly
	}
	return 0
}

// wanted is what a name states besides its title. heads says that titles may agree without their subtitles, because
// the year agrees.
type wanted struct {
	season, part, year int
	heads              bool
	film               bool // the name says a film, and these are the titles of one
}

// spaceless reports whether a title is in a script without spaces.
func spaceless(s string) bool {
	for _, r := range s {
		if scriptClass(r) == 1 {
			return true
		}
	}
	return false
}
