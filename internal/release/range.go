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
	if v, ok := p.w.looseAt(i + 1); ok && p.w.roleAt(i) == andWord && len(p.w.before(i)) == 1 && float64(v) == p.episodes[len(p.episodes)-1]+1 {
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
