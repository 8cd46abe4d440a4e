package release

import (
	"strings"
	"unicode/utf8"
)

// tagNumbered: "NCOP2", "NCEDv2", "OP4a", "PV2", "CM1", "SP03", "OVA3.5", "EX01".
func (p *tagged) tagNumbered(i int) bool {
	w := p.word(i)
	if p.dotted && p.before(i) == "-" && !p.beside(i, i+1) {
		return false // the group of a scene name: "-CM8"
	}
	head := untilDigit(w)
	n := len(head)
	k, ok := lookup(head)
	if !ok && n > 1 && head[n-1]|0x20 == 'v' && len(w) == n+1 {
		head = head[:n-1]
		k, _ = lookup(head)
	}
	if k.tag != tagExtra && k.tag != tagSpecial || n > 8 || len(w)-n > 4 {
		if !among(head, "ex") || len(w)-len(head) != 2 {
			return false
		}
		k = kw{tag: tagSpecial, value: "EX"}
	}
	if among(head, "op", "ed") && !capitals(head) {
		return false
	}
	k.weak = false
	p.tokens[i].word = k
	p.set(i, i+1, k.tag)
	return true
}

// readSpecials reads the words for extras and specials into the fields of the name. It runs when the title's bounds are
// known: a weak word counts only where it cannot be part of the title.
func (p *numbered) readSpecials() {
	for i := range p.tokens {
		t := &p.tokens[i]
		if p.endsWithSpecial(i) {
			t.tag, t.weak, t.word.value = tagSpecial, false, "SPECIAL"
		}
		if t.tag != tagExtra && t.tag != tagSpecial || t.weak && !p.plainSpecial(i) && !p.added(i) {
			continue
		}
		if p.added(i) {
			p.batch = true
			continue
		}
		if t.tag == tagExtra {
			p.extra = true
			p.special = p.specialName(i)
		} else if p.special == "" && len(p.episodes) <= 3 { // else "01-12 + OVA", a batch
			p.special = p.specialName(i)
		}
		p.numberOfSpecial(i)
	}
}

// added reports whether the word at i is one of several things in a batch: "TV + OVA", "01-12 + SP".
func (p *lexed) added(i int) bool {
	return i > 0 && (strings.Contains(p.before(i), "+") || strings.Contains(p.gap(i), "+"))
}

// endsWithSpecial reports whether the word at i is the special of "Title - Special", which elsewhere is an edition.
func (p *numbered) endsWithSpecial(i int) bool {
	t := &p.tokens[i]
	return t.tag == tagEdition && t.weak && i > 0 && t.group < 0 && p.episode.empty() && dashGap(p.before(i)) &&
		p.closes(i+1) && among(p.word(i), "special")
}

// specialName returns what the word at i calls an extra or special: "NCOP", "OVA".
func (p *lexed) specialName(i int) string {
	t := &p.tokens[i]
	if v := t.word.value; v != "" && v != "NC" {
		return v
	}
	if t.class == mixed {
		return upper(letters(p.word(i)))
	}
	return upper(withoutDigits(p.word(i)))
}

// specialWord is a word that says extra or special, or is part of a title.
type specialWord struct {
	*numbered
	i       int
	text    string
	outside bool // it stands in no bracket
	dash    bool // a dash between blanks stands before it
}

// specialRules say whether such a word stands as a word of its own behind the title.
var specialRules = []rule[specialWord, bool]{
	when("alone in a bracket", "[Quiet] Silver Rail [Menu].mkv -> Silver Rail MENU extra",
		func(w specialWord) bool { return w.alone(w.i) || w.aloneWithNumber() }, true),
	when("in a bracket with others", "[组][银色铁道 PV][07][1080p] -> 银色铁道 PV e7 episode",
		func(w specialWord) bool { return !w.outside }, false),
	when("two letters that are not in capitals", "Silver Rail Ed.mkv -> Silver Rail Ed",
		func(w specialWord) bool { return among(w.text, "op", "ed", "pv", "cm", "sp") && !capitals(w.text) }, false),
	when("the first word, and a title follows", "Trailer Park.mkv -> Trailer Park",
		func(w specialWord) bool { return w.i == 0 && w.beside(0, 1) && w.classAt(1) != number }, false),
	when("the first word", "Silver Rail/Menu.mkv -> Menu MENU extra", func(w specialWord) bool { return w.i == 0 }, true),
	when("part of the episode's title", "Silver Rail - 05 - PV.mkv -> Silver Rail e5 episode", func(w specialWord) bool {
		return !w.episode.empty() && w.i >= w.episode.to && !w.sample() && !among(w.text, "preview")
	}, false),
	when("behind a dash between blanks", "Silver Rail - Menu.mkv -> Silver Rail MENU extra",
		func(w specialWord) bool { return w.dash }, true),
	when("the last word before a film's year", "Silver Rail PV (2009).mkv -> Silver Rail PV y2009 movie",
		func(w specialWord) bool { return w.i == w.yearAt-1 }, false),
	when("a word of Han, kana or hangul at the end", "银色铁道 予告.mkv -> 银色铁道 PV extra",
		func(w specialWord) bool {
			return w.classAt(w.i) == cjk && w.before(w.i) != "" && w.i+1 == len(w.tokens)
		}, true),
	when("an ordinary word behind the season", "Silver Rail S01 Opening.mkv -> Silver Rail s1 OPENING extra",
		func(w specialWord) bool {
			return w.ordinary() && !w.season.empty() && w.i >= w.season.to && w.closes(w.i+1)
		}, true),
	when("an ordinary word", "Silver Rail-Extra.mkv -> Silver Rail-Extra",
		func(w specialWord) bool { return w.ordinary() }, false),
	when("a word of a title, and not a fansub release", "Silver Rail Menu.mkv -> Silver Rail Menu",
		func(w specialWord) bool {
			return !w.fansub && len(w.text) > 3 && w.before(w.i) != "-" && !w.strongAt(w.i-1) &&
				!(w.media && w.i+1 == len(w.tokens))
		}, false),
	when("before an end or a tag", "Silver Rail PV.mkv -> Silver Rail PV extra",
		func(w specialWord) bool { return w.closes(w.i + 1) }, true),
}

// aloneWithNumber reports whether the word and its number are all that their bracket holds: "[Menu 02]".
func (w specialWord) aloneWithNumber() bool {
	if w.outside || !w.plainNumber(w.i+1) {
		return false
	}
	s := w.wordsOf(w.tokens[w.i].group)
	return s.from == w.i && s.to == w.i+2
}

func (w specialWord) sample() bool { return w.tokens[w.i].word.value == "SAMPLE" }

// ordinary reports whether w is a word of which titles are made.
func (w specialWord) ordinary() bool {
	return among(w.text, "extra", "extras", "bonus", "opening", "ending", "interview", "specials", "deleted")
}

// plainSpecial reports whether the weak word at i stands as a word of its own behind the title.
func (p *numbered) plainSpecial(i int) bool {
	w := specialWord{numbered: p, i: i, text: p.word(i), outside: p.tokens[i].group < 0, dash: dashGap(p.before(i))}
	return decide(specialRules, w)
}

// closes reports whether what follows token i-1 is the end, a bracket, or a tag or number behind which the name ends.
func (p *lexed) closes(i int) bool {
	if !p.beside(i-1, i) || p.strongAt(i) {
		return true
	}
	return p.tokens[i].class == number && (!p.beside(i, i+1) || p.tokens[i+1].tag != none)
}

// numberOfSpecial takes the number in or behind the word at i for the episode, when nothing else was one.
func (p *numbered) numberOfSpecial(i int) {
	w := p.word(i)
	head := untilDigit(w)
	if !p.episode.empty() && (!p.bare || p.episode.from > i+2) || p.tokens[i].tag == tagExtra && utf8.RuneCountInString(letters(w)) > 4 {
		return
	}
	at, n := i, 0
	switch {
	case len(head) < len(w):
		if letters(w) != head {
			return // the digit is a version's
		}
		rest := w[len(head):]
		n = atoi(rest[:leadingDigits(rest)])
	case p.beside(i, i+1) && p.plainNumber(i+1) && p.width(i+1) <= 3 && len(p.gap(i)) <= 1:
		at, n = i+1, p.tokens[i+1].num
	default:
		return
	}
	v := float64(n)
	if at+1 < len(p.tokens) && p.gap(at) == "." && p.word(at+1) == "5" {
		v += 0.5
	}
	p.episodes = []float64{v}
	p.episode = span{i, at + 1}
	p.bare = false
	if at > i || p.gap(i) == "-" {
		p.extendRange()
	}
}

// untilDigit returns w up to its first digit.
func untilDigit(w string) string {
	n := 0
	for n < len(w) && !digit(w[n]) {
		n++
	}
	return w[:n]
}

// letters returns w up to its first digit, without the "v" of a version.
func letters(w string) string {
	head := untilDigit(w)
	if n := len(head); n > 2 && n < len(w) && head[n-1]|0x20 == 'v' {
		return head[:n-1]
	}
	return head
}

// capitals reports whether w has no small letter of the English alphabet.
func capitals(w string) bool {
	for i := 0; i < len(w); i++ {
		if w[i] >= 'a' && w[i] <= 'z' {
			return false
		}
	}
	return true
}

// upper returns w in capitals.
func upper(w string) string {
	if capitals(w) {
		return w
	}
	return strings.ToUpper(w)
}
