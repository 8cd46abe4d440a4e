package release

import (
	"strings"
	"unicode/utf8"

	"github.com/anivault/anivault/internal/title"
)

// findTitles finds which titles a name holds, best first, and what remains.
func findTitles(in *numbered, p *titled) {
	*p = titled{numbered: *in, titles: p.titles[:0], small: -1}
	switch {
	case p.first < 0 || p.first >= len(p.tokens):
	case len(p.places) > 0:
		p.titlesInBrackets()
	default:
		p.titlesInText()
	}
	p.findRest()
}

// titlesInText takes titles from the text between brackets.
func (p *titled) titlesInText() {
	p.small = p.firstSmall()
	first := p.first
	quoted := p.quotedTitle()
	if first == p.first {
		p.skipKind()
	}
	whole := min(p.endOfTitle(p.first), quoted)
	p.bound = p.trimTags(p.first, whole)
	if p.bound <= p.first {
		return
	}
	if p.led && p.season.empty() {
		p.splitLed()
	}
	p.addTitles(p.first, p.bound)
	if first != p.first {
		for i := range p.titles {
			p.titles[i].Text = strings.Trim(p.titles[i].Text, "「」『』")
		}
	}
	p.aliasInBracket()
	p.aliasInTitle()
	p.titleOverSeason()
	p.titleWithTag(whole)
	p.titleWithoutCount()
	if p.shortForm() {
		p.addTitle(p.first+1, p.bound)
	}
	if p.yearAt == p.bound && p.tokens[p.yearAt].group < 0 {
		p.addTitle(p.first, p.bound+1) // a year without brackets may be part of the title
	}
}

// quotedTitle moves the start of the title into quotes that stand behind words for its kind, and returns the token behind
// them; without such quotes the number of tokens.
func (p *titled) quotedTitle() (behind int) {
	if !strings.Contains(p.text, "「") && !strings.Contains(p.text, "『") {
		return len(p.tokens)
	}
	for i := p.first; i+1 < len(p.tokens) && lists().works[lower(p.word(i))]; i++ {
		for _, q := range [...][2]string{{"「", "」"}, {"『", "』"}} {
			if !strings.HasPrefix(strings.TrimLeft(p.gap(i), " "), q[0]) {
				continue
			}
			p.first = i + 1
			end := strings.Index(p.text[p.tokens[i].e:], q[1])
			for behind = i + 1; behind < len(p.tokens) && (end < 0 || p.tokens[behind].s < p.tokens[i].e+end); behind++ {
			}
			return behind
		}
	}
	return len(p.tokens)
}

// skipKind moves the start of the title behind the word with which recorders say what is broadcast: "アニメ 銀色鉄道 第7話".
func (p *titled) skipKind() {
	i := p.first
	if i+1 < len(p.tokens) && p.word(i) == "TV" && p.gap(i) == "" {
		i++
	}
	if p.classAt(i) == cjk && p.word(i) == "アニメ" && (p.gap(i) == " " || p.gap(i) == "." && p.dotted) && p.beside(i, i+1) && p.tagAt(i+1) == none {
		p.first = i + 1
	}
}

// titleWithoutCount adds the title of a film without the words between show and subtitle that say which of the show's films it is:
// "극장판 24기", the 24th one.
func (p *titled) titleWithoutCount() {
	first := p.first
	if p.tagAt(first) == tagMovie {
		first++
	}
	for i := first; i+1 < p.bound; i++ {
		if !p.countsFilms(i) {
			continue
		}
		from, to := i, i+1
		if p.tagAt(i-1) == tagMovie {
			from--
		} else if p.tagAt(i+1) == tagMovie {
			to++
		}
		if from > first && to < p.bound && len(p.titles) < maxTitles {
			text := p.clean(p.raw(first, from) + " " + p.raw(to, p.bound))
			p.titles = append(p.titles, Title{Text: text, Lang: title.Script(text)})
		}
		return
	}
}

// shortForm reports whether the name is the scene's short form, which begins with its group: "grp-title.2016.1080p".
func (p *titled) shortForm() bool {
	return p.dotted && p.group == "" && p.media && p.bound-p.first > 1 && p.gap(p.first) == "-" &&
		p.tokens[p.first].s == 0 && p.text == lower(p.text)
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

// titlesInBrackets takes titles from the brackets of a name that has no text between them.
func (p *titled) titlesInBrackets() {
	best := 0
	for k, s := range p.places {
		if k > 0 && p.scriptOf(s) == "latin" && p.scriptOf(p.places[k-1]) != "latin" {
			best = k // the one behind the title in the group's own script
		}
	}
	p.first = p.places[best].from
	p.small = p.firstSmall()
	p.titlesInBracket(p.places[best])
	for k, s := range p.places {
		if k != best {
			p.titlesInBracket(s)
		}
	}
}

// titlesInBracket takes titles from one bracket.
func (p *titled) titlesInBracket(s span) {
	for s.from < s.to && p.tokens[s.from].tag == tagPromo {
		s.from++
	}
	if cut := p.latinBehindSeason(s); cut > s.from {
		s.from = cut
	}
	end := p.trimTags(s.from, min(p.endOfTitle(s.from), s.to))
	if end > s.from {
		p.addTitles(s.from, end)
	}
	if p.remarkIn(s, end) {
		p.addTitle(s.from, s.to) // "[Title (Remake)]"
	}
}

// latinBehindSeason returns where the second title starts in "中文名 第二季 Romaji Name", 0 when there is none.
func (p *lexed) latinBehindSeason(s span) int {
	for i := s.from + 1; i+1 < s.to; i++ {
		if p.tokens[i].tag == tagSeason && p.tokens[i].class == cjk && p.tokens[i+1].class == alpha &&
			p.tokens[i+1].tag == none && !strings.Contains(p.gap(i), "/") && p.tokens[s.from].class == cjk {
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
	start, end, floor := p.tokens[from].s, len(p.text), 0
	if home := p.tokens[from].group; home >= 0 {
		b := &p.brackets[home]
		if from == b.first && b.outer < 0 {
			start = b.in
		}
		floor, end = b.in, b.close
	}
	for start > floor {
		r, n := utf8.DecodeLastRuneInString(p.text[:start])
		if !opensTitle(r) {
			break
		}
		start -= n
	}
	if to < len(p.tokens) {
		end = min(end, p.tokens[to].s)
	}
	if to < len(p.tokens) || p.tokens[from].group < 0 {
		for b := range p.brackets { // up to the bracket behind the last word
			if open := p.brackets[b].open; open >= p.tokens[to-1].e && open < end {
				end = open
			}
		}
	}
	return p.text[start:max(start, end)]
}

// opensTitle reports whether r belongs to the word behind it.
func opensTitle(r rune) bool {
	switch r {
	case '「', '『', '“', '"', '¿', '¡', '\'', '‘', '<', '〈', '#':
		return true
	}
	return false
}
