package match

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/slicesx"
	"github.com/anivault/anivault/internal/title"
)

// Hint holds facts about season and episode that the titles of a name state. Arc is the season whose name is in a
// title, 0 for none. Remainder is the text of the matched title after the entry's own title. Arcs lists all titles with
// such a text.
type Hint struct {
	Season    int
	Part      int
	Year      int
	Final     bool
	Arc       int
	Remainder string
	Arcs      []ArcTitle

	matched      entryTitle // the entry's title that matched
	matchedPiece bool       // the matched title is only the beginning of a longer title of the name
	saysFinal    bool       // the name says "final", and no title of the entry does
	lacksSeason  bool       // the title ends in a season that the entry does not have
	ofOtherTitle bool       // the number is of a title that may be another work's; the entry matched the folder's title
}

// ArcTitle is a normalised title of the name that may name a season. Remainder is its text after the entry's own title.
type ArcTitle struct {
	Title, Remainder string

	signs string // the signs of the title, which Title lacks
	from  release.From
}

// fillMissing copies from q the numbers that the hint does not have yet.
func (h *Hint) fillMissing(q Sequel) {
	h.Season, h.Part, h.Year = cmp.Or(h.Season, q.Season), cmp.Or(h.Part, q.Part), cmp.Or(h.Year, q.Year)
	h.Final = h.Final || q.Final
}

// newHint collects season, part, year and arc from all titles of the name, the matched title first.
func newHint(s preparedSeries, c scoredContender) Hint {
	h := Hint{matched: c.match.title, saysFinal: c.match.fileSequel.Final, ofOtherTitle: c.match.reading.lostByOther}
	file := c.match.fileSequel
	file.Final = false
	h.fillMissing(file)
	if c.entry == nil {
		return h
	}
	spelled := func(r reading) reading { return r.spelledLike(c.titles) }
	c.match.reading = spelled(c.match.reading)
	matched := c.match.reading.norm
	others := slices.DeleteFunc(slicesx.Map(s.readings, spelled), func(r reading) bool { return r.norm == matched })
	h.findArcs(others, c)
	if h.Remainder == "" && h.Arc == 0 {
		h.Remainder = distinguishingSigns(c.match.reading.Text, c.entry)
		for _, a := range h.Arcs {
			if hasWordPrefix(a.Title, matched) {
				h.Remainder, h.matchedPiece = a.Remainder, true
			}
		}
	}
	own := confirmedSequel(matched, c.match.title, c.titles)
	if own.Season == 1 || c.match.fileSequel.IsZero() && own.Season > 0 && len(c.entry.Seasons) < 2 &&
		!c.hasSeason(own.Season, regularSlots(c.entry)) {
		h.lacksSeason = own.Season > 1
		own.Season = 0 // the number is part of the show's title, or means the first season
	}
	h.fillMissing(own)
	for _, r := range others {
		h.fillMissing(confirmedSequel(r.norm, entryTitle{}, c.titles))
		if _, rest, ok := strings.Cut(r.norm, matched+" "); ok {
			if base, seq := splitSequel("x " + rest); base == "x" {
				h.fillMissing(seq) // "Title" and "Title V"
			} else if h.Remainder == "" && h.Arc == 0 && h.Season > 0 && hasSpacelessScript(matched) {
				h.matchedPiece = true
			}
		}
	}
	h.Year = cmp.Or(h.Year, s.Year)
	return h
}

// spelledLike returns the reading with the spaces of the entry's titles: "오징어 게임 리턴즈" for "오징어게임 리턴즈". Spaces
// in Latin titles tell works apart.
func (r reading) spelledLike(titles []entryTitle) reading {
	for _, t := range titles {
		n := spacedPrefix(r.norm, t.norm)
		if n > 0 && r.norm[0] >= utf8.RuneSelf && (n == len(r.norm) || r.norm[n] == ' ') && r.norm[:n] != t.norm {
			r.norm = t.norm + r.norm[n:]
			r.base, r.sequel = splitSequel(r.norm)
		}
	}
	return r
}

// spacedPrefix returns the length of the beginning of norm that is text in another spacing, 0 if there is none.
func spacedPrefix(norm, text string) int {
	n := 0
	for _, b := range []byte(strings.ReplaceAll(text, " ", "")) {
		if n > 0 && n < len(norm) && norm[n] == ' ' {
			n++
		}
		if n == len(norm) || norm[n] != b {
			return 0
		}
		n++
	}
	return n
}

// findArcs sets Arc, Arcs and Remainder. A text that only repeats or translates the show's title is no arc.
func (h *Hint) findArcs(others []reading, c scoredContender) {
	agreed := c.match.title
	for i, r := range slices.Concat([]reading{c.match.reading}, others) {
		rest := textAfterTitle(r.base, c.titles)
		alias := func(t entryTitle) bool { return t.norm == rest && (t.primary || !c.entry.HasSeason(2)) }
		translated := hasSpacelessScript(rest) && !hasSpacelessScript(strings.TrimSuffix(r.base, rest)) // "Title 標題"
		if rest == r.base || words().wholeShowWords[rest] || translated && withoutArcWord(rest) == rest ||
			namesWholeShow(r.base, agreed, c.titles) || namesWholeShow(r.norm, agreed, c.titles) ||
			endsLikeShowTitle(r.Text, c.titles) ||
			strings.HasSuffix(r.Text, ")") && slices.ContainsFunc(c.titles, alias) { // "Title (Other Title)"
			rest = ""
		}
		if rest != "" {
			h.Arcs = append(h.Arcs, ArcTitle{r.base, rest, title.SequelSigns(r.Text), r.From})
		}
		related := func(t entryTitle) bool { return t.norm == r.norm || hasWordPrefix(r.norm, t.norm) }
		if i > 0 && r.From == release.FromName && hasSpacelessScript(r.base) && withoutArcWord(r.base) != r.base &&
			!slices.ContainsFunc(c.titles, related) {
			h.Remainder = cmp.Or(h.Remainder, r.base) // "【Title】【Arc】"
		}
		if h.Arc == 0 && !isOfficialTitle(c.titles, r.norm) {
			h.Arc = cmp.Or(seasonNamedIn(c.entry, c.titles, r.Text, r.norm, textAfterTitle(r.norm, c.titles)),
				seasonNamedIn(c.entry, c.titles, r.Text, r.base, rest))
		}
		if i == 0 {
			h.Remainder = rest
		}
		agreed = entryTitle{}
	}
}

// confirmedSequel returns the sequel marker of a title only if the entry also has a title without that marker. The 2 of
// a show called "Title 2" is not a season.
func confirmedSequel(norm string, matched entryTitle, titles []entryTitle) Sequel {
	base, seq := splitSequel(norm)
	if base, last := cutMarker(norm); slices.ContainsFunc(titles, func(t entryTitle) bool { return t.norm == base }) {
		last.Final = last.Final || seq.Final && last.Part > 0 // "Title Final Season Part 2"
		seq = last                                            // the number before it belongs to the show's title
	}
	if seq.IsZero() {
		base, seq = matched.base, matched.sequel
	}
	if seq.IsZero() || isOfficialTitle(titles, norm) {
		return Sequel{}
	}
	if slices.ContainsFunc(titles, func(t entryTitle) bool {
		other := t.sequel.Season != seq.Season || t.sequel.Part != seq.Part ||
			t.sequel.Year != seq.Year && seq.Season+seq.Part == 0
		return other && (t.base == base || t.sequel.IsZero() && title.Similarity(t.norm, base) >= simExact)
	}) {
		return seq
	}
	return Sequel{}
}

const maxLongerTitleRatio = 8 // see namesWholeShow

// namesWholeShow reports whether a text names the whole show although it begins with a shorter title of the entry. It
// does if it is an official title, consists of two titles, or begins at least one in eight of the longer titles. If the
// shorter title is official, only titles with a season number after the text count, because others may name one part of
// the show.
func namesWholeShow(text string, matched entryTitle, titles []entryTitle) bool {
	if matched.primary && title.Similarity(text, matched.norm) >= 0.97 {
		return true
	}
	short, rest := longestTitlePrefix(text, titles), textAfterTitle(text, titles)
	ofShow, longer, longerThanText := isOfficialTitle(titles, short), 0, 0
	isReading := func(t entryTitle) bool { return t.primary && title.MayBeReading(t.text, rest) }
	for _, t := range titles {
		switch {
		case t.norm == rest && (t.primary || !ofShow || slices.ContainsFunc(titles, isReading)), t.primary && t.norm == text:
			return true
		case hasWordPrefix(t.norm, text):
			longer++
			if !words().derivedWorkWords[strings.TrimSpace(t.norm[len(text):])] &&
				!(ofShow && (t.base != text || t.sequel.Season == 0)) {
				longerThanText++
			}
		case hasWordPrefix(t.norm, short) && t.norm != text:
			longer++
		}
	}
	return longerThanText > 0 && longerThanText*maxLongerTitleRatio >= longer
}

// endsLikeShowTitle reports whether a title continues after a short title of the entry as an official title does: "B:
// Dawn" of a show that is called "A: Dawn" and also "B".
func endsLikeShowTitle(text string, titles []entryTitle) bool {
	norm, short := title.Normalize(text), ""
	for _, t := range titles {
		if hasWordPrefix(norm, t.norm) && (short == "" || len(t.norm) < len(short)) {
			short = t.norm
		}
	}
	rest := significantWords(norm[len(short):])
	same := func(t entryTitle) bool {
		all := significantWords(t.norm)
		return t.primary && t.norm != short && len(all) > len(rest) && slices.Equal(all[len(all)-len(rest):], rest)
	}
	return short != "" && len(rest) > 0 && !strings.ContainsAny(norm, "0123456789") && title.SequelSigns(text) == "" &&
		slices.ContainsFunc(titles, same)
}

// distinguishingSigns returns the signs of a title if they are its only difference from the show's own title:
// "Title!!", "Title'", "Title √A". Otherwise it returns "".
func distinguishingSigns(text string, e *Entry) string {
	folded, own := title.Normalize(text), title.SequelSigns(text)
	if own == "" {
		return ""
	}
	without, shown := false, []AltTitle{{Title: e.Title, Language: "own"}, {Title: e.OriginalTitle, Language: "own"}}
	for _, t := range append(shown, e.Titles...) {
		same, signs := title.Normalize(t.Title) == folded, title.SequelSigns(t.Title)
		if signs == own && (same && t.Language != "" || t.Language == "own") {
			return ""
		}
		without = without || same && len(signs) < len(own)
	}
	if !without {
		return ""
	}
	return own
}

// hasWordPrefix reports whether norm is longer than text and begins with it at a word boundary.
func hasWordPrefix(norm, text string) bool {
	return text != "" && len(norm) > len(text) && strings.HasPrefix(norm, text) &&
		(norm[len(text)] == ' ' || norm[len(text)] >= utf8.RuneSelf || // in scripts without spaces, a word may begin anywhere
			text[len(text)-1] >= utf8.RuneSelf && !isDigit(norm[len(text)]))
}

func longestTitlePrefix(text string, titles []entryTitle) string {
	best := ""
	for _, t := range titles {
		if len(t.norm) > len(best) && hasWordPrefix(text, t.norm) {
			best = t.norm
		}
	}
	return best
}

func textAfterTitle(text string, titles []entryTitle) string {
	return strings.TrimSpace(strings.TrimPrefix(text, longestTitlePrefix(text, titles)))
}

// seasonBySharedWord returns the only season whose name shares a word with the title, or 0. Translations keep proper
// names: "Title Minami Hen" is the season "Title: Minami Saga". The first season usually has no name, so the show's
// subtitles are used for it.
func seasonBySharedWord(p *placer) int {
	seasons := map[string][]int{} // the key is a word of their names
	var withShow []int            // seasons whose names contain the show's title
	for _, s := range p.entry.namedSeasons() {
		rest := seasonNameWords(p, s.norm)
		// Names with digits don't count: similar names may differ only in the number.
		if len(rest) < len(significantWords(s.norm)) && !strings.ContainsAny(s.norm, "0123456789") {
			withShow = append(withShow, s.Number)
		}
		addSeasonWords(seasons, rest, s.Number)
	}
	if len(seasons) == 0 || len(p.episodes) == 0 {
		return 0
	}
	for _, t := range p.titles {
		if t.primary {
			addSeasonWords(seasons, significantWords(subtitleOf(t, p.titles)), p.episodes[0].season)
		}
	}
	found := 0
	texts, afterShow := arcTexts(p)
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
		}
	}
	return found
}

func subtitleOf(t entryTitle, titles []entryTitle) string {
	if rest := textAfterTitle(t.norm, titles); rest != t.norm {
		return rest
	}
	if t.withoutSubtitle == "" || t.withoutSubtitle == t.norm {
		return ""
	}
	return strings.TrimSpace(strings.TrimPrefix(t.norm, t.withoutSubtitle))
}

// subtitleMayBeOfShow reports whether an official title of the show continues where an arc of the name begins.
func (p *placer) subtitleMayBeOfShow() bool {
	return slices.ContainsFunc(p.titles, func(t entryTitle) bool {
		return t.primary && slices.ContainsFunc(p.hint.Arcs, func(a ArcTitle) bool {
			return hasWordPrefix(t.norm, strings.TrimSpace(strings.TrimSuffix(a.Title, a.Remainder)))
		})
	})
}

// distinctiveWords returns the words of a subtitle that are not in the show's own subtitle: if the show is "Title:
// Kitan", "Minami Kitan" gives "minami". Subtitles that end in a word for an arc are ignored, because they are
// translations.
func distinctiveWords(p *placer, text string) []string {
	words := significantWords(text)
	for _, t := range p.titles {
		rest := subtitleOf(t, p.titles)
		own := significantWords(rest)
		if len(own) < len(words) && isSubset(own, words) && withoutArcWord(rest) == rest &&
			(hasSpacelessScript(text) || !hasSpacelessScript(rest)) {
			words = removeWords(words, own)
		}
	}
	return words
}

// seasonNameWords returns the words of a season's name without those of the show's title.
func seasonNameWords(p *placer, norm string) []string {
	if rest := textAfterTitle(norm, p.titles); rest != norm {
		return significantWords(rest)
	}
	words := significantWords(norm)
	for _, t := range p.titles {
		own := significantWords(t.norm)
		if t.primary && isSubset(own, words) {
			return removeWords(words, own)
		}
	}
	return words
}

// arcTexts returns the texts that may name an arc, and whether they follow a title of the show.
func arcTexts(p *placer) (texts []string, afterShow bool) {
	for _, a := range p.hint.Arcs {
		texts = append(texts, a.Remainder+a.signs)
	}
	if p.hint.Remainder != "" && len(texts) == 0 {
		texts = append(texts, p.hint.Remainder) // the remainder is only signs
	}
	if p.matchedShowTitle() || len(texts) > 0 {
		return texts, true
	}
	matched := p.hint.matched.norm
	rest := textAfterTitle(matched, p.titles)
	return []string{rest}, rest != matched
}

func (p *placer) matchedShowTitle() bool {
	t := p.hint.matched
	return t.norm == "" || t.primary || title.Script(t.norm) == "latin" && p.isShowTitle(t.norm, title.MayBeReading)
}

func isSubset(some, others []string) bool {
	return len(some) > 0 && len(removeWords(some, others)) == 0
}

func removeWords(words, others []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return slices.Contains(others, w) })
}

func addSeasonWords(to map[string][]int, words []string, season int) {
	for _, w := range words {
		if !slices.Contains(to[w], season) {
			to[w] = append(to[w], season)
		}
	}
}

// minWordLength is the least length of a word that may be a name. Shorter words are particles.
const minWordLength = 3

var signReplacer = strings.NewReplacer("+", " plus ", "♥", " heart ", "♡", " heart ")

// significantWords returns the words that may be names: no numbers, particles or common words.
func significantWords(norm string) []string {
	var out []string
	for _, w := range strings.Fields(signReplacer.Replace(norm)) {
		w = title.SpellingKey(w)
		if utf8.RuneCountInString(w) >= minWordLength && !words().commonWords[w] && parseSmallNumber(w) == 0 &&
			strings.Trim(w, "0123456789") != "" {
			out = append(out, w)
		}
	}
	return out
}

// nameEvidence returns the text that explains how a season was recognised by its name.
func nameEvidence(by *method) lang.Text {
	if by == viaSharedWord {
		return "a word of the title in its name"
	}
	return "the name in the title"
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
