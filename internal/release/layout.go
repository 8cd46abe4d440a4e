package release

import (
	"slices"
	"strings"
)

// segment is a run of tokens in one outermost bracket, or between brackets.
type segment struct {
	span
	bracket int // outermost bracket, -1 for none
}

const maxPlaces = 8

func (p *laidOut) layOut() {
	p.cutSegments()
	quoted := slices.IndexFunc(p.segments, func(s segment) bool { // "《Title》"
		return s.bracket >= 0 && strings.HasPrefix(p.w.text[p.w.brackets[s.bracket].open:], "《") && p.titleBracket(s.span)
	})
	if quoted >= 0 {
		p.first = p.segments[quoted].from
		p.places = append(p.places, p.segments[quoted].span)
		p.groupBefore(quoted)
	} else if top := p.textSegment(); top >= 0 {
		p.first = p.segments[top].from
		for p.w.strongAt(p.first) && p.w.tokens[p.first].group < 0 {
			p.first++
		}
		p.numberFirst = p.first > 0 && p.w.tokens[0].tag == tagEpisode && p.w.tokens[0].group < 0
		p.groupBefore(top)
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
			holdsTitle := func(s segment) bool { return p.titleBracket(s.span) }
			if number >= 0 && slices.ContainsFunc(p.segments[:number], holdsTitle) || p.bracketsOnly(k) {
				return -1
			}
			return k
		}
	}
	return -1
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
		if p.endsTitles(k) {
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

func (p *laidOut) endsTitles(k int) bool {
	s := p.segments[k]
	if s.bracket < 0 { // a bare episode
		return p.w.classAt(s.from) == number && s.to-s.from <= 2 && !p.afterStar(s.from)
	}
	if p.filmWord(s.span) || len(p.places) == 1 && p.w.tokens[s.from].tag == tagDate {
		return false // the title follows
	}
	return p.numberOnly(s.span) ||
		k > 0 && len(p.places) > 0 && !p.unknown(s.span) && !p.promo(s.span) && !p.keywordTitle(k)
}

// keywordTitle reports whether the k-th segment is a title made of words that could be tags: "[Group][Free!][11]".
func (p *laidOut) keywordTitle(k int) bool {
	return len(p.places) == 1 && k+1 < len(p.segments) && p.numberOnly(p.segments[k+1].span) &&
		p.noStrong(p.segments[k].span)
}

func (p *laidOut) titleText(s span) bool {
	if s.to < len(p.w.tokens) && p.afterStar(s.from) && strings.HasPrefix(p.w.gap(s.to-1), "★") {
		return false // "★10月新番★"
	}
	numbers := 0
	for i := s.from; i < s.to; i++ {
		t := &p.w.tokens[i]
		switch {
		case p.w.strongAt(i) && numbers == 0 && slices.Contains(leadingTags, t.tag):
		case p.w.strongAt(i):
			return numbers > 0 && (t.tag != tagEnd || i == 1 && len(p.w.tokens) == 2) // "12.大结局": an episode
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

var leadingTags = []tag{tagBatch, tagSite, tagPromo, tagDate, tagEpisode, tagSeason}

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
	seasonAfter := !p.marks.season.empty() && p.marks.season.from > s.from
	return len(p.segments) == 1 || s.from == 0 || !p.marks.episode.empty() || seasonAfter || beforeYear
}

// poster reports whether the k-th segment is who posted the name that follows: "SomeBot.[Group] Title - 07".
func (p *laidOut) poster(k int) bool {
	if k > 0 || p.segments[0].to != 1 || len(p.segments) < 3 || p.segments[2].bracket >= 0 {
		return false
	}
	return p.w.text[p.w.tokens[0].e:p.w.brackets[p.segments[1].bracket].in] == ".[" && p.titleText(p.segments[2].span)
}

// filmWord reports whether a segment is a word for films alone: "[Group][剧场版][Title]".
func (p *laidOut) filmWord(s span) bool {
	return s.to-s.from == 1 && p.w.tokens[s.from].tag == tagMovie
}

func (p *laidOut) unknown(s span) bool {
	plain, tags := 0, 0
	for i := s.from; i < s.to; i++ {
		switch t := &p.w.tokens[i]; {
		case t.tag == none && t.class != number:
			plain++
		case p.w.strongAt(i) && t.tag != tagSeason && t.tag != tagPart && t.tag != tagMovie:
			tags++
		}
	}
	return plain > 0 && (tags == 0 || plain > tags)
}

// numberOnly reports whether the segment is an episode number: "07", "07v2", "12END", "01-12 Fin", "01-13+Drama".
func (p *laidOut) numberOnly(s span) bool {
	if p.w.tokens[s.from].tag == tagEpisode {
		return true
	}
	if s.to-s.from > 1 && p.w.lower(s.from) == "tv" {
		s.from++
	}
	if !p.startsNumber(s.from) {
		return false
	}
	for i := s.from + 1; i < s.to; i++ {
		if strings.Contains(p.w.before(i), "+") && p.w.tokens[i].class != number {
			return true
		}
		if !p.besideNumber(i, i == s.from+1) {
			return false
		}
	}
	return true
}

func (p *laidOut) startsNumber(i int) bool {
	t := &p.w.tokens[i]
	if p.w.strongAt(i) || !digit(p.w.text[t.s]) || p.w.yearlike(i) {
		return false
	}
	switch t.class {
	case number:
		return p.w.width(i) <= 4
	case mixed:
		_, ok := p.w.unmarked(i)
		return ok && p.w.width(i) <= 7
	default:
		return false
	}
}

// besideNumber: "[07 1080p]"; next: no other token is between them.
func (p *laidOut) besideNumber(i int, next bool) bool {
	switch t := &p.w.tokens[i]; t.tag {
	case tagEnd, tagBatch:
		return true
	case tagSource, tagSpecial:
		return t.class != cjk || !next
	case tagResolution, tagVideo, tagAudio, tagContainer:
		return !t.weak
	case tagPromo:
		return t.class != alpha
	default:
		return t.class != alpha && (t.class != cjk || !next)
	}
}

func (p *laidOut) noStrong(s span) bool { return !p.w.some(s, p.w.strongAt) }

func (p *laidOut) afterStar(i int) bool { return strings.HasSuffix(p.w.before(i), "★") }

func (p *laidOut) numeric(i int) bool {
	_, ok := p.w.unmarked(i)
	return ok || p.w.tokens[i].class == number
}

func (p *laidOut) titleBracket(s span) bool {
	if p.promo(s) || p.filmWord(s) {
		return false
	}
	text := func(i int) bool { return p.w.tagAt(i) == none && p.w.classAt(i) != number }
	return p.w.some(s, text) || p.noStrong(s) && p.w.classAt(s.from) != number
}

// promo: such a bracket says when the work is broadcast, of what kind it is, or that translators are wanted.
func (p *laidOut) promo(s span) bool {
	return p.w.tagAt(s.from) == tagPromo && s.to-s.from <= 3
}

func (p *laidOut) groupLike(s span) bool {
	strong, plain := 0, 0
	for i := s.from; i < s.to; i++ {
		switch t := &p.w.tokens[i]; {
		case t.tag == tagSite, t.tag == tagPromo, t.tag == tagYear, t.tag == tagSeason, t.tag == tagEpisode, t.tag == tagID:
			return false
		case p.w.strongAt(i):
			strong++
		default:
			plain++
		}
	}
	return plain > 0 && (strong == 0 || plain > 1 && strong == 1 && !strings.Contains(p.w.inside(s), " "))
}

func (p *words) inside(s span) string {
	b := p.outermost(s.from)
	if b < 0 {
		return p.text[p.tokens[s.from].s:p.tokens[s.to-1].e]
	}
	return p.text[p.brackets[b].in:p.brackets[b].close]
}

// countsBracket: in "[Group]【銀色鉄道】 第7話「夜」" the text is the episode's title.
func (p *laidOut) countsBracket(k int) bool {
	if k < 1 || k > 2 || k == 2 && p.segments[0].bracket < 0 {
		return false
	}
	if at := p.segments[k].from; p.w.classAt(at) != cjk || p.w.tagAt(at) != tagEpisode {
		return false
	}
	s := p.segments[k-1]
	for i := s.from; i < s.to; i++ {
		if p.w.classAt(i) == cjk && !translators(p.w.word(i)) {
			return s.bracket >= 0 && p.titleBracket(s.span)
		}
	}
	return false
}

// translators reports whether a word ends as the names of Chinese groups do: "字幕组", "汉化社".
func translators(w string) bool {
	return slices.ContainsFunc(lists().translatorEndings, func(end string) bool { return strings.HasSuffix(w, end) })
}

func (p *words) outermost(i int) int {
	g := p.tokens[i].group
	for g >= 0 && p.brackets[g].outer >= 0 {
		g = p.brackets[g].outer
	}
	return g
}

// bracketsOnly: the text after the brackets says nothing: "[中文][Romaji][2022][1080p] more".
func (p *laidOut) bracketsOnly(top int) bool {
	texts := 0
	for _, s := range p.segments[:top] {
		switch {
		case s.bracket < 0:
		case p.unknown(s.span) && !p.promo(s.span):
			texts++
		case texts >= 2 && p.w.alone(s.from) && p.w.yearlike(s.from):
			return true
		}
	}
	return false
}
