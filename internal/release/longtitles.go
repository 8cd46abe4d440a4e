package release

import "strings"

// titleOverSeason adds the whole text of a name that goes on between its season and its number: "Title 2nd Season - The
// Night Ferry - 05". What stands there tells where in the season, or in the specials, the number belongs.
func (p *titled) titleOverSeason() {
	if !p.bare || p.season.empty() || p.season.from < p.bound || p.episode.from <= p.season.to {
		return
	}
	plain := false
	for i := p.season.from; i < p.episode.from; i++ {
		t := &p.tokens[i]
		if t.group != p.tokens[p.first].group {
			return
		}
		plain = plain || i >= p.season.to && t.tag == none && t.class != number
	}
	if plain {
		p.addTitle(p.first, p.episode.from)
	}
}

// titleWithTag adds the title with the one word that was taken for a tag, though it stands right before a bare number
// as the end of a title does: "Title 3D - 01", "Title Uncut - 05".
func (p *titled) titleWithTag(whole int) {
	if p.bound+1 != whole || p.episode.from != whole || !p.bare || p.tokens[p.bound].group != p.tokens[p.first].group {
		return
	}
	if !p.tokens[p.bound].weak {
		return
	}
	switch p.tokens[p.bound].tag {
	case tagEdition, tagTech, tagSource, tagBatch:
		p.addTitle(p.first, whole)
	default:
	}
}

// remarkIn reports whether the bracket s goes on behind its title with nothing but a round bracket of plain words.
func (p *lexed) remarkIn(s span, end int) bool {
	if end >= s.to {
		return false
	}
	b := p.enclosing(end, p.tokens[s.from].group)
	if b < 0 || !p.brackets[b].round || p.brackets[b].first != end || p.brackets[b].behind != s.to {
		return false
	}
	for i := end; i < s.to; i++ {
		if p.tokens[i].tag != none || p.tokens[i].class == number {
			return false
		}
	}
	return true
}

// aliasInTitle adds both halves of a title that ends in a bracket: "Title (Other Name)".
func (p *titled) aliasInTitle() {
	b := p.outermost(p.bound - 1)
	if b < 0 || p.brackets[b].behind != p.bound || p.brackets[b].first <= p.first ||
		!strings.HasPrefix(p.before(p.brackets[b].first), " ") {
		return
	}
	p.addTitle(p.first, p.brackets[b].first)
	p.addTitle(p.brackets[b].first, p.bound)
}

// aliasInBracket adds the name in a bracket right behind the title: "Title (Other Name)", "한글 (English)".
func (p *titled) aliasInBracket() {
	at := p.bound
	for p.tagAt(at) == tagSeason {
		at++
	}
	if at >= len(p.tokens) {
		return
	}
	b := p.outermost(at)
	if b < 0 || p.brackets[b].first != at {
		return
	}
	s := span{p.brackets[b].first, p.brackets[b].behind}
	for s.to-1 > s.from && p.tokens[s.to-1].tag == tagSeason {
		s.to--
	}
	if p.roleAt(s.from) == akaWord {
		s.from++
	}
	if s.empty() || p.oneNumber(s) || p.remarks(&p.brackets[b]) || !p.brackets[b].round && p.tokens[s.from].class != cjk {
		return
	}
	for i := s.from; i < s.to; i++ {
		if p.tokens[i].tag != none || p.tokens[i].group != b {
			return
		}
	}
	p.addTitle(s.from, s.to)
}
