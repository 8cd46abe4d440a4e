package release

// leadingNumber is a number that begins a name without another episode number.
type leadingNumber struct {
	place
	stage         *numberStage
	value, digits int
	padded        bool // it begins with a zero
}

// leadingNumberRules list why the number that begins a name is the episode.
var leadingNumberRules = []reason[leadingNumber]{
	{"a dash between spaces", func(n leadingNumber) bool { return isSpacedDash(n.gapAfter()) }, true},
	{"a full stop", func(n leadingNumber) bool { return n.gapAfter() == ". " }, true},
	{"a zero first, and a dash, a dot or a space", func(n leadingNumber) bool {
		gap := n.gapAfter()
		return n.padded && (n.digits == 2 && gap == "-" || n.digits > 1 && (gap == "." || gap == " "))
	}, true},
	{"a zero first, and a bracket", func(n leadingNumber) bool { return n.neighbor(1).bracket >= 0 && n.padded }, true},
	{"the start of a range", func(n leadingNumber) bool {
		next := &n.w.tokens[n.index+1]
		return isRangeGap(n.gapAfter()) && next.class == number && next.num > n.value
	}, true},
}

// readLeadingNumber reads an episode number that begins the name: "01 - Name", "06 Title", "11-02 Name".
func (p *numberStage) readLeadingNumber() {
	i := p.layout.titleStart
	if i < 0 || i >= len(p.w.tokens) || p.w.tokens[i].bracket >= 0 || p.w.tokens[i].tag != noTag {
		return
	}
	if p.layout.yearAt >= 0 {
		if p.w.tokens[p.layout.yearAt].bracket >= 0 && p.w.isPlainNumber(i) && p.w.length(i) <= 2 &&
			p.w.gapAfter(i) == ". " && p.w.classAt(i+1) != number {
			p.layout.titleStart = i + 1 // a film's place in a collection: "2. Title (2009)"
		}
		return
	}
	value, ok := p.w.plainEpisode(i)
	n := leadingNumber{place: p.w.place(i), stage: p, value: value, digits: p.w.length(i), padded: p.w.isZeroPadded(i)}
	switch {
	case !ok, n.digits > 4, n.digits == 4 && isYearNumber(value):
	case i+1 >= len(p.w.tokens): // the name is only a number: an episode of the work that a folder names
		p.useAsEpisode(i)
		p.layout.titleStart = -1
	case n.isSeasonAndEpisode():
		p.usePair(i)
		p.layout.titleStart = p.titleStartAfter(p.marks.episodeSpan.to)
	case applyRules(leadingNumberRules, n):
		p.layout.startsWithNumber = true
		p.useAsEpisode(i)
		p.marks.extendRange()
		p.layout.titleStart = p.titleStartAfter(p.marks.episodeSpan.to)
	}
}

// usePair uses the number at i as the season and the one after it as the episode.
func (p *numberStage) usePair(i int) {
	p.marks.seasons = []int{p.w.tokens[i].num}
	p.useAsEpisode(i + 1)
	p.marks.setEpisode(i, p.marks.episodeSpan.to, p.marks.episodes[0])
	p.marks.extendRange()
	p.marks.seasonSpan = p.marks.episodeSpan
}

// isSeasonAndEpisode reports whether n is the season and the number after it the episode: "11-02 Name", "2-05".
func (n leadingNumber) isSeasonAndEpisode() bool {
	i, uneven := n.index, n.gapAfter() == "-" && n.w.isUnevenPair(n.index)
	if n.digits > 2 || n.gapAfter() != "-" && n.gapAfter() != "." || len(n.stage.marks.seasons) > 0 ||
		!uneven && (n.w.classAt(i+1) != number || n.w.length(i+1) != 2) || n.w.tokens[i+1].bracket >= 0 {
		return false
	}
	after := n.w.gapAfter(i + 1)
	return uneven ||
		i+2 < len(n.w.tokens) && n.w.classAt(i+2) != number && (after == " " || after == " - " || after == ". ")
}

func (p *numberStage) titleStartAfter(i int) int {
	for i < len(p.w.tokens) && p.w.tokens[i].bracket >= 0 {
		i++
	}
	if i >= len(p.w.tokens) || p.w.isStrongAt(i) {
		return -1
	}
	return i
}

// readSeasonDotEpisode reads "[5.134]", "Title - 2-05", and "Title_03_19", "Title.02.10" at the end of a name.
func (p *numberStage) readSeasonDotEpisode() bool {
	if len(p.marks.seasons) > 0 {
		return false
	}
	for i := 0; i+1 < len(p.w.tokens); i++ {
		if !p.w.isPlainNumber(i) || !p.w.isPlainNumber(i+1) && !p.w.isUnevenPair(i) || !p.w.inSameBracket(i, i+1) {
			continue
		}
		g := p.w.tokens[i].bracket
		inBracket := g >= 0 && p.w.brackets[g].to-p.w.brackets[g].from == 2 && p.w.brackets[g].outer < 0 && // "[5.134]"
			p.w.gapAfter(i) == "." && p.w.length(i) <= 2 && (p.w.length(i+1) == 2 || p.w.length(i+1) == 3)
		if !inBracket && !p.isPairAtEnd(i) {
			continue
		}
		p.usePair(i)
		if inBracket && (i == 0 || p.layout.groupSpan.from == i) {
			p.layout.groupSpan, p.layout.group = span{}, ""
			p.layout.startsWithNumber = true
		}
		return true
	}
	return false
}

// isUnevenPair reports whether only the second of two numbers is padded with a zero, unlike those of a range: "2-05v2".
func (p *words) isUnevenPair(i int) bool {
	_, ok := p.plainEpisode(i + 1)
	return ok && p.length(i) == 1 && p.tokens[i].num > 0 && p.tagAt(i+1) == noTag && p.isZeroPadded(i+1) &&
		leadingDigits(p.word(i+1)) == 2
}

// isHyphenPair reports whether the uneven pair at i is a season and an episode: "Title - 2-05 - Name", "Title 2-05".
func (p *numberStage) isHyphenPair(i int) bool {
	before, gap := p.w.tagAt(i-1), p.w.gapBefore(i)
	batch := func(k int) bool { return p.w.tagAt(k) == tagBatch }
	return (before == noTag && p.w.roleAt(i-1) == noRole || before == tagYear) &&
		(isSpacedDash(gap) || (gap == " " || gap == ".") && p.w.titleEndsAfterNumber(i+1)) &&
		!p.w.anyToken(span{0, len(p.w.tokens)}, batch)
}

// isPairAtEnd reports whether the numbers at i and i+1 end a name that has only a title besides: "Title_03_19".
func (p *numberStage) isPairAtEnd(i int) bool {
	if p.w.tokens[i].bracket >= 0 || i <= p.layout.titleStart {
		return false
	}
	if p.w.isUnevenPair(i) && !p.w.isFolder && p.w.gapAfter(i) == "-" {
		return p.isHyphenPair(i)
	}
	if p.w.isUnevenPair(i) && !p.w.isFolder && p.w.gapAfter(i) == "." && !p.w.isDotted {
		// "Title 2.05", but not the film "Title 3.0+1.01 (2021)"
		return !p.w.inSameBracket(i, i+2) && p.layout.year == 0 && p.w.gapBefore(i) == " "
	}
	dotted := p.w.gapAfter(i) == "." && p.w.isDotted
	spaced := p.w.gapAfter(i) == " " && p.w.isZeroPadded(i) && !isSpacedDash(p.w.gapBefore(i))
	if p.layout.fansubStyle || p.tags.hasMediaTag || !dotted && !spaced || p.w.length(i) != 2 || p.w.length(i+1) != 2 ||
		p.w.word(i)[0] > '2' {
		return false
	}
	return i+2 >= len(p.w.tokens) || i+3 == len(p.w.tokens) && p.w.length(i+2) == 1 && p.w.tokens[i+2].class == alpha
}

// usePartAsEpisode uses the part as the episode if a TV recording has no episode: "Title Part 2 720p HDTV".
func (p *numberStage) usePartAsEpisode() {
	if p.marks.part == 0 || !p.marks.episodeSpan.empty() || !p.marks.seasonSpan.empty() || p.tags.tvSourceAt < 0 ||
		p.layout.titleStart < 0 {
		return
	}
	for i := p.layout.titleStart + 1; i < len(p.w.tokens); i++ {
		if p.w.tokens[i].tag != tagPart || p.w.tokens[i].bracket >= 0 {
			continue
		}
		to := i + 1
		for p.w.tagAt(to) == tagPart {
			to++
		}
		if p.w.tagAt(to) != noTag {
			p.marks.setEpisode(i, to, float64(p.marks.part))
			p.bareEpisode = true
		}
		return
	}
}

// findOverallNumbers finds the number counted from the show's start: "Title - 38 (S02E14)", "165.Title.S08E14",
// "Title S02E14 (38)", "Title - S02E14 - 038 - Episode".
func (p *numberStage) findOverallNumbers() {
	if p.marks.seasonSpan.empty() || p.marks.seasonSpan != p.marks.episodeSpan || len(p.marks.seasons) != 1 ||
		p.layout.titleStart < 0 {
		return
	}
	at := p.marks.episodeSpan
	switch {
	case p.readOverallBefore(at.from), p.readOverallInFront(), p.readOverallAfter(at.to):
		p.w.setTags(p.overallSpan.from, p.overallSpan.to, tagOverall)
	}
}

func (p *numberStage) readOverallBefore(i int) bool {
	for i > 0 && p.w.isStrongAt(i-1) {
		i--
	}
	from := i - 1
	if from <= p.layout.titleStart || !p.w.isPlainNumber(from) || p.w.length(from) > 4 {
		return false
	}
	list := []float64{float64(p.w.tokens[from].num)}
	if p.w.isPlainNumber(from-1) && from-1 > p.layout.titleStart && p.w.inSameBracket(from-1, from) {
		switch gap := p.w.gapAfter(from - 1); {
		case gap == "." && p.w.length(from) == 1:
			list[0] = float64(p.w.tokens[from-1].num) + list[0]/10
			from--
		case isRangeGap(gap) && p.w.tokens[from-1].num+len(p.marks.episodes)-1 == p.w.tokens[from].num:
			list = append([]float64{float64(p.w.tokens[from-1].num)}, list...)
			from--
		}
	}
	padded := p.w.isZeroPadded(from) && p.w.length(from) == 3 && p.isPlausibleOverall(list[0])
	counts := isSpacedDash(p.w.gapBefore(from)) || padded || len(list) > 1 && len(p.marks.episodes) > 1
	return counts && p.setOverall(span{from, i}, list)
}

func (p *numberStage) readOverallInFront() bool {
	i := p.layout.titleStart
	if p.w.tokens[i].start > 0 && (i == 0 || p.w.tokens[i-1].bracket < 0) || !p.w.isPlainNumber(i) ||
		p.w.length(i) != 3 && p.w.length(i) != 4 {
		return false
	}
	to := i + 1
	list := []float64{float64(p.w.tokens[i].num)}
	if p.w.gapAfter(i) == "-" && p.w.isPlainNumber(to) && p.w.length(to) == p.w.length(i) {
		list = append(list, float64(p.w.tokens[to].num))
		to++
	}
	if p.w.gapAfter(to-1) != "." || to >= p.marks.episodeSpan.from || !p.isPlausibleOverall(list[0]) ||
		len(list) != min(len(p.marks.episodes), 2) {
		return false
	}
	p.layout.titleStart = to
	return p.setOverall(span{i, to}, list)
}

func (p *numberStage) readOverallAfter(i int) bool {
	to := i + 1
	if p.w.roleAt(i) == episodeWord {
		to++
	} else if i >= len(p.w.tokens) || p.w.length(i) < 2 || !p.w.isAloneInBracket(i) && // Sonarr: "S02E14 - 038 - Episode"
		(p.w.length(i) < 3 || !isSpacedDash(p.w.gapBefore(i)) || !isSpacedDash(p.w.gapAfter(i)) &&
			to < len(p.w.tokens) && p.w.tokens[to].bracket < 0) {
		return false
	}
	return p.w.isPlainNumber(to-1) && p.w.length(to-1) <= 4 && p.isPlausibleOverall(float64(p.w.tokens[to-1].num)) &&
		p.setOverall(span{i, to}, []float64{float64(p.w.tokens[to-1].num)})
}

// isPlausibleOverall reports whether n can be this episode's number in the whole show. The earlier seasons must then
// have 4 to 60 episodes each.
func (p *numberStage) isPlausibleOverall(n float64) bool {
	before := n - p.marks.episodes[0]
	if season := float64(p.marks.seasons[0]); season > 1 {
		return before >= 4*(season-1) && before <= 60*(season-1)
	}
	return before == 0
}

func (p *numberStage) setOverall(at span, list []float64) bool {
	list = appendRange(list[:1], int(list[0])+1, int(list[len(list)-1]))
	if p.overall, p.overallSpan = list, at; p.layout.groupSpan == at {
		p.layout.group = ""
	}
	return true
}
