package release

// span is a range of tokens [from, to).
type span struct{ from, to int }

func (s span) empty() bool      { return s.from >= s.to }
func (s span) holds(i int) bool { return s.from <= i && i < s.to }

func (p *words) word(i int) string { return p.text[p.tokens[i].s:p.tokens[i].e] }

func (p *words) tagAt(i int) tag {
	if i < 0 || i >= len(p.tokens) {
		return none
	}
	return p.tokens[i].tag
}

// gap returns what stands between token i and the one behind it.
func (p *words) gap(i int) string {
	if i+1 < len(p.tokens) {
		return p.text[p.tokens[i].e:p.tokens[i+1].s]
	}
	return p.text[p.tokens[i].e:]
}

// before returns what stands before token i.
func (p *words) before(i int) string {
	if i > 0 {
		return p.text[p.tokens[i-1].e:p.tokens[i].s]
	}
	return p.text[:p.tokens[i].s]
}

// beside reports whether tokens i and j exist and stand in the same bracket, or both outside.
func (p *words) beside(i, j int) bool {
	return i >= 0 && i < len(p.tokens) && j >= 0 && j < len(p.tokens) && p.tokens[i].group == p.tokens[j].group
}

func (p *words) classAt(i int) class {
	if i < 0 || i >= len(p.tokens) {
		return noClass
	}
	return p.tokens[i].class
}

// strongAt reports whether token i is a tag that cannot be part of a title.
func (p *words) strongAt(i int) bool {
	return p.tagAt(i) != none && !p.tokens[i].weak
}

func (p *words) width(i int) int { return p.tokens[i].e - p.tokens[i].s }

func (p *words) plainNumber(i int) bool { return p.classAt(i) == number && p.tokens[i].tag == none }

func (p *words) roleAt(i int) role {
	if i < 0 || i >= len(p.tokens) {
		return noRole
	}
	return p.tokens[i].word.role
}

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

func leadingDigits(w string) int {
	n := 0
	for n < len(w) && digit(w[n]) {
		n++
	}
	return n
}

func withoutDigits(w string) string {
	n := len(w)
	for n > 0 && digit(w[n-1]) {
		n--
	}
	return w[:n]
}

func yearNumber(n int) bool { return n >= firstYear && n <= 2099 }

// alone reports whether token i is all that its bracket holds.
func (p *words) alone(i int) bool {
	g := p.tokens[i].group
	return g >= 0 && p.brackets[g].behind-p.brackets[g].first == 1
}

func (p *words) wordsOf(bracket int) span {
	return span{p.brackets[bracket].first, p.brackets[bracket].behind}
}
