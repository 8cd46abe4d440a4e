package release

// findOverall looks beside a marker that says season and episode for the same episodes counted from the show's start:
// "Title - 38 (S02E14)", "165.Title.S08E14", "Title S02E14 (38)".
func (p *numbered) findOverall() {
	if p.marks.season.empty() || p.marks.season != p.marks.episode || len(p.marks.seasons) != 1 || p.layout.first < 0 {
		return
	}
	at := p.marks.episode
	switch {
	case p.countBefore(at.from), p.countInFront(), p.countBehind(at.to):
		p.w.set(p.overallAt.from, p.overallAt.to, tagOverall)
	}
}

// countBefore reads the numbers before the marker at i, with nothing but tags between.
func (p *numbered) countBefore(i int) bool {
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
	padded := p.w.padded(from) && p.w.width(from) == 3 && p.countsOn(list[0])
	if !dashGap(p.w.before(from)) && !padded && (len(list) < 2 || len(p.marks.episodes) < 2) {
		return false
	}
	return p.setOverall(span{from, i}, list)
}

// countInFront reads three digits or more at the start of a name, which a dot parts from the title.
func (p *numbered) countInFront() bool {
	i := p.layout.first
	if p.w.tokens[i].s > 0 && (i == 0 || p.w.tokens[i-1].group < 0) || !p.w.plainNumber(i) || p.w.width(i) != 3 && p.w.width(i) != 4 {
		return false
	}
	to := i + 1
	list := []float64{float64(p.w.tokens[i].num)}
	if p.w.gap(i) == "-" && p.w.plainNumber(to) && p.w.width(to) == p.w.width(i) {
		list = append(list, float64(p.w.tokens[to].num))
		to++
	}
	if p.w.gap(to-1) != "." || to >= p.marks.episode.from || !p.countsOn(list[0]) || len(list) != min(len(p.marks.episodes), 2) {
		return false
	}
	p.layout.first = to
	return p.setOverall(span{i, to}, list)
}

// countBehind reads the number right behind the marker: in a bracket of its own, or behind a word for episode.
func (p *numbered) countBehind(i int) bool {
	to := i + 1
	if p.w.roleAt(i) == episodeWord {
		to++
	} else if i >= len(p.w.tokens) || !p.w.alone(i) || p.w.width(i) < 2 {
		return false
	}
	if !p.w.plainNumber(to-1) || p.w.width(to-1) > 4 || !p.countsOn(float64(p.w.tokens[to-1].num)) {
		return false
	}
	return p.setOverall(span{i, to}, []float64{float64(p.w.tokens[to-1].num)})
}

// countsOn reports whether n can be the count of the first episode: the seasons before it have the length of seasons.
func (p *numbered) countsOn(n float64) bool {
	before := n - p.marks.episodes[0]
	if season := float64(p.marks.seasons[0]); season > 1 {
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
