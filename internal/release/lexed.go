package release

// span is a range of tokens [from, to).
type span struct{ from, to int }

func (s span) empty() bool      { return s.from >= s.to }
func (s span) holds(i int) bool { return s.from <= i && i < s.to }

// word returns the text of token i.
func (p *words) word(i int) string { return p.text[p.tokens[i].s:p.tokens[i].e] }

// tagAt returns the tag of token i, none where there is no such token.
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

// classAt returns the class of token i, noClass where there is no such token.
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

// width returns the length of token i in bytes.
func (p *words) width(i int) int { return p.tokens[i].e - p.tokens[i].s }

// plainNumber reports whether token i is a number that nothing has explained.
func (p *words) plainNumber(i int) bool { return p.classAt(i) == number && p.tokens[i].tag == none }

// roleAt returns the role of token i in a marker, noRole where there is no such token.
func (p *words) roleAt(i int) role {
	if i < 0 || i >= len(p.tokens) {
		return noRole
	}
	return p.tokens[i].word.role
}
