package release

// markPart: "Part 2", "Pt. 1", "Part.II", "Cour 2", "PartA", "PART1". It stays part of the title, weakly.
func markPart(p *marked, i int) bool {
	t := &p.w.tokens[i]
	if t.class == mixed {
		head := letters(p.w.word(i))
		if k, _ := lookup(head); k.role != partWord || p.w.width(i)-len(head) > 2 {
			return false
		}
		number := p.w.word(i)[len(head):]
		p.setPart(i, i+1, atoi(number[:leadingDigits(number)]))
		return true
	}
	if t.word.role != partWord || t.tag == tagPart || !p.w.beside(i, i+1) || len(p.w.gap(i)) > 2 {
		return false
	}
	n, ok := p.w.tokens[i+1].num, p.w.tokens[i+1].class == number
	if !ok || n <= 0 || n >= 30 {
		if n, ok = roman(p.w.word(i + 1)); !ok {
			n, ok = spelled(lower(p.w.word(i + 1)))
		}
	}
	if ok {
		p.setPart(i, i+2, n)
	}
	return ok
}

// markOrdinalPart: "2nd Part", "Second Cour"; but not "First Part 2".
func markOrdinalPart(p *marked, i int) bool {
	if !p.w.beside(i, i+1) || p.w.roleAt(i+1) != partWord || len(p.w.gap(i)) != 1 && p.w.classAt(i+1) != cjk {
		return false
	}
	n, ok := ordinal(lower(p.w.word(i)))
	if !ok || p.romanceOrdinal(i) || p.w.classAt(i+2) == number && p.w.gap(i+1) != " #" && p.w.width(i+2) < 2 && len(p.w.gap(i+1)) <= 2 {
		return false
	}
	p.setPart(i, i+2, n)
	return true
}

// markDaiPart: "Dai 2 Bu", the Japanese "second part" in Latin letters.
func markDaiPart(p *marked, i int) bool {
	if !p.w.beside(i-1, i+1) || !among(p.w.word(i-1), "dai") || !among(p.w.word(i+1), "bu") || p.w.tokens[i].num > 9 {
		return false
	}
	p.setPart(i-1, i+2, p.w.tokens[i].num)
	return true
}

// setPart records the part that tokens [from, to) say; they stay part of the title, weakly.
func (p *marked) setPart(from, to, n int) {
	if p.part == 0 {
		p.part = n
	}
	for k := from; k < to; k++ {
		p.w.tokens[k].tag, p.w.tokens[k].weak = tagPart, true
	}
}

// isPartOfEpisode reports whether the part stands behind season and episode, which a cour doesn't.
func (p *marked) isPartOfEpisode() bool {
	if p.part == 0 || p.season.empty() || p.episode.empty() {
		return false
	}
	for i := range p.w.tokens {
		if p.w.tokens[i].tag == tagPart {
			return i >= p.episode.to && among(lower(letters(p.w.word(i))), "part", "pt")
		}
	}
	return false
}

// markTV cuts "TV01" in a bracket of its own, so that its number is read like any other: "[TV01-12 Fin]".
func markTV(p *marked, i int) bool {
	w := p.w.word(i)
	g := p.w.tokens[i].group
	if g < 0 || p.w.brackets[g].first != i || len(w) < 4 || len(w) > 5 || w[:2] != "TV" || !allDigits(w[2:]) {
		return false
	}
	p.split(i, p.w.tokens[i].s+2)
	return true
}
