package release

// findOverall looks beside a marker that says season and episode for the same episodes counted from the show's start:
// "Title - 38 (S02E14)", "165.Title.S08E14", "Title S02E14 (38)".
func (p *numbered) findOverall() {
	if p.season.empty() || p.season != p.episode || len(p.seasons) != 1 || p.first < 0 {
		return
	}
	at := p.episode
	switch {
	case p.countBefore(at.from), p.countInFront(), p.countBehind(at.to):
		p.set(p.overallAt.from, p.overallAt.to, tagOverall)
	}
}

// countBefore reads the numbers before the marker at i, with nothing but tags between.
func (p *numbered) countBefore(i int) bool {
	for i > 0 && p.strongAt(i-1) {
		i--
	}
	from := i - 1
	if from <= p.first || !p.plainNumber(from) || p.width(from) > 4 {
		return false
	}
	list := []float64{float64(p.tokens[from].num)}
	if p.plainNumber(from-1) && from-1 > p.first && p.beside(from-1, from) {
		switch gap := p.gap(from - 1); {
		case gap == "." && p.width(from) == 1:
			list[0] = float64(p.tokens[from-1].num) + list[0]/10
			from--
		case rangeGap(gap) && p.tokens[from-1].num+len(p.episodes)-1 == p.tokens[from].num:
			list = append([]float64{float64(p.tokens[from-1].num)}, list...)
			from--
		}
	}
	padded := p.padded(from) && p.width(from) == 3 && p.countsOn(list[0])
	if !dashGap(p.before(from)) && !padded && (len(list) < 2 || len(p.episodes) < 2) {
		return false
	}
	return p.setOverall(span{from, i}, list)
}

// countInFront reads three digits or more at the start of a name, which a dot parts from the title.
func (p *numbered) countInFront() bool {
	i := p.first
	if p.tokens[i].s > 0 && (i == 0 || p.tokens[i-1].group < 0) || !p.plainNumber(i) || p.width(i) != 3 && p.width(i) != 4 {
		return false
	}
	to := i + 1
	list := []float64{float64(p.tokens[i].num)}
	if p.gap(i) == "-" && p.plainNumber(to) && p.width(to) == p.width(i) {
		list = append(list, float64(p.tokens[to].num))
		to++
	}
	if p.gap(to-1) != "." || to >= p.episode.from || !p.countsOn(list[0]) || len(list) != min(len(p.episodes), 2) {
		return false
	}
	p.first = to
	return p.setOverall(span{i, to}, list)
}

// countBehind reads the number right behind the marker: in a bracket of its own, or behind a word for episode.
func (p *numbered) countBehind(i int) bool {
	to := i + 1
	if p.roleAt(i) == episodeWord {
		to++
	} else if i >= len(p.tokens) || !p.alone(i) || p.width(i) < 2 {
		return false
	}
	if !p.plainNumber(to-1) || p.width(to-1) > 4 || !p.countsOn(float64(p.tokens[to-1].num)) {
		return false
	}
	return p.setOverall(span{i, to}, []float64{float64(p.tokens[to-1].num)})
}

// countsOn reports whether n can be the count of the first episode: the seasons before it have the length of seasons.
func (p *numbered) countsOn(n float64) bool {
	before := n - p.episodes[0]
	if season := float64(p.seasons[0]); season > 1 {
		return before >= 4*(season-1) && before <= 60*(season-1)
	}
	return before == 0
}

// setOverall records the count, of which tokens at say the first number and the last.
func (p *numbered) setOverall(at span, list []float64) bool {
	if last := list[len(list)-1]; len(list) > 1 {
		list = list[:1]
		for v := list[0] + 1; v <= last; v++ {
			list = append(list, v)
		}
	}
	p.overall, p.overallAt = list, at
	return true
}
