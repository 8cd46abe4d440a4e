package release

import (
	"cmp"
	"slices"
	"strings"
)

// numberList describes how a list of numbers continues after the first: "E02-E05", "S01-S03", "Season 1, 2 & 4".
type numberList struct {
	separators string                                           // what may stand between two numbers
	sign       func(c cursor, before listNumber) (cursor, bool) // reads what introduces a further number
	digits     int                                              // of a further number, at most
	maxNumbers int                                              // numbers in a list
	suffix     bool                                             // a version or the like may be run into a number
	notInList  *[]reason[listNumber]                            // why a number is none of the list
}

var (
	episodeList = numberList{
		separators: " .-+&/~,", sign: nextEpisodeSign, digits: 5, maxNumbers: maxEpisodes, suffix: true,
		notInList: &episodeListEnds,
	}
	seasonList = numberList{
		separators: " .-+&~,:", sign: nextSeasonSign, digits: 2, maxNumbers: 60, notInList: &seasonListEnds,
	}
	letterList = numberList{
		separators: " .-+&/~,", sign: nextSeasonSign, digits: 2, maxNumbers: 99, notInList: &letterListEnds,
	}
)

// listNumber is one number of a list, and what is known of the list up to it.
type listNumber struct {
	after        cursor // after the number
	sep          string // what comes before it
	sign         bool   // the number has a sign of its own: "E", "x", "S", or the season again
	letter       byte   // the sign's first letter, small
	value, width int    // width: its digits

	first   int    // the digits of the list's first number
	last    int    // the last number's value
	count   int    // how many numbers there are so far
	plural  bool   // the word before the list says that there are several
	season  string // how the season before the list is written
	version int    // run into a number
}

func (n listNumber) ranged() bool { return strings.ContainsAny(n.sep, "-~") }
func (n listNumber) spaced() bool { return strings.ContainsAny(n.sep, " .") }

func (n listNumber) onlySpaces() bool { return !n.plural && strings.Trim(n.sep, " ") == "" }

// isNextAfter reports whether the number continues the list after the separator: "S03E21.22.HDTV".
func (n listNumber) isNextAfter(sep string) bool {
	return n.sep == sep && n.value == n.last+1 && n.width == 2 && n.after.tagNext()
}

func (k *numberList) list(first listNumber) ([]int, listNumber) {
	numbers, last := []int{first.value}, first
	for len(numbers) < k.maxNumbers {
		last.count = len(numbers)
		n, ok := k.next(last)
		if !ok || decide(*k.notInList, n) {
			break
		}
		if n.ranged() && !(k.suffix && (n.value-n.last >= 2000 || n.after.listed())) {
			for v := n.last + 1; v < n.value; v++ {
				numbers = append(numbers, v)
			}
		}
		numbers = append(numbers, n.value)
		if k.suffix {
			n.version = cmp.Or(n.after.readSuffix(), n.version)
		}
		last = n
	}
	return numbers, last
}

func (k *numberList) next(before listNumber) (n listNumber, ok bool) {
	n, c := before, before.after
	n.first, n.last = cmp.Or(before.first, before.width), before.value
	d := c
	d.skip(k.separators, 3)
	n.sep = d.text[c.i:d.i]
	switch e := c; e.joinWord() {
	case noRole:
	case toWord:
		d, n.sep = e, "-"
	default:
		d, n.sep = e, "&"
	}
	if k.suffix && n.sep != "" && d.peek() == '#' && digit(d.at(1)) {
		d.i++ // "#01-#02"
	}
	n.letter = d.peek()
	d, n.sign = k.sign(d, n)
	n.value, n.width, ok = d.number(k.digits)
	n.after = d
	return n, ok
}

func nextSeasonSign(c cursor, _ listNumber) (cursor, bool) {
	if c.peek() != 's' || !digit(c.at(1)) {
		return c, false
	}
	c.i++
	return c, true
}

func nextEpisodeSign(c cursor, n listNumber) (cursor, bool) {
	ok := c.seasonAgain(n.season) || c.episodeSign(true)
	return c, ok
}

var episodeListEnds = []reason[listNumber]{
	because("a space that joins nothing", "Silver Rail S01E02 - 05.mkv -> Silver Rail s1 e2 episode",
		func(m listNumber) bool {
			return !m.sign && strings.Contains(m.sep, " ") && !strings.ContainsAny(m.sep, "&+~") && !m.isNextAfter(" ")
		}),
	because("a title that begins with an X", "Silver Rail S01E02 - X3.mkv -> Silver Rail s1 e2 episode",
		func(m listNumber) bool { return m.letter == 'x' && strings.Contains(m.sep, " ") }),
	because("a codec", "Silver.Rail.S02E14.X264.1080p -> Silver Rail s2 e14 episode",
		func(m listNumber) bool { return m.value >= 263 && m.value <= 266 && m.sep != "" }),
	because("a dot or a slash, and it does not count on", "Silver.Rail.S01E02.05.mkv -> Silver Rail s1 e2 episode",
		func(m listNumber) bool { return !m.sign && strings.ContainsAny(m.sep, "./") && !m.isNextAfter(".") }),
	because("a smaller number", "Silver.Rail.S02E05-02 -> Silver Rail s2 e5 episode",
		func(m listNumber) bool { return !m.sign && m.value < m.last }),
	because("far too large a number", "Silver.Rail.S02E05-500 -> Silver Rail s2 e5 episode",
		func(m listNumber) bool { return !m.sign && m.value > m.last+300 }),
	because("fewer digits", "Silver Rail S01E02,3.mkv -> Silver Rail s1 e2 episode",
		func(m listNumber) bool {
			return !m.sign && m.width < 2 && m.first > 1 && !strings.ContainsAny(m.sep, "&+")
		}),
	because("two digits more", "Silver Rail S01E0-118.mkv -> Silver Rail s1 e0 episode",
		func(m listNumber) bool { return !m.sign && m.width > m.first+1 }),
	because("letters after the number", "Silver.Rail.S02E05-07a -> Silver Rail s2 e5 episode",
		func(m listNumber) bool { return !m.sign && !numberMayEnd(m.after) }),
}

var seasonListEnds = []reason[listNumber]{
	because("nothing parts them", "Silver Rail Season 1S2.mkv -> Silver Rail s1 batch",
		func(n listNumber) bool { return n.sep == "" }),
	because("a colon, and one season is announced", "Silver Rail Season 2: 5 Nights.mkv -> Silver Rail s2 batch",
		func(n listNumber) bool { return !n.plural && strings.Contains(n.sep, ":") }),
	because("it is not larger", "Silver Rail Season 3-2.mkv -> Silver Rail s3 batch",
		func(n listNumber) bool { return n.value <= n.last }),
	because("it is far too large", "Silver Rail Season 1-70.mkv -> Silver Rail s1 batch",
		func(n listNumber) bool { return n.value > n.last+40 }),
	because("an episode of two digits after a dash", "Silver Rail Season 2 - 05 OVA.mkv -> Silver Rail s2 e5 OVA special",
		func(n listNumber) bool { return !n.plural && n.spaced() && n.ranged() && (n.width > 1 || n.first > 1) }),
	because("an episode after a dash, and a name follows", "Silver Rail Season 1 - 3.mkv -> Silver Rail s1 e3 episode",
		func(n listNumber) bool { return !n.plural && n.spaced() && n.ranged() && !n.after.seasonsGoOn() }),
	because("an episode after a space, written with more digits",
		"Silver Rail Season 0 01.mkv -> Silver Rail s0 e1 special",
		func(n listNumber) bool { return n.onlySpaces() && n.width != n.first && n.count == 1 && n.value != 10 }),
	because("an episode after a space", "Silver Rail Season 1 10.mkv -> Silver Rail s1 e10 episode",
		func(n listNumber) bool { return n.onlySpaces() && (n.value != n.last+1 || n.first > 2) }),
}

var letterListEnds = []reason[listNumber]{
	because("it is not larger", "Silver Rail S03-S02.mkv -> Silver Rail s3 batch",
		func(n listNumber) bool { return n.value <= n.last }),
	because("it is far too large", "Silver Rail S01-S50.mkv -> Silver Rail s1 batch",
		func(n listNumber) bool { return n.value > n.last+30 && (n.sign || n.value > n.last+39) }),
	because("letters after it", "Silver Rail S01-S02x.mkv -> Silver Rail s1 batch", func(n listNumber) bool {
		another := n.after.peek() == 'e' || n.after.peek() == 's'
		return !n.after.wordEnd() && !(n.sign && another)
	}),
	because("no S, and written otherwise", "Silver Rail S01-3.mkv -> Silver Rail s1 e3 episode",
		func(n listNumber) bool { return !n.sign && n.width != n.first }),
	because("no S, and after a mere space or dot", "Silver Rail S01 02.mkv -> Silver Rail s1 e2 episode",
		func(n listNumber) bool {
			joined := strings.Trim(n.sep, " ") != "" && strings.Trim(n.sep, " ,&+") == ""
			return !n.sign && !joined && !(n.sep == "-" && n.count == 1)
		}),
}

// readEpisodes reads "E02", "E02E03", "E02-E05", "E02-05", "E01-02-03", "x02x03", "E01+02", "E01.and.S14E02". signed
// requires a sign before the first number. season is the season's text before it.
func (p *markerStage) readEpisodes(c cursor, season string, signed bool) ([]float64, int, bool) {
	if !c.episodeSign(false) && signed {
		return nil, 0, false
	}
	first, half, ok := listNumber{season: season}, 0.0, false
	if first.value, first.width, ok = c.number(5); !ok {
		return nil, 0, false
	}
	c.readHalf(&half)
	first.version = c.readSuffix()
	first.after = c
	numbers, last := episodeList.list(first)
	if c = last.after; !c.wordEnd() && !anotherEpisodeFollows(c) && !c.tagFollows() {
		return nil, 0, false
	}
	episodes := make([]float64, len(numbers))
	for i, n := range numbers {
		episodes[i] = float64(n)
	}
	episodes[0] += half
	slices.Sort(episodes)
	p.tags.version = cmp.Or(last.version, p.tags.version)
	return episodes, c.i, true
}

// tagFollows reports whether the rest of the word is a tag: "S02E07De".
func (c cursor) tagFollows() bool {
	k, _ := lookUpWord(c.word())
	switch k.tag {
	case tagLanguage, tagSubtitle, tagSource, tagService, tagOther, tagVideo, tagAudio:
		return true
	default:
		return false
	}
}

func (c cursor) word() string {
	to := c.i
	for to < len(c.text) && wordByte(c.text[to]) {
		to++
	}
	return c.text[c.i:to]
}

func (c cursor) tagNext() bool {
	c.skip(" .", 1)
	return c.i >= len(c.text) || c.tagFollows() || heightOf(c.word()) != ""
}

// seasonAgain reads a season that is written again: "S01E02 - S01E03", "2x04.2x05".
func (c *cursor) seasonAgain(season string) bool {
	d := *c
	if d.peek() == 's' {
		d.i++
		if _, _, ok := d.number(4); !ok {
			return false
		}
		d.skip(" .", 1)
		if !d.episodeSign(true) {
			return false
		}
		*c = d
		return true
	}
	_, width, ok := d.number(4)
	if !ok || d.peek() != 'x' || !digit(d.at(1)) || width > 2 && !(width == 4 && season == d.text[c.i:d.i]) {
		return false
	}
	d.i++
	*c = d
	return true
}

// listed reports whether another number follows with a dash, so "E01-02-03" is a list and not a range.
func (c cursor) listed() bool {
	if c.skip(" -", 3) == 0 {
		return false
	}
	c.episodeSign(true)
	_, width, ok := c.number(3)
	return ok && width >= 2 && c.wordEnd()
}

const maxEpisodes = 3000

type nextNumber struct {
	place
	in    *markerStage
	value int
	last  float64 // the last episode so far
	join  listJoint
}

type listJoint uint8

const (
	noJoin     listJoint = iota
	rangeJoin            // "01-12"
	spacedJoin           // "01 - 12": more often the number after it begins the episode's name
	listJoin             // "01+02"
)

var rangeEnds = []reason[nextNumber]{
	because("nothing joins them", "Silver Rail - 07 12.mkv -> Silver Rail e7 episode",
		func(n nextNumber) bool { return n.join == noJoin }),
	because("it is not larger", "Silver Rail - 02-01.mkv -> Silver Rail e2 episode",
		func(n nextNumber) bool { return float64(n.value) <= n.last }),
	because("it is far too large", "Silver Rail 01 & 2199.mkv -> Silver Rail e1 episode",
		func(n nextNumber) bool { return float64(n.value) > n.last+2000 }),
	because("the height of a picture or a codec", "Silver Rail - 06-720.mkv -> Silver Rail e6 episode",
		func(n nextNumber) bool {
			return n.w.width(n.i) > 2 && float64(n.value) > n.last+100 && (usualHeight[n.w.word(n.i)] != "" || n.value/2 == 132)
		}),
	because("it is a year", "Silver Rail - 2009-2012.mkv -> Silver Rail e2009 episode",
		func(n nextNumber) bool { return n.w.yearlike(n.i) }),
	because("a name follows a dash between spaces", "Silver Rail - 05 - 08 Nights.mkv -> Silver Rail e5 episode",
		func(n nextNumber) bool { return n.join == spacedJoin && !n.w.titleEndsAfterNumber(n.i) }),
	because("a title's number before a dash between spaces", "Silver Rail (5 - 8).mkv -> Silver Rail e5 episode",
		func(n nextNumber) bool {
			return n.join == spacedJoin && n.in.episodes[0] != 1 && !dashGap(n.w.before(n.in.episodeSpan.from))
		}),
}

func (p *markerStage) extendRange() {
	for len(p.episodes) < maxEpisodes {
		n, ok := p.nextNumber()
		if !ok || decide(rangeEnds, n) {
			return
		}
		ranged := n.join == rangeJoin && !p.dashedList(n.i) || n.join == spacedJoin
		for v := int(n.last) + 1; ranged && v < n.value; v++ {
			p.episodes = append(p.episodes, float64(v))
		}
		p.episodes = append(p.episodes, float64(n.value))
		p.w.setTags(n.i, n.i+1, tagEpisode)
		p.episodeSpan.to = n.i + 1
	}
}

func (p *markerStage) nextNumber() (n nextNumber, ok bool) {
	i := p.episodeSpan.to
	if !p.w.beside(i-1, i) || p.w.tokens[i].tag != none {
		return n, false
	}
	how := joinOf(p.w.before(i))
	if p.w.roleAt(i) == toWord && i+1 < len(p.w.tokens) && len(p.w.before(i)) == 1 {
		how = rangeJoin
		i++
	}
	if v, ok := p.w.plainEpisode(i + 1); ok && p.w.roleAt(i) == andWord && len(p.w.before(i)) == 1 &&
		float64(v) == p.episodes[len(p.episodes)-1]+1 {
		how = listJoin // "07 and 08"
		i++
	}
	value, ok := p.w.plainEpisode(i)
	if ok {
		n = nextNumber{p.w.place(i), p, value, p.episodes[len(p.episodes)-1], how}
	}
	return n, ok
}

var joints = map[string]listJoint{
	"-": rangeJoin, "~": rangeJoin, " ~ ": rangeJoin, "–": rangeJoin, "〜": rangeJoin, "～": rangeJoin, " ～ ": rangeJoin,
	" - ": spacedJoin,
	"+":   listJoin, "&": listJoin, " & ": listJoin, ", ": listJoin, " + ": listJoin, ",": listJoin, "・": listJoin,
	"、": listJoin,
}

// joinOf returns how the text between two numbers joins them. A dot counts as a space.
func joinOf(gap string) listJoint { return joints[strings.ReplaceAll(gap, ".", " ")] }

// dashedList reports whether dashes without spaces join three numbers, the second being at i: "01-02-03" is a list.
func (p *markerStage) dashedList(i int) bool {
	_, ok := p.w.plainEpisode(i + 1)
	return ok && p.w.before(i) == "-" && p.w.gap(i) == "-"
}

// startsRange reports whether the number at i begins a range with a dash between spaces: "01 - 12", "- 05 - 08".
func (p *numberStage) startsRange(i int) bool {
	if i <= p.layout.first || p.w.tokens[i].tag != none || !p.w.beside(i, i+1) || p.w.tokens[i].class != number {
		return false
	}
	n, ok := p.w.plainEpisode(i)
	m, _ := p.w.plainEpisode(i + 1)
	return ok && n < m && p.w.width(i) >= 2 && (n == 1 || dashGap(p.w.before(i)))
}

// rangeTo reports whether the 1 at token i begins a range such as "1-13".
func (p *numberStage) rangeTo(i int) bool {
	n, ok := p.w.plainEpisode(i + 1)
	return ok && (p.w.gap(i) == "-" || p.w.gap(i) == "~") && p.w.tokens[i].num == 1 && n > 4 && p.w.width(i+1) >= 2
}

// rangeByWord reports whether the number at i begins a range written with a word: "01 to 23".
func (p *words) rangeByWord(i int) bool {
	if i < 0 || !p.beside(i, i+2) || p.roleAt(i+1) != toWord || !p.plainNumber(i) || !p.plainNumber(i+2) {
		return false
	}
	return len(p.gap(i)) == 1 && len(p.gap(i+1)) == 1 && p.tokens[i].num < p.tokens[i+2].num && p.width(i) > 1
}

func rangeGap(g string) bool {
	how := joinOf(g)
	return how == rangeJoin || how == listJoin || g == "-E"
}
