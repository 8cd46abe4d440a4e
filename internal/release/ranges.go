package release

import "strings"

// maxEpisodes bounds what a range may expand to.
const maxEpisodes = 3000

// nextNumber is a number behind an episode, which may continue it to a range or a list.
type nextNumber struct {
	in       *marked
	w        *words
	i, value int
	last     float64 // the last episode so far
	join     join
}

// join is how a number stands behind the one before it.
type join uint8

const (
	noJoin     join = iota
	rangeJoin       // "01-12"
	spacedJoin      // "01 - 12": more often the number behind it begins the episode's name
	listJoin        // "01+02"
)

// rangeEnds are the reasons for which a number behind an episode is not a further episode.
var rangeEnds = []reason[nextNumber]{
	because("nothing joins them", "Silver Rail - 07 12.mkv -> Silver Rail e7 episode",
		func(n nextNumber) bool { return n.join == noJoin }),
	because("it is not larger", "Silver Rail - 02-01.mkv -> Silver Rail e2 episode",
		func(n nextNumber) bool { return float64(n.value) <= n.last }),
	because("it is far too large", "Silver Rail 01 & 2199.mkv -> Silver Rail e1 episode",
		func(n nextNumber) bool { return float64(n.value) > n.last+2000 }),
	because("the height of a picture or a codec", "Silver Rail - 06-720.mkv -> Silver Rail e6 episode",
		func(n nextNumber) bool {
			return n.w.width(n.i) > 2 && float64(n.value) > n.last+100 && (usualHeight(n.w.word(n.i)) != "" || n.value/2 == 132)
		}),
	because("it is a year", "Silver Rail - 2009-2012.mkv -> Silver Rail e2009 episode",
		func(n nextNumber) bool { return n.w.yearlike(n.i) }),
	because("a name follows a dash between blanks", "Silver Rail - 05 - 08 Nights.mkv -> Silver Rail e5 episode",
		func(n nextNumber) bool { return n.join == spacedJoin && !n.w.closesNumber(n.i) }),
	because("a title's number before a dash between blanks", "Silver Rail (5 - 8).mkv -> Silver Rail e5 episode",
		func(n nextNumber) bool {
			return n.join == spacedJoin && n.in.episodes[0] != 1 && !dashGap(n.w.before(n.in.episode.from))
		}),
}

// extendRange makes a range or a list of the episode just found and the numbers behind it.
func (p *marked) extendRange() {
	for len(p.episodes) < maxEpisodes {
		n, ok := p.nextNumber()
		if !ok || anyOf(rangeEnds, n) {
			return
		}
		ranged := n.join == rangeJoin && !(p.w.before(n.i) == "-" && p.listOn(n.i)) || n.join == spacedJoin
		for v := int(n.last) + 1; ranged && v < n.value; v++ {
			p.episodes = append(p.episodes, float64(v))
		}
		p.episodes = append(p.episodes, float64(n.value))
		p.w.set(n.i, n.i+1, tagEpisode)
		p.episode.to = n.i + 1
	}
}

// nextNumber returns the number that stands right behind the episode, or behind "to".
func (p *marked) nextNumber() (n nextNumber, ok bool) {
	i := p.episode.to
	if !p.w.beside(i-1, i) || p.w.tokens[i].tag != none {
		return n, false
	}
	how := joinOf(p.w.before(i))
	if p.w.roleAt(i) == toWord && i+1 < len(p.w.tokens) && len(p.w.before(i)) == 1 {
		how = rangeJoin
		i++
	}
	if v, ok := p.w.looseAt(i + 1); ok && p.w.roleAt(i) == andWord && len(p.w.before(i)) == 1 &&
		float64(v) == p.episodes[len(p.episodes)-1]+1 {
		how = listJoin // "07 and 08"
		i++
	}
	value, ok := p.w.loose(i)
	return nextNumber{in: p, w: p.w, i: i, value: value, last: p.episodes[len(p.episodes)-1], join: how}, ok
}

// joinOf returns how a gap joins the numbers on its sides; a dot stands for a blank.
func joinOf(gap string) join {
	if strings.Contains(gap, ".") {
		gap = strings.ReplaceAll(gap, ".", " ")
	}
	switch gap {
	case "-", "~", " ~ ", "–", "〜", "～", " ～ ":
		return rangeJoin
	case " - ":
		return spacedJoin
	case "+", "&", " & ", ", ", " + ", ",", "・", "、":
		return listJoin
	}
	return noJoin
}

// listOn reports whether a third number follows with a tight dash, so that the numbers are a list: "01-02-03".
func (p *marked) listOn(i int) bool {
	_, ok := p.w.looseAt(i + 1)
	return ok && p.w.gap(i) == "-"
}

// startsRange reports whether the number at i begins a range with a dash between blanks: "01 - 12", "- 05 - 08".
func (p *numbered) startsRange(i int) bool {
	if i <= p.layout.first || p.w.tokens[i].tag != none || !p.w.beside(i, i+1) || p.w.tokens[i].class != number {
		return false
	}
	n, ok := p.w.loose(i)
	m, _ := p.w.loose(i + 1)
	return ok && n < m && p.w.width(i) >= 2 && (n == 1 || dashGap(p.w.before(i)))
}

// rangeTo reports whether the number at i begins a range with a tight dash that reaches far: "1-13".
func (p *numbered) rangeTo(i int) bool {
	n, ok := p.w.looseAt(i + 1)
	return ok && (p.w.gap(i) == "-" || p.w.gap(i) == "~") && p.w.tokens[i].num == 1 && n > 4 && p.w.width(i+1) >= 2
}

// rangeByWord reports whether the number at i begins a range that a word makes: "01 to 23".
func (p *words) rangeByWord(i int) bool {
	if i < 0 || !p.beside(i, i+2) || p.roleAt(i+1) != toWord || !p.plainNumber(i) || !p.plainNumber(i+2) {
		return false
	}
	return len(p.gap(i)) == 1 && len(p.gap(i+1)) == 1 && p.tokens[i].num < p.tokens[i+2].num && p.width(i) > 1
}

// rangeGap reports whether g joins the ends of a range or the items of a list.
func rangeGap(g string) bool {
	how := joinOf(g)
	return how == rangeJoin || how == listJoin || g == "-E"
}

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
	if p.w.gap(to-1) != "." || to >= p.marks.episode.from || !p.countsOn(list[0]) ||
		len(list) != min(len(p.marks.episodes), 2) {
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
