package release

// This file decides which number that stands alone is an episode. Every
// candidate gets points for where it stands; the best above zero wins, the
// later one of two equals.

// How much a place speaks for a number being the episode.
const (
	dashThenEnd  = 100 // "Title - 07 [...]", "Title - 07 - Name"
	bracketed    = 80  // "[Title][07][1080p]"
	dashThenText = 70  // "Title - 07 Name"
	rangeInRound = 65  // "Title 2 (01-12)"
	lastBefore   = 60  // "Title 07 [1080p]"
	inRound      = 45  // "Title (07)"
	amid         = 30  // "Title 07 Name"
)

// loose reads an episode number without a sign: "07", "07v2", "09a", "12END", "13完" is two words.
func (p *lexed) loose(i int) (int, bool) {
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

// findNumber chooses a bare episode number when no marker named one.
func (p *numbered) findNumber() {
	if !p.episode.empty() || p.first < 0 {
		return
	}
	if p.seasonDotEpisode() {
		return
	}
	best, points := -1, 0
	for i := range p.tokens {
		if v := p.points(i); v > 0 && v >= points && !(v == points && points == bracketed) {
			best, points = i, v
		}
		p.steps++
	}
	if best < 0 && p.folder {
		return
	}
	if best < 0 {
		p.leadingNumber()
		p.partAsEpisode()
		return
	}
	p.bare = true
	if points == dashThenEnd && p.startsRange(best-1) {
		best--
	}
	p.takeLoose(best)
	p.extendRange()
}

// takeLoose records the bare number at i.
func (p *numbered) takeLoose(i int) {
	n, _ := p.loose(i)
	t := p.tokens[i]
	c := cursor{p.text[:t.e], t.s}
	_, _, _ = c.number(4)
	if version := c.suffix(); version > 0 {
		p.version = version
	}
	v := float64(n)
	to := i + 1
	if f, ok := p.fractionAt(i); ok {
		v += f
		to = i + 2
	}
	p.setEpisode(i, to, v)
}

// fractionAt reads the ".5" behind the number at i.
func (p *lexed) fractionAt(i int) (float64, bool) {
	if i+1 < len(p.tokens) && p.gap(i) == "." && p.tokens[i].class == number && p.tokens[i+1].group == p.tokens[i].group {
		w := p.word(i + 1)
		if len(w) >= 1 && digit(w[0]) && (len(w) == 1 || len(w) == 3 && w[1] == 'v') && w[0] != '0' && p.tokens[i+1].tag == none && p.gap(i+1) != "." {
			return float64(w[0]-'0') / 10, true
		}
	}
	return 0, false
}

// points says how much speaks for the number at i.
func (p *numbered) points(i int) int {
	t := &p.tokens[i]
	if t.tag != none || t.class == cjk || t.class == alpha {
		return 0
	}
	n, ok := p.loose(i)
	if !ok || i == p.yearAt || !p.dated.empty() && p.dated.from > 0 && i >= p.dated.to {
		return 0
	}
	width := 0
	for k := t.s; k < t.e && digit(p.text[k]); k++ {
		width++
	}
	padded := p.text[t.s] == '0' && width > 1
	if t.group >= 0 {
		return p.pointsInBracket(i, width)
	}
	if i <= p.first || len(p.gap(i)) > 0 && p.gap(i)[0] == '%' {
		return 0
	}
	if _, ok := p.fractionAt(i); !ok && i+1 < len(p.tokens) && (p.gap(i) == "." && p.tokens[i+1].class == number && p.tokens[i+1].tag == none && !p.dotted ||
		p.gap(i) == "/" || p.gap(i) == ",") {
		return 0
	}
	if i > 0 && (p.tokens[i-1].class == number && p.gap(i-1) != " " && !dashGap(p.gap(i-1)) && p.tokens[i-1].tag != tagYear || p.before(i) == "." && len(p.word(i-1)) == 2 && p.word(i-1) == "No") {
		return 0
	}
	// "Ver 1.1", "Vol. 3", "Act.2": the number belongs to the word before it.
	if i > 0 && (p.tokens[i-1].tag == tagVolume || p.tokens[i-1].word.role == volumeWord || p.tokens[i-1].word.role == partWord && !(p.tokens[i-1].tag == tagPart && dashGap(p.before(i))) || p.tokens[i-1].tag == tagMovie && !dashGap(p.before(i))) {
		return 0
	}
	if i > 0 && p.tokens[i-1].tag == none && p.rangeGap(p.before(i)) {
		if m, ok := p.loose(i - 1); ok && m < n {
			return 0 // the end of a range
		}
	}
	if i > 0 && p.yearlike(i) && p.yearlike(i-1) || t.s > 0 && p.text[t.s-1] == '\'' {
		return 0
	}
	if i+1 < len(p.tokens) && p.gap(i) == "" && p.tokens[i+1].class == cjk && p.tokens[i+1].tag != tagEnd {
		return 0 // "12궁", "2年級"
	}
	if i > 0 {
		switch p.tokens[i-1].tag {
		case tagVideo, tagAudio, tagTech:
			if !p.tokens[i-1].weak {
				return 0 // a group such as "236@site"
			}
		default:
		}
	}
	dash := dashGap(p.before(i))
	if p.folder && !dash {
		return 0
	}
	year := p.nextYear(i)
	if p.folder && year && width == 4 {
		return 0 // "Title - 1874 (2024)"
	}
	closes := p.closesNumber(i)
	switch {
	case !dash && p.subtitled(i):
		return 0
	case dash && closes && !(year && width == 1 && n > 0):
		return dashThenEnd
	case dash && width >= 2 && !closes && (width == 2 || width == 3 || !p.yearNumber(n)) && !(year && !padded):
		return dashThenText
	case dash:
		return 0
	case year && !padded:
		return 0
	case closes && i > 0 && p.tokens[i-1].tag != none && !p.tokens[i-1].weak && p.tokens[i-1].tag != tagSeason && p.tokens[i-1].tag != tagYear:
		return 0
	case closes && (width >= 2 && !(width == 4 && p.yearNumber(n))):
		if padded || width >= 3 || p.fansub || !p.season.empty() || !p.media || p.television(i+1) || !p.dotted && p.bracketNext(i) {
			return lastBefore
		}
	case closes && width == 1 && (p.television(i+1) || p.before(i) == "-" && !p.media || p.rangeTo(i)):
		return lastBefore
	case !closes && p.yearAt > i && !p.fansub && p.season.empty():
		return 0
	case !closes && padded && (p.dotted || p.fansub || p.media) && p.season.empty():
		return amid
	case !closes && width == 2 && p.fansub && !p.dotted && (p.gap(i) == " " || p.gap(i) == "_") && p.season.empty():
		return amid
	case !closes && width == 3 && !p.media && p.before(i) == "-":
		return amid
	}
	return 0
}

// subtitled says whether the number at i, which no dash precedes, is followed by a subtitle and a year in brackets, as in the title
// of a film: "Title 02 - The Long Night (2001)". A year behind an episode's own title is of no use to anybody.
func (p *numbered) subtitled(i int) bool {
	if p.yearAt <= i+1 || p.tokens[p.yearAt].group < 0 || !dashGap(p.gap(i)) {
		return false
	}
	for j := i + 1; j < p.yearAt; j++ {
		if t := &p.tokens[j]; t.group >= 0 || t.tag != none && !t.weak {
			return false
		}
	}
	return true
}

func (p *lexed) yearNumber(n int) bool { return n >= firstYear && n <= 2099 }

// nextYear says whether the chosen year stands right behind token i, so that a number there is the title's.
func (p *numbered) nextYear(i int) bool {
	return p.yearAt == i+1 || p.yearAt == i+2 && p.tokens[i+1].class == number && p.rangeGap(p.gap(i))
}

// pointsInBracket is points for a number in a bracket.
func (p *numbered) pointsInBracket(i, width int) int {
	g := p.tokens[i].group
	b := &p.brackets[g]
	if i != b.first && !(i == b.first+1 && p.word(b.first) == "TV") || p.yearlike(i) && b.round || i < p.first {
		return 0
	}
	s := span{i, b.behind}
	if !p.numberOnly(s) || b.outer >= 0 && p.brackets[b.outer].first == b.first {
		return 0
	}
	if p.yearlike(i) && s.to-s.from == 1 {
		return 0
	}
	if b.round {
		if n, _ := p.loose(i); width == 4 && n >= 1800 && n < 2100 {
			return 0
		}
		if s.to-s.from > 1 && width >= 2 && p.rangeGap(p.gap(i)) {
			return rangeInRound
		}
		if s.to-s.from > 1 || width >= 2 {
			return inRound
		}
		return 0
	}
	return bracketed
}

// closesNumber says whether the title or the name ends behind the number at i.
func (p *lexed) closesNumber(i int) bool {
	j := i + 1
	if _, ok := p.fractionAt(i); ok {
		j++
	}
	for j < len(p.tokens) && j < i+16 && p.tokens[j].group == p.tokens[i].group && p.rangeGap(p.gap(j-1)) && p.tokens[j].tag == none {
		p.steps++
		if _, ok := p.loose(j); !ok {
			break
		}
		j++
	}
	if j >= len(p.tokens) || p.tokens[j].group != p.tokens[i].group || dashGap(p.gap(j-1)) {
		return true
	}
	t := &p.tokens[j]
	if t.tag == tagSeason && t.class != cjk {
		return false
	}
	if t.tag != none && (!t.weak || t.tag == tagEnd || t.tag == tagBatch && lower(p.word(j)) == "complete") {
		return true
	}
	if t.tag == none {
		return false
	}
	// weak tags up to the end, a bracket or a strong one
	for j < len(p.tokens) && j < i+16 && p.tokens[j].group == p.tokens[i].group {
		p.steps++
		if p.tokens[j].tag == none {
			return false
		}
		if !p.tokens[j].weak {
			return true
		}
		j++
	}
	return true
}

// bracketNext says whether a bracket opens behind token i.
func (p *lexed) bracketNext(i int) bool {
	return i+1 < len(p.tokens) && p.tokens[i].group < 0 && p.tokens[i+1].group >= 0
}

// television says whether a tag from token i on shows a television recording or broadcast.
func (p *tagged) television(i int) bool { return p.broadcast >= i }
