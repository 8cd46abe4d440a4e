package release

import "strings"

// titleOverSeason adds the whole text of a name that goes on between its season and its number: "Title 2nd Season - The
// Night Ferry - 05". What stands there tells where in the season, or in the specials, the number belongs.
func (p *titled) titleOverSeason() {
	if !p.numbers.bare || p.marks.season.empty() || p.marks.season.from < p.bound || p.marks.episode.from <= p.marks.season.to {
		return
	}
	plain := false
	for i := p.marks.season.from; i < p.marks.episode.from; i++ {
		t := &p.w.tokens[i]
		if t.group != p.w.tokens[p.layout.first].group {
			return
		}
		plain = plain || i >= p.marks.season.to && t.tag == none && t.class != number
	}
	if plain {
		p.addTitle(p.layout.first, p.marks.episode.from)
	}
}

// titleWithTag adds the title with the one word that was taken for a tag, though it stands right before a bare number
// as the end of a title does: "Title 3D - 01", "Title Uncut - 05".
func (p *titled) titleWithTag(whole int) {
	if p.bound+1 != whole || p.marks.episode.from != whole || !p.numbers.bare || p.w.tokens[p.bound].group != p.w.tokens[p.layout.first].group {
		return
	}
	if !p.w.tokens[p.bound].weak {
		return
	}
	switch p.w.tokens[p.bound].tag {
	case tagEdition, tagTech, tagSource, tagBatch:
		p.addTitle(p.layout.first, whole)
	default:
	}
}

// remarkIn reports whether the bracket s goes on behind its title with nothing but a round bracket of plain words.
func (p *titled) remarkIn(s span, end int) bool {
	if end >= s.to {
		return false
	}
	b := p.w.enclosing(end, p.w.tokens[s.from].group)
	if b < 0 || !p.w.brackets[b].round || p.w.brackets[b].first != end || p.w.brackets[b].behind != s.to {
		return false
	}
	for i := end; i < s.to; i++ {
		if p.w.tokens[i].tag != none || p.w.tokens[i].class == number {
			return false
		}
	}
	return true
}

// aliasInTitle adds both halves of a title that ends in a bracket: "Title (Other Name)".
func (p *titled) aliasInTitle() {
	b := p.w.outermost(p.bound - 1)
	if b < 0 || p.w.brackets[b].behind != p.bound || p.w.brackets[b].first <= p.layout.first ||
		!strings.HasPrefix(p.w.before(p.w.brackets[b].first), " ") {
		return
	}
	p.addTitle(p.layout.first, p.w.brackets[b].first)
	p.addTitle(p.w.brackets[b].first, p.bound)
}

// aliasInBracket adds the name in a bracket right behind the title: "Title (Other Name)", "한글 (English)".
func (p *titled) aliasInBracket() {
	at := p.bound
	for p.w.tagAt(at) == tagSeason {
		at++
	}
	if at >= len(p.w.tokens) {
		return
	}
	b := p.w.outermost(at)
	if b < 0 || p.w.brackets[b].first != at {
		return
	}
	s := span{p.w.brackets[b].first, p.w.brackets[b].behind}
	for s.to-1 > s.from && p.w.tokens[s.to-1].tag == tagSeason {
		s.to--
	}
	if p.w.roleAt(s.from) == akaWord {
		s.from++
	}
	if s.empty() || p.w.oneNumber(s) || p.remarks(&p.w.brackets[b]) || !p.w.brackets[b].round && p.w.tokens[s.from].class != cjk {
		return
	}
	for i := s.from; i < s.to; i++ {
		if p.w.tokens[i].tag != none || p.w.tokens[i].group != b {
			return
		}
	}
	p.addTitle(s.from, s.to)
}
