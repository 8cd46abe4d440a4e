package release

// tagForms are the tags that words.txt cannot list, in the order they are tried.
var tagForms = []tokenForm[tagStage]{
	{"checksum", "Silver Rail [ABCD1234].mkv -> Silver Rail", classAlpha | classNumber | classMixed, readChecksum},
	{"catalogue id", "Silver Rail [tmdbid-12].mkv -> Silver Rail", classAlpha | classMixed, readCatalogueID},
	{"resolution", "Silver Rail 1080p.mkv -> Silver Rail", classMixed | classNumber, readHeight},
	{"two words", "Silver Rail Blu-ray.mkv -> Silver Rail", classAlpha, readPair},
	{"quantity", "Silver Rail [700 MB].mkv -> Silver Rail", classMixed | classNumber, readQuantity},
	{"audio with channels", "Silver Rail AAC2.0.mkv -> Silver Rail", classMixed, readAudioChannels},
	{"version", "Silver Rail - 07 v2.mkv -> Silver Rail e7 v2 episode", classMixed, readVersion},
	{"disc", "Silver Rail CD1.mkv -> Silver Rail", classAlpha | classMixed, readDisc},
	{"extra with number", "Silver Rail NCOP2.mkv -> Silver Rail e2 NCOP extra", classMixed, readNumberedExtra},
	{"site", "www.site.com - Silver Rail.mkv -> Silver Rail", classAlpha | classMixed, readSite},
}

func (p *tagStage) findTags() {
	for i := range p.w.tokens {
		p.w.steps++
		if p.w.tokens[i].tag == none {
			p.lookUp(i)
			tryForms(tagForms, p, i, &p.w.tokens[i])
		}
	}
	p.weakenFirst()
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
	k, ok := wordInfo{}, false
	if t.class == cjk { // which has no lower case
		k, ok = lists().words[p.w.word(i)]
	} else {
		k, ok = lookUpWord(p.w.lower(i))
	}
	if ok {
		t.word, t.tag, t.weak = k, k.tag, k.weak
	}
}

// weakenFirst makes the first tag between brackets weak if words follow it, so that a title may begin with it.
func (p *tagStage) weakenFirst() {
	for i := range p.w.tokens {
		t := &p.w.tokens[i]
		if t.group >= 0 {
			if t.tag == tagTech && p.w.tagAt(i+1) == none && p.w.beside(i, i+1) && p.w.classAt(i+1) == alpha &&
				!p.w.beside(i-1, i) {
				t.weak = true // "[24bit Melody]"
			}
			continue
		}
		switch t.tag {
		case tagTech, tagVideo, tagAudio, tagOther, tagEdition, tagLanguage, tagSubtitle, tagService:
			if i+1 < len(p.w.tokens) && p.w.tokens[i+1].tag == none && p.w.tokens[i+1].group < 0 {
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

func dashGap(g string) bool {
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

// findDates tags dates such as "2010.11.23", "5th Mar 2025" or "140722", which are neither year nor episode.
func (p *tagStage) findDates() {
	for i := range p.w.tokens {
		t := &p.w.tokens[i]
		if t.tag != none && t.word.role != monthWord || t.class == cjk || t.class == alpha {
			continue
		}
		switch {
		case p.datePart(i, i+1) && p.datePart(i+1, i+2) && p.dateNumbers(i):
			p.setDate(i, i+3)
		case p.w.roleAt(i+1) == monthWord && p.w.classAt(i+2) == number && p.w.width(i+2) == 4 && p.dayWord(i):
			p.setDate(i, i+3)
		case len(p.w.tokens) > 2 && p.startsName(i) && p.recordingTimeEnd(i) > 0:
			p.setDate(i, p.recordingTimeEnd(i))
		case t.class == number && len(p.w.tokens) > 2 && p.compactDate(i):
			p.setDate(i, i+1)
		case i > 0 && p.w.width(i) == 6 && p.w.alone(i) && t.num/100 > 1950 && dayNumber(t.num*100+1):
			p.w.setTags(i, i+1, tagDate) // a month: "[202304]"
		}
	}
}

func (p *tagStage) setDate(from, to int) {
	p.w.setTags(from, to, tagDate)
	p.dateSpan = span{from, to}
}

func (p *tagStage) datePart(i, j int) bool {
	if !p.w.plainNumber(j) || !p.w.beside(i, j) {
		return false
	}
	switch p.w.gap(i) {
	case ".", "-", " ":
		return true
	}
	return false
}

func (p *tagStage) dateNumbers(i int) bool {
	if !p.w.plainNumber(i) || p.w.width(i+1) > 2 || p.w.gap(i) != p.w.gap(i+1) {
		return false
	}
	if p.w.gap(i) == "-" && p.w.classAt(i+3) == number && p.w.gap(i+2) == "-" {
		return false // four numbers
	}
	a, b, c := p.w.tokens[i].num, p.w.tokens[i+1].num, p.w.tokens[i+2].num
	switch {
	case p.w.yearlike(i) && p.w.width(i+2) <= 2:
		return dayMonth(b, c)
	case p.w.yearlike(i+2) && p.w.width(i) <= 2:
		return dayMonth(a, b)
	case b == a+1 && c == b+1: // three episodes
		return false
	}
	// "10-19-12", "18.09.00": two digits for the year
	// "14.05.11.Title"
	if i == 0 && !(p.w.classAt(3) == alpha && p.w.gap(0) == "." && p.w.gap(2) == "." && a < 35 && b <= 12) {
		return false
	}
	return p.w.gap(i) != " " && p.w.width(i) == 2 && p.w.width(i+1) == 2 && p.w.width(i+2) == 2 &&
		(dayMonth(a, b) || a >= 8 && dayMonth(b, c))
}

func dayMonth(a, b int) bool {
	return a >= 1 && b >= 1 && a <= 31 && b <= 31 && (a <= 12 || b <= 12)
}

// dayWord reports whether the token at i is "5" or "5th".
func (p *tagStage) dayWord(i int) bool {
	w := p.w.word(i)
	n := leadingDigits(w)
	return n >= 1 && n <= 2 && len(w)-n <= 2
}

func (p *tagStage) startsName(i int) bool {
	return p.w.classAt(i) == number && (i == 0 || p.w.tokens[i-1].group >= 0 && p.w.tokens[i].group < 0)
}

// recordingTimeEnd returns the token after a recorder's date and time, or 0: "202304122300", "20230412_2300".
func (p *tagStage) recordingTimeEnd(i int) int {
	w, after := p.w.word(i), i+1
	if len(w) == 8 && p.w.plainNumber(i+1) && p.w.beside(i, i+1) && len(p.w.gap(i)) == 1 {
		w, after = w+p.w.word(i+1), i+2
	}
	if len(w) == 6 && p.w.plainNumber(i+1) && p.w.width(i+1) == 4 && p.w.beside(i, i+1) && len(p.w.gap(i)) == 1 {
		w, after = "20"+w+p.w.word(i+1), i+2
	}
	if len(w) != 12 && len(w) != 14 || !dayNumber(atoi(w[:8])) || w[8:10] > "29" || w[10:12] > "59" {
		return 0
	}
	return after
}

func dayNumber(n int) bool {
	year, month, day := n/10000, n/100%100, n%100
	return year >= firstYear && year <= lastYear && month >= 1 && month <= 12 && day >= 1 && day <= 31
}

// compactDate reports whether the number at i is a date: "140722", "20161024".
func (p *tagStage) compactDate(i int) bool {
	n := p.w.tokens[i].num
	if p.w.width(i) == 6 {
		return dayNumber(20_000_000+n) && !p.w.alone(i)
	}
	return p.w.width(i) == 8 && dayNumber(n)
}
