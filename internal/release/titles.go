package release

import (
	"strings"
	"unicode/utf8"

	"github.com/anivault/anivault/internal/title"
)

func (p *titled) findTitles() {
	switch {
	case p.layout.first < 0 || p.layout.first >= len(p.w.tokens):
	case len(p.layout.places) > 0:
		p.titlesInBrackets()
	default:
		p.titlesInText()
	}
	p.findDetails()
}

func (p *titled) titlesInText() {
	p.firstLower = p.findLower()
	first := p.layout.first
	quoted := p.quotedTitle()
	if first == p.layout.first {
		p.skipKind()
	}
	whole := min(p.endOfTitle(p.layout.first), quoted)
	p.end = p.trimTags(p.layout.first, whole)
	if p.end <= p.layout.first {
		return
	}
	if p.layout.numberFirst && p.marks.season.empty() {
		p.splitNumbered()
	}
	p.addTitles(p.layout.first, p.end)
	if first != p.layout.first {
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
		p.addTitle(p.layout.first+1, p.end)
	}
	if p.layout.yearAt == p.end && p.w.tokens[p.layout.yearAt].group < 0 {
		p.addTitle(p.layout.first, p.end+1) // a year without brackets may be part of the title
	}
}

// quotedTitle moves the start of the title into quotes after words for the kind of work, and returns the token after.
func (p *titled) quotedTitle() (after int) {
	if !strings.Contains(p.w.text, "「") && !strings.Contains(p.w.text, "『") {
		return len(p.w.tokens)
	}
	for i := p.layout.first; i+1 < len(p.w.tokens) && lists().works[p.w.lower(i)]; i++ {
		for _, q := range [...][2]string{{"「", "」"}, {"『", "』"}} {
			if !strings.HasPrefix(strings.TrimLeft(p.w.gap(i), " "), q[0]) {
				continue
			}
			p.layout.first = i + 1
			end := strings.Index(p.w.text[p.w.tokens[i].e:], q[1])
			for after = i + 1; after < len(p.w.tokens) && (end < 0 || p.w.tokens[after].s < p.w.tokens[i].e+end); after++ {
			}
			return after
		}
	}
	return len(p.w.tokens)
}

// skipKind passes over the recorder's word for the kind of work: "アニメ 銀色鉄道 第7話".
func (p *titled) skipKind() {
	i := p.layout.first
	if i+1 < len(p.w.tokens) && p.w.word(i) == "TV" && p.w.gap(i) == "" {
		i++
	}
	if p.w.classAt(i) == cjk && p.w.word(i) == "アニメ" && (p.w.gap(i) == " " || p.w.gap(i) == "." && p.w.dotted) &&
		p.w.beside(i, i+1) && p.w.tagAt(i+1) == none {
		p.layout.first = i + 1
	}
}

// titleWithoutCount adds the title of a film without "극장판 24기", the 24th film of the show.
func (p *titled) titleWithoutCount() {
	first := p.layout.first
	if p.w.tagAt(first) == tagMovie {
		first++
	}
	for i := first; i+1 < p.end; i++ {
		if !p.w.countsFilms(i) {
			continue
		}
		from, to := i, i+1
		if p.w.tagAt(i-1) == tagMovie {
			from--
		} else if p.w.tagAt(i+1) == tagMovie {
			to++
		}
		if from > first && to < p.end && len(p.titles) < maxTitles {
			text := p.w.clean(p.w.raw(first, from) + " " + p.w.raw(to, p.end))
			p.titles = append(p.titles, Title{Text: text, Lang: title.Script(text)})
		}
		return
	}
}

// shortForm reports whether the name is the scene's short form, which begins with its group: "grp-title.2016.1080p".
func (p *titled) shortForm() bool {
	return p.w.dotted && p.layout.group == "" && p.tags.media && p.end-p.layout.first > 1 &&
		p.w.gap(p.layout.first) == "-" &&
		p.w.tokens[p.layout.first].s == 0 && p.w.text == p.w.lowered
}

// splitNumbered cuts "003. Title - Episode's Name" at the dash.
func (p *titled) splitNumbered() {
	if !strings.HasPrefix(p.w.gap(p.marks.episode.to-1), ".") {
		return
	}
	for i := p.layout.first; i+1 < p.end; i++ {
		if p.w.gap(i) == " - " {
			p.epTitle = p.w.clean(p.w.raw(i+1, p.end))
			p.end = i + 1
			return
		}
	}
}

func (p *titled) titlesInBrackets() {
	best := 0
	for k, s := range p.layout.places {
		if k > 0 && p.w.scriptOf(s) == "latin" && p.w.scriptOf(p.layout.places[k-1]) != "latin" {
			best = k // the one after the title in the group's own script
		}
	}
	p.layout.first = p.layout.places[best].from
	p.firstLower = p.findLower()
	p.titlesInBracket(p.layout.places[best])
	for k, s := range p.layout.places {
		if k != best {
			p.titlesInBracket(s)
		}
	}
}

func (p *titled) titlesInBracket(s span) {
	for s.from < s.to && p.w.tokens[s.from].tag == tagPromo {
		s.from++
	}
	if cut := p.latinAfterSeason(s); cut > s.from {
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

func (p *titled) latinAfterSeason(s span) int {
	for i := s.from + 1; i+1 < s.to; i++ {
		if p.w.tokens[i].tag == tagSeason && p.w.tokens[i].class == cjk && p.w.tokens[i+1].class == alpha &&
			p.w.tokens[i+1].tag == none && !strings.Contains(p.w.gap(i), "/") && p.w.tokens[s.from].class == cjk {
			return i + 1
		}
	}
	return 0
}

func (p *words) scriptOf(s span) string {
	return title.Script(p.text[p.tokens[s.from].s:p.tokens[s.to-1].e])
}

func (p *words) raw(from, to int) string {
	start, end, floor := p.tokens[from].s, len(p.text), 0
	if home := p.tokens[from].group; home >= 0 {
		b := &p.brackets[home]
		if from == b.from && b.outer < 0 {
			start = b.in
		}
		floor, end = b.in, b.close
	}
	for start > floor {
		r, n := utf8.DecodeLastRuneInString(p.text[:start])
		if !strings.ContainsRune("「『“\"¿¡'‘<〈#", r) { // which belong to the word after them
			break
		}
		start -= n
	}
	if to < len(p.tokens) {
		end = min(end, p.tokens[to].s)
	}
	if to < len(p.tokens) || p.tokens[from].group < 0 {
		for b := range p.brackets { // up to the bracket after the last word
			if open := p.brackets[b].open; open >= p.tokens[to-1].e && open < end {
				end = open
			}
		}
	}
	return p.text[start:max(start, end)]
}

// titleOverSeason: "Title 2nd Season - The Night Ferry - 05". What stands between season and number tells where in the
// season, or in the specials, the number belongs.
func (p *titled) titleOverSeason() {
	if !p.numbers.bare || p.marks.season.empty() || p.marks.season.from < p.end ||
		p.marks.episode.from <= p.marks.season.to {
		return
	}
	plain := false
	for i := p.marks.season.from; i < p.marks.episode.from; i++ {
		t := &p.w.tokens[i]
		if t.group != p.w.tokens[p.layout.first].group {
			return
		}
		plain = plain || i >= p.marks.season.to && t.tag == none && t.class != number
	}
	if plain {
		p.addTitle(p.layout.first, p.marks.episode.from)
	}
}

// titleWithTag: the word that was taken for a tag belongs to the title in "Title 3D - 01", "Title Uncut - 05".
func (p *titled) titleWithTag(whole int) {
	if p.end+1 != whole || p.marks.episode.from != whole || !p.numbers.bare ||
		p.w.tokens[p.end].group != p.w.tokens[p.layout.first].group {
		return
	}
	if !p.w.tokens[p.end].weak {
		return
	}
	switch p.w.tokens[p.end].tag {
	case tagEdition, tagTech, tagSource, tagBatch:
		p.addTitle(p.layout.first, whole)
	default:
	}
}

func (p *titled) remarkIn(s span, end int) bool {
	if end >= s.to {
		return false
	}
	b := p.w.enclosing(end, p.w.tokens[s.from].group)
	if b < 0 || !p.w.brackets[b].round || p.w.brackets[b].from != end || p.w.brackets[b].to != s.to {
		return false
	}
	return !p.w.some(span{end, s.to}, func(i int) bool { return p.w.tagAt(i) != none || p.w.classAt(i) == number })
}

// aliasInTitle adds both halves of a title that ends in a bracket: "Title (Other Name)".
func (p *titled) aliasInTitle() {
	b := p.w.outermost(p.end - 1)
	if b < 0 || p.w.brackets[b].to != p.end || p.w.brackets[b].from <= p.layout.first ||
		!strings.HasPrefix(p.w.before(p.w.brackets[b].from), " ") {
		return
	}
	p.addTitle(p.layout.first, p.w.brackets[b].from)
	p.addTitle(p.w.brackets[b].from, p.end)
}

// aliasInBracket adds the name in a bracket right after the title: "Title (Other Name)", "한글 (English)".
func (p *titled) aliasInBracket() {
	at := p.end
	for p.w.tagAt(at) == tagSeason {
		at++
	}
	if at >= len(p.w.tokens) {
		return
	}
	b := p.w.outermost(at)
	if b < 0 || p.w.brackets[b].from != at {
		return
	}
	s := p.w.brackets[b].span
	for s.to-1 > s.from && p.w.tokens[s.to-1].tag == tagSeason {
		s.to--
	}
	if p.w.roleAt(s.from) == akaWord {
		s.from++
	}
	if s.empty() || p.w.oneNumber(s) || p.remarks(&p.w.brackets[b]) ||
		!p.w.brackets[b].round && p.w.tokens[s.from].class != cjk {
		return
	}
	if !p.w.some(s, func(i int) bool { return p.w.tagAt(i) != none || p.w.tokens[i].group != b }) {
		p.addTitle(s.from, s.to)
	}
}
