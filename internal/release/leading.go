package release

// firstNumber is a number at the very start of a name.
type firstNumber struct {
	*numbered
	i, value, width int
	padded          bool   // it begins with a zero
	gap             string // what stands behind it
}

// leads are the ways in which a number at the start of a name is its episode.
var leads = []reason[firstNumber]{
	because("a dash between blanks", "7 - Silver Rail.mkv -> Silver Rail e7 episode",
		func(n firstNumber) bool { return dashGap(n.gap) }),
	because("a full stop", "7. Silver Rail.mkv -> Silver Rail e7 episode",
		func(n firstNumber) bool { return n.gap == ". " }),
	because("two digits, the first a zero, and a dash", "07-Silver Rail.mkv -> Silver Rail e7 episode",
		func(n firstNumber) bool { return n.gap == "-" && n.width == 2 && n.padded }),
	because("a zero first, and a dot", "07.Silver.Rail.mkv -> Silver Rail e7 episode",
		func(n firstNumber) bool { return n.gap == "." && n.width > 1 && n.padded }),
	because("a zero first, and a blank", "07 Silver Rail.mkv -> Silver Rail e7 episode",
		func(n firstNumber) bool { return n.gap == " " && n.width > 1 && n.padded }),
	because("a zero first, and a bracket", "07 [1080p].mkv -> e7 episode",
		func(n firstNumber) bool { return n.tokens[n.i+1].group >= 0 && n.padded }),
	because("the word for the last episode behind it", "银色铁道/12.大结局.mp4 -> 银色铁道 e12 episode",
		func(n firstNumber) bool { return n.tagAt(n.i+1) == tagEnd && n.gap != "" }),
	because("the start of a range", "1-3 Silver Rail.mkv -> Silver Rail e1-3 episode", func(n firstNumber) bool {
		next := &n.tokens[n.i+1]
		return rangeGap(n.gap) && next.class == number && next.num > n.value
	}),
}

// leadingNumber takes a number at the very start for the episode: "01 - Name", "003. Title - Name", "06 Title",
// "11-02 Name".
func (p *numbered) leadingNumber() {
	i := p.first
	if i < 0 || i >= len(p.tokens) || p.tokens[i].group >= 0 || p.tokens[i].tag != none {
		return
	}
	if p.yearAt >= 0 {
		if p.tokens[p.yearAt].group >= 0 && p.plainNumber(i) && p.width(i) <= 2 && p.gap(i) == ". " && p.classAt(i+1) == alpha {
			p.first = i + 1 // a film's place in a collection: "2. Title (2009)"
		}
		return
	}
	value, ok := p.loose(i)
	n := firstNumber{numbered: p, i: i, value: value, width: p.width(i), padded: p.padded(i), gap: p.gap(i)}
	switch {
	case !ok, n.width > 4, n.width == 4 && yearNumber(value):
	case i+1 >= len(p.tokens): // the name is a number: an episode, when a folder says of what
		p.bare = true
		p.takeLoose(i)
		p.first = -1
	case n.seasonAndEpisode():
		p.seasons = []int{value}
		p.setEpisode(i, i+2, float64(p.tokens[i+1].num))
		p.season = p.episode
		p.first = i + 2
		p.bare = true
	case anyOf(leads, n):
		p.bare, p.led = true, true
		p.takeLoose(i)
		p.extendRange()
		p.first = p.titleBehind(p.episode.to)
	}
}

// seasonAndEpisode reports whether the number and the one behind it are season and episode: "11-02 Name".
func (n firstNumber) seasonAndEpisode() bool {
	i := n.i
	if n.width > 2 || n.gap != "-" && n.gap != "." || len(n.seasons) > 0 {
		return false
	}
	if n.classAt(i+1) != number || n.numbered.width(i+1) != 2 || n.tokens[i+1].group >= 0 {
		return false
	}
	behind := n.numbered.gap(i + 1)
	return i+2 < len(n.tokens) && n.classAt(i+2) != number && (behind == " " || behind == " - " || behind == ". ")
}

// titleBehind returns where the title starts at or behind token i, -1 when a tag stands there.
func (p *numbered) titleBehind(i int) int {
	for i < len(p.tokens) && p.tokens[i].group >= 0 {
		i++
	}
	if i >= len(p.tokens) || p.strongAt(i) {
		return -1
	}
	return i
}

// seasonDotEpisode reads "[5.134]", and "Title_03_19", "Title.02.10" at the end of a name.
func (p *numbered) seasonDotEpisode() bool {
	if len(p.seasons) > 0 {
		return false
	}
	for i := 0; i+1 < len(p.tokens); i++ {
		if !p.plainNumber(i) || !p.plainNumber(i+1) || !p.beside(i, i+1) || p.tokens[i].num < 0 || p.tokens[i+1].num < 0 {
			continue
		}
		inBracket := p.pairInBracket(i)
		if !inBracket && !p.pairAtEnd(i) {
			continue
		}
		p.seasons = []int{p.tokens[i].num}
		p.setEpisode(i, i+2, float64(p.tokens[i+1].num))
		p.season = p.episode
		if inBracket && (i == 0 || p.groupTok.from == i) {
			p.groupTok, p.group = span{}, ""
			p.led = true
		}
		return true
	}
	return false
}

// pairInBracket reports whether the numbers at i and i+1 are a bracket of their own: "[5.134]".
func (p *lexed) pairInBracket(i int) bool {
	g := p.tokens[i].group
	if g < 0 || p.brackets[g].behind-p.brackets[g].first != 2 || p.brackets[g].outer >= 0 {
		return false
	}
	return p.gap(i) == "." && p.width(i) <= 2 && (p.width(i+1) == 2 || p.width(i+1) == 3)
}

// pairAtEnd reports whether the numbers at i and i+1 end a name that says nothing else: "Title_03_19".
func (p *numbered) pairAtEnd(i int) bool {
	if p.tokens[i].group >= 0 || i <= p.first {
		return false
	}
	if p.gap(i) == "." && !p.dotted && !p.folder && p.width(i) == 1 && p.padded(i+1) && p.width(i+1) == 2 {
		return !p.beside(i, i+2) && p.year == 0 && p.before(i) == " " // "Title 2.05", and no film's "Title 3.0+1.01 (2021)"
	}
	if p.fansub || p.media {
		return false
	}
	if !(p.gap(i) == "." && p.dotted) && !(p.gap(i) == " " && p.padded(i) && !dashGap(p.before(i))) || p.width(i) != 2 || p.width(i+1) != 2 || p.word(i)[0] > '2' {
		return false
	}
	return i+2 >= len(p.tokens) || i+3 == len(p.tokens) && p.width(i+2) == 1 && p.tokens[i+2].class == alpha
}

// partAsEpisode takes the part of a broadcast that names no episode for one: "Title Part 2 720p HDTV".
func (p *numbered) partAsEpisode() {
	if p.part == 0 || !p.episode.empty() || !p.season.empty() || !p.television(0) || p.first < 0 {
		return
	}
	for i := p.first + 1; i < len(p.tokens); i++ {
		if p.tokens[i].tag != tagPart || p.tokens[i].group >= 0 {
			continue
		}
		to := i + 1
		for p.tagAt(to) == tagPart {
			to++
		}
		if p.tagAt(to) != none {
			p.setEpisode(i, to, float64(p.part))
			p.bare = true
		}
		return
	}
}
