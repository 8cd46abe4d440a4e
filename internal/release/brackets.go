package release

import (
	"slices"
	"strings"
)

// filmWord reports whether a segment is a word for films alone: "[Group][剧场版][Title]".
func (p *laidOut) filmWord(s span) bool {
	return s.to-s.from == 1 && p.w.tokens[s.from].tag == tagMovie
}

// unknown reports whether the segment holds text that no table explains.
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
	if s.to-s.from > 1 && among(p.w.word(s.from), "tv") {
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
		_, ok := p.w.loose(i)
		return ok && p.w.width(i) <= 7
	default:
		return false
	}
}

// besideNumber reports whether the token at i can stand behind an episode number in its bracket; next says that it
// stands right behind it.
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

func (p *laidOut) noStrong(s span) bool {
	for i := s.from; i < s.to; i++ {
		if p.w.strongAt(i) {
			return false
		}
	}
	return true
}

func (p *laidOut) behindStar(i int) bool { return strings.HasSuffix(p.w.before(i), "★") }

// starred reports whether a segment stands between stars: "★10月新番★".
func (p *laidOut) starred(s span) bool {
	return s.to < len(p.w.tokens) && p.behindStar(s.from) && strings.HasPrefix(p.w.gap(s.to-1), "★")
}

func (p *laidOut) numeric(i int) bool {
	if p.w.tokens[i].class == number {
		return true
	}
	if p.w.tokens[i].class != mixed {
		return false
	}
	_, ok := p.w.loose(i)
	return ok
}

func (p *laidOut) bareEpisode(s span) bool {
	return p.w.tokens[s.from].class == number && s.to-s.from <= 2 && !p.behindStar(s.from)
}

// titleBracket reports whether a bracket can hold a title or a group's name.
func (p *laidOut) titleBracket(s span) bool {
	if p.promo(s) || p.filmWord(s) {
		return false
	}
	for i := s.from; i < s.to; i++ {
		if t := &p.w.tokens[i]; t.tag == none && t.class != number {
			return true
		}
	}
	return p.noStrong(s) && p.w.tokens[s.from].class != number
}

// promo reports whether a bracket only says season of broadcast, kind or call for translators.
func (p *laidOut) promo(s span) bool {
	for i := s.from; i < s.to; i++ {
		if p.w.tokens[i].tag == tagPromo {
			return s.to-s.from <= 3 && i == s.from
		}
	}
	return false
}

// groupLike reports whether the bracket before a title names who released it.
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

// countsBracket reports whether the k-th segment begins with a counter of what the bracket before it names, so that its
// text is the episode's title: "【銀色鉄道】 第7話「夜」", "[Group]【銀色鉄道】 第7話「夜」".
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

func (p *laidOut) titleBefore(k int) bool {
	for _, s := range p.segments[:k] {
		if p.titleBracket(s.span) {
			return true
		}
	}
	return false
}

// outermost returns the bracket at top level around token i, -1 for none.
func (p *words) outermost(i int) int {
	g := p.tokens[i].group
	for g >= 0 && p.brackets[g].outer >= 0 {
		g = p.brackets[g].outer
	}
	return g
}

// bracketsOnly reports whether the brackets hold the whole name although text follows them:
// "[中文][Romaji][2022][1080p] more".
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
