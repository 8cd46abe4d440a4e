package match

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/title"
)

// Hint is what the titles of a name say besides the entry: a season, a part, the year in which it begins, that it is
// the final one. Arc is the season whose name is in a title, 0 for none. Rest is what the matched reading has after the
// entry's plain title, normalised, empty for a plain title. Arcs are all readings with such a rest.
type Hint struct {
	Season int
	Part   int
	Year   int
	Final  bool
	Arc    int
	Rest   string
	Arcs   []ArcText

	called named // the title of the entry that agreed
	agreed bool  // so did one in another script
	piece  bool  // the reading that agreed is only a piece of another, whose Rest it lacks
	last   bool  // the name says "final", and no title of the entry does
	lost   bool  // the title ends in a season that the entry does not have
}

// ArcText is a reading, normalised, and its Rest after the entry's plain title.
type ArcText struct {
	Text, Rest string

	signs string // of the reading, which its normal form lacks
}

func (h *Hint) take(q Sequel) {
	h.Season, h.Part, h.Year = cmp.Or(h.Season, q.Season), cmp.Or(h.Part, q.Part), cmp.Or(h.Year, q.Year)
	h.Final = h.Final || q.Final
}

func hintOf(s question, c scored) Hint {
	h := Hint{called: c.like.title, agreed: c.like.agreed > 1, last: c.like.file.Final}
	file := c.like.file
	file.Final = false
	h.take(file)
	if c.entry == nil {
		return h
	}
	matched := c.like.read.norm
	h.readArcs(s, c)
	if h.Rest == "" && h.Arc == 0 {
		h.Rest = otherSigns(c.like.read.Text, c.entry)
		for _, a := range h.Arcs {
			if goesOn(a.Text, matched) {
				h.Rest, h.piece = a.Rest, true
			}
		}
	}
	own := entrySequel(matched, c.like.title, c.titles)
	if own.Season == 1 ||
		c.like.file.Zero() && own.Season > 0 && len(c.entry.Seasons) < 2 && !c.hasSeason(own.Season, regular(c.entry)) {
		h.lost = own.Season > 1
		own.Season = 0 // the number is part of what the show is called, or says nothing
	}
	h.take(own)
	for _, r := range s.read {
		if r.norm != matched {
			h.take(entrySequel(r.norm, named{}, c.titles))
		}
	}
	h.Year = cmp.Or(h.Year, s.Year)
	return h
}

// readArcs looks at what the readings, without their sequel markers, have after the entry's plain title.
func (h *Hint) readArcs(s question, c scored) {
	matched := c.like.read.norm
	add := func(r reading, of named) {
		text, norm, base := r.Text, r.norm, r.base
		rest := afterPlain(base, c.titles)
		if rest == base || words().whole[rest] || translates(base, rest) || wholeTitle(base, of, c.titles) ||
			wholeTitle(norm, of, c.titles) {
			rest = ""
		}
		if rest != "" {
			h.Arcs = append(h.Arcs, ArcText{base, rest, title.Signs(text)})
		}
		called := official(c.titles, norm)
		if h.Arc == 0 && !called {
			h.Arc = arcOf(c.entry, c.titles, text, norm, afterPlain(norm, c.titles))
		}
		if h.Arc == 0 && !called {
			h.Arc = arcOf(c.entry, c.titles, text, base, rest)
		}
		if norm == matched {
			h.Rest = rest
		}
	}
	add(c.like.read, c.like.title)
	for _, r := range s.read {
		if r.norm != matched {
			add(r, named{})
		}
	}
}

// entrySequel is the sequel marker of a reading or of the title it matched. It counts only where the entry also has the
// title without it, or with another one, and is not called so as a whole: a show that is called "Title 2" is no second
// season.
func entrySequel(norm string, matched named, titles []named) Sequel {
	base, seq := splitSequel(norm)
	if seq.Zero() {
		base, seq = matched.base, matched.seq
	}
	if seq.Zero() || official(titles, norm) {
		return Sequel{}
	}
	for _, t := range titles {
		if (t.seq.Season != seq.Season || t.seq.Part != seq.Part || t.seq.Year != seq.Year && seq.Season+seq.Part == 0) &&
			(t.base == base || t.seq.Zero() && title.Similarity(t.norm, base) >= simExact) {
			return seq
		}
	}
	return Sequel{}
}

// wholeTitle reports whether a text names the show as a whole although it goes on after a shorter title of it: it is
// the name, the original or a translated title, or a good part of the titles that go on after the shorter one go on
// after it too. Where the shorter one is what the show is officially called, only seasons that are counted after the
// longer one show that.
func wholeTitle(text string, matched named, titles []named) bool {
	if matched.primary && title.Similarity(text, matched.norm) >= 0.97 {
		return true
	}
	plain := plainTitle(text, titles)
	rest := afterPlain(text, titles)
	ofShow, onFromPlain, onFromText := official(titles, plain), 0, 0
	for _, t := range titles {
		switch {
		case t.norm == rest: // two titles one after the other
			return true
		case t.primary && t.norm == text:
			return true
		case goesOn(t.norm, text):
			onFromPlain++
			if !words().pieces[strings.TrimSpace(t.norm[len(text):])] && !(ofShow && (t.base != text || t.seq.Season == 0)) {
				onFromText++
			}
		case goesOn(t.norm, plain) && t.norm != text:
			onFromPlain++
		}
	}
	return onFromText > 0 && onFromText*wholeShare >= onFromPlain
}

// wholeShare is the part of the titles that go on which must go on after the longer title too.
const wholeShare = 8

// otherSigns returns the signs that tell a title from the show's own where nothing else does, as sequels are told
// apart: "Title!!", "Title'", "Title √A". It is empty where the show as a whole is written with them, or no title is
// written without.
func otherSigns(text string, e *Entry) string {
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

// translates reports whether a rest repeats the title before it in another script instead of naming a part: "Title 標題".
func translates(base, rest string) bool {
	return spaceless(rest) && !spaceless(strings.TrimSuffix(base, rest)) && withoutArcWord(rest) == rest
}

// goesOn reports whether a title begins with a text and has more words.
func goesOn(norm, text string) bool {
	return text != "" && len(norm) > len(text) && strings.HasPrefix(norm, text) &&
		(norm[len(text)] == ' ' || norm[len(text)] >= utf8.RuneSelf) // scripts without spaces have words everywhere
}

// plainTitle returns the longest title of the entry that the text begins with and goes on after, "" for none.
func plainTitle(text string, titles []named) string {
	best := ""
	for _, t := range titles {
		if len(t.norm) > len(best) && goesOn(text, t.norm) {
			best = t.norm
		}
	}
	return best
}

// afterPlain returns what a text has after the entry's plain title, or the whole text if it does not begin with one.
func afterPlain(text string, titles []named) string {
	return strings.TrimSpace(strings.TrimPrefix(text, plainTitle(text, titles)))
}

// sharedArc finds the season of which alone the name says a word: "Title Minami Hen" where TMDB calls a season "Title:
// Minami Saga", because names of people and places and loanwords stay in a translation. The first season has no name
// mostly; then the words are those by which the show's own title goes on. 0 for none, or for several.
func sharedArc(p *placer) int {
	of := map[string][]int{} // the seasons whose names have a word
	var whole []int          // those whose names have the show's as well
	for _, s := range p.e.namedSeasons() {
		rest := besidesShow(p, s.norm)
		if len(rest) < len(nameWords(s.norm)) && !strings.ContainsAny(s.norm, "0123456789") {
			whole = append(whole, s.Number) // no number tells it from one that is like it
		}
		addWords(of, rest, s.Number)
	}
	if len(of) == 0 || len(p.all) == 0 {
		return 0
	}
	for _, t := range p.titles {
		if t.primary {
			addWords(of, nameWords(subtitle(t, p.titles)), p.all[0].season)
		}
	}
	found := 0
	p.arcWords = nil
	texts, after := partTexts(p)
	for _, text := range texts {
		for _, w := range distinctive(p, text) {
			in := of[w]
			if len(in) != 1 || !after && !slices.Contains(whole, in[0]) {
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

// subtitle is what a title of the show has after a shorter one, or after the mark of a subtitle; "" for none.
func subtitle(t named, titles []named) string {
	if rest := afterPlain(t.norm, titles); rest != t.norm {
		return rest
	}
	if t.head == "" || t.head == t.norm {
		return ""
	}
	return strings.TrimSpace(strings.TrimPrefix(t.norm, t.head))
}

// calledByPart reports whether a title of the show itself has a subtitle, as the name of a part is.
func (p *placer) calledByPart() bool {
	return slices.ContainsFunc(p.titles, func(t named) bool { return t.primary && subtitle(t, p.titles) != "" })
}

// distinctive are the words of a text that may be names, without those by which a shorter title of the show goes on:
// "Minami Kitan" says no more than "Minami" where the show is "Title: Kitan" as well. "Title: Minami Saga" is none that
// is shorter than "Minami no Kuni Hen", but its translation, and so is a title that has words in another script beside.
func distinctive(p *placer, text string) []string {
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

// specialHasWords reports whether a special has all words by which the title names a season, and no word for a special,
// or has no name in which they could be.
func (p *placer) specialHasWords() bool {
	return slices.ContainsFunc(p.names, func(n specialName) bool {
		words := nameWords(n.norm)
		return n.norm == "" || !saysPiece(n.norm) &&
			(len(p.arcWords) == 0 || within(p.arcWords, words))
	})
}

// besidesShow are the words of a season's name that the show's titles lack: what follows one of them, or is left
// without the words of its own title.
func besidesShow(p *placer, norm string) []string {
	if rest := afterPlain(norm, p.titles); rest != norm {
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

// partTexts are what the readings have after the show's plain title, or else the whole matched title where that is not
// the show's own.
func partTexts(p *placer) (texts []string, after bool) {
	for _, a := range p.hint.Arcs {
		texts = append(texts, a.Rest+a.signs)
	}
	if p.hint.Rest != "" && len(texts) == 0 {
		texts = append(texts, p.hint.Rest) // signs alone
	}
	t := p.hint.called
	if p.ownTitle() || len(texts) > 0 {
		return texts, true
	}
	rest := afterPlain(t.norm, p.titles)
	return []string{rest}, rest != t.norm
}

// ownTitle reports whether the matched title is none, or the show's own: its name, or how that is read.
func (p *placer) ownTitle() bool {
	t := p.hint.called
	return t.norm == "" || t.primary || title.Script(t.norm) == "latin" && p.calledSo(t.norm, title.Reads)
}

// within reports whether all of some words, at least one, are among others.
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

// nameWords are the words of a normalised title that may be names, in one spelling.
func nameWords(norm string) []string {
	var out []string
	for _, w := range strings.Fields(strings.NewReplacer("+", " plus ", "♥", " heart ", "♡", " heart ").Replace(norm)) {
		w = title.Plain(w)
		if utf8.RuneCountInString(w) < leastWord || words().common[w] || smallNumber(w) != 0 ||
			strings.Trim(w, "0123456789") == "" {
			continue
		}
		out = append(out, w)
	}
	return out
}

// inTitle says for people what of a season's name is in a title.
func inTitle(by way) lang.Text {
	if by == trustWord {
		return "a word of the title in its name"
	}
	return "the name in the title"
}
