package release

import "strings"

// tailWord is what stands last between brackets: perhaps the group that released a scene name.
type tailWord struct {
	in         *laidOut
	w          *words
	from, last int    // its tokens
	gap        string // what stands before it
	dash       bool   // that is a dash
}

// notGroups are the reasons for which the tail of a name is not a group.
var notGroups = []reason[tailWord]{
	because("a tag without a dash", "Silver Rail 1080p BluRay -> Silver Rail",
		func(t tailWord) bool { return !t.dash && t.w.strongAt(t.from) }),
	because("no dash, and no tag before it", "Silver Rail Ed PAL [1080p].mkv -> Silver Rail Ed",
		func(t tailWord) bool { return !t.dash && !t.w.strongAt(t.from-1) }),
	because("no dash, and a season, episode or year before it",
		"Silver Rail S02E05 Night [1080p].mkv -> Silver Rail s2 e5 episode",
		func(t tailWord) bool {
			tag := t.w.tagAt(t.from - 1)
			return !t.dash && (tag == tagSeason || tag == tagEpisode || tag == tagYear)
		}),
	because("a resolution", "Silver.Rail.S01E02-720p -> Silver Rail s1 e2 episode",
		func(t tailWord) bool { return t.w.tagAt(t.from) == tagResolution }),
	because("a number behind the title", "Silver Rail 1080p 1-3 -> Silver Rail",
		func(t tailWord) bool { return t.w.classAt(t.from) == number && !t.w.strongAt(t.from-1) }),
	because("a name that says nothing of how it was made", "Silver Rail-Night.mkv -> Silver Rail-Night",
		func(t tailWord) bool {
			return !t.in.tags.media && !(t.gap == "-" && !t.in.marks.episode.empty() && t.w.dotted)
		}),
	because("a dash between blanks behind the title", "Silver Rail - Night [1080p].mkv -> Silver Rail - Night",
		func(t tailWord) bool { return t.w.tagAt(t.from-1) == none && !strings.HasPrefix(t.gap, "-") }),
}

// findGroup looks for who released it: "[Group]" in front, "-GROUP" at the end, a bracket behind.
func (p *laidOut) findGroup() {
	if !p.groupTok.empty() {
		p.group = strings.TrimSpace(p.w.inside(p.groupTok))
		for strings.HasPrefix(p.group, "[") && !strings.Contains(p.group, "]") {
			p.group = p.group[1:]
		}
	}
	if p.group == "" && !p.trailingGroup() {
		p.groupBehind()
	}
}

// trailingGroup reads the group behind the last dash of a scene name, or the last word behind its tags.
func (p *laidOut) trailingGroup() bool {
	t, ok := p.tail()
	if !ok || anyOf(notGroups, t) {
		return false
	}
	if p.dashInGroup(t.from) {
		t.from--
	}
	p.groupTok = span{t.from, t.last + 1}
	p.group = p.w.text[p.w.tokens[t.from].s:p.w.tokens[t.last].e]
	for i := t.from; i <= t.last; i++ {
		if p.w.tokens[i].weak {
			p.w.tokens[i].tag, p.w.tokens[i].weak = none, false
		}
	}
	return true
}

// tail returns the last words between brackets, at most four, back to a dash or a tag.
func (p *laidOut) tail() (t tailWord, ok bool) {
	last := len(p.w.tokens) - 1
	for last >= 0 && p.w.tokens[last].group >= 0 {
		last--
	}
	if last <= 0 || last <= p.first {
		return t, false
	}
	for last > 1 && p.behindGroup(last) {
		last--
	}
	from := last
	for from > p.first+1 && last-from < 3 && !dashed(p.w.before(from)) && p.w.beside(from-1, last) &&
		p.w.tokens[from-1].tag == none {
		from--
	}
	gap := p.w.before(from)
	return tailWord{in: p, w: p.w, from: from, last: last, gap: gap, dash: dashed(gap)}, from > 0
}

// dashed reports whether a gap is a dash, tight or between blanks.
func dashed(gap string) bool { return gap == "-" || dashGap(gap) }

// behindGroup reports whether token i is what reposters and players put behind the group.
func (p *laidOut) behindGroup(i int) bool {
	return p.w.before(i) == "-" && lists().reposters[lower(p.w.word(i))] || p.w.before(i) == "." && p.w.tokens[i].word.value == "SAMPLE"
}

// dashInGroup reports whether the group at i has a dash in its name: two dashed words follow the tags, the first a
// letter, "x264-D-Z0N3".
func (p *laidOut) dashInGroup(i int) bool {
	return i > 1 && p.w.before(i) == "-" && p.w.before(i-1) != "-" && p.w.width(i-1) <= 1 &&
		p.w.tokens[i-1].tag == none && p.w.tokens[i-1].group < 0 && p.w.tokens[i-2].tag != none
}

// groupBehind takes the last bracket behind the title that no table explains for the group.
func (p *laidOut) groupBehind() {
	for k := len(p.segments) - 1; k > 0; k-- {
		s := p.segments[k]
		if s.bracket < 0 || s.from < p.first || !p.unknown(s.span) || s.from == p.yearAt {
			continue
		}
		plain, all := p.w.plainWords(s.span), s.to-s.from
		if plain == all || plain >= 2 && all <= 3 {
			p.group = strings.TrimSpace(p.w.inside(s.span))
			p.groupTok = s.span
			return
		}
	}
}

// plainWords returns how many tokens of s nothing explains.
func (p *words) plainWords(s span) int {
	n := 0
	for i := s.from; i < s.to; i++ {
		if p.tokens[i].tag == none {
			n++
		}
	}
	return n
}
