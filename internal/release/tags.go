package release

import "fmt"

// tagForms are the kinds of tags that words.txt cannot list, in the order in which they are tried.
var tagForms = []tokenForm[tagStage]{
	{"checksum", classAlpha | classNumber | classMixed, readChecksum},
	{"catalogue id", classAlpha | classMixed, readCatalogueID},
	{"resolution", classMixed | classNumber, readResolution},
	{"two words", classAlpha, readWordPair},
	{"quantity", classMixed | classNumber, readQuantity},
	{"audio with channels", classMixed, readAudioChannels},
	{"version", classMixed, readVersion},
	{"disc", classAlpha | classMixed, readDisc},
	{"extra with number", classMixed, readNumberedExtra},
	{"remark in Han", classCJK, readHanRemark},
	{"decoration before a Han title", classAlpha | classMixed, readDecoration},
	{"site", classAlpha | classMixed, readSite},
}

func (p *tagStage) findTags() {
	for i := range p.w.tokens {
		p.w.steps++
		if p.w.tokens[i].tag == noTag {
			p.lookUp(i)
			tryForms(tagForms, p, i, &p.w.tokens[i])
		}
	}
	p.weakenFirstTag()
	for i := range p.w.tokens {
		t := &p.w.tokens[i]
		switch t.tag {
		case tagSource:
			if t.word.value == "HDTV" {
				p.tvSourceAt = i
			}
			p.hasMediaTag = p.hasMediaTag || !t.weak
		case tagResolution, tagVideo, tagAudio:
			p.hasMediaTag = p.hasMediaTag || !t.weak
		default:
		}
		p.tagChannels(i)
	}
	p.findDates()
}

func (p *tagStage) lookUp(i int) {
	t := &p.w.tokens[i]
	if t.class == number {
		return
	}
	if k, ok := p.w.lists.words[p.w.lower(i)]; ok && (k.weak || !readWordPair(p, i)) { // "VC-1" is more than "VC"
		t.word, t.tag, t.weak = k, k.tag, k.weak
	}
}

// weakenFirstTag makes the first tag outside brackets weak if a plain word follows it, because a title may begin with
// it.
func (p *tagStage) weakenFirstTag() {
	for i := range p.w.tokens {
		t := &p.w.tokens[i]
		if t.bracket >= 0 {
			if t.tag == tagTech && p.w.tagAt(i+1) == noTag && p.w.inSameBracket(i, i+1) && p.w.classAt(i+1) == alpha &&
				!p.w.inSameBracket(i-1, i) {
				t.weak = true // "[24bit Melody]"
			}
			continue
		}
		switch t.tag {
		case tagTech, tagVideo, tagAudio, tagOther, tagEdition, tagLanguage, tagSubtitle, tagService:
			if i+1 < len(p.w.tokens) && p.w.tokens[i+1].tag == noTag && p.w.tokens[i+1].bracket < 0 {
				t.weak = true
			}
		default:
		}
		return
	}
}

func (p *words) setTags(from, to int, t tag) {
	for i := from; i < to; i++ {
		p.tokens[i].tag, p.tokens[i].weak = t, false
	}
}

// isSpacedDash reports whether the text between two tokens is a dash with spaces or dots.
func isSpacedDash(g string) bool {
	if len(g) < 2 || len(g) > 24 {
		return false
	}
	dash, space := false, false
	for _, r := range g {
		switch r {
		case '-', '—', '―', '~', '～':
			dash = true
		case ' ', '.':
			space = true
		}
	}
	return dash && space
}

// findDates tags dates such as "2010.11.23", "5th Mar 2025" or "140722". Their numbers are neither year nor episode.
func (p *tagStage) findDates() {
	for i := range p.w.tokens {
		t := &p.w.tokens[i]
		if t.tag != noTag && t.word.role != monthWord || t.class == cjk || t.class == alpha {
			continue
		}
		switch {
		case p.isDatePart(i, i+1) && p.isDatePart(i+1, i+2) && p.isNumericDate(i):
			p.setDate(i, i+3)
		case p.w.roleAt(i+1) == monthWord && p.w.classAt(i+2) == number && p.w.length(i+2) == 4 && p.isDayWord(i):
			p.setDate(i, i+3)
		case len(p.w.tokens) > 2 && p.w.classAt(i) == number && p.begins(i) && p.recordingTimeEnd(i) > 0:
			p.setDate(i, p.recordingTimeEnd(i))
		case t.class == number && len(p.w.tokens) > 2 && p.isCompactDate(i):
			p.setDate(i, i+1)
		case i > 0 && p.w.length(i) == 6 && p.w.isAloneInBracket(i) && t.num/100 > 1950 && isDateNumber(t.num*100+1):
			p.w.setTags(i, i+1, tagDate) // a year and a month: "[202304]"
		}
	}
}

func (p *tagStage) setDate(from, to int) {
	p.w.setTags(from, to, tagDate)
	p.dateSpan = span{from, to}
	n := p.w.tokens[from].num
	if to == from+3 {
		n = n*10000 + p.w.tokens[from+1].num*100 + p.w.tokens[from+2].num
	}
	if isDateNumber(n) {
		p.date = fmt.Sprintf("%d-%02d-%02d", n/10000, n/100%100, n%100)
	}
}

func (p *tagStage) isDatePart(i, j int) bool {
	if !p.w.isPlainNumber(j) || !p.w.inSameBracket(i, j) {
		return false
	}
	switch p.w.gapAfter(i) {
	case ".", "-", " ":
		return true
	}
	return false
}

func (p *tagStage) isNumericDate(i int) bool {
	if !p.w.isPlainNumber(i) || p.w.length(i+1) > 2 || p.w.gapAfter(i) != p.w.gapAfter(i+1) {
		return false
	}
	a, b, c := p.w.tokens[i].num, p.w.tokens[i+1].num, p.w.tokens[i+2].num
	switch {
	case p.w.isYearlike(i) && p.w.length(i+2) <= 2:
		return isDayAndMonth(b, c)
	case p.w.isYearlike(i+2) && p.w.length(i) <= 2:
		return isDayAndMonth(a, b)
	case b == a+1 && c == b+1: // three episodes
		return false
	}
	// "10-19-12", "18.09.00": two digits for the year, also at the start of a name: "14.05.11.Title"
	if i == 0 && !(p.w.classAt(3) == alpha && p.w.gapAfter(0) == "." && p.w.gapAfter(2) == "." && a < 35 && b <= 12) {
		return false
	}
	return p.w.gapAfter(i) != " " && p.w.length(i) == 2 && p.w.length(i+1) == 2 && p.w.length(i+2) == 2 &&
		(isDayAndMonth(a, b) || a >= 8 && isDayAndMonth(b, c))
}

func isDayAndMonth(a, b int) bool {
	return a >= 1 && b >= 1 && a <= 31 && b <= 31 && (a <= 12 || b <= 12)
}

// isDayWord reports whether the token at i may be a day of a month: "5" or "5th".
func (p *tagStage) isDayWord(i int) bool {
	w := p.w.word(i)
	n := leadingDigits(w)
	return n >= 1 && n <= 2 && len(w)-n <= 2
}

// recordingTimeEnd returns the token after a recorder's date and time, or 0: "202304122300", "20230412_2300".
func (p *tagStage) recordingTimeEnd(i int) int {
	w, after := p.w.word(i), i+1
	if len(w) == 8 && p.w.isPlainNumber(i+1) && p.w.inSameBracket(i, i+1) && len(p.w.gapAfter(i)) == 1 {
		w, after = w+p.w.word(i+1), i+2
	}
	if len(w) == 6 && p.w.isPlainNumber(i+1) && p.w.length(i+1) == 4 && p.w.inSameBracket(i, i+1) &&
		len(p.w.gapAfter(i)) == 1 {
		w, after = "20"+w+p.w.word(i+1), i+2
	}
	if len(w) != 12 && len(w) != 14 || !isDateNumber(atoi(w[:8])) || w[8:10] > "29" || w[10:12] > "59" {
		return 0
	}
	return after
}

func isDateNumber(n int) bool {
	year, month, day := n/10000, n/100%100, n%100
	return year >= firstYear && year <= lastYear && month >= 1 && month <= 12 && day >= 1 && day <= 31
}

// isCompactDate reports whether the number at i is a date: "140722", "20161024".
func (p *tagStage) isCompactDate(i int) bool {
	n := p.w.tokens[i].num
	if p.w.length(i) == 6 {
		return isDateNumber(20_000_000+n) && !p.w.isAloneInBracket(i)
	}
	return p.w.length(i) == 8 && isDateNumber(n)
}
