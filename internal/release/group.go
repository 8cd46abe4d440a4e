package release

import "strings"

// tailWord is what stands last between brackets: perhaps the group that released a scene name.
type tailWord struct {
	*laidOut
	from, last int    // its tokens
	gap        string // what stands before it
	dash       bool   // that is a dash
}

// notGroups are the reasons for which the tail of a name is not a group.
var notGroups = []reason[tailWord]{
	because("a tag without a dash", "Silver Rail 1080p BluRay -> Silver Rail",
		func(w tailWord) bool { return !w.dash && w.strongAt(w.from) }),
	because("no dash, and no tag before it", "Silver Rail Ed PAL [1080p].mkv -> Silver Rail Ed",
		func(w tailWord) bool { return !w.dash && !w.strongAt(w.from-1) }),
	because("no dash, and a season, episode or year before it",
		"Silver Rail S02E05 Night [1080p].mkv -> Silver Rail s2 e5 episode",
		func(w tailWord) bool {
			t := w.tagAt(w.from - 1)
			return !w.dash && (t == tagSeason || t == tagEpisode || t == tagYear)
		}),
	because("a resolution", "Silver.Rail.S01E02-720p -> Silver Rail s1 e2 episode",
		func(w tailWord) bool { return w.tagAt(w.from) == tagResolution }),
	because("a number behind the title", "Silver Rail 1080p 1-3 -> Silver Rail",
		func(w tailWord) bool { return w.classAt(w.from) == number && !w.strongAt(w.from-1) }),
	because("a name that says nothing of how it was made", "Silver Rail-Night.mkv -> Silver Rail-Night",
		func(w tailWord) bool { return !w.media && !(w.gap == "-" && !w.episode.empty() && w.dotted) }),
	because("a dash between blanks behind the title", "Silver Rail - Night [1080p].mkv -> Silver Rail - Night",
		func(w tailWord) bool { return w.tagAt(w.from-1) == none && !strings.HasPrefix(w.gap, "-") }),
}

// findGroup looks for who released it: "[Group]" in front, "-GROUP" at the end, a bracket behind.
func (p *laidOut) findGroup() {
	if !p.groupTok.empty() {
		p.group = strings.TrimSpace(p.inside(p.groupTok))
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
	w, ok := p.tail()
	if !ok || anyOf(notGroups, w) {
		return false
	}
	if p.dashInGroup(w.from) {
		w.from--
	}
	p.groupTok = span{w.from, w.last + 1}
	p.group = p.text[p.tokens[w.from].s:p.tokens[w.last].e]
	for i := w.from; i <= w.last; i++ {
		if p.tokens[i].weak {
			p.tokens[i].tag, p.tokens[i].weak = none, false
		}
	}
	return true
}

// tail returns the last words between brackets, at most four, back to a dash or a tag.
func (p *laidOut) tail() (w tailWord, ok bool) {
	last := len(p.tokens) - 1
	for last >= 0 && p.tokens[last].group >= 0 {
		last--
	}
	if last <= 0 || last <= p.first {
		return w, false
	}
	for last > 1 && p.behindGroup(last) {
		last--
	}
	from := last
	for from > p.first+1 && last-from < 3 && !dashed(p.before(from)) && p.beside(from-1, last) &&
		p.tokens[from-1].tag == none {
		from--
	}
	gap := p.before(from)
	return tailWord{laidOut: p, from: from, last: last, gap: gap, dash: dashed(gap)}, from > 0
}

// dashed reports whether a gap is a dash, tight or between blanks.
func dashed(gap string) bool { return gap == "-" || dashGap(gap) }

// behindGroup reports whether token i is what reposters and players put behind the group.
func (p *lexed) behindGroup(i int) bool {
	return p.before(i) == "-" && lists().reposters[lower(p.word(i))] || p.before(i) == "." && p.tokens[i].word.value == "SAMPLE"
}

// dashInGroup reports whether the group at i has a dash in its name: two dashed words follow the tags, the first a
// letter, "x264-D-Z0N3".
func (p *laidOut) dashInGroup(i int) bool {
	return i > 1 && p.before(i) == "-" && p.before(i-1) != "-" && p.width(i-1) <= 1 &&
		p.tokens[i-1].tag == none && p.tokens[i-1].group < 0 && p.tokens[i-2].tag != none
}

// groupBehind takes the last bracket behind the title that no table explains for the group.
func (p *laidOut) groupBehind() {
	for k := len(p.segments) - 1; k > 0; k-- {
		s := p.segments[k]
		if s.bracket < 0 || s.from < p.first || !p.unknown(s.span) || s.from == p.yearAt {
			continue
		}
		plain, all := p.plainWords(s.span), s.to-s.from
		if plain == all || plain >= 2 && all <= 3 {
			p.group = strings.TrimSpace(p.inside(s.span))
			p.groupTok = s.span
			return
		}
	}
}

// plainWords returns how many tokens of s nothing explains.
func (p *lexed) plainWords(s span) int {
	n := 0
	for i := s.from; i < s.to; i++ {
		if p.tokens[i].tag == none {
			n++
		}
	}
	return n
}
