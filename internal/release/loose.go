package release

// loose reads an episode number without a sign: "07", "07v2", "09a", "12END"; "13完" is two words.
func (p *words) loose(i int) (int, bool) {
	t := &p.tokens[i]
	if t.class == number {
		return t.num, t.num >= 0 && t.e-t.s <= 4
	}
	if t.class != mixed {
		return 0, false
	}
	c := cursor{p.text[:t.e], t.s}
	n, _, ok := c.number(4)
	if !ok {
		return 0, false
	}
	at := c.i
	c.suffix()
	return n, c.i > at && c.i == t.e
}

// looseAt is loose, false where there is no token i.
func (p *words) looseAt(i int) (int, bool) {
	if i < 0 || i >= len(p.tokens) {
		return 0, false
	}
	return p.loose(i)
}

// fractionAt reads the ".5" behind the number at i.
func (p *words) fractionAt(i int) (float64, bool) {
	if p.classAt(i) != number || p.gap(i) != "." || !p.beside(i, i+1) {
		return 0, false
	}
	w := p.word(i + 1)
	if !digit(w[0]) || w[0] == '0' || len(w) != 1 && !(len(w) == 3 && w[1] == 'v') {
		return 0, false
	}
	if p.tagAt(i+1) != none || p.gap(i+1) == "." {
		return 0, false
	}
	return float64(w[0]-'0') / 10, true
}

// closesNumber reports whether the title or the name ends behind the number at i, and the range that it may begin.
func (p *words) closesNumber(i int) bool {
	j := i + 1
	if _, ok := p.fractionAt(i); ok {
		j++
	}
	for j < i+16 && p.beside(i, j) && rangeGap(p.gap(j-1)) && p.tokens[j].tag == none {
		p.steps++
		if _, ok := p.loose(j); !ok {
			break
		}
		j++
	}
	if j == i+1 && p.rangeByWord(i) {
		j += 2
	}
	if !p.beside(i, j) || dashGap(p.gap(j-1)) {
		return true
	}
	t := &p.tokens[j]
	switch {
	case t.tag == none, t.tag == tagSeason && t.class != cjk:
		return false
	case !t.weak, t.tag == tagEnd, t.tag == tagBatch && among(p.word(j), "complete"):
		return true
	}
	return p.onlyTags(j, i+16)
}

// onlyTags reports whether weak tags from token i on go on up to the end, a bracket or a strong tag. It looks no
// further than to.
func (p *words) onlyTags(i, to int) bool {
	for j := i; j < to && p.beside(i, j); j++ {
		p.steps++
		if p.tokens[j].tag == none {
			return false
		}
		if !p.tokens[j].weak {
			return true
		}
	}
	return true
}

// leadingDigits returns how many digits w begins with.
func leadingDigits(w string) int {
	n := 0
	for n < len(w) && digit(w[n]) {
		n++
	}
	return n
}

// withoutDigits returns w without the digits at its end.
func withoutDigits(w string) string {
	n := len(w)
	for n > 0 && digit(w[n-1]) {
		n--
	}
	return w[:n]
}

func yearNumber(n int) bool { return n >= firstYear && n <= 2099 }
