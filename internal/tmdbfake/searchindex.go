package tmdbfake

import (
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// field is one title under which a work can be found.
type field struct {
	work   *Work
	tokens []string
	phrase string
	coll   string
	length int // runes of phrase
}

// index finds the titles of one kind that a query matches.
type index struct {
	fields []field
	words  []string  // distinct non-CJK tokens, sorted
	posts  [][]int32 // fields of words[i], ascending
	sums   []int     // sums[i] = postings of words[:i]
	grams  map[uint64][]int32
}

func newIndex(works []*Work, kind Kind) *index {
	x := &index{grams: map[uint64][]int32{}}
	words := map[string][]int32{}
	for _, w := range works {
		if w.Kind != kind {
			continue
		}
		seen := map[string]bool{}
		for _, title := range w.searchTitles() {
			ts := Tokens(title)
			p := strings.Join(ts, " ")
			if p == "" || seen[p] {
				continue
			}
			seen[p] = true
			at := int32(len(x.fields)) //nolint:gosec // a catalogue holds far fewer than 2^31 titles
			f := field{work: w, tokens: ts, phrase: p, coll: strings.Join(ts, ""), length: utf8.RuneCountInString(p)}
			x.fields = append(x.fields, f)
			for _, t := range ts {
				if isCJK(t) {
					x.addGrams([]rune(t), 1, at)
					x.addGrams([]rune(t), 2, at)
					continue
				}
				words[t] = appendOnce(words[t], at)
			}
			x.addGrams([]rune(f.coll), 3, at)
		}
	}
	x.words = make([]string, 0, len(words))
	for t := range words {
		x.words = append(x.words, t)
	}
	slices.Sort(x.words)
	x.sums = make([]int, len(x.words)+1)
	x.posts = make([][]int32, len(x.words))
	for i, t := range x.words {
		x.posts[i] = words[t]
		x.sums[i+1] = x.sums[i] + len(words[t])
	}
	return x
}

func (w *Work) searchTitles() []string {
	out := []string{w.Name, w.Original}
	for _, t := range w.Trans {
		out = append(out, t.Name)
	}
	for _, a := range w.Alt {
		out = append(out, a.Title)
	}
	return out
}

func appendOnce(list []int32, at int32) []int32 {
	if n := len(list); n > 0 && list[n-1] == at {
		return list
	}
	return append(list, at)
}

// gram packs one to three runes; a rune has 21 bits.
func gram(rs []rune) uint64 {
	k := uint64(0)
	for _, r := range rs {
		k = k<<21 | uint64(r) //nolint:gosec // a rune is never negative here
	}
	return k
}

func (x *index) addGrams(rs []rune, n int, at int32) {
	for i := 0; i+n <= len(rs); i++ {
		k := gram(rs[i : i+n])
		x.grams[k] = appendOnce(x.grams[k], at)
	}
}

// rarest returns the shortest posting list among the n-grams of text. A text
// shorter than n runes has none: ok is false.
func (x *index) rarest(text string, n int) (list []int32, ok bool) {
	rs := []rune(text)
	for i := 0; i+n <= len(rs); i++ {
		p := x.grams[gram(rs[i:i+n])]
		if !ok || len(p) < len(list) {
			list, ok = p, true
		}
	}
	return list, ok
}

// prefixed returns the range of words that begin with t.
func (x *index) prefixed(t string) (lo, hi int) {
	lo = sort.SearchStrings(x.words, t)
	hi = lo + sort.Search(len(x.words)-lo, func(i int) bool { return !strings.HasPrefix(x.words[lo+i], t) })
	return lo, hi
}

// candidates calls visit for every field that matches the tokens, in the
// order of the fields and once for each.
func (x *index) candidates(q []string, visit func(*field)) {
	if len(q) == 0 {
		return
	}
	hits := x.byToken(q)
	if c := strings.Join(q, ""); utf8.RuneCountInString(c) >= 4 {
		list, _ := x.rarest(c, 3)
		for _, at := range list {
			if strings.Contains(x.fields[at].coll, c) {
				hits = append(hits, at)
			}
		}
	}
	slices.Sort(hits)
	for _, at := range slices.Compact(hits) {
		visit(&x.fields[at])
	}
}

// byToken finds the fields in which every token of q is found.
func (x *index) byToken(q []string) []int32 {
	best, bestCount := -1, 0
	for i, t := range q {
		var n int
		if isCJK(t) {
			list, _ := x.rarest(t, min(3, utf8.RuneCountInString(t)))
			n = len(list)
		} else {
			lo, hi := x.prefixed(t)
			n = x.sums[hi] - x.sums[lo]
		}
		if best < 0 || n < bestCount {
			best, bestCount = i, n
		}
	}
	var hits []int32
	check := func(list []int32) {
		for _, at := range list {
			if x.fields[at].has(q) {
				hits = append(hits, at)
			}
		}
	}
	if t := q[best]; isCJK(t) {
		list, _ := x.rarest(t, min(3, utf8.RuneCountInString(t)))
		check(list)
	} else {
		lo, hi := x.prefixed(t)
		for i := lo; i < hi; i++ {
			check(x.posts[i])
		}
	}
	return hits
}

// has reports whether every token of q equals or begins a token of the field,
// or, for a CJK token, lies within one.
func (f *field) has(q []string) bool {
	for _, t := range q {
		found := false
		for _, have := range f.tokens {
			if strings.HasPrefix(have, t) || isCJK(t) && strings.Contains(have, t) {
				found = true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// cjk reports whether r is of a script that is written without spaces, or of
// Hangul, whose words are searched by their parts.
func cjk(r rune) bool {
	if r < 0x1100 {
		return false
	}
	return r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// accented reports whether r may carry, or be, a combining diacritic.
func accented(r rune) bool { return r >= 0xc0 && r < 0x1100 || r >= 0x1e00 && r < 0x2000 }

// unmarked drops combining diacritics, but not the voicing marks of kana.
func unmarked(r rune) rune {
	if r >= 0x300 && r <= 0x36f {
		return -1
	}
	return r
}

// Tokens splits a text into words: compatibility forms and case are folded, Latin
// diacritics dropped. All but letters and digits separates, and so does the border
// between a CJK run and another script.
func Tokens(s string) []string {
	ascii := true
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		s = strings.ToLower(s)
	} else {
		s = cases.Fold().String(norm.NFKC.String(s))
		if strings.ContainsFunc(s, accented) {
			s = norm.NFC.String(strings.Map(unmarked, norm.NFD.String(s)))
		}
	}
	var out []string
	start, run := -1, false
	flush := func(end int) {
		if start >= 0 {
			out = append(out, s[start:end])
			start = -1
		}
	}
	for i, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			flush(i)
			continue
		}
		if c := cjk(r); start < 0 || c != run {
			flush(i)
			start, run = i, c
		}
	}
	flush(len(s))
	return out
}

func isCJK(token string) bool {
	r, _ := utf8.DecodeRuneInString(token)
	return cjk(r)
}
