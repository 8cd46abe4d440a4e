package release

type leadingNumber struct {
	place
	in           *numberStage
	value, width int
	padded       bool // it begins with a zero
}

var leadingRules = []reason[leadingNumber]{
	because("a dash between spaces", "7 - Silver Rail.mkv -> Silver Rail e7 episode",
		func(n leadingNumber) bool { return dashGap(n.gap()) }),
	because("a full stop", "7. Silver Rail.mkv -> Silver Rail e7 episode",
		func(n leadingNumber) bool { return n.gap() == ". " }),
	because("two digits, the first a zero, and a dash", "07-Silver Rail.mkv -> Silver Rail e7 episode",
		func(n leadingNumber) bool { return n.gap() == "-" && n.width == 2 && n.padded }),
	because("a zero first, and a dot", "07.Silver.Rail.mkv -> Silver Rail e7 episode",
		func(n leadingNumber) bool { return n.gap() == "." && n.width > 1 && n.padded }),
	because("a zero first, and a space", "07 Silver Rail.mkv -> Silver Rail e7 episode",
		func(n leadingNumber) bool { return n.gap() == " " && n.width > 1 && n.padded }),
	because("a zero first, and a bracket", "07 [1080p].mkv -> e7 episode",
		func(n leadingNumber) bool { return n.at(1).group >= 0 && n.padded }),
	because("the word for the last episode after it", "银色铁道/12.大结局.mp4 -> 银色铁道 e12 episode",
		func(n leadingNumber) bool { return n.at(1).tag == tagEnd && n.gap() != "" }),
	because("the start of a range", "1-3 Silver Rail.mkv -> Silver Rail e1-3 episode", func(n leadingNumber) bool {
		next := &n.w.tokens[n.i+1]
		return rangeGap(n.gap()) && next.class == number && next.num > n.value
	}),
}

// "01 - Name", "003. Title - Name", "06 Title", "11-02 Name"
func (p *numberStage) readLeadingNumber() {
	i := p.layout.first
	if i < 0 || i >= len(p.w.tokens) || p.w.tokens[i].group >= 0 || p.w.tokens[i].tag != none {
		return
	}
	if p.layout.yearAt >= 0 {
		if p.w.tokens[p.layout.yearAt].group >= 0 && p.w.plainNumber(i) && p.w.width(i) <= 2 && p.w.gap(i) == ". " &&
			p.w.classAt(i+1) == alpha {
			p.layout.first = i + 1 // a film's place in a collection: "2. Title (2009)"
		}
		return
	}
	value, ok := p.w.plainEpisode(i)
	n := leadingNumber{place: p.w.place(i), in: p, value: value, width: p.w.width(i), padded: p.w.zeroPadded(i)}
	switch {
	case !ok, n.width > 4, n.width == 4 && yearNumber(value):
	case i+1 >= len(p.w.tokens): // the name is a number: an episode, when a folder says of what
		p.bareEpisode = true
		p.takeNumber(i)
		p.layout.first = -1
	case n.seasonAndEpisode():
		p.marks.seasons = []int{value}
		p.marks.setEpisode(i, i+2, float64(p.w.tokens[i+1].num))
		p.marks.seasonSpan = p.marks.episodeSpan
		p.layout.first = i + 2
		p.bareEpisode = true
	case decide(leadingRules, n):
		p.bareEpisode, p.layout.numberFirst = true, true
		p.takeNumber(i)
		p.marks.extendRange()
		p.layout.first = p.titleAfter(p.marks.episodeSpan.to)
	}
}

// seasonAndEpisode reports whether the number and the one after it are season and episode: "11-02 Name".
func (n leadingNumber) seasonAndEpisode() bool {
	i := n.i
	if n.width > 2 || n.gap() != "-" && n.gap() != "." || len(n.in.marks.seasons) > 0 {
		return false
	}
	if n.w.classAt(i+1) != number || n.w.width(i+1) != 2 || n.w.tokens[i+1].group >= 0 {
		return false
	}
	after := n.w.gap(i + 1)
	return i+2 < len(n.w.tokens) && n.w.classAt(i+2) != number && (after == " " || after == " - " || after == ". ")
}

func (p *numberStage) titleAfter(i int) int {
	for i < len(p.w.tokens) && p.w.tokens[i].group >= 0 {
		i++
	}
	if i >= len(p.w.tokens) || p.w.strongAt(i) {
		return -1
	}
	return i
}

// readSeasonDotEpisode reads "[5.134]", and "Title_03_19", "Title.02.10" at the end of a name.
func (p *numberStage) readSeasonDotEpisode() bool {
	if len(p.marks.seasons) > 0 {
		return false
	}
	for i := 0; i+1 < len(p.w.tokens); i++ {
		if !p.w.plainNumber(i) || !p.w.plainNumber(i+1) || !p.w.beside(i, i+1) || p.w.tokens[i].num < 0 ||
			p.w.tokens[i+1].num < 0 {
			continue
		}
		inBracket := p.pairInBracket(i)
		if !inBracket && !p.pairAtEnd(i) {
			continue
		}
		p.marks.seasons = []int{p.w.tokens[i].num}
		p.marks.setEpisode(i, i+2, float64(p.w.tokens[i+1].num))
		p.marks.seasonSpan = p.marks.episodeSpan
		if inBracket && (i == 0 || p.layout.groupSpan.from == i) {
			p.layout.groupSpan, p.layout.group = span{}, ""
			p.layout.numberFirst = true
		}
		return true
	}
	return false
}

// pairInBracket reports whether the numbers at i and i+1 are a bracket of their own: "[5.134]".
func (p *numberStage) pairInBracket(i int) bool {
	g := p.w.tokens[i].group
	if g < 0 || p.w.brackets[g].to-p.w.brackets[g].from != 2 || p.w.brackets[g].outer >= 0 {
		return false
	}
	return p.w.gap(i) == "." && p.w.width(i) <= 2 && (p.w.width(i+1) == 2 || p.w.width(i+1) == 3)
}

// pairAtEnd reports whether the numbers at i and i+1 end a name that says nothing else: "Title_03_19".
func (p *numberStage) pairAtEnd(i int) bool {
	if p.w.tokens[i].group >= 0 || i <= p.layout.first {
		return false
	}
	if p.w.gap(i) == "." && !p.w.dotted && !p.w.folder && p.w.width(i) == 1 && p.w.zeroPadded(i+1) && p.w.width(i+1) == 2 {
		// "Title 2.05", and no film's "Title 3.0+1.01 (2021)"
		return !p.w.beside(i, i+2) && p.layout.year == 0 && p.w.before(i) == " "
	}
	if p.layout.fansubStyle || p.tags.hasMediaTag {
		return false
	}
	if !(p.w.gap(i) == "." && p.w.dotted) && !(p.w.gap(i) == " " && p.w.zeroPadded(i) && !dashGap(p.w.before(i))) ||
		p.w.width(i) != 2 || p.w.width(i+1) != 2 || p.w.word(i)[0] > '2' {
		return false
	}
	return i+2 >= len(p.w.tokens) || i+3 == len(p.w.tokens) && p.w.width(i+2) == 1 && p.w.tokens[i+2].class == alpha
}

// partAsEpisode uses the part of a TV recording without an episode as its episode: "Title Part 2 720p HDTV".
func (p *numberStage) partAsEpisode() {
	if p.marks.part == 0 || !p.marks.episodeSpan.empty() || !p.marks.seasonSpan.empty() || p.tags.tvSourceAt < 0 ||
		p.layout.first < 0 {
		return
	}
	for i := p.layout.first + 1; i < len(p.w.tokens); i++ {
		if p.w.tokens[i].tag != tagPart || p.w.tokens[i].group >= 0 {
			continue
		}
		to := i + 1
		for p.w.tagAt(to) == tagPart {
			to++
		}
		if p.w.tagAt(to) != none {
			p.marks.setEpisode(i, to, float64(p.marks.part))
			p.bareEpisode = true
		}
		return
	}
}

// findOverall: "Title - 38 (S02E14)", "165.Title.S08E14", "Title S02E14 (38)".
func (p *numberStage) findOverall() {
	if p.marks.seasonSpan.empty() || p.marks.seasonSpan != p.marks.episodeSpan || len(p.marks.seasons) != 1 ||
		p.layout.first < 0 {
		return
	}
	at := p.marks.episodeSpan
	switch {
	case p.overallBefore(at.from), p.overallInFront(), p.overallAfter(at.to):
		p.w.setTags(p.overallSpan.from, p.overallSpan.to, tagOverall)
	}
}

func (p *numberStage) overallBefore(i int) bool {
	for i > 0 && p.w.strongAt(i-1) {
		i--
	}
	from := i - 1
	if from <= p.layout.first || !p.w.plainNumber(from) || p.w.width(from) > 4 {
		return false
	}
	list := []float64{float64(p.w.tokens[from].num)}
	if p.w.plainNumber(from-1) && from-1 > p.layout.first && p.w.beside(from-1, from) {
		switch gap := p.w.gap(from - 1); {
		case gap == "." && p.w.width(from) == 1:
			list[0] = float64(p.w.tokens[from-1].num) + list[0]/10
			from--
		case rangeGap(gap) && p.w.tokens[from-1].num+len(p.marks.episodes)-1 == p.w.tokens[from].num:
			list = append([]float64{float64(p.w.tokens[from-1].num)}, list...)
			from--
		}
	}
	padded := p.w.zeroPadded(from) && p.w.width(from) == 3 && p.plausibleOverall(list[0])
	if !dashGap(p.w.before(from)) && !padded && (len(list) < 2 || len(p.marks.episodes) < 2) {
		return false
	}
	return p.setOverall(span{from, i}, list)
}

func (p *numberStage) overallInFront() bool {
	i := p.layout.first
	if p.w.tokens[i].s > 0 && (i == 0 || p.w.tokens[i-1].group < 0) || !p.w.plainNumber(i) ||
		p.w.width(i) != 3 && p.w.width(i) != 4 {
		return false
	}
	to := i + 1
	list := []float64{float64(p.w.tokens[i].num)}
	if p.w.gap(i) == "-" && p.w.plainNumber(to) && p.w.width(to) == p.w.width(i) {
		list = append(list, float64(p.w.tokens[to].num))
		to++
	}
	if p.w.gap(to-1) != "." || to >= p.marks.episodeSpan.from || !p.plausibleOverall(list[0]) ||
		len(list) != min(len(p.marks.episodes), 2) {
		return false
	}
	p.layout.first = to
	return p.setOverall(span{i, to}, list)
}

func (p *numberStage) overallAfter(i int) bool {
	to := i + 1
	if p.w.roleAt(i) == episodeWord {
		to++
	} else if i >= len(p.w.tokens) || !p.w.alone(i) || p.w.width(i) < 2 {
		return false
	}
	if !p.w.plainNumber(to-1) || p.w.width(to-1) > 4 || !p.plausibleOverall(float64(p.w.tokens[to-1].num)) {
		return false
	}
	return p.setOverall(span{i, to}, []float64{float64(p.w.tokens[to-1].num)})
}

// plausibleOverall reports whether n can be this episode's overall number: the earlier seasons then have 4 to 60
// episodes.
func (p *numberStage) plausibleOverall(n float64) bool {
	before := n - p.marks.episodes[0]
	if season := float64(p.marks.seasons[0]); season > 1 {
		return before >= 4*(season-1) && before <= 60*(season-1)
	}
	return before == 0
}

func (p *numberStage) setOverall(at span, list []float64) bool {
	if last := list[len(list)-1]; len(list) > 1 {
		list = list[:1]
		for v := list[0] + 1; v <= last; v++ {
			list = append(list, v)
		}
	}
	p.overall, p.overallSpan = list, at
	return true
}
