package release

import (
	"slices"
	"strings"
)

// segment is a run of tokens inside one outermost bracket, or outside brackets.
type segment struct {
	span
	bracket int // the outermost bracket, -1 if there is none
}

const maxTitleSpans = 8

func (p *layoutStage) findLayout() {
	p.splitSegments()
	quoted := slices.IndexFunc(p.segments, func(s segment) bool { // "《Title》"
		return s.bracket >= 0 && p.bracketHoldsTitle(s.span) &&
			strings.HasPrefix(p.w.text[p.w.brackets[s.bracket].open:], "《")
	})
	if quoted >= 0 {
		p.titleStart = p.segments[quoted].from
		p.titleSpans = append(p.titleSpans, p.segments[quoted].span)
		p.findGroupBefore(quoted)
	} else if top := p.titleSegment(); top >= 0 {
		p.titleStart = p.segments[top].from
		for p.w.isStrongAt(p.titleStart) && p.w.tokens[p.titleStart].bracket < 0 {
			p.titleStart++
		}
		season, episode := p.marks.seasonSpan, p.marks.episodeSpan // "시즌1 1화 부제"
		p.startsWithNumber = p.titleStart > 0 && p.w.tokens[0].bracket < 0 && (p.w.tokens[0].tag == tagEpisode ||
			season.from == 0 && !season.empty() && season.to == episode.from && episode.to <= p.titleStart)
		p.findGroupBefore(top)
	} else {
		p.findTitleBrackets()
	}
	p.fansubStyle = !p.groupSpan.empty() || len(p.titleSpans) > 0
	p.findYear()
	p.findGroup()
}

func (p *layoutStage) splitSegments() {
	for i := range p.w.tokens {
		b := p.w.outermostBracket(i)
		if t := &p.w.tokens[i]; b < 0 && t.tag == noTag && t.class != number {
			p.lastPlainWord = i
		}
		if n := len(p.segments); n > 0 && p.segments[n-1].bracket == b {
			p.segments[n-1].to = i + 1
			continue
		}
		p.segments = append(p.segments, segment{span{i, i + 1}, b})
	}
}

// titleSegment returns the index of the segment outside brackets that holds the title, or -1 if a bracket holds it.
func (p *layoutStage) titleSegment() int {
	number := -1 // the first bracket with an episode number
	for k, s := range p.segments {
		switch {
		case s.bracket >= 0:
			if number < 0 && p.isEpisodeNumber(s.span) {
				number = k
			}
		case p.holdsTitle(s.span) && !p.isPosterName(k):
			if p.isCounterOfBracketTitle(k) {
				return -1
			}
			holdsTitle := func(s segment) bool { return p.bracketHoldsTitle(s.span) }
			if number >= 0 && slices.ContainsFunc(p.segments[:number], holdsTitle) {
				return -1
			}
			return k
		}
	}
	return -1
}

func (p *layoutStage) findGroupBefore(k int) {
	for _, s := range p.segments[:k] {
		if s.bracket >= 0 && p.mayBeGroup(s.span) {
			p.groupSpan = s.span
			return
		}
	}
}

// findTitleBrackets finds the brackets before the episode that hold titles. If there are several, the first is the
// group.
func (p *layoutStage) findTitleBrackets() {
	for k, s := range p.segments {
		if p.endsTitleBrackets(k) {
			if len(p.titleSpans) > 0 {
				break
			}
			continue
		}
		if s.bracket >= 0 && !p.isFilmWord(s.span) && len(p.titleSpans) < maxTitleSpans && p.bracketHoldsTitle(s.span) {
			p.titleSpans = append(p.titleSpans, s.span)
		}
	}
	if len(p.titleSpans) >= 2 {
		p.groupSpan = p.titleSpans[0]
		p.titleSpans = append(p.titleSpans[:0], p.titleSpans[1:]...)
	}
	if len(p.titleSpans) > 0 {
		p.titleStart = p.titleSpans[0].from
	}
}

// endsTitleBrackets reports whether the brackets with titles end before the k-th segment, for example because it is the
// episode number.
func (p *layoutStage) endsTitleBrackets(k int) bool {
	s := p.segments[k]
	if s.bracket < 0 { // an episode without a marker
		return p.w.classAt(s.from) == number && s.to-s.from <= 2 && !p.isAfterStar(s.from)
	}
	if p.isFilmWord(s.span) || len(p.titleSpans) == 1 && p.w.tokens[s.from].tag == tagDate {
		return false // the title follows
	}
	isTitle := len(p.titleSpans) == 1 && k+1 < len(p.segments) && p.isEpisodeNumber(p.segments[k+1].span) &&
		p.hasNoStrongTag(s.span) // although its words could be tags: "[Group][Free!][11]"
	return p.isEpisodeNumber(s.span) ||
		k > 0 && len(p.titleSpans) > 0 && !p.mostlyPlainWords(s.span) && !p.isPromo(s.span) && !isTitle
}

// holdsTitle reports whether a segment outside brackets holds a title.
func (p *layoutStage) holdsTitle(s span) bool {
	if s.to < len(p.w.tokens) && p.isAfterStar(s.from) && strings.HasPrefix(p.w.gapAfter(s.to-1), "★") {
		return false // "★10月新番★"
	}
	numbers := 0
	for i := s.from; i < s.to; i++ {
		t := &p.w.tokens[i]
		switch {
		case p.w.isStrongAt(i) && numbers == 0 && slices.Contains(leadingTags, t.tag):
		case p.w.isStrongAt(i):
			return numbers > 0 && (t.tag != tagEnd || i == 1 && len(p.w.tokens) == 2) // "12.大结局": an episode
		case t.tag == tagMovie && t.class == cjk && t.start > 0 && s.to-s.from == 1: // "★剧场版★[Title]"
		case p.isNumber(i):
			numbers++
		case t.tag == tagEnd && numbers > 0:
		default:
			return true
		}
	}
	return numbers > 0 && p.isNumericTitle(s)
}

var leadingTags = []tag{tagBatch, tagSite, tagPromo, tagDate, tagEpisode, tagSeason}

// isNumericTitle reports whether a segment of numbers is a title: "86 - 07", "300 (2006)".
func (p *layoutStage) isNumericTitle(s span) bool {
	for i := s.from; i+1 < s.to; i++ {
		if isSpacedDash(p.w.gapAfter(i)) {
			return true
		}
	}
	beforeYear := s.to < len(p.w.tokens) && p.w.isAloneInBracket(s.to) && p.w.isYearlike(s.to)
	if p.lastPlainWord >= s.to && !beforeYear {
		return false // a word outside brackets follows
	}
	seasonAfter := !p.marks.seasonSpan.empty() && p.marks.seasonSpan.from > s.from
	return len(p.segments) == 1 || s.from == 0 || !p.marks.episodeSpan.empty() || seasonAfter || beforeYear
}

// isPosterName reports whether the k-th segment names who posted the file: "SomeBot.[Group] Title - 07".
func (p *layoutStage) isPosterName(k int) bool {
	if k > 0 || p.segments[0].to != 1 || len(p.segments) < 3 || p.segments[2].bracket >= 0 {
		return false
	}
	between := p.w.text[p.w.tokens[0].end:p.w.brackets[p.segments[1].bracket].innerStart]
	return between == ".[" && p.holdsTitle(p.segments[2].span)
}

// isFilmWord reports whether a segment is only a word for "film": "[Group][剧场版][Title]".
func (p *layoutStage) isFilmWord(s span) bool {
	return s.to-s.from == 1 && p.w.tokens[s.from].tag == tagMovie
}

// mostlyPlainWords reports whether a segment has more plain words than tags.
func (p *layoutStage) mostlyPlainWords(s span) bool {
	plain, tags := 0, 0
	for i := s.from; i < s.to; i++ {
		switch t := &p.w.tokens[i]; {
		case t.tag == noTag && t.class != number:
			plain++
		case p.w.isStrongAt(i) && t.tag != tagSeason && t.tag != tagPart && t.tag != tagMovie:
			tags++
		}
	}
	return plain > 0 && (tags == 0 || plain > tags)
}

// isEpisodeNumber reports whether the segment is an episode number: "07", "07v2", "12END", "01-12 Fin", "01-13+Drama".
func (p *layoutStage) isEpisodeNumber(s span) bool {
	if p.w.tokens[s.from].tag == tagEpisode {
		return true
	}
	if s.to-s.from > 1 && p.w.lower(s.from) == "tv" {
		s.from++
	}
	if !p.startsEpisodeNumber(s.from) {
		return false
	}
	for i := s.from + 1; i < s.to; i++ {
		if strings.Contains(p.w.gapBefore(i), "+") && p.w.tokens[i].class != number {
			return true
		}
		if !p.mayFollowEpisode(i, i == s.from+1) {
			return false
		}
	}
	return true
}

func (p *layoutStage) startsEpisodeNumber(i int) bool {
	t := &p.w.tokens[i]
	if p.w.isStrongAt(i) || !isDigit(p.w.text[t.start]) || p.w.isYearlike(i) {
		return false
	}
	switch t.class {
	case number:
		return p.w.length(i) <= 4
	case mixed:
		_, ok := p.w.plainEpisode(i)
		return ok && p.w.length(i) <= 7
	default:
		return false
	}
}

// mayFollowEpisode reports whether token i may follow an episode number in its bracket: "[07 1080p]". adjacent says
// that it comes right after the number.
func (p *layoutStage) mayFollowEpisode(i int, adjacent bool) bool {
	switch t := &p.w.tokens[i]; t.tag {
	case tagEnd, tagBatch:
		return true
	case tagSource, tagSpecial:
		return t.class != cjk || !adjacent
	case tagResolution, tagVideo, tagAudio, tagContainer:
		return !t.weak
	case tagPromo:
		return t.class != alpha
	default:
		return t.class != alpha && (t.class != cjk || !adjacent)
	}
}

func (p *layoutStage) hasNoStrongTag(s span) bool { return !p.w.anyToken(s, p.w.isStrongAt) }

func (p *layoutStage) isAfterStar(i int) bool { return strings.HasSuffix(p.w.gapBefore(i), "★") }

func (p *layoutStage) isNumber(i int) bool {
	_, ok := p.w.plainEpisode(i)
	return ok || p.w.tokens[i].class == number
}

func (p *layoutStage) bracketHoldsTitle(s span) bool {
	if p.isPromo(s) || p.isFilmWord(s) {
		return false
	}
	text := func(i int) bool { return p.w.tagAt(i) == noTag && p.w.classAt(i) != number }
	return p.w.anyToken(s, text) || p.hasNoStrongTag(s) && p.w.classAt(s.from) != number
}

// isPromo reports whether a bracket is an announcement, such as the month of broadcast or a call for translators.
func (p *layoutStage) isPromo(s span) bool {
	return p.w.tagAt(s.from) == tagPromo && s.to-s.from <= 3
}

func (p *layoutStage) mayBeGroup(s span) bool {
	strong, plain := 0, 0
	for i := s.from; i < s.to; i++ {
		switch t := &p.w.tokens[i]; {
		case t.tag == tagSite, t.tag == tagPromo, t.tag == tagYear, t.tag == tagSeason, t.tag == tagEpisode, t.tag == tagID:
			return false
		case p.w.isStrongAt(i):
			strong++
		default:
			plain++
		}
	}
	return plain > 0 && (strong == 0 || plain > 1 && strong == 1 && !strings.Contains(p.w.segmentText(s), " "))
}

func (p *words) segmentText(s span) string {
	b := p.outermostBracket(s.from)
	if b < 0 {
		return p.text[p.tokens[s.from].start:p.tokens[s.to-1].end]
	}
	return p.text[p.brackets[b].innerStart:p.brackets[b].close]
}

// isCounterOfBracketTitle reports whether the k-th segment starts with an episode counter and the bracket before it
// holds the title: "[Group]【銀色鉄道】 第7話「夜」".
func (p *layoutStage) isCounterOfBracketTitle(k int) bool {
	if k < 1 || k > 2 || k == 2 && p.segments[0].bracket < 0 {
		return false
	}
	if at := p.segments[k].from; p.w.classAt(at) != cjk || p.w.tagAt(at) != tagEpisode {
		return false
	}
	s := p.segments[k-1]
	for i := s.from; i < s.to; i++ {
		endsIn := func(end string) bool { return strings.HasSuffix(p.w.word(i), end) } // "字幕组", "汉化社"
		if p.w.classAt(i) == cjk && !slices.ContainsFunc(lists().translatorEndings, endsIn) {
			return s.bracket >= 0 && p.bracketHoldsTitle(s.span)
		}
	}
	return false
}

func (p *words) outermostBracket(i int) int {
	g := p.tokens[i].bracket
	for g >= 0 && p.brackets[g].outer >= 0 {
		g = p.brackets[g].outer
	}
	return g
}
