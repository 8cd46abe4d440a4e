package release

// markPart: "Part 2", "Pt. 1", "Part.II", "Cour 2", "PartA", "PART1". It stays part of the title, weakly.
func (p *marked) markPart(i int) bool {
	t := &p.tokens[i]
	if t.class == mixed {
		head := letters(p.word(i))
		if k, _ := lookup(head); k.role != partWord || p.width(i)-len(head) > 2 {
			return false
		}
		number := p.word(i)[len(head):]
		p.setPart(i, i+1, atoi(number[:leadingDigits(number)]))
		return true
	}
	if t.word.role != partWord || t.tag == tagPart || !p.beside(i, i+1) || len(p.gap(i)) > 2 {
		return false
	}
	n, ok := p.tokens[i+1].num, p.tokens[i+1].class == number
	if !ok || n <= 0 || n >= 30 {
		if n, ok = roman(p.word(i + 1)); !ok {
			n, ok = spelled(lower(p.word(i + 1)))
		}
	}
	if ok {
		p.setPart(i, i+2, n)
	}
	return ok
}

// markOrdinalPart: "2nd Part", "Second Cour"; but not "First Part 2".
func (p *marked) markOrdinalPart(i int) bool {
	if !p.beside(i, i+1) || p.roleAt(i+1) != partWord || len(p.gap(i)) != 1 && p.classAt(i+1) != cjk {
		return false
	}
	n, ok := ordinal(lower(p.word(i)))
	if !ok || p.romanceOrdinal(i) || p.classAt(i+2) == number && p.gap(i+1) != " #" && p.width(i+2) < 2 && len(p.gap(i+1)) <= 2 {
		return false
	}
	p.setPart(i, i+2, n)
	return true
}

// markDaiPart: "Dai 2 Bu", the Japanese "second part" in Latin letters.
func (p *marked) markDaiPart(i int) bool {
	if !p.beside(i-1, i+1) || !among(p.word(i-1), "dai") || !among(p.word(i+1), "bu") || p.tokens[i].num > 9 {
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

// isPartOfEpisode reports whether the part stands behind season and episode, which a cour doesn't.
func (p *marked) isPartOfEpisode() bool {
	if p.part == 0 || p.season.empty() || p.episode.empty() {
		return false
	}
	for i := range p.tokens {
		if p.tokens[i].tag == tagPart {
			return i >= p.episode.to && among(lower(letters(p.word(i))), "part", "pt")
		}
	}
	return false
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
