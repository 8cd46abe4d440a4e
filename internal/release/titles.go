package release

import (
	"strings"
	"unicode/utf8"

	"github.com/anivault/anivault/internal/title"
)

// This file decides where the title ends and which titles a name holds: cut at
// slashes, "aka", at a dash or a blank between two scripts; brackets behind it
// may hold another.

// findTitles fills p.titles, best first.
func (p *titled) findTitles() {
	if p.first < 0 || p.first >= len(p.tokens) {
		return
	}
	if len(p.places) > 0 {
		p.bracketTitles()
		return
	}
	p.small = p.firstSmall()
	whole := p.endOfTitle(p.first)
	p.bound = p.trimNumber(p.trimWeak(p.first, whole))
	if p.bound <= p.first {
		return
	}
	if p.led && p.season.empty() {
		p.splitLed()
	}
	p.addTitles(p.first, p.bound)
	p.aliasInBracket()
	p.aliasInTitle()
	p.titleOverSeason()
	p.titleWithTag(whole)
	if p.dotted && p.group == "" && p.media && p.bound-p.first > 1 && p.gap(p.first) == "-" && p.tokens[p.first].s == 0 && p.text == lower(p.text) {
		p.addTitle(p.first+1, p.bound) // "grp-title.2016.1080p": the scene's short form
	}
	if p.yearAt == p.bound && p.tokens[p.yearAt].group < 0 {
		p.addTitle(p.first, p.bound+1) // a year without brackets may be part of the title
	}
}

// splitLed cuts "003. Title - Episode's Name" at the dash.
func (p *titled) splitLed() {
	if !strings.HasPrefix(p.gap(p.episode.to-1), ".") {
		return
	}
	for i := p.first; i+1 < p.bound; i++ {
		if p.gap(i) == " - " {
			p.epTitle = p.clean(p.raw(i+1, p.bound))
			p.bound = i + 1
			return
		}
	}
}

// endOfTitle returns the token behind the title that starts at from.
func (p *titled) endOfTitle(from int) int {
	home := p.tokens[from].group
	for i := from; i < len(p.tokens); i++ {
		t := &p.tokens[i]
		p.steps++
		if t.group != home {
			b := p.enclosing(i, home)
			if b < 0 {
				return i // the title's own bracket ends
			}
			if !p.belongs(b, i, from) && !(home >= 0 && p.slashAfter(p.brackets[b].behind-1, home)) {
				return i
			}
			i = p.brackets[b].behind - 1
			continue
		}
		if (t.tag == tagYear || t.tag == tagSpecial) && home >= 0 && p.slashAfter(i, home) {
			continue
		}
		if i == p.yearAt || t.tag == tagYear || t.tag == tagDate {
			return i
		}
		if t.tag == tagEpisode {
			return i
		}
		if t.tag == tagSeason {
			if t.class == cjk && p.seasonInside(i, from) {
				continue
			}
			return i
		}
		if (t.word.role == volumeWord && i+1 < len(p.tokens) && digit(p.text[p.tokens[i+1].s]) || t.tag == tagVolume) && i > from && p.fansub && p.yearAt < 0 {
			return i
		}
		if t.tag != none && !t.weak && i > from && t.tag != tagVersion {
			return i
		}
		if t.tag != none && !t.weak && i == from && t.tag != tagMovie {
			return i
		}
		if t.tag == tagVersion && i > from && (p.closes(i+1) || dashGap(p.gap(i))) {
			return i
		}
		if t.weak && i > from && p.special != "" && (t.tag == tagExtra || t.tag == tagSpecial) && p.plainSpecial(i) {
			return i
		}
	}
	return len(p.tokens)
}

// slashAfter says whether another title follows token i in its bracket: "[名 2020/Name 2020]".
func (p *lexed) slashAfter(i, home int) bool {
	return i+1 < p.brackets[home].behind && strings.ContainsAny(p.gap(i), "/|")
}

// seasonInside says whether a counter of seasons at i stands inside a title that goes on behind it and is not cut there.
func (p *lexed) seasonInside(i, from int) bool {
	if i == from || i+1 >= len(p.tokens) {
		return false
	}
	next := i + 1
	if p.tokens[next].group != p.tokens[i].group {
		return p.tokens[i].group < 0 && strings.HasPrefix(strings.TrimLeft(p.gap(i), " "), "（")
	}
	return (p.tokens[next].tag == none || p.tokens[next].weak) && p.tokens[next].class != number && !dashGap(p.gap(i))
}

// enclosing returns the bracket just inside home that holds token i, -1 when i is not inside home.
func (p *lexed) enclosing(i, home int) int {
	g := p.tokens[i].group
	for g >= 0 && p.brackets[g].outer != home {
		g = p.brackets[g].outer
	}
	return g
}

// belongs says whether the bracket b, of which i is the first token, is part of the title around it.
func (p *titled) belongs(b, i, from int) bool {
	br := &p.brackets[b]
	if i == from {
		return br.behind < len(p.tokens) && p.tokens[br.behind].group < 0
	}
	s := span{br.first, br.behind}
	if s.empty() || s.from != i {
		return false
	}
	promo := false
	for k := s.from; k < s.to; k++ {
		if p.tokens[k].tag == tagPromo {
			promo = true
			continue
		}
		if t := &p.tokens[k]; t.tag != none && (!t.weak || t.tag != tagEdition) && t.tag != tagMovie && !(t.tag == tagLanguage && len(p.word(k)) < 3) {
			return false
		}
	}
	before, _ := utf8.DecodeLastRuneInString(p.text[:br.open])
	attached := before < utf8.RuneSelf && wordByte(byte(before)) || letterRune(before)
	next := byte(0)
	if br.out < len(p.text) {
		next = p.text[br.out]
	}
	if attached && (wordByte(next) || next >= utf8.RuneSelf) {
		return true // "DIVA(A)LIVE", "要【招架】一切"
	}
	if s.to >= len(p.tokens) || p.tokens[s.to].group != p.brackets[b].outer {
		return false
	}
	if promo {
		return p.tokens[s.to].tag == none && p.tokens[s.to].class != number
	}
	if !br.round {
		return false
	}
	follow := &p.tokens[s.to]
	if attached && (follow.tag == tagEpisode || follow.tag == none) && p.season.empty() {
		return true
	}
	switch {
	case follow.tag == tagEpisode:
		return p.bare && p.season.empty() || p.onlyLatinRound(s)
	case follow.tag == none:
		return !p.dotted
	case follow.tag == tagSeason:
		return p.tokens[s.to].class == alpha && follow.tag == none
	}
	return false
}

// onlyLatinRound says whether the round bracket gives a name in words that a plain episode marker follows.
func (p *titled) onlyLatinRound(s span) bool {
	return p.season.empty() && s.to-s.from >= 2 && !p.media
}

// bracketTitles takes titles from the brackets of a name that has no text between them.
func (p *titled) bracketTitles() {
	best := 0
	for k, s := range p.places {
		if k > 0 && p.scriptOf(s) == "latin" && p.scriptOf(p.places[k-1]) != "latin" {
			best = k // the one behind the title in the group's own script
		}
	}
	add := func(s span) {
		for s.from < s.to && p.tokens[s.from].tag == tagPromo {
			s.from++
		}
		end := min(p.endOfTitle(s.from), s.to)
		if cut := p.latinBehindSeason(s); cut > s.from {
			s.from = cut
			end = min(p.endOfTitle(s.from), s.to)
		}
		end = p.trimWeak(s.from, end)
		if end > s.from {
			p.addTitles(s.from, end)
		}
		if p.remarkIn(s, end) {
			p.addTitle(s.from, s.to) // "[Title (Remake)]"
		}
	}
	p.first = p.places[best].from
	p.small = p.firstSmall()
	add(p.places[best])
	for k, s := range p.places {
		if k != best {
			add(s)
		}
	}
}

// latinBehindSeason returns where the second title starts in "中文名 第二季 Romaji Name", 0 when there is none.
func (p *lexed) latinBehindSeason(s span) int {
	for i := s.from + 1; i+1 < s.to; i++ {
		if p.tokens[i].tag == tagSeason && p.tokens[i].class == cjk && p.tokens[i+1].class == alpha && p.tokens[i+1].tag == none && !strings.Contains(p.gap(i), "/") && p.tokens[s.from].class == cjk {
			return i + 1
		}
	}
	return 0
}

func (p *lexed) scriptOf(s span) string {
	return title.Script(p.text[p.tokens[s.from].s:p.tokens[s.to-1].e])
}

// raw returns the text of tokens [from, to) with what belongs to it on either side.
func (p *lexed) raw(from, to int) string {
	start, end := p.tokens[from].s, len(p.text)
	home := p.tokens[from].group
	if home >= 0 {
		if from == p.brackets[home].first && p.brackets[home].outer < 0 {
			start = p.brackets[home].in
		}
		end = p.brackets[home].close
	}
	for start > 0 && (home < 0 || start > p.brackets[home].in) {
		r, n := utf8.DecodeLastRuneInString(p.text[:start])
		if !opensTitle(r) {
			break
		}
		start -= n
	}
	if to < len(p.tokens) {
		end = min(end, p.tokens[to].s)
		last := p.tokens[to-1].e
		for b := range p.brackets {
			br := &p.brackets[b]
			if br.open >= last && br.open < end {
				end = br.open
			}
		}
	} else if home < 0 {
		for b := range p.brackets {
			if br := &p.brackets[b]; br.open >= p.tokens[to-1].e && br.open < end {
				end = br.open
			}
		}
	}
	return p.text[start:max(start, end)]
}

// opensTitle says whether r belongs to the word behind it.
func opensTitle(r rune) bool {
	switch r {
	case '「', '『', '“', '"', '¿', '¡', '\'', '‘', '<', '〈', '#':
		return true
	}
	return false
}
