package release

// This file decides which longer readings of a title stand beside the chosen one: with what stands between season and number, with
// what was taken for a tag, with a remark in brackets.

// titleOverSeason adds the whole text of a name that goes on between its season and its number: "Title 2nd Season - The Night
// Ferry - 05". What stands there tells where in the season, or in the specials, the number belongs.
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

// titleWithTag adds the title with the one word that was taken for a tag, though it stands right before a bare number as the end of
// a title does: "Title 3D - 01", "Title Uncut - 05".
func (p *titled) titleWithTag(whole int) {
	if p.bound+1 != whole || p.episode.from != whole || !p.bare || p.tokens[p.bound].group != p.tokens[p.first].group {
		return
	}
	if t := &p.tokens[p.bound]; t.weak && (t.tag == tagEdition || t.tag == tagTech || t.tag == tagSource || t.tag == tagBatch) {
		p.addTitle(p.first, whole)
	}
}

// remarkIn says whether the bracket s goes on behind its title with nothing but a round bracket of plain words.
func (p *titled) remarkIn(s span, end int) bool {
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
