package release

import (
	"slices"
	"strings"
)

// groupCandidate is the word or words at the end of a name that may be the group: "x264-GROUP".
type groupCandidate struct {
	place     // its first token
	stage     *layoutStage
	lastToken int  // its last token
	afterDash bool // a dash comes before it
}

// groupExceptions list why the last words of a name are not the release group.
var groupExceptions = []reason[groupCandidate]{
	{"a tag without a dash", func(t groupCandidate) bool { return !t.afterDash && t.isStrong() }, true},
	{"no dash, and no tag before it", func(t groupCandidate) bool {
		return !t.afterDash && !t.neighbor(-1).isStrong()
	}, true},
	{"no dash, and a season, episode or year before it", func(t groupCandidate) bool {
		tag := t.neighbor(-1).tag
		return !t.afterDash && (tag == tagSeason || tag == tagEpisode || tag == tagYear)
	}, true},
	{"a resolution, season or episode", func(t groupCandidate) bool {
		return t.tag == tagResolution || t.tag == tagSeason || t.tag == tagEpisode
	}, true},
	{"a number after the title, or after a dash between spaces", func(t groupCandidate) bool {
		_, ok := t.w.plainEpisode(t.index)
		return t.class == number && !t.neighbor(-1).isStrong() ||
			ok && t.index == t.lastToken && isSpacedDash(t.gapBefore())
	}, true},
	{"a name that says nothing of how it was made", func(t groupCandidate) bool {
		return !t.stage.tags.hasMediaTag && !(t.gapBefore() == "-" && !t.stage.marks.episodeSpan.empty() && t.w.isDotted)
	}, true},
	{"a dash between spaces after the title or episode", func(t groupCandidate) bool {
		tag := t.neighbor(-1).tag
		return tag == noTag && !strings.HasPrefix(t.gapBefore(), "-") || tag == tagEpisode && isSpacedDash(t.gapBefore())
	}, true},
}

// findGroup finds the release group: "[Group]" at the start, "-GROUP" at the end, or a bracket after the title.
func (p *layoutStage) findGroup() {
	if !p.groupSpan.empty() {
		p.group = strings.TrimSpace(p.w.segmentText(p.groupSpan))
	}
	if p.group == "" && !p.findTrailingGroup() {
		p.findGroupAfterTitle()
	}
}

func (p *layoutStage) findTrailingGroup() bool {
	t, ok := p.trailingGroup()
	if !ok || applyRules(groupExceptions, t) {
		return false
	}
	if i := t.index; i > 1 && p.w.gapBefore(i) == "-" && p.w.gapBefore(i-1) != "-" && p.w.length(i-1) <= 1 &&
		p.w.tokens[i-1].tag == noTag && p.w.tokens[i-1].bracket < 0 && p.w.tokens[i-2].tag != noTag {
		t.index-- // "x264-D-Z0N3"
	}
	p.groupSpan = span{t.index, t.lastToken + 1}
	p.group = p.w.text[p.w.tokens[t.index].start:p.w.tokens[t.lastToken].end]
	for i := t.index; i <= t.lastToken; i++ {
		if p.w.tokens[i].weak {
			p.w.tokens[i].tag, p.w.tokens[i].weak = noTag, false
		}
	}
	return true
}

func (p *layoutStage) trailingGroup() (t groupCandidate, ok bool) {
	last := len(p.w.tokens) - 1
	for last >= 0 && p.w.tokens[last].bracket >= 0 {
		last--
	}
	if last <= 0 || last <= p.titleStart {
		return t, false
	}
	for last > 1 && (p.w.gapBefore(last) == "-" && wordSets()["reposter"][p.w.lower(last)] ||
		p.w.gapBefore(last) == "." && p.w.tokens[last].word.value == "SAMPLE") {
		last--
	}
	from := last
	for from > p.titleStart+1 && last-from < 3 && !isDash(p.w.gapBefore(from)) && p.w.inSameBracket(from-1, last) &&
		p.w.tokens[from-1].tag == noTag {
		from--
	}
	t = groupCandidate{place: p.w.place(from), stage: p, lastToken: last, afterDash: isDash(p.w.gapBefore(from))}
	return t, from > 0
}

// isDash reports whether the text between two tokens is a dash, with or without spaces.
func isDash(gap string) bool { return gap == "-" || isSpacedDash(gap) }

func (p *layoutStage) findGroupAfterTitle() {
	for k := len(p.segments) - 1; k > 0; k-- {
		s := p.segments[k]
		if s.bracket < 0 || s.from < p.titleStart || !p.mostlyPlainWords(s.span) || s.from == p.yearAt || p.w.isArc(s.span) {
			continue
		}
		plain, all := p.w.countUntagged(s.span), s.to-s.from
		if plain == all || plain >= 2 && all <= 3 {
			p.group = strings.TrimSpace(p.w.segmentText(s.span))
			p.groupSpan = s.span
			return
		}
	}
}

func (p *words) countUntagged(s span) int {
	n := 0
	for i := s.from; i < s.to; i++ {
		if p.tokens[i].tag == noTag {
			n++
		}
	}
	return n
}

const (
	firstYear = 1900 // works before this year are not expected
	lastYear  = 2034 // a larger number is part of a title
)

func (p *words) isYearlike(i int) bool {
	return p.isPlainNumber(i) && p.length(i) == 4 && p.tokens[i].num >= firstYear && p.tokens[i].num <= lastYear
}

// yearCandidate is a number that may be the year of the work.
type yearCandidate struct {
	place
	stage     *layoutStage
	firstText int // the first token that may belong to a title
	firstTag  int // the first token after some text that cannot belong to one
}

// yearRules rank the places where a year may stand. The best place of a name wins. A number that begins the name is the
// title.
var yearRules = []rule[yearCandidate, int]{
	{"the first of a range of years", func(y yearCandidate) bool {
		gap := y.gapAfter()
		return y.w.isYearlike(y.index+1) && (gap == "-" || gap == " - ") && y.stage.marks.seasonSpan.empty() &&
			y.outsideBrackets()
	}, noYear},
	{"the end of a range of years", func(y yearCandidate) bool {
		gap := y.gapBefore()
		return y.w.isYearlike(y.index-1) && len(gap) <= 3 && strings.Contains(gap, "-")
	}, noYear},
	{"alone in a bracket", func(y yearCandidate) bool { return y.w.isAloneInBracket(y.index) }, yearAlone},
	{"in front of all, after it a dash", func(y yearCandidate) bool {
		return y.index == 0 && isSpacedDash(y.w.gapAfter(0)) && y.w.classAt(1) == alpha && y.stage.marks.episodeSpan.empty()
	}, yearAmongTags},
	{"the end of a Han title", func(y yearCandidate) bool {
		return y.gapBefore() == "" && y.neighbor(-1).class == cjk && y.neighbor(1).tag == tagEpisode
	}, noYear},
	{"in front of a Han title", func(y yearCandidate) bool {
		return y.index == y.firstText && y.gapAfter() != "" && y.neighbor(1).class == cjk &&
			y.w.inSameBracket(y.index, y.index+1)
	}, yearAmongTags},
	{"the title begins with it", func(y yearCandidate) bool { return y.index == y.firstText }, noYear},
	{"the title ends with it", func(y yearCandidate) bool {
		return y.outsideBrackets() && y.index <= y.firstTag && y.endsTitle()
	}, yearAtEnd},
	{"among others in a bracket", func(y yearCandidate) bool { return !y.outsideBrackets() }, yearInBracket},
	{"after the episode, and text follows", func(y yearCandidate) bool {
		at := y.stage.marks.episodeSpan
		return !at.empty() && (!y.w.titleMayEndBefore(y.index+1) || y.index > at.to && !y.w.endOrTagFollows(y.index))
	}, noYear},
	{"among the tags", func(y yearCandidate) bool { return y.index > y.firstTag }, yearAmongTags},
}

// The ranks of the places where a year may stand, worst first.
const (
	noYear = iota
	yearAmongTags
	yearInBracket
	yearAtEnd // if a name has several years in such places, the last one wins
	yearAlone
)

func (p *layoutStage) findYear() {
	best, rank := -1, noYear
	year := yearCandidate{stage: p, firstText: p.w.firstText(), firstTag: p.w.firstStrongTag()}
	for i := range p.w.tokens {
		if !p.w.isYearlike(i) {
			continue
		}
		if p.w.gapAfter(i) == "" && p.w.classAt(i+1) == cjk && p.w.word(i+1) == "年" &&
			(p.w.gapBefore(i) == " " || p.w.gapBefore(i) == ".") {
			p.w.setTags(i+1, i+2, tagPromo) // "2022年"
			year.firstTag = min(year.firstTag, i+1)
		}
		year.place = p.w.place(i)
		r := applyRules(yearRules, year)
		if r > rank || r == yearAtEnd && r == rank {
			best, rank = i, r
		}
	}
	if best >= 0 {
		p.yearAt, p.year = best, p.w.tokens[best].num
		p.w.setTags(best, best+1, tagYear)
		if best == p.titleStart {
			p.titleStart++
		}
	}
}

func (y yearCandidate) outsideBrackets() bool { return y.bracket < 0 }

func (y yearCandidate) endsTitle() bool {
	if !y.w.inSameBracket(y.index, y.index+1) ||
		isSpacedDash(y.gapAfter()) && y.w.isPlainNumber(y.index+1) && !y.w.isYearlike(y.index+1) &&
			y.w.titleEndsAfterNumber(y.index+1) {
		return true
	}
	words := 0
	for j := y.index + 1; j < y.firstTag && y.w.tokens[j].bracket < 0; j++ {
		if y.w.tokens[j].tag == noTag {
			words++
		}
	}
	if y.firstTag >= len(y.w.tokens) {
		return words == 0 || y.neighbor(1).tag != noTag
	}
	return words == 0 || words <= 3 && y.stage.tags.hasMediaTag
}

func (p *words) endOrTagFollows(i int) bool {
	return !p.inSameBracket(i, i+1) || p.tokens[i+1].tag != noTag
}

// firstStrongTag returns the first token after some text that cannot be part of a title, or len(tokens).
func (p *words) firstStrongTag() int {
	for i := p.firstText() + 1; i < len(p.tokens); i++ {
		if t := p.tokens[i].tag; p.isStrongAt(i) && t != tagYear && t != tagVersion {
			return i
		}
	}
	return len(p.tokens)
}

// firstText returns the first token at top level that may belong to a title.
func (p *words) firstText() int {
	return max(slices.IndexFunc(p.tokens, func(t token) bool { return t.bracket < 0 && !t.isStrong() }), 0)
}
