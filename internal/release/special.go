package release

import "strings"

// This file decides what is no regular episode: openings and endings without
// credits, trailers, menus (extras), and OVA, OAD, SP (specials), with the
// number that may follow.

// tagNumbered: "NCOP2", "NCEDv2", "OP4a", "PV2", "CM1", "SP03", "OVA3.5", "EX01".
func (p *tagged) tagNumbered(i int) bool {
	w := p.word(i)
	if p.dotted && i+1 == len(p.tokens) && p.before(i) == "-" {
		return false // the group of a scene name: "-CM8"
	}
	n := 0
	for n < len(w) && !digit(w[n]) {
		n++
	}
	head := w[:n]
	k, ok := lookup(head)
	if !ok && len(head) > 1 && head[n-1]|0x20 == 'v' && len(w) == n+1 {
		head = head[:n-1]
		k, ok = lookup(head)
	}
	if !ok || k.tag != tagExtra && k.tag != tagSpecial || n > 8 || len(w)-n > 4 {
		if !strings.EqualFold(head, "ex") || len(w)-n != 2 {
			return false
		}
		k = kw{tag: tagSpecial, value: "EX"}
	}
	if (strings.EqualFold(head, "op") || strings.EqualFold(head, "ed")) && head != strings.ToUpper(head) {
		return false
	}
	k.weak = false
	p.tokens[i].word = k
	p.set(i, i+1, k.tag)
	return true
}

// specials reads what tag() found into the fields of the name. It runs when the title's bounds are known: a
// weak word counts only where it cannot be part of the title.
func (p *numbered) specials() {
	for i := range p.tokens {
		t := &p.tokens[i]
		if t.tag == tagEdition && t.weak && i > 0 && t.group < 0 && p.episode.empty() && dashGap(p.before(i)) && p.closes(i+1) && strings.EqualFold(p.word(i), "special") {
			t.tag, t.weak, t.word.value = tagSpecial, false, "SPECIAL" // "Title - Special"
		}
		if t.tag != tagExtra && t.tag != tagSpecial {
			continue
		}
		if t.weak && !p.plainSpecial(i) {
			continue
		}
		head := strings.TrimRight(p.word(i), "0123456789")
		if t.class == mixed {
			head = letters(p.word(i))
		}
		name := upper(head)
		if t.word.value != "" && t.word.value != "NC" {
			name = t.word.value
		}
		if t.tag == tagExtra {
			p.extra = true
			p.special = name
		} else if p.special == "" && len(p.episodes) <= 3 { // else "01-12 + OVA", a batch
			p.special = name
		}
		p.numberOfSpecial(i)
	}
}

// plainSpecial says whether the weak word at i stands as a word of its own behind the title: in brackets, behind a
// dash, or right before the end or a tag.
func (p *numbered) plainSpecial(i int) bool {
	w := p.word(i)
	if p.tokens[i].group >= 0 {
		return p.alone(i) || i < p.brackets[p.tokens[i].group].behind && p.tokens[i].word.value == "SAMPLE"
	}
	switch lower(w) {
	case "special", "movie":
		return false
	case "op", "ed", "pv", "cm", "sp":
		if w != strings.ToUpper(w) {
			return false
		}
	}
	if i == 0 {
		return len(p.tokens) == 1 || p.tokens[1].group >= 0 || p.tokens[1].class == number
	}
	if !p.episode.empty() && i >= p.episode.to && p.tokens[i].word.value != "SAMPLE" && lower(w) != "preview" {
		return false // part of the episode's title
	}
	if dashGap(p.before(i)) {
		return true
	}
	if i == p.yearAt-1 {
		return false // "Special Menu (2013)": the end of a film's title
	}
	switch lower(w) {
	case "extra", "extras", "bonus", "opening", "ending", "interview", "specials", "deleted":
		return !p.season.empty() && i >= p.season.to && p.closes(i+1)
	}
	if !p.fansub && len(w) > 3 { // a word of a title as well: "Free Sample (2012)"
		prev := &p.tokens[i-1]
		if p.before(i) != "-" && (prev.tag == none || prev.weak) && !(p.media && i+1 == len(p.tokens)) {
			return false
		}
	}
	return p.closes(i + 1)
}

// closes says whether what follows token i-1 is the end, a bracket, or a tag or number behind which the name ends.
func (p *lexed) closes(i int) bool {
	if i >= len(p.tokens) || p.tokens[i].group != p.tokens[i-1].group {
		return true
	}
	t := &p.tokens[i]
	return t.tag != none && !t.weak || t.class == number && (i+1 >= len(p.tokens) || p.tokens[i+1].group != t.group || p.tokens[i+1].tag != none)
}

// numberOfSpecial takes the number in or behind the word at i for the episode, when nothing else was one.
func (p *numbered) numberOfSpecial(i int) {
	if !p.episode.empty() && (!p.bare || p.episode.from > i+2) || len(letters(p.word(i))) > 4 {
		return
	}
	w := p.word(i)
	n := 0
	for n < len(w) && !digit(w[n]) {
		n++
	}
	if n < len(w) {
		if n > 2 && w[n-1]|0x20 == 'v' {
			return
		}
		v := 0
		k := n
		for k < len(w) && digit(w[k]) {
			v = v*10 + int(w[k]-'0')
			k++
		}
		p.episodes = []float64{p.withFraction(i, float64(v))}
		p.episode = span{i, i + 1}
		p.bare = false
		return
	}
	if i+1 < len(p.tokens) && p.tokens[i+1].class == number && p.tokens[i+1].e-p.tokens[i+1].s <= 3 && p.tokens[i+1].tag == none &&
		len(p.gap(i)) <= 1 && p.tokens[i+1].group == p.tokens[i].group {
		p.episodes = []float64{p.withFraction(i+1, float64(p.tokens[i+1].num))}
		p.episode = span{i, i + 2}
		p.bare = false
	}
}

// withFraction adds the ".5" behind token i.
func (p *lexed) withFraction(i int, v float64) float64 {
	if i+1 < len(p.tokens) && p.gap(i) == "." && p.word(i+1) == "5" {
		return v + 0.5
	}
	return v
}

// letters returns w up to its first digit, without the "v" of a version.
func letters(w string) string {
	n := 0
	for n < len(w) && !digit(w[n]) {
		n++
	}
	if n > 2 && n < len(w) && w[n-1]|0x20 == 'v' {
		n--
	}
	return w[:n]
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

func upper(w string) string {
	for i := 0; i < len(w); i++ {
		if w[i] >= 'a' && w[i] <= 'z' {
			return strings.ToUpper(w)
		}
	}
	return w
}
