package release

import (
	"slices"
	"strings"
)

// listItem is a number behind an episode's: perhaps the next item of the list, or the end of its range.
type listItem struct {
	end         cursor // behind the number
	sep         string // what stands between the two
	sign        bool   // the number has a sign of its own: "E", "x", or the season again
	letter      byte   // the sign's first letter, small
	value       int
	width       int // its digits
	first, last int // the digits of the list's first number, and the last number's value
}

// listEnds are the reasons for which a number behind an episode is not part of its list.
var listEnds = []reason[listItem]{
	because("a blank that joins nothing", "Silver Rail S01E02 - 05.mkv -> Silver Rail s1 e2 episode",
		func(m listItem) bool {
			return !m.sign && strings.Contains(m.sep, " ") && !strings.ContainsAny(m.sep, "&+~") && !m.countsOn(" ")
		}),
	because("a title that begins with an X", "Silver Rail S01E02 - X3.mkv -> Silver Rail s1 e2 episode",
		func(m listItem) bool { return m.letter == 'x' && strings.Contains(m.sep, " ") }),
	because("a codec", "Silver.Rail.S02E14.X264.1080p -> Silver Rail s2 e14 episode",
		func(m listItem) bool { return m.value >= 263 && m.value <= 266 && m.sep != "" }),
	because("a dot or a slash, and it does not count on", "Silver.Rail.S01E02.05.mkv -> Silver Rail s1 e2 episode",
		func(m listItem) bool {
			return !m.sign && strings.ContainsAny(m.sep, "./") && !m.countsOn(".")
		}),
	because("a smaller number", "Silver.Rail.S02E05-02 -> Silver Rail s2 e5 episode",
		func(m listItem) bool { return !m.sign && m.value < m.last }),
	because("far too large a number", "Silver.Rail.S02E05-500 -> Silver Rail s2 e5 episode",
		func(m listItem) bool { return !m.sign && m.value > m.last+300 }),
	because("fewer digits", "Silver Rail S01E02,3.mkv -> Silver Rail s1 e2 episode",
		func(m listItem) bool {
			return !m.sign && m.width < 2 && m.first > 1 && !strings.ContainsAny(m.sep, "&+")
		}),
	because("two digits more", "Silver Rail S01E0-118.mkv -> Silver Rail s1 e0 episode",
		func(m listItem) bool { return !m.sign && m.width > m.first+1 }),
	because("letters behind the number", "Silver.Rail.S02E05-07a -> Silver Rail s2 e5 episode",
		func(m listItem) bool { return !m.sign && !plainEnd(m.end) }),
}

// countsOn reports whether the number is the next of two digits behind a dot or a blank, and tags follow: "S03E21.22.HDTV".
func (m listItem) countsOn(sep string) bool {
	return m.sep == sep && m.value == m.last+1 && m.width == 2 && m.end.tagNext()
}

// readEpisodes reads a list of episodes at c: "E02", "E02E03", "E02-E05", "E02-05", "E01-02-03", "x02x03", "E01+02",
// "E29-31", "E01.and.S14E02". signed demands a sign before the first; season is how a season before it is written. It
// returns the expanded list and where it ends.
func (p *marked) readEpisodes(c cursor, season string, signed bool) ([]float64, int, bool) {
	if !c.episodeSign(false) && signed {
		return nil, 0, false
	}
	n, width, ok := c.number(5)
	if !ok {
		return nil, 0, false
	}
	list := make([]float64, 1, 4)
	list[0] = float64(n)
	c.fraction(&list[0])
	version := c.suffix()
	for last, steps := n, 0; steps < maxEpisodes; steps++ {
		m, ok := c.listItem(season)
		m.first, m.last = width, last
		if !ok || anyOf(listEnds, m) {
			break
		}
		if strings.ContainsAny(m.sep, "-~") && m.value-last < 2000 && !m.end.listed() {
			for k := last + 1; k < m.value; k++ {
				list = append(list, float64(k))
			}
		}
		list = append(list, float64(m.value))
		last = m.value
		c = m.end
		if v := c.suffix(); v > 0 {
			version = v
		}
	}
	if !c.wordEnd() && !extends(c) && !c.tagFollows() {
		return nil, 0, false
	}
	if !slices.IsSorted(list) {
		slices.Sort(list)
	}
	if version > 0 {
		p.tags.version = version
	}
	return list, c.i, true
}

// tagFollows reports whether the rest of the word is a tag: "S02E07De".
func (c cursor) tagFollows() bool {
	k, _ := lookup(c.text[c.i : c.i+leadingWord(c.text[c.i:])])
	switch k.tag {
	case tagLanguage, tagSubtitle, tagSource, tagService, tagOther, tagVideo, tagAudio:
		return true
	default:
		return false
	}
}

// leadingWord returns how many letters and digits s begins with.
func leadingWord(s string) int {
	n := 0
	for n < len(s) && wordByte(s[n]) {
		n++
	}
	return n
}

// tagNext reports whether nothing follows, or a tag does behind one separator.
func (c cursor) tagNext() bool {
	c.skip(" .", 1)
	return c.i >= len(c.text) || c.tagFollows() || heightOf(c.text[c.i:c.i+leadingWord(c.text[c.i:])]) != ""
}

// listItem reads the separator and number at c.
func (c cursor) listItem(season string) (m listItem, ok bool) {
	d := c
	d.skip(" .-+&/~,", 3)
	m.sep = d.text[c.i:d.i]
	switch e := c; e.joinWord() {
	case noRole:
	case toWord:
		d, m.sep = e, "-"
	default:
		d, m.sep = e, "+"
	}
	if m.sep != "" && d.peek() == '#' && digit(d.at(1)) {
		d.i++ // "#01-#02"
	}
	letter := d.peek() | 0x20
	if m.sign = d.seasonAgain(season) || d.episodeSign(true); m.sign {
		m.letter = letter
	}
	m.value, m.width, ok = d.number(5)
	m.end = d
	return m, ok
}

// seasonAgain reads a season that is written again: "S01E02 - S01E03", "2x04.2x05".
func (c *cursor) seasonAgain(season string) bool {
	d := *c
	if d.peek()|0x20 == 's' {
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
	if !ok || d.peek()|0x20 != 'x' || !digit(d.at(1)) || width > 2 && !(width == 4 && season == d.text[c.i:d.i]) {
		return false
	}
	d.i++
	*c = d
	return true
}

// listed reports whether another item follows with a dash, so that what stands before is a list and not a range:
// "E01-02-03".
func (c cursor) listed() bool {
	if c.skip(" -", 3) == 0 {
		return false
	}
	c.episodeSign(true)
	_, width, ok := c.number(3)
	return ok && width >= 2 && c.wordEnd()
}
