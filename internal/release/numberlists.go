package release

import (
	"cmp"
	"slices"
	"strings"
)

// numberList describes how a list of numbers continues after the first: "E02-E05", "S01-S03", "Season 1, 2 & 4".
type numberList struct {
	separators   string                                      // the characters that may stand between two numbers
	readSign     func(c cursor, n listNumber) (cursor, bool) // reads the sign before a further number, such as "E"
	maxDigits    int                                         // the most digits of a further number
	maxNumbers   int                                         // the most numbers in a list
	allowsSuffix bool                                        // a suffix such as "v2" may follow a number
	ends         *[]reason[listNumber]                       // the reasons why a number does not continue the list
}

var (
	episodeList = numberList{
		separators: " .-+&/~,", readSign: nextEpisodeSign, maxDigits: 5, maxNumbers: maxEpisodes, allowsSuffix: true,
		ends: &episodeListEnds,
	}
	seasonList = numberList{
		separators: " .-+&~,:", readSign: nextSeasonSign, maxDigits: 2, maxNumbers: 60, ends: &seasonListEnds,
	}
	seasonLetterList = numberList{
		separators: " .-+&/~,", readSign: nextSeasonSign, maxDigits: 2, maxNumbers: 99, ends: &seasonLetterListEnds,
	}
)

// listNumber is one number of a list, with facts about the list up to it.
type listNumber struct {
	after         cursor // the text after the number
	separator     string // the text between the previous number and this one
	hasSign       bool   // a sign stands before the number: "E", "x", "S", or the season again
	signLetter    byte   // the first letter of the sign, in lower case
	value, digits int    // digits: how many it has

	firstDigits int    // how many digits the list's first number has
	lastValue   int    // the value of the previous number
	count       int    // how many numbers there are so far
	afterPlural bool   // the word before the list is plural, such as "Episodes"
	seasonText  string // the season before the list, as written
	version     int    // the version after a number, as in "E02v2"
}

func (n listNumber) isRange() bool { return strings.ContainsAny(n.separator, "-~") }

func (n listNumber) onlySpaces() bool { return !n.afterPlural && strings.Trim(n.separator, " ") == "" }

// isNextAfter reports whether the number is the next one after the given separator: the 22 of "S03E21.22.HDTV".
func (n listNumber) isNextAfter(sep string) bool {
	return n.separator == sep && n.value == n.lastValue+1 && n.digits == 2 && n.after.endOrTagFollows()
}

func (k *numberList) read(first listNumber) ([]int, listNumber) {
	numbers, last := []int{first.value}, first
	for len(numbers) < k.maxNumbers {
		last.count = len(numbers)
		n, ok := k.readNext(last)
		if !ok || applyRules(*k.ends, n) {
			break
		}
		if n.isRange() && !(k.allowsSuffix && (n.value-n.lastValue >= 2000 || n.after.dashedNumberFollows())) {
			numbers = appendRange(numbers, n.lastValue+1, n.value-1)
		}
		numbers = append(numbers, n.value)
		if k.allowsSuffix {
			n.version = cmp.Or(n.after.readSuffix(), n.version)
		}
		last = n
	}
	return numbers, last
}

func (k *numberList) readNext(before listNumber) (n listNumber, ok bool) {
	n, c := before, before.after
	n.firstDigits, n.lastValue = cmp.Or(before.firstDigits, before.digits), before.value
	d := c
	d.skipAny(k.separators, 3)
	n.separator = d.text[c.i:d.i]
	switch e := c; e.readJoinWord() {
	case noRole:
	case toWord:
		d, n.separator = e, "-"
	default:
		d, n.separator = e, "&"
	}
	if k.allowsSuffix && n.separator != "" && d.peek() == '#' && isDigit(d.peekAt(1)) {
		d.i++ // "#01-#02"
	}
	n.signLetter = d.peek()
	d, n.hasSign = k.readSign(d, n)
	n.value, n.digits, ok = d.readNumber(k.maxDigits)
	n.after = d
	return n, ok
}

func nextSeasonSign(c cursor, _ listNumber) (cursor, bool) {
	if c.peek() != 's' || !isDigit(c.peekAt(1)) {
		return c, false
	}
	c.i++
	return c, true
}

func nextEpisodeSign(c cursor, n listNumber) (cursor, bool) {
	ok := c.readRepeatedSeason(n.seasonText) || c.readEpisodeSign(true)
	return c, ok
}

// episodeListEnds list why a number does not continue a list of episodes.
var episodeListEnds = []reason[listNumber]{
	{"a space that joins nothing", func(m listNumber) bool {
		return !m.hasSign && strings.Contains(m.separator, " ") && !strings.ContainsAny(m.separator, "&+~") &&
			!m.isNextAfter(" ")
	}, true},
	{"a title that begins with an X", func(m listNumber) bool {
		return m.signLetter == 'x' && strings.Contains(m.separator, " ")
	}, true},
	{"a codec", func(m listNumber) bool { return m.value >= 263 && m.value <= 266 && m.separator != "" }, true},
	{"a dot or a slash, and it does not count on", func(m listNumber) bool {
		return !m.hasSign && strings.ContainsAny(m.separator, "./") && !m.isNextAfter(".")
	}, true},
	{"a smaller number", func(m listNumber) bool { return !m.hasSign && m.value < m.lastValue }, true},
	{"far too large a number", func(m listNumber) bool { return !m.hasSign && m.value > m.lastValue+300 }, true},
	{"letters after the number", func(m listNumber) bool { return !m.hasSign && !numberMayEnd(m.after) }, true},
}

// seasonListEnds list why a number does not continue a list of seasons after a word for season.
var seasonListEnds = []reason[listNumber]{
	{"it is not larger, or far too large, or an episode", func(n listNumber) bool { // the 3 of "Season 2 3화"
		return n.value <= n.lastValue || n.value > n.lastValue+40 || n.after.counterFollows()
	}, true},
	{"an episode after a dash, and it has two digits or a name follows", func(n listNumber) bool {
		return !n.afterPlural && strings.ContainsAny(n.separator, " .") && n.isRange() &&
			(n.digits > 1 || n.firstDigits > 1 || !n.after.confirmsSeasonList())
	}, true},
	{"an episode after a space, written with more digits", func(n listNumber) bool {
		return n.onlySpaces() && n.digits != n.firstDigits && n.count == 1 && n.value != 10
	}, true},
	{"an episode after a space", func(n listNumber) bool {
		return n.onlySpaces() && (n.value != n.lastValue+1 || n.firstDigits > 2)
	}, true},
}

// seasonLetterListEnds list why a number does not continue a list of seasons with a letter, such as "S01-S03".
var seasonLetterListEnds = []reason[listNumber]{
	{"it is not larger, or far too large", func(n listNumber) bool {
		return n.value <= n.lastValue || n.value > n.lastValue+30 && (n.hasSign || n.value > n.lastValue+39)
	}, true},
	{"no S, and written otherwise", func(n listNumber) bool { return !n.hasSign && n.digits != n.firstDigits }, true},
	{"no S, and after a mere space or dot", func(n listNumber) bool {
		joined := strings.Trim(n.separator, " ") != "" && strings.Trim(n.separator, " ,&+") == ""
		return !n.hasSign && !joined && !(n.separator == "-" && n.count == 1)
	}, true},
}

// readEpisodes reads "E02", "E02E03", "E02-E05", "E02-05", "E01-02-03", "x02x03", "E01+02", "E01.and.S14E02". If
// signed is true, the first number must have a sign. season is the season before it, as written.
func (p *markerStage) readEpisodes(c cursor, season string, signed bool) ([]float64, int, bool) {
	if !c.readEpisodeSign(false) && signed {
		return nil, 0, false
	}
	first, half, ok := listNumber{seasonText: season}, 0.0, false
	if first.value, first.digits, ok = c.readNumber(5); !ok {
		return nil, 0, false
	}
	c.readHalf(&half)
	first.version = c.readSuffix()
	first.after = c
	numbers, last := episodeList.read(first)
	if c = last.after; !c.atWordEnd() && !c.tagFollows() {
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
	k := lists().words[c.word()]
	switch k.tag {
	case tagLanguage, tagSubtitle, tagSource, tagService, tagOther, tagVideo, tagAudio:
		return true
	default:
		return false
	}
}

func (c cursor) word() string {
	to := c.i
	for to < len(c.text) && isWordByte(c.text[to]) {
		to++
	}
	return c.text[c.i:to]
}

func (c cursor) endOrTagFollows() bool {
	c.skipAny(" .", 1)
	return c.i >= len(c.text) || strings.IndexByte("[]()", c.text[c.i]) >= 0 || c.tagFollows() ||
		resolutionOf(c.word()) != ""
}

// readRepeatedSeason reads the season when it is repeated before a further episode: "S01E02 - S01E03", "2x04.2x05".
func (c *cursor) readRepeatedSeason(season string) bool {
	d := *c
	if d.peek() == 's' {
		d.i++
		if _, _, ok := d.readNumber(4); !ok {
			return false
		}
		d.skipAny(" .", 1)
		if !d.readEpisodeSign(true) {
			return false
		}
		*c = d
		return true
	}
	_, width, ok := d.readNumber(4)
	if !ok || d.peek() != 'x' || !isDigit(d.peekAt(1)) || width > 2 && !(width == 4 && season == d.text[c.i:d.i]) {
		return false
	}
	d.i++
	*c = d
	return true
}

// dashedNumberFollows reports whether a dash and another number follow. If so, "E01-02-03" is a list and not a range.
func (c cursor) dashedNumberFollows() bool {
	if c.skipAny(" -", 3) == 0 {
		return false
	}
	c.readEpisodeSign(true)
	_, width, ok := c.readNumber(3)
	return ok && width >= 2 && c.atWordEnd()
}

const maxEpisodes = 3000

// appendRange appends the numbers from lo to hi to a list of at most maxEpisodes.
func appendRange[N int | float64](list []N, lo, hi int) []N {
	list = slices.Grow(list, max(min(hi-lo+1, maxEpisodes), 0))
	for v := lo; v <= hi && len(list) < maxEpisodes; v++ {
		list = append(list, N(v))
	}
	return list
}

// nextNumber is a number after an episode, which may continue or end a range.
type nextNumber struct {
	place
	stage       *markerStage
	value       int
	lastEpisode float64 // the last episode before it
	join        joinKind
}

// joinKind is how the text between two numbers joins them.
type joinKind uint8

const (
	noJoin     joinKind = iota
	rangeJoin           // "01-12"
	spacedJoin          // "01 - 12"; more often, the second number begins the episode's title
	listJoin            // "01+02"
)

// rangeEnds list why a number after an episode is not another episode.
var rangeEnds = []reason[nextNumber]{
	{"nothing joins them", func(n nextNumber) bool { return n.join == noJoin }, true},
	{"it is not larger", func(n nextNumber) bool { return float64(n.value) <= n.lastEpisode }, true},
	{"it is far too large", func(n nextNumber) bool { return float64(n.value) > n.lastEpisode+2000 }, true},
	{"the height of a picture or a codec", func(n nextNumber) bool {
		return n.w.length(n.index) > 2 && float64(n.value) > n.lastEpisode+100 &&
			(standardResolutions[n.w.word(n.index)] != "" || n.value/2 == 132)
	}, true},
	{"it is a year", func(n nextNumber) bool { return n.w.isYearlike(n.index) }, true},
	{"a name follows a dash between spaces", func(n nextNumber) bool {
		return n.join == spacedJoin && !n.w.titleEndsAfterNumber(n.index)
	}, true},
}

func (p *markerStage) extendRange() {
	for len(p.episodes) < maxEpisodes {
		n, ok := p.nextNumber()
		if !ok || applyRules(rangeEnds, n) {
			return
		}
		ranged := n.join == rangeJoin || n.join == spacedJoin
		for v := int(n.lastEpisode) + 1; ranged && v < n.value; v++ {
			p.episodes = append(p.episodes, float64(v))
		}
		p.episodes = append(p.episodes, float64(n.value))
		p.w.setTags(n.index, n.index+1, tagEpisode)
		p.episodeSpan.to = n.index + 1
	}
}

func (p *markerStage) nextNumber() (n nextNumber, ok bool) {
	i := p.episodeSpan.to
	if !p.w.inSameBracket(i-1, i) || p.w.tokens[i].tag != noTag {
		return n, false
	}
	how := joinKindOf(p.w.gapBefore(i))
	if p.w.roleAt(i) == toWord && i+1 < len(p.w.tokens) && len(p.w.gapBefore(i)) == 1 {
		how = rangeJoin
		i++
	}
	if v, ok := p.w.plainEpisode(i + 1); ok && p.w.roleAt(i) == andWord && len(p.w.gapBefore(i)) == 1 &&
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

var joinKinds = map[string]joinKind{
	"-": rangeJoin, "~": rangeJoin, " ~ ": rangeJoin, "–": rangeJoin, "〜": rangeJoin, "～": rangeJoin,
	" ～ ": rangeJoin, " - ": spacedJoin,
	"+": listJoin, "&": listJoin, " & ": listJoin, ", ": listJoin, " + ": listJoin, ",": listJoin, "・": listJoin,
	"、": listJoin, "·": listJoin,
}

// joinKindOf returns how the text between two numbers joins them. A dot counts as a space.
func joinKindOf(gap string) joinKind { return joinKinds[strings.ReplaceAll(gap, ".", " ")] }

// startsRange reports whether the number at i begins a range with a dash between spaces: "01 - 12", "- 05 - 08".
func (p *numberStage) startsRange(i int) bool {
	if i <= p.layout.titleStart || p.w.tokens[i].tag != noTag || !p.w.inSameBracket(i, i+1) ||
		p.w.tokens[i].class != number {
		return false
	}
	n, ok := p.w.plainEpisode(i)
	m, _ := p.w.plainEpisode(i + 1)
	return ok && n < m && p.w.length(i) >= 2 && (n == 1 || isSpacedDash(p.w.gapBefore(i)))
}

// startsWordRange reports whether the number at i begins a range written with a word: "01 to 23".
func (p *words) startsWordRange(i int) bool {
	return i >= 0 && p.inSameBracket(i, i+2) && p.roleAt(i+1) == toWord && p.isPlainNumber(i) && p.isPlainNumber(i+2) &&
		len(p.gapAfter(i)) == 1 && len(p.gapAfter(i+1)) == 1 && p.tokens[i].num < p.tokens[i+2].num && p.length(i) > 1
}

func isRangeGap(g string) bool {
	how := joinKindOf(g)
	return how == rangeJoin || how == listJoin || g == "-E"
}
