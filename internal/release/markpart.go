package release

// This file decides what says the part of a season, besides "Part 2".

// markOrdinalPart: "2nd Part", "Second Cour".
func (p *marked) markOrdinalPart(i int) bool {
	if i+1 >= len(p.tokens) || p.tokens[i+1].word.role != partWord || len(p.gap(i)) != 1 || p.tokens[i+1].group != p.tokens[i].group {
		return false
	}
	n, ok := ordinal(lower(p.word(i)))
	if !ok || p.romanceOrdinal(i) || i+2 < len(p.tokens) && p.tokens[i+2].class == number && len(p.gap(i+1)) <= 2 {
		return false // "First Part 2"
	}
	p.setPart(i, i+2, n)
	return true
}

// markDaiPart: "Dai 2 Bu", the Japanese "second part" in Latin letters.
func (p *marked) markDaiPart(i int) bool {
	if i == 0 || i+1 >= len(p.tokens) || lower(p.word(i-1)) != "dai" || lower(p.word(i+1)) != "bu" || p.tokens[i-1].group != p.tokens[i+1].group || p.tokens[i].num > 9 {
		return false
	}
	p.setPart(i-1, i+2, p.tokens[i].num)
	return true
}

// setPart records the part that tokens [from, to) say; they stay part of the title, weakly.
func (p *marked) setPart(from, to, n int) {
	if p.part == 0 {
		p.part = n
	}
	for k := from; k < to; k++ {
		p.tokens[k].tag, p.tokens[k].weak = tagPart, true
	}
}

// markTV cuts "TV01" in a bracket of its own, so that its number is read like any other: "[TV01-12 Fin]".
func (p *marked) markTV(i int) bool {
	w := p.word(i)
	g := p.tokens[i].group
	if g < 0 || p.brackets[g].first != i || len(w) < 4 || len(w) > 5 || w[:2] != "TV" || !allDigits(w[2:]) {
		return false
	}
	p.split(i, p.tokens[i].s+2)
	return true
}
