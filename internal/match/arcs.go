package match

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/anivault/anivault/internal/title"
)

// sharedArc finds the season of which alone the name says a word: "Title Minami Hen" where TMDB calls a season "Title:
// Minami Saga", because names of people and places and loanwords stay in a translation. The first season has no name
// mostly; then the words are those by which the show's own title goes on. 0 for none, or for several.
func (p *placer) sharedArc() int {
	of := map[string][]int{} // the seasons whose names have a word
	var whole []int          // those whose names have the show's as well
	for _, s := range p.e.namedSeasons() {
		rest := p.besidesShow(s.norm)
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
	texts, after := p.partTexts()
	for _, text := range texts {
		for _, w := range p.distinctive(text) {
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

// subtitle is what a title of the show has after a shorter one, or behind the mark of a subtitle; "" for none.
func subtitle(t named, titles []named) string {
	if rest := afterPlain(t.norm, titles); rest != t.norm {
		return rest
	}
	if t.head == "" || t.head == t.norm {
		return ""
	}
	return strings.TrimSpace(strings.TrimPrefix(t.norm, t.head))
}

// distinctive are the words of a text that may be names, without those by which a shorter title of the show goes on:
// "Minami Kitan" says no more than "Minami" where the show is "Title: Kitan" as well. "Title: Minami Saga" is none that
// is shorter than "Minami no Kuni Hen", but its translation, and so is a title that has words in another script beside.
func (p *placer) distinctive(text string) []string {
	words := nameWords(text)
	for _, t := range p.titles {
		rest := subtitle(t, p.titles)
		own := nameWords(rest)
		if len(own) > 0 && len(own) < len(words) && !slices.ContainsFunc(own, func(w string) bool {
			return !slices.Contains(words, w)
		}) &&
			withoutArcWord(rest) == rest && (spaceless(text) || !spaceless(rest)) {
			words = slices.DeleteFunc(words, func(w string) bool { return slices.Contains(own, w) })
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
			!slices.ContainsFunc(p.arcWords, func(w string) bool { return !slices.Contains(words, w) })
	})
}

// besidesShow are the words of a season's name that the show's titles lack: what follows one of them, or is left
// without the words of its own title.
func (p *placer) besidesShow(norm string) []string {
	if rest := afterPlain(norm, p.titles); rest != norm {
		return nameWords(rest)
	}
	words := nameWords(norm)
	for _, t := range p.titles {
		own := nameWords(t.norm)
		if t.primary && len(own) > 0 && !slices.ContainsFunc(own, func(w string) bool { return !slices.Contains(words, w) }) {
			return slices.DeleteFunc(words, func(w string) bool { return slices.Contains(own, w) })
		}
	}
	return words
}

// partTexts are what the readings have after the show's plain title, or else the whole matched title where that is not
// the show's own.
func (p *placer) partTexts() (texts []string, after bool) {
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
func inTitle(by way) string {
	if by == trustWord {
		return "a word of the title in its name"
	}
	return "the name in the title"
}
