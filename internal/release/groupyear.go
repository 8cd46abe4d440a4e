package release

import (
	"slices"
	"strings"
)

// groupCandidate is the word or words at the end of a name that may be the group: "x264-GROUP".
type groupCandidate struct {
	place // its first token
	in    *layoutStage
	last  int  // its last token
	dash  bool // it comes after a dash
}

var notGroups = []reason[groupCandidate]{
	because("a tag without a dash", "Silver Rail 1080p BluRay -> Silver Rail",
		func(t groupCandidate) bool { return !t.dash && t.strong() }),
	because("no dash, and no tag before it", "Silver Rail Ed PAL [1080p].mkv -> Silver Rail Ed",
		func(t groupCandidate) bool { return !t.dash && !t.at(-1).strong() }),
	because("no dash, and a season, episode or year before it",
		"Silver Rail S02E05 Night [1080p].mkv -> Silver Rail s2 e5 episode",
		func(t groupCandidate) bool {
			tag := t.at(-1).tag
			return !t.dash && (tag == tagSeason || tag == tagEpisode || tag == tagYear)
		}),
	because("a resolution", "Silver.Rail.S01E02-720p -> Silver Rail s1 e2 episode",
		func(t groupCandidate) bool { return t.tag == tagResolution }),
	because("a number after the title", "Silver Rail 1080p 1-3 -> Silver Rail",
		func(t groupCandidate) bool { return t.class == number && !t.at(-1).strong() }),
	because("a name that says nothing of how it was made", "Silver Rail-Night.mkv -> Silver Rail-Night",
		func(t groupCandidate) bool {
			return !t.in.tags.hasMediaTag && !(t.before() == "-" && !t.in.marks.episodeSpan.empty() && t.w.dotted)
		}),
	because("a dash between spaces after the title", "Silver Rail - Night [1080p].mkv -> Silver Rail - Night",
		func(t groupCandidate) bool { return t.at(-1).tag == none && !strings.HasPrefix(t.before(), "-") }),
}

// findGroup finds the release group: "[Group]" at the start, "-GROUP" at the end, or a bracket after the title.
func (p *layoutStage) findGroup() {
	if !p.groupSpan.empty() {
		p.group = strings.TrimSpace(p.w.segmentText(p.groupSpan))
		for strings.HasPrefix(p.group, "[") && !strings.Contains(p.group, "]") {
			p.group = p.group[1:]
		}
	}
	if p.group == "" && !p.findTrailingGroup() {
		p.findGroupAfterTitle()
	}
}

func (p *layoutStage) findTrailingGroup() bool {
	t, ok := p.trailingWords()
	if !ok || decide(notGroups, t) {
		return false
	}
	if p.dashInGroup(t.i) {
		t.i--
	}
	p.groupSpan = span{t.i, t.last + 1}
	p.group = p.w.text[p.w.tokens[t.i].s:p.w.tokens[t.last].e]
	for i := t.i; i <= t.last; i++ {
		if p.w.tokens[i].weak {
			p.w.tokens[i].tag, p.w.tokens[i].weak = none, false
		}
	}
	return true
}

func (p *layoutStage) trailingWords() (t groupCandidate, ok bool) {
	last := len(p.w.tokens) - 1
	for last >= 0 && p.w.tokens[last].group >= 0 {
		last--
	}
	if last <= 0 || last <= p.first {
		return t, false
	}
	for last > 1 && p.isSuffixAfterGroup(last) {
		last--
	}
	from := last
	for from > p.first+1 && last-from < 3 && !dashed(p.w.before(from)) && p.w.beside(from-1, last) &&
		p.w.tokens[from-1].tag == none {
		from--
	}
	return groupCandidate{place: p.w.place(from), in: p, last: last, dash: dashed(p.w.before(from))}, from > 0
}

func dashed(gap string) bool { return gap == "-" || dashGap(gap) }

// isSuffixAfterGroup reports whether token i was added after the group by a reposter or a player.
func (p *layoutStage) isSuffixAfterGroup(i int) bool {
	return p.w.before(i) == "-" && lists().reposters[p.w.lower(i)] ||
		p.w.before(i) == "." && p.w.tokens[i].word.value == "SAMPLE"
}

// dashInGroup reports whether the group at token i has a dash in it after a single letter: "x264-D-Z0N3".
func (p *layoutStage) dashInGroup(i int) bool {
	return i > 1 && p.w.before(i) == "-" && p.w.before(i-1) != "-" && p.w.width(i-1) <= 1 &&
		p.w.tokens[i-1].tag == none && p.w.tokens[i-1].group < 0 && p.w.tokens[i-2].tag != none
}

func (p *layoutStage) findGroupAfterTitle() {
	for k := len(p.segments) - 1; k > 0; k-- {
		s := p.segments[k]
		if s.bracket < 0 || s.from < p.first || !p.mostlyPlainWords(s.span) || s.from == p.yearAt {
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
		if p.tokens[i].tag == none {
			n++
		}
	}
	return n
}

const (
	firstYear = 1900 // no earlier work is released under these names
	lastYear  = 2034 // a number beyond is part of a title
)

func (p *words) yearlike(i int) bool {
	return p.plainNumber(i) && p.width(i) == 4 && p.tokens[i].num >= firstYear && p.tokens[i].num <= lastYear
}

type yearPlace struct {
	place
	in        *layoutStage
	firstText int // the first token that may belong to a title
	firstTag  int // the first token after some text that cannot belong to one
}

// The best place of a name wins. A number that could be a year but stands first is the title.
var yearRules = []rule[yearPlace, int]{
	when("the first of a range of years", "Silver Rail 1080p 2009-2012 -> Silver Rail", func(y yearPlace) bool {
		gap := y.gap()
		return y.w.yearlike(y.i+1) && (gap == "-" || gap == " - ") && y.in.marks.seasonSpan.empty() && y.outside()
	}, noYear),
	when("the end of a range of years", "Silver Rail 2009-2012.mkv -> Silver Rail 2009-2012", func(y yearPlace) bool {
		gap := y.before()
		return y.w.yearlike(y.i-1) && len(gap) <= 3 && strings.Contains(gap, "-")
	}, noYear),
	when("right after the marks of the title", "《Silver Rail》2009.Night.mkv -> Silver Rail y2009 movie",
		func(y yearPlace) bool {
			return len(y.in.titleSpans) == 1 && y.in.titleSpans[0].to == y.i && y.in.first < y.i
		}, yearAlone),
	when("alone in a bracket", "Silver Rail (2009) 2012.mkv -> Silver Rail y2009 movie",
		func(y yearPlace) bool { return y.w.alone(y.i) }, yearAlone),
	when("a bracket of two years", "Silver Rail/(2009-2012).mkv -> Silver Rail y2009 movie", func(y yearPlace) bool {
		return !y.outside() && y.i == y.w.brackets[y.group].from && y.gap() == "-" && y.w.yearlike(y.i+1)
	}, yearAlone),
	when("in front of all, after it a dash", "2009 - Silver Rail.mkv -> Silver Rail y2009 movie", func(y yearPlace) bool {
		return y.i == 0 && dashGap(y.w.gap(0)) && y.w.classAt(1) == alpha && y.in.marks.episodeSpan.empty()
	}, yearAmongTags),
	when("the title begins with it", "1984.mkv -> 1984", func(y yearPlace) bool { return y.i == y.firstText }, noYear),
	when("the title ends with it", "Silver Rail 2009.mkv -> Silver Rail y2009 movie",
		func(y yearPlace) bool { return y.outside() && y.i <= y.firstTag && y.endsTitle() }, yearAtEnd),
	when("among others in a bracket", "Silver Rail (2009 BluRay).mkv -> Silver Rail y2009 movie",
		func(y yearPlace) bool { return !y.outside() }, yearInBracket),
	when("after the episode, and text follows", "Silver.Rail.S02E05.2012.Nights.1080p -> Silver Rail s2 e5 episode",
		func(y yearPlace) bool {
			at := y.in.marks.episodeSpan
			return !at.empty() && (!y.w.titleMayEndBefore(y.i+1) || y.i > at.to && !y.w.tagNext(y.i))
		}, noYear),
	when("among the tags", "Silver Rail 1080p 2009 -> Silver Rail y2009 movie",
		func(y yearPlace) bool { return y.i > y.firstTag }, yearAmongTags),
}

// The places of a year, from the worst.
const (
	noYear = iota
	yearAmongTags
	yearInBracket
	yearAtEnd // the only place of which the last wins
	yearAlone
)

func (p *layoutStage) findYear() {
	best, rank := -1, noYear
	year := yearPlace{in: p, firstText: p.w.firstText(), firstTag: p.w.firstStrong()}
	for i := range p.w.tokens {
		if !p.w.yearlike(i) {
			continue
		}
		if p.w.gap(i) == "" && p.w.classAt(i+1) == cjk && p.w.word(i+1) == "年" &&
			(p.w.before(i) == " " || p.w.before(i) == ".") {
			p.w.setTags(i+1, i+2, tagPromo) // "2022年"
			year.firstTag = min(year.firstTag, i+1)
		}
		year.place = p.w.place(i)
		r := decide(yearRules, year)
		if r > rank || r == yearAtEnd && r == rank {
			best, rank = i, r
		}
	}
	if best >= 0 {
		p.yearAt, p.year = best, p.w.tokens[best].num
		p.w.setTags(best, best+1, tagYear)
		if best == p.first {
			p.first++
		}
	}
}

func (y yearPlace) outside() bool { return y.group < 0 }

func (y yearPlace) endsTitle() bool {
	if !y.w.beside(y.i, y.i+1) ||
		dashGap(y.gap()) && y.w.plainNumber(y.i+1) && !y.w.yearlike(y.i+1) && y.w.titleEndsAfterNumber(y.i+1) {
		return true
	}
	words := 0
	for j := y.i + 1; j < y.firstTag && y.w.tokens[j].group < 0; j++ {
		if y.w.tokens[j].tag == none {
			words++
		}
	}
	if y.firstTag >= len(y.w.tokens) {
		return words == 0 || y.at(1).tag != none
	}
	return words == 0 || words <= 3 && y.in.tags.hasMediaTag
}

func (p *words) tagNext(i int) bool { return !p.beside(i, i+1) || p.tokens[i+1].tag != none }

// firstStrong returns the first token after some text that cannot be part of a title, or len(tokens).
func (p *words) firstStrong() int {
	for i := p.firstText() + 1; i < len(p.tokens); i++ {
		if t := p.tokens[i].tag; p.strongAt(i) && t != tagYear && t != tagVersion {
			return i
		}
	}
	return len(p.tokens)
}

// firstText returns the first token at top level that may belong to a title.
func (p *words) firstText() int {
	return max(slices.IndexFunc(p.tokens, func(t token) bool { return t.group < 0 && !t.strong() }), 0)
}
