package release

import (
	"strings"
)

// segment is a run of tokens in one outermost bracket, or between brackets.
type segment struct {
	span
	bracket int // outermost bracket, -1 for none
}

// maxPlaces bounds the brackets that are looked at for a title.
const maxPlaces = 8

// layOut finds where the title stands (in the text between the brackets, or, when that says nothing, in one of the
// brackets), then the year and the group.
func (p *laidOut) layOut() {
	p.cutSegments()
	if quoted := p.quotedSegment(); quoted >= 0 {
		p.first = p.segments[quoted].from
		p.places = append(p.places, p.segments[quoted].span)
		p.groupBefore(quoted)
	} else if top := p.textSegment(); top >= 0 {
		p.titleInText(top)
	} else {
		p.titleInBrackets()
	}
	p.fansub = !p.groupTok.empty() || len(p.places) > 0
	p.findYear()
	p.findGroup()
}

func (p *laidOut) cutSegments() {
	for i := range p.w.tokens {
		b := p.w.outermost(i)
		if t := &p.w.tokens[i]; b < 0 && t.tag == none && t.class != number {
			p.plainAt = i
		}
		if n := len(p.segments); n > 0 && p.segments[n-1].bracket == b {
			p.segments[n-1].to = i + 1
			continue
		}
		p.segments = append(p.segments, segment{span{i, i + 1}, b})
	}
}

// quotedSegment returns the first bracket of those that mark titles, "《Title》", -1 where there is none.
func (p *laidOut) quotedSegment() int {
	for k, s := range p.segments {
		if s.bracket >= 0 && strings.HasPrefix(p.w.text[p.w.brackets[s.bracket].open:], "《") && p.titleBracket(s.span) {
			return k
		}
	}
	return -1
}

func (p *laidOut) textSegment() int {
	number := -1 // the first bracket that is an episode number
	for k, s := range p.segments {
		switch {
		case s.bracket >= 0:
			if number < 0 && p.numberOnly(s.span) {
				number = k
			}
		case p.titleText(s.span) && !p.poster(k):
			if p.countsBracket(k) {
				return -1
			}
			if number >= 0 && p.titleBefore(number) || p.bracketsOnly(k) {
				return -1
			}
			return k
		}
	}
	return -1
}

// titleInText sets where the title starts in the k-th segment.
func (p *laidOut) titleInText(k int) {
	p.first = p.segments[k].from
	for p.first < len(p.w.tokens) && p.w.strongAt(p.first) && p.w.tokens[p.first].group < 0 {
		p.first++
	}
	p.led = p.first > 0 && p.w.tokens[0].tag == tagEpisode && p.w.tokens[0].group < 0
	p.groupBefore(k)
}

func (p *laidOut) groupBefore(k int) {
	for _, s := range p.segments[:k] {
		if s.bracket >= 0 && p.groupLike(s.span) {
			p.groupTok = s.span
			return
		}
	}
}

// titleInBrackets sets which brackets hold titles: those before the episode. Of two or more the first is the group.
func (p *laidOut) titleInBrackets() {
	for k, s := range p.segments {
		if p.endsPlaces(k) {
			if len(p.places) > 0 {
				break
			}
			continue
		}
		if s.bracket >= 0 && !p.filmWord(s.span) && len(p.places) < maxPlaces && p.titleBracket(s.span) {
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

// endsPlaces reports whether no title follows the brackets before the k-th segment.
func (p *laidOut) endsPlaces(k int) bool {
	s := p.segments[k]
	if s.bracket < 0 {
		return p.bareEpisode(s.span)
	}
	if p.filmWord(s.span) || len(p.places) == 1 && p.w.tokens[s.from].tag == tagDate {
		return false // the title follows
	}
	return p.numberOnly(s.span) ||
		k > 0 && len(p.places) > 0 && !p.unknown(s.span) && !p.promo(s.span) && !p.keywordTitle(k)
}

// keywordTitle reports whether the k-th segment is a title made of words that could be tags: "[Group][Free!][11]".
func (p *laidOut) keywordTitle(k int) bool {
	if len(p.places) != 1 || k+1 >= len(p.segments) || !p.numberOnly(p.segments[k+1].span) {
		return false
	}
	return p.noStrong(p.segments[k].span)
}

// titleText reports whether a segment at top level can hold a title: a word, or two numbers of which one is the title.
func (p *laidOut) titleText(s span) bool {
	if p.starred(s) {
		return false
	}
	numbers := 0
	for i := s.from; i < s.to; i++ {
		t := &p.w.tokens[i]
		switch {
		case p.w.strongAt(i) && numbers == 0 && mayLead(t.tag):
		case p.w.strongAt(i):
			return numbers > 0 && (t.tag != tagEnd || i == 1 && len(p.w.tokens) == 2) // "12.大结局" is an episode of its folder's
		case t.tag == tagMovie && t.class == cjk && t.s > 0 && s.to-s.from == 1: // "★剧场版★[Title]"
		case p.numeric(i):
			numbers++
		case t.tag == tagEnd && numbers > 0:
		default:
			return true
		}
	}
	return numbers > 0 && p.numberTitle(s)
}

func mayLead(t tag) bool {
	switch t {
	case tagBatch, tagSite, tagPromo, tagDate, tagEpisode, tagSeason:
		return true
	default:
		return false
	}
}

// numberTitle reports whether a segment that holds nothing but numbers holds a title: "86 - 07", "300 (2006)".
func (p *laidOut) numberTitle(s span) bool {
	for i := s.from; i+1 < s.to; i++ {
		if dashGap(p.w.gap(i)) {
			return true
		}
	}
	beforeYear := s.to < len(p.w.tokens) && p.w.alone(s.to) && p.w.yearlike(s.to)
	if p.plainAt >= s.to && !beforeYear {
		return false // a word between brackets follows
	}
	seasonBehind := !p.marks.season.empty() && p.marks.season.from > s.from
	return len(p.segments) == 1 || s.from == 0 || !p.marks.episode.empty() || seasonBehind || beforeYear
}

// poster reports whether the k-th segment is who posted the name that follows: "SomeBot.[Group] Title - 07".
func (p *laidOut) poster(k int) bool {
	if k > 0 || p.segments[0].to != 1 || len(p.segments) < 3 || p.segments[2].bracket >= 0 {
		return false
	}
	return p.w.text[p.w.tokens[0].e:p.w.brackets[p.segments[1].bracket].in] == ".[" && p.titleText(p.segments[2].span)
}
