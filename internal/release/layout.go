package release

import "strings"

// This file decides where the title stands: in the text between the brackets,
// or, when that says nothing, in one of the brackets.

// segment is a run of tokens in one outermost bracket, or between brackets.
type segment struct {
	span
	bracket int // outermost bracket, -1 for none
}

// outermost returns the bracket at top level around token i, -1 for none.
func (p *lexed) outermost(i int) int {
	g := p.tokens[i].group
	for g >= 0 && p.brackets[g].outer >= 0 {
		g = p.brackets[g].outer
	}
	return g
}

// segments cuts the tokens at the outermost brackets.
func (p *laidOut) cutSegments() {
	for i := range p.tokens {
		b := p.outermost(i)
		if t := &p.tokens[i]; b < 0 && t.tag == none && t.class != number {
			p.plainAt = i
		}
		if n := len(p.segments); n > 0 && p.segments[n-1].bracket == b {
			p.segments[n-1].to = i + 1
			continue
		}
		p.segments = append(p.segments, segment{span{i, i + 1}, b})
	}
}

// unknown says whether the segment holds text that no table explains.
func (p *lexed) unknown(s span) bool {
	plain, tags := 0, 0
	for i := s.from; i < s.to; i++ {
		t := &p.tokens[i]
		switch {
		case t.tag == none && (t.class != number):
			plain++
		case t.tag != none && !t.weak && t.tag != tagSeason && t.tag != tagMovie:
			tags++
		}
	}
	return plain > 0 && (tags == 0 || plain > tags)
}

// numberOnly says whether the segment is an episode number: "07", "07v2", "12END", "01-12 Fin".
func (p *lexed) numberOnly(s span) bool {
	t := &p.tokens[s.from]
	if t.tag == tagEpisode {
		return true
	}
	if t.tag != none && !t.weak || t.class == cjk || t.class == alpha || !digit(p.text[t.s]) || t.e-t.s > 7 || t.class == number && t.e-t.s > 4 || p.yearlike(s.from) {
		return false
	}
	if t.class == mixed {
		if _, ok := p.loose(s.from); !ok {
			return false
		}
	}
	for i := s.from + 1; i < s.to; i++ {
		u := &p.tokens[i]
		if p.before(i) == "+" && u.class != number {
			return true // "01-13+Drama"
		}
		if u.class == alpha && u.tag != tagEnd && u.tag != tagBatch && u.tag != tagSource && u.tag != tagSpecial || u.class == cjk && u.tag != tagEnd && u.tag != tagBatch && i == s.from+1 && u.tag != tagPromo {
			return false
		}
	}
	return true
}

// findLayout chooses the segments that hold titles, and the group before them.
func (p *laidOut) findLayout() {
	p.cutSegments()
	top, numbered := -1, -1
	for k, s := range p.segments {
		if s.bracket >= 0 {
			if numbered < 0 && p.numberOnly(s.span) {
				numbered = k
			}
			continue
		}
		if p.titleText(s.span) && !p.poster(k) {
			top = k
			break
		}
	}
	if top >= 0 && numbered >= 0 && numbered < top && p.textBefore(numbered) || top >= 0 && p.bracketsOnly(top) {
		top = -1
	}
	if top >= 0 {
		p.first = p.segments[top].from
		for p.first < len(p.tokens) && p.tokens[p.first].tag != none && !p.tokens[p.first].weak && p.tokens[p.first].group < 0 {
			p.first++
		}
		if p.first > 0 && p.tokens[0].tag == tagEpisode && p.tokens[0].group < 0 {
			p.led = true
		}
		for _, s := range p.segments[:top] {
			if s.bracket >= 0 && p.groupLike(s.span) {
				p.groupTok = s.span
				break
			}
		}
		return
	}
	p.first = -1
	for k, s := range p.segments {
		if s.bracket < 0 {
			if p.bareEpisode(s.span) && len(p.places) > 0 {
				break
			}
			continue
		}
		if s.to-s.from == 1 && p.tokens[s.from].tag == tagMovie {
			continue // "[Group][剧场版][Title]"
		}
		if p.numberOnly(s.span) || k > 0 && len(p.places) > 0 && !p.unknown(s.span) && !p.promo(s.span) && !p.keywordTitle(k) {
			if len(p.places) > 0 {
				break
			}
			continue
		}
		if len(p.places) < 8 && p.titleBracket(s.span) {
			p.places = append(p.places, s.span)
		}
	}
	if len(p.places) >= 2 {
		p.groupTok = p.places[0]
		p.places = append(p.places[:0], p.places[1:]...)
	}
	if len(p.places) > 0 {
		p.first = p.places[0].from
	}
}

// keywordTitle says whether the k-th segment is a title made of words that could be tags: "[Group][Free!][11]".
func (p *laidOut) keywordTitle(k int) bool {
	if len(p.places) != 1 || k+1 >= len(p.segments) || !p.numberOnly(p.segments[k+1].span) {
		return false
	}
	for i := p.segments[k].from; i < p.segments[k].to; i++ {
		if p.tokens[i].tag != none && !p.tokens[i].weak {
			return false
		}
	}
	return true
}

// titleText says whether a segment at top level can hold a title: a word, or two numbers of which one is the title.
func (p *laidOut) titleText(s span) bool {
	numbers := 0
	if s.to < len(p.tokens) && strings.HasSuffix(p.text[:p.tokens[s.from].s], "★") && strings.HasPrefix(p.text[p.tokens[s.to-1].e:], "★") {
		return false // "★10月新番★"
	}
	for i := s.from; i < s.to; i++ {
		t := &p.tokens[i]
		if t.tag != none && !t.weak {
			if numbers == 0 && (t.tag == tagBatch || t.tag == tagSite || t.tag == tagPromo || t.tag == tagDate || t.tag == tagEpisode || t.tag == tagSeason) {
				continue
			}
			return numbers > 0 && t.tag != tagEnd
		}
		if t.tag == tagMovie && t.class == cjk && p.tokens[s.from].s > 0 && s.to-s.from == 1 {
			continue // "★剧场版★[Title]"
		}
		if t.class == number || t.class == mixed && digit(p.text[t.s]) && func() bool { _, ok := p.loose(i); return ok }() {
			numbers++
			continue
		}
		if t.tag == tagEnd && numbers > 0 {
			continue
		}
		return true
	}
	if numbers == 0 {
		return false
	}
	for i := s.from; i+1 < s.to; i++ {
		if dashGap(p.gap(i)) {
			return true
		}
	}
	if p.textBehind(s.to) && !(s.to < len(p.tokens) && p.alone(s.to) && p.yearlike(s.to)) {
		return false
	}
	return len(p.segments) == 1 || s.from == 0 || !p.episode.empty() || !p.season.empty() && p.season.from > s.from || s.to < len(p.tokens) && p.alone(s.to) && p.yearlike(s.to)
}

// poster says whether the k-th segment is who posted the name that follows: "SomeBot.[Group] Title - 07".
func (p *laidOut) poster(k int) bool {
	s := p.segments[k]
	return k == 0 && s.to-s.from == 1 && k+2 < len(p.segments) && p.text[p.tokens[s.from].e:p.brackets[p.segments[1].bracket].in] == ".[" &&
		p.segments[2].bracket < 0 && p.titleText(p.segments[2].span)
}

// textBehind says whether a word stands between brackets from token i on.
func (p *laidOut) textBehind(i int) bool { return p.plainAt >= i }

// bareEpisode says whether a segment at top level is a number alone.
func (p *lexed) bareEpisode(s span) bool {
	return p.tokens[s.from].class == number && s.to-s.from <= 2 && !strings.HasSuffix(p.text[:p.tokens[s.from].s], "★")
}

// bracketsOnly says whether a name is told in brackets although text follows them: "[中文][Romaji][2022][1080p] more".
func (p *laidOut) bracketsOnly(top int) bool {
	texts := 0
	for _, s := range p.segments[:top] {
		switch {
		case s.bracket < 0:
		case p.unknown(s.span) && !p.promo(s.span):
			texts++
		case texts >= 2 && p.alone(s.from) && p.yearlike(s.from):
			return true
		}
	}
	return false
}

// textBefore says whether a bracket before the k-th segment can hold a title.
func (p *laidOut) textBefore(k int) bool {
	for _, s := range p.segments[:k] {
		if p.titleBracket(s.span) {
			return true
		}
	}
	return false
}

// titleBracket says whether a bracket can hold a title or a group's name.
func (p *lexed) titleBracket(s span) bool {
	if p.promo(s) || s.to-s.from == 1 && p.tokens[s.from].tag == tagMovie {
		return false
	}
	strong := 0
	for i := s.from; i < s.to; i++ {
		t := &p.tokens[i]
		if t.tag == none && t.class != number {
			return strong == 0 || t.tag == none && i > s.from || s.to-s.from > 2
		}
		if t.tag != none && !t.weak {
			strong++
		}
	}
	return strong == 0 && s.to > s.from && p.tokens[s.from].class != number
}

// promo says whether a bracket only says season of broadcast, kind or call for translators.
func (p *lexed) promo(s span) bool {
	for i := s.from; i < s.to; i++ {
		if p.tokens[i].tag == tagPromo {
			return s.to-s.from <= 3 && i == s.from || s.to-s.from == 1
		}
	}
	return false
}

// groupLike says whether the bracket before a title names who released it.
func (p *lexed) groupLike(s span) bool {
	strong, plain := 0, 0
	for i := s.from; i < s.to; i++ {
		switch t := &p.tokens[i]; {
		case t.tag == tagSite, t.tag == tagPromo, t.tag == tagYear, t.tag == tagSeason, t.tag == tagEpisode, t.tag == tagID:
			return false
		case t.tag != none && !t.weak:
			strong++
		default:
			plain++
		}
	}
	return plain > 0 && (strong == 0 || plain > 1 && strong == 1 && !strings.Contains(p.inside(s), " "))
}

// inside returns the text of the bracket around a span.
func (p *lexed) inside(s span) string {
	b := p.outermost(s.from)
	if b < 0 {
		return p.text[p.tokens[s.from].s:p.tokens[s.to-1].e]
	}
	return p.text[p.brackets[b].in:p.brackets[b].close]
}
