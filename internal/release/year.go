package release

import "strings"

// This file decides which numbers are dates and which one is the year of the work.

const (
	firstYear = 1900 // no earlier work is released under these names
	lastYear  = 2034 // a number beyond is part of a title
)

func (p *lexed) yearlike(i int) bool {
	t := &p.tokens[i]
	return t.class == number && t.e-t.s == 4 && t.num >= firstYear && t.num <= lastYear && t.tag == none
}

// findDates marks dates: "2010.11.23", "03-29-2012", "5th Mar 2025", "140722" among tags. A date is neither year nor episode.
func (p *tagged) findDates() {
	for i := range p.tokens {
		t := &p.tokens[i]
		if t.tag != none && t.word.role != monthWord || t.class == cjk || t.class == alpha {
			continue
		}
		switch {
		case i+2 < len(p.tokens) && p.datePart(i, i+1) && p.datePart(i+1, i+2) && p.dateNumbers(i):
			p.set(i, i+3, tagDate)
			p.dated = span{i, i + 3}
		case i+2 < len(p.tokens) && p.tokens[i+1].word.role == monthWord && p.tokens[i+2].class == number && p.tokens[i+2].e-p.tokens[i+2].s == 4 && p.dayWord(i):
			p.set(i, i+3, tagDate)
			p.dated = span{i, i + 3}
		case t.class == number && len(p.tokens) > 2 && (t.e-t.s == 6 || t.e-t.s == 8) && p.compactDate(i):
			p.set(i, i+1, tagDate)
			p.dated = span{i, i + 1}
		}
	}
}

// datePart says whether tokens i and j can be neighbours in a date.
func (p *lexed) datePart(i, j int) bool {
	g := p.gap(i)
	return p.tokens[j].class == number && p.tokens[j].tag == none && p.tokens[j].group == p.tokens[i].group && len(g) == 1 &&
		(g == "." || g == "-" || g == "_" || g == " ")
}

func (p *lexed) dateNumbers(i int) bool {
	a, b, c := &p.tokens[i], &p.tokens[i+1], &p.tokens[i+2]
	if a.class != number || a.tag != none || p.gap(i) != p.gap(i+1) || i+3 < len(p.tokens) && p.tokens[i+3].class == number && p.gap(i+2) == p.gap(i) && p.gap(i) == "-" {
		return false
	}
	la, lb, lc := a.e-a.s, b.e-b.s, c.e-c.s
	switch {
	case la == 4 && lb <= 2 && lc <= 2 && a.num >= firstYear && a.num <= lastYear:
		return dayMonth(b.num, c.num)
	case lc == 4 && la <= 2 && lb <= 2 && c.num >= firstYear && c.num <= lastYear:
		return dayMonth(a.num, b.num)
	case b.num == a.num+1 && c.num == b.num+1:
		return false
	case la == 2 && lb == 2 && lc == 2 && p.gap(i) != " ": // "10-19-12", "18.09.00": two digits for the year
		return dayMonth(a.num, b.num) && i > 0 || dayMonth(b.num, c.num) && a.num >= 8 && i > 0
	}
	return false
}

func dayMonth(a, b int) bool {
	return a >= 1 && b >= 1 && a <= 31 && b <= 31 && (a <= 12 || b <= 12)
}

// dayWord says whether the token at i is "5" or "5th".
func (p *lexed) dayWord(i int) bool {
	w := p.word(i)
	n := 0
	for n < len(w) && digit(w[n]) {
		n++
	}
	return n >= 1 && n <= 2 && len(w)-n <= 2
}

// compactDate: "140722", "20161024".
func (p *lexed) compactDate(i int) bool {
	t := &p.tokens[i]
	if t.num < 0 {
		return false
	}
	if t.e-t.s == 8 {
		y := t.num / 10000
		return y >= firstYear && y <= lastYear && dayMonth(t.num/100%100, t.num%100) && t.num/100%100 <= 12
	}
	return t.num/100%100 >= 1 && t.num/100%100 <= 12 && t.num%100 >= 1 && t.num%100 <= 31 && t.num/10000 <= 34 && !p.alone(i)
}

// findYear chooses the year of the work: one alone in brackets, else the last that stands where the title ends, else one
// among the tags. A number that could be a year but stands first is the title.
func (p *laidOut) findYear() {
	strong := p.firstStrong()
	best, rank := -1, 0
	text := p.firstText()
	for i := range p.tokens {
		if !p.yearlike(i) || i+1 < len(p.tokens) && p.yearlike(i+1) && (p.gap(i) == "-" || p.gap(i) == " - ") && p.season.empty() && p.tokens[i].group < 0 {
			continue
		}
		if i > 0 && p.yearlike(i-1) && len(p.gap(i-1)) <= 3 && strings.IndexByte(p.gap(i-1), '-') >= 0 {
			continue // the end of a range
		}
		r := 0
		g := p.tokens[i].group
		switch {
		case g >= 0 && (p.alone(i) || i == p.brackets[g].first && i+1 < len(p.tokens) && p.gap(i) == "-" && p.yearlike(i+1)):
			r = 5
			if best >= 0 && rank == 5 {
				continue
			}
		case g < 0 && i <= strong && i != text && p.yearEnds(i, strong):
			r = 4
		case g >= 0 && i != text:
			r = 2
			if rank == 2 {
				continue
			}
		case g < 0 && i > strong && i != text && (p.episode.empty() || p.closes(i+1)):
			r = 1
			if rank == 1 || !p.episode.empty() && i > p.episode.to && !p.tagNext(i) {
				continue
			}
		}
		if r > 0 && r >= rank {
			best, rank = i, r
		}
	}
	if best < 0 {
		return
	}
	p.yearAt, p.year = best, p.tokens[best].num
	p.set(best, best+1, tagYear)
}

// tagNext says whether a tag follows token i.
func (p *lexed) tagNext(i int) bool {
	return i+1 >= len(p.tokens) || p.tokens[i+1].tag != none || p.tokens[i+1].group != p.tokens[i].group
}

// yearEnds says whether the title ends at the year at i: a tag, a bracket, a marker or the end follows, or few words do
// before a tag.
func (p *laidOut) yearEnds(i, strong int) bool {
	if i+1 >= len(p.tokens) || p.tokens[i+1].group != p.tokens[i].group {
		return true
	}
	n := 0
	for j := i + 1; j < len(p.tokens) && j < strong; j++ {
		if p.tokens[j].group >= 0 {
			break
		}
		if p.tokens[j].tag == none {
			n++
		}
	}
	if strong >= len(p.tokens) {
		return n == 0 || p.tokens[i+1].tag != none
	}
	return n <= 3 && (p.media || n == 0)
}

// firstStrong returns the first token behind some text that cannot be part of a title.
func (p *lexed) firstStrong() int {
	from := p.firstText()
	for i := from + 1; i < len(p.tokens); i++ {
		t := &p.tokens[i]
		if t.tag != none && !t.weak && t.tag != tagYear && t.tag != tagVersion {
			return i
		}
	}
	return len(p.tokens)
}

// firstText returns the first token at top level that may belong to a title.
func (p *lexed) firstText() int {
	for i := range p.tokens {
		t := &p.tokens[i]
		if t.group < 0 && (t.tag == none || t.weak) {
			return i
		}
	}
	return 0
}
