package match

import (
	"cmp"
	"slices"
	"strings"

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
		called := slices.ContainsFunc(c.titles, func(t named) bool { return t.primary && t.norm == norm })
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
	if seq.Zero() || slices.ContainsFunc(titles, func(t named) bool { return t.primary && t.norm == norm }) {
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
	official := slices.ContainsFunc(titles, func(t named) bool { return t.primary && t.norm == plain })
	onFromPlain, onFromText := 0, 0
	for _, t := range titles {
		switch {
		case t.norm == rest: // two titles one after the other
			return true
		case t.primary && t.norm == text:
			return true
		case goesOn(t.norm, text):
			onFromPlain++
			if !words().pieces[strings.TrimSpace(t.norm[len(text):])] && !(official && (t.base != text || t.seq.Season == 0)) {
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
	return text != "" && len(norm) > len(text) && strings.HasPrefix(norm, text) && boundary(norm, len(text))
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

// boundary reports whether a word ends before i: scripts without spaces have a boundary everywhere.
func boundary(s string, i int) bool {
	return s[i] == ' ' || s[i] >= 0x80
}
