package match

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/title"
)

// Hint is what the titles of a name say besides the entry. Arc is the season whose name is in a title, 0 for none. Rest
// is what the matched reading has after the entry's own title; Arcs are all readings with such a rest.
type Hint struct {
	Season int
	Part   int
	Year   int
	Final  bool
	Arc    int
	Rest   string
	Arcs   []ArcText

	title        named // the entry's title that agreed
	twoScripts   bool  // readings in two scripts agreed
	piece        bool  // the reading that agreed is a piece of another one, and lacks the Rest of that
	saysFinal    bool  // the name says "final", and no title of the entry does
	noSuchSeason bool  // the title ends in a season that the entry does not have
}

// ArcText is a reading, normalised, and its Rest after the entry's own title.
type ArcText struct {
	Text, Rest string

	signs string // of the reading, which its normal form lacks
}

func (h *Hint) take(q Sequel) {
	h.Season, h.Part, h.Year = cmp.Or(h.Season, q.Season), cmp.Or(h.Part, q.Part), cmp.Or(h.Year, q.Year)
	h.Final = h.Final || q.Final
}

func hintOf(s question, c scored) Hint {
	h := Hint{title: c.like.title, twoScripts: c.like.agreed > 1, saysFinal: c.like.file.Final}
	file := c.like.file
	file.Final = false
	h.take(file)
	if c.entry == nil {
		return h
	}
	matched := c.like.read.norm
	others := slices.DeleteFunc(slices.Clone(s.read), func(r reading) bool { return r.norm == matched })
	h.readArcs(others, c)
	if h.Rest == "" && h.Arc == 0 {
		h.Rest = signsOfSequel(c.like.read.Text, c.entry)
		for _, a := range h.Arcs {
			if continues(a.Text, matched) {
				h.Rest, h.piece = a.Rest, true
			}
		}
	}
	own := entrySequel(matched, c.like.title, c.titles)
	if own.Season == 1 ||
		c.like.file.Zero() && own.Season > 0 && len(c.entry.Seasons) < 2 && !c.hasSeason(own.Season, regular(c.entry)) {
		h.noSuchSeason = own.Season > 1
		own.Season = 0 // the number is part of the show's title, or says nothing
	}
	h.take(own)
	for _, r := range others {
		h.take(entrySequel(r.norm, named{}, c.titles))
	}
	h.Year = cmp.Or(h.Year, s.Year)
	return h
}

func (h *Hint) readArcs(others []reading, c scored) {
	agreed := c.like.title
	for i, r := range slices.Concat([]reading{c.like.read}, others) {
		rest := afterTitle(r.base, c.titles)
		if rest == r.base || words().whole[rest] || isTranslation(r.base, rest) ||
			namesShow(r.base, agreed, c.titles) || namesShow(r.norm, agreed, c.titles) {
			rest = ""
		}
		if rest != "" {
			h.Arcs = append(h.Arcs, ArcText{r.base, rest, title.Signs(r.Text)})
		}
		if h.Arc == 0 && !official(c.titles, r.norm) {
			h.Arc = cmp.Or(arcOf(c.entry, c.titles, r.Text, r.norm, afterTitle(r.norm, c.titles)),
				arcOf(c.entry, c.titles, r.Text, r.base, rest))
		}
		if i == 0 {
			h.Rest = rest
		}
		agreed = named{}
	}
}

// entrySequel is the sequel marker of a reading or of the title it matched. It counts only if the entry also has a
// title without it: the 2 of a show called "Title 2" is no season.
func entrySequel(norm string, matched named, titles []named) Sequel {
	base, seq := splitSequel(norm)
	if seq.Zero() {
		base, seq = matched.base, matched.seq
	}
	if seq.Zero() || official(titles, norm) {
		return Sequel{}
	}
	if slices.ContainsFunc(titles, func(t named) bool {
		other := t.seq.Season != seq.Season || t.seq.Part != seq.Part ||
			t.seq.Year != seq.Year && seq.Season+seq.Part == 0
		return other && (t.base == base || t.seq.Zero() && title.Similarity(t.norm, base) >= simExact)
	}) {
		return seq
	}
	return Sequel{}
}

const shareOfLonger = 8

// namesShow reports whether a text names the whole show although the entry has a shorter title that it begins with: it
// is an official title, two titles in a row, or the beginning of an eighth of the longer titles. Beside an official
// short title only titles with a season after the text count: others may belong to one part of the show.
func namesShow(text string, matched named, titles []named) bool {
	if matched.primary && title.Similarity(text, matched.norm) >= 0.97 {
		return true
	}
	short, rest := leadingTitle(text, titles), afterTitle(text, titles)
	ofShow, longer, longerThanText := official(titles, short), 0, 0
	for _, t := range titles {
		switch {
		case t.norm == rest, t.primary && t.norm == text:
			return true
		case continues(t.norm, text):
			longer++
			if !words().pieces[strings.TrimSpace(t.norm[len(text):])] && !(ofShow && (t.base != text || t.seq.Season == 0)) {
				longerThanText++
			}
		case continues(t.norm, short) && t.norm != text:
			longer++
		}
	}
	return longerThanText > 0 && longerThanText*shareOfLonger >= longer
}

// signsOfSequel returns the signs by which alone a title differs from the show's own: "Title!!", "Title'", "Title √A".
func signsOfSequel(text string, e *Entry) string {
	folded, own := title.Normalize(text), title.Signs(text)
	if own == "" {
		return ""
	}
	without := false
	all := slices.Concat([]AltTitle{{Text: e.Title, Language: "own"}, {Text: e.OriginalTitle, Language: "own"}}, e.Titles)
	for _, t := range all {
		if title.Normalize(t.Text) != folded {
			continue
		}
		if title.Signs(t.Text) == own && t.Language != "" {
			return ""
		}
		without = without || len(title.Signs(t.Text)) < len(own)
	}
	if !without {
		return ""
	}
	return own
}

// isTranslation reports whether a rest repeats the title before it in another script and names no part: "Title 標題".
func isTranslation(base, rest string) bool {
	return spaceless(rest) && !spaceless(strings.TrimSuffix(base, rest)) && withoutArcWord(rest) == rest
}

func continues(norm, text string) bool {
	return text != "" && len(norm) > len(text) && strings.HasPrefix(norm, text) &&
		(norm[len(text)] == ' ' || norm[len(text)] >= utf8.RuneSelf) // scripts without spaces have words everywhere
}

func leadingTitle(text string, titles []named) string {
	best := ""
	for _, t := range titles {
		if len(t.norm) > len(best) && continues(text, t.norm) {
			best = t.norm
		}
	}
	return best
}

func afterTitle(text string, titles []named) string {
	return strings.TrimSpace(strings.TrimPrefix(text, leadingTitle(text, titles)))
}

// arcByWord finds the only season whose name shares a word with the title: "Title Minami Hen" is the season "Title:
// Minami Saga", because translations keep names. The first season mostly has no name, so the subtitles of the show
// stand for it. 0 for none, or for several.
func arcByWord(p *placer) int {
	seasons := map[string][]int{} // whose names have a word
	var withShow []int            // whose names have the show's title as well
	for _, s := range p.e.namedSeasons() {
		rest := wordsOfSeason(p, s.norm)
		if len(rest) < len(nameWords(s.norm)) && !strings.ContainsAny(s.norm, "0123456789") {
			withShow = append(withShow, s.Number) // without a number, by which alone similar names may differ
		}
		addWords(seasons, rest, s.Number)
	}
	if len(seasons) == 0 || len(p.all) == 0 {
		return 0
	}
	for _, t := range p.titles {
		if t.primary {
			addWords(seasons, nameWords(subtitle(t, p.titles)), p.all[0].season)
		}
	}
	found := 0
	p.arcWords = nil
	texts, afterShow := partTexts(p)
	for _, text := range texts {
		for _, w := range distinctiveWords(p, text) {
			in := seasons[w]
			if len(in) != 1 || !afterShow && !slices.Contains(withShow, in[0]) {
				continue
			}
			if found != 0 && found != in[0] {
				return 0
			}
			found = in[0]
			p.arcWords = append(p.arcWords, w)
		}
	}
	return found
}

func subtitle(t named, titles []named) string {
	if rest := afterTitle(t.norm, titles); rest != t.norm {
		return rest
	}
	if t.head == "" || t.head == t.norm {
		return ""
	}
	return strings.TrimSpace(strings.TrimPrefix(t.norm, t.head))
}

func (p *placer) showHasSubtitle() bool {
	return slices.ContainsFunc(p.titles, func(t named) bool { return t.primary && subtitle(t, p.titles) != "" })
}

// distinctiveWords drops the words of a subtitle that the show has: "Minami Kitan" says no more than "Minami" if the
// show is "Title: Kitan" as well. Subtitles that end in a word for an arc are the text, translated.
func distinctiveWords(p *placer, text string) []string {
	words := nameWords(text)
	for _, t := range p.titles {
		rest := subtitle(t, p.titles)
		own := nameWords(rest)
		if len(own) < len(words) && within(own, words) && withoutArcWord(rest) == rest &&
			(spaceless(text) || !spaceless(rest)) {
			words = without(words, own)
		}
	}
	return words
}

func wordsOfSeason(p *placer, norm string) []string {
	if rest := afterTitle(norm, p.titles); rest != norm {
		return nameWords(rest)
	}
	words := nameWords(norm)
	for _, t := range p.titles {
		own := nameWords(t.norm)
		if t.primary && within(own, words) {
			return without(words, own)
		}
	}
	return words
}

func partTexts(p *placer) (texts []string, afterShow bool) {
	for _, a := range p.hint.Arcs {
		texts = append(texts, a.Rest+a.signs)
	}
	if p.hint.Rest != "" && len(texts) == 0 {
		texts = append(texts, p.hint.Rest) // signs alone
	}
	if p.matchedShowTitle() || len(texts) > 0 {
		return texts, true
	}
	matched := p.hint.title.norm
	rest := afterTitle(matched, p.titles)
	return []string{rest}, rest != matched
}

func (p *placer) matchedShowTitle() bool {
	t := p.hint.title
	return t.norm == "" || t.primary || title.Script(t.norm) == "latin" && p.isShowTitle(t.norm, title.Reads)
}

func within(some, others []string) bool {
	return len(some) > 0 && len(without(some, others)) == 0
}

func without(words, others []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return slices.Contains(others, w) })
}

func addWords(to map[string][]int, words []string, season int) {
	for _, w := range words {
		if !slices.Contains(to[w], season) {
			to[w] = append(to[w], season)
		}
	}
}

// leastWord is how many letters a word has at least that may be a name: shorter ones are particles.
const leastWord = 3

var signWords = strings.NewReplacer("+", " plus ", "♥", " heart ", "♡", " heart ")

func nameWords(norm string) []string {
	var out []string
	for _, w := range strings.Fields(signWords.Replace(norm)) {
		w = title.Plain(w)
		if utf8.RuneCountInString(w) >= leastWord && !words().common[w] && smallNumber(w) == 0 &&
			strings.Trim(w, "0123456789") != "" {
			out = append(out, w)
		}
	}
	return out
}

func inTitle(by *method) lang.Text {
	if by == viaWord {
		return "a word of the title in its name"
	}
	return "the name in the title"
}
