package release

// This file decides what a number at the start of a name, a pair such as
// "03_19", and a part of a broadcast say about the episode.

// partAsEpisode takes the part of a broadcast that names no episode for one: "Title Part 2 720p HDTV".
func (p *numbered) partAsEpisode() {
	if p.part == 0 || !p.episode.empty() || !p.season.empty() || !p.television(0) {
		return
	}
	for i := p.first + 1; i > 0 && i < len(p.tokens); i++ {
		if p.tokens[i].tag != tagPart || p.tokens[i].group >= 0 {
			continue
		}
		to := i + 1
		for to < len(p.tokens) && p.tokens[to].tag == tagPart {
			to++
		}
		if to < len(p.tokens) && p.tokens[to].tag != none {
			p.setEpisode(i, to, float64(p.part))
			p.bare = true
		}
		return
	}
}

// seasonDotEpisode reads "[5.134]", and "Title_03_19", "Title.02.10" at the end of a name.
func (p *numbered) seasonDotEpisode() bool {
	if len(p.seasons) > 0 {
		return false
	}
	for i := 0; i+1 < len(p.tokens); i++ {
		a, b := &p.tokens[i], &p.tokens[i+1]
		if a.class != number || b.class != number || a.tag != none || b.tag != none || a.group != b.group || a.num < 0 || b.num < 0 {
			continue
		}
		la, lb, g := a.e-a.s, b.e-b.s, p.gap(i)
		bracketed := a.group >= 0 && la <= 2 && (lb == 2 || lb == 3) && g == "." && p.brackets[a.group].behind-p.brackets[a.group].first == 2 && p.brackets[a.group].outer < 0
		tail := a.group < 0 && !p.fansub && !p.media && i > p.first && la == 2 && lb == 2 && p.text[a.s] <= '2' && (g == "_" || g == "." && p.dotted) && (i+2 >= len(p.tokens) || i+3 == len(p.tokens) && p.tokens[i+2].e-p.tokens[i+2].s == 1 && p.tokens[i+2].class == alpha)
		if bracketed || tail {
			p.seasons = []int{a.num}
			p.setEpisode(i, i+2, float64(b.num))
			p.season = p.episode
			if bracketed && (i == 0 || p.groupTok.from == i) {
				p.groupTok, p.group = span{}, ""
				p.led = true
			}
			return true
		}
	}
	return false
}

// leadingNumber takes a number at the very start for the episode: "01 - Name", "003. Title - Name", "06 Title", "11-02 Name".
func (p *numbered) leadingNumber() {
	i := p.first
	if i < 0 || i >= len(p.tokens) || p.tokens[i].group >= 0 || p.tokens[i].tag != none || p.yearAt >= 0 {
		return
	}
	n, ok := p.loose(i)
	t := p.tokens[i]
	width := t.e - t.s
	if !ok || width > 4 || p.yearNumber(n) && width == 4 {
		return
	}
	gap := p.gap(i)
	if i+1 >= len(p.tokens) {
		// The name is a number: an episode, when a folder says of what.
		p.bare = true
		p.takeLoose(i)
		p.first = -1
		return
	}
	next := &p.tokens[i+1]
	if next.class == number && width <= 2 && next.e-next.s == 2 && (gap == "-" || gap == ".") && len(p.seasons) == 0 && i+2 < len(p.tokens) && next.group < 0 &&
		(p.gap(i+1) == " " || p.gap(i+1) == " - " || p.gap(i+1) == ". ") && p.tokens[i+2].class != number {
		p.seasons = []int{n}
		p.setEpisode(i, i+2, float64(next.num))
		p.season = p.episode
		p.first = i + 2
		p.bare = true
		return
	}
	switch {
	case dashGap(gap), gap == ". ", gap == "-" && width == 2 && p.text[t.s] == '0', gap == "." && width > 1 && p.text[t.s] == '0':
	case p.rangeGap(gap) && next.class == number && next.num > n:
	case (gap == " " || gap == "_") && width > 1 && p.text[t.s] == '0':
	case next.group >= 0 && p.text[t.s] == '0':
	default:
		return
	}
	p.bare = true
	p.takeLoose(i)
	p.extendRange()
	p.first = p.episode.to
	for p.first < len(p.tokens) && p.tokens[p.first].group >= 0 {
		p.first++
	}
	if p.first >= len(p.tokens) || p.tokens[p.first].tag != none && !p.tokens[p.first].weak {
		p.first = -1
	}
	p.led = true
}
