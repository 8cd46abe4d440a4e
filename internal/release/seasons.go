package release

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// seasonWordExceptions list why the number after a word for season is not a season.
var seasonWordExceptions = []reason[listNumber]{
	{"three digits", func(n listNumber) bool {
		return n.digits == 3 && n.value > 0 && n.after.text[n.after.i-3] != '0'
	}, true},
	{"four digits that are no year, or a year without an episode after it", func(n listNumber) bool {
		n.after.skipAny(" .-_", 3)
		return n.digits == 4 && (n.value < 1930 || n.value > 2099 || n.after.peek() != 'e')
	}, true},
}

// markSeasonWord marks seasons after a word for season: "Season 2", "Season.2of5", "Seasons 1-4", "Season 1 2 3",
// "Saison VII", "Сезон: 5".
func markSeasonWord(p *markerStage, i int) bool {
	c, plural, ok := p.cursorAfterSeasonWord(i)
	if !ok {
		return false
	}
	if c.peek() == 's' && isDigit(c.peekAt(1)) { // "Season S2"
		c.i++
	}
	first := listNumber{afterPlural: plural}
	if first.value, first.digits, ok = c.readNumber(4); !ok {
		return markSeasonSpelled(p, i)
	}
	if p.w.tokens[i].class == mixed && isLetter(c.peek()) && !isDigit(c.peekAt(1)) {
		return false // letters follow the digit: "Se7en"
	}
	first.after = c
	if applyRules(seasonWordExceptions, first) || first.after.counterFollows() {
		return false
	}
	if len(p.seasons) > 0 && !p.seasonSpan.empty() {
		p.markBytes(i, c.i, tagSeason)
		return true
	}
	if c.accept("of") {
		if _, _, ok := c.readNumber(2); !ok {
			return false
		}
	}
	first.after = c
	seasons, last := seasonList.read(first)
	p.seasons = seasons
	p.seasonSpan = p.markBytes(i, last.after.i, tagSeason)
	return true
}

// cursorAfterSeasonWord returns a cursor at the number after the word for season at i: "Season2", "Season 2",
// "Сезон №2". plural says that the word is plural.
func (p *markerStage) cursorAfterSeasonWord(i int) (c cursor, plural, ok bool) {
	t := &p.w.tokens[i]
	c = cursor{p.w.lowerText, t.end}
	if t.class == mixed {
		head := leadingLetters(p.w.lower(i))
		c.i = t.start + len(head)
		return c, false, lists().words[head].role == seasonWord
	}
	switch t.word.role {
	case seasonWord, seasonsWord:
		if p.w.gapAfter(i) != "-" && p.w.lower(i) == "тв" {
			return c, false, false // "ТВ-2" is the second season, "ТВ 02" an episode on television
		}
	case seriesWord:
		_, counted := p.readCompactCount(i + 2)
		if p.isSpelledBeforeEpisode(i + 1) {
			break
		}
		if !p.w.isPlainNumber(i+1) || p.w.length(i+1) > 2 ||
			!isSpacedDash(p.w.gapBefore(i)) && p.w.roleAt(i+2) != episodeWord && p.w.roleAt(i+2) != partWord &&
				p.w.inSameBracket(i+1, i+2) && !counted {
			return c, false, false
		}
	default:
		return c, false, false
	}
	if strings.HasPrefix(p.w.gapAfter(i), " - ") {
		return c, false, false
	}
	c.skipAny(" .:-#(", 2)
	c.skipAny(" ", 1)
	c.accept("№")
	return c, t.word.role == seasonsWord, true
}

// isSpelledBeforeEpisode reports whether the token at i is a number in words before an episode: "Three Episode 4".
func (p *markerStage) isSpelledBeforeEpisode(i int) bool {
	if i+1 >= len(p.w.tokens) {
		return false
	}
	_, spelled := lists().cardinals[p.w.lower(i)]
	next := lists().words[leadingLetters(p.w.lower(i+1))]
	return spelled && next.role == episodeWord
}

// confirmsSeasonList reports whether the text at c shows that a list of seasons precedes it: "Complete", "+ Extras".
func (c cursor) confirmsSeasonList() bool {
	c.skipAny(" -+.", 3)
	return c.i < len(c.text) &&
		(c.acceptAny("complete", "extras", "ova", "movies", "+", "specials", "dvd", "batch") || c.text[c.i-1] == '+')
}

// markSeasonSpelled marks a season that is spelled out or a Roman numeral: "Saison VII", "Season Two", "Saison sept".
func markSeasonSpelled(p *markerStage, i int) bool {
	if !p.w.inSameBracket(i, i+1) || p.w.tokens[i].class == mixed || len(p.w.gapAfter(i)) != 1 || len(p.seasons) > 0 {
		return false
	}
	w := p.w.word(i + 1)
	n, ok := lists().romans[strings.ToUpper(w)]
	if !ok {
		if n, ok = lists().cardinals[p.w.lower(i+1)]; !ok || len(w) == 2 && w != "un" && w != "Un" {
			return false
		}
	}
	p.setSeasons(i, i+2, []int{n})
	return true
}

func (p *markerStage) setSeasons(from, to int, list []int) {
	p.w.setTags(from, to, tagSeason)
	if len(p.seasons) == 0 {
		p.seasons, p.seasonSpan = list, span{from, to}
	}
}

// ordinalSeason is a number before a word for season: "2nd Season".
type ordinalSeason struct {
	place
	stage     *markerStage
	wordToken int    // index of the word for season
	wordText  string // that word
	plain     bool   // the number is not marked as an ordinal: "5 сезон"
}

// ordinalSeasonExceptions list why a number before a word for season is not the season.
var ordinalSeasonExceptions = []reason[ordinalSeason]{
	{"no word for season", func(o ordinalSeason) bool {
		return o.w.roleAt(o.wordToken) != seasonWord && o.w.roleAt(o.wordToken) != seasonsWord
	}, true},
	{"a version before the English word", func(o ordinalSeason) bool {
		return !o.plain && o.wordToken == o.index+1 && o.stage.hasOrdinalLetter(o.index) && o.wordText == "season"
	}, true},
	{"a number of its own after the word", func(o ordinalSeason) bool {
		next := o.wordToken + 1
		return o.plain && o.wordText[0] < utf8.RuneSelf && o.w.classAt(next) == number &&
			len(o.w.gapAfter(o.wordToken)) <= 2 && o.w.inSameBracket(o.index, next) && o.w.roleAt(next+1) != episodeWord
	}, true},
}

// markOrdinalSeason marks seasons before a word for season: "2nd Season", "Second Season", "10 th season", "3
// Temporada", "2.Sezon", "3-й сезон", "2ª a 5ª Temporada", "1-3 сезон".
func markOrdinalSeason(p *markerStage, i int) bool {
	if !p.w.inSameBracket(i, i+1) {
		return false
	}
	n, word, plain, ok := p.ordinalAt(i)
	if !ok {
		return false
	}
	o := ordinalSeason{place: p.w.place(i), stage: p, wordToken: word, plain: plain}
	if word < len(p.w.tokens) {
		o.wordText = p.w.lower(word)
	}
	if applyRules(ordinalSeasonExceptions, o) {
		return false
	}
	from, list := p.readSeasonsBefore(i, n)
	p.setSeasons(from, word+1, list)
	return true
}

// ordinalAt reads "2nd", "second", "10 th", "3-й" or "2ª". plain says that the number is not marked as an ordinal.
func (p *markerStage) ordinalAt(i int) (n, after int, plain, ok bool) {
	if p.w.classAt(i) != number {
		n, ok = ordinal(p.w.lower(i))
		return n, i + 1, false, ok
	}
	if p.w.length(i) > 2 {
		return 0, 0, false, false
	}
	gap, after := p.w.gapAfter(i), i+1
	plain = !strings.HasPrefix(gap, "°") && !strings.HasPrefix(gap, "º") && !strings.HasPrefix(gap, "ª")
	if i+2 < len(p.w.tokens) && len(gap) == 1 && wordSets()["endings"][p.w.lower(i+1)] {
		after, plain = i+2, false
	}
	return p.w.tokens[i].num, after, plain, true
}

func (p *markerStage) readSeasonsBefore(i, last int) (from int, list []int) {
	list = []int{last}
	for from = i; len(list) < 60; {
		at, ranged := from-1, false
		switch gap := strings.TrimRight(p.w.gapBefore(from), " "); {
		case gap == "-" || gap == "~" || gap == "ª-" || gap == "º-":
			ranged = true
		case strings.ContainsAny(gap, ",&+・·") && strings.Trim(gap, " ªº°,&+・·") == "":
		case p.w.roleAt(at) == toWord || p.w.roleAt(at) == andWord:
			ranged = p.w.roleAt(at) == toWord
			at--
		default:
			return from, list
		}
		if !p.w.inSameBracket(at, from) || p.w.tokens[at].tag != noTag {
			return from, list
		}
		n, _, _, ok := p.ordinalAt(at)
		if !ok || n <= 0 || n >= list[0] || list[0]-n > 40 {
			return from, list
		}
		for v := list[0] - 1; ranged && v > n; v-- {
			list = slices.Insert(list, 0, v)
		}
		list = slices.Insert(list, 0, n)
		from = at
	}
	return from, list
}

// hasOrdinalLetter reports whether the word at i is a digit with an ending such as "1a", "2o", "3e".
func (p *markerStage) hasOrdinalLetter(i int) bool {
	w := p.w.word(i)
	end := w[len(w)-1]
	return isDigit(w[0]) && (end == 'a' || end == 'o' || end == 'e')
}

// markSeasonEpisode marks a season with its letter, and episodes after it: "S01E02", "S01.E02", "S01 - E03", "S03-x01",
// "S01E01-E03", "S01-S03", "S01v2", "Se.3 afl.3", "TitleS01E02".
func markSeasonEpisode(p *markerStage, i int) bool {
	t := p.w.tokens[i]
	c := cursor{p.w.lowerText, t.start}
	first := c.peek()
	if first != 's' && first != 't' || t.class == alpha && t.end-t.start > 2 {
		return markGluedSeason(p, i)
	}
	c.i++
	switch {
	case c.peek() == 'o' && isDigit(c.peekAt(1)): // "SO2": an O for a zero
		c.i++
	case c.peek() == 'e' && t.end-t.start == 2:
		c.i++
		c.skipAny(". ", len(c.text))
	}
	if t.class == alpha && t.end-t.start == 1 || i > 0 && strings.HasPrefix(p.w.lower(i-1), "crf") || // "x265.crf18.S77"
		p.tags.hasMediaTag && p.w.gapBefore(i) == "-" && p.w.tagAt(i-1) != noTag &&
			!p.w.inSameBracket(i, i+1) { // it is the group of a scene name: "x264-S4L"
		return false
	}
	season, n, ok := c.readNumber(4)
	if !ok || n == 4 && (season < firstYear || season > 2099) {
		return markGluedSeason(p, i)
	}
	if c.peek() == 'x' && c.peekAt(1) == 'e' {
		c.i++ // "T02XE05"
	}
	return (first != 't' || c.episodeFollows()) && p.readAfterSeason(i, c, season, n)
}

// episodeFollows reports whether an episode with a letter or word follows the season: "T03E08", "T2 E05".
func (c cursor) episodeFollows() bool {
	c.skipAny(" .-", 3)
	return c.peek() == 'e' && isDigit(c.peekAt(1)) || c.acceptAny("cap ", "ep ", "capitulo ", "capítulo ", "episodio ")
}

// markGluedSeason splits "DieS01E06" and "Title2x05" before the marker, which is then read as the next token.
func markGluedSeason(p *markerStage, i int) bool {
	t := p.w.tokens[i]
	if t.class != mixed || !p.episodeSpan.empty() {
		return false
	}
	w := p.w.lower(i)
	for k := 1; k+3 < len(w); k++ {
		if !isDigit(w[k-1]) && looksLikeMarker(w[k:], k > 1) {
			p.splitToken(i, t.start+k)
			return false
		}
	}
	return false
}

// looksLikeMarker reports whether w begins like "S01E02" or, if it may be crossed, is like "2x05".
func looksLikeMarker(w string, crossed bool) bool {
	n := leadingDigits(w)
	return len(w) > 5 && w[0] == 's' && isDigit(w[1]) && isDigit(w[2]) && w[3] == 'e' && isDigit(w[4]) && isDigit(w[5]) ||
		crossed && n >= 1 && n <= 2 && len(w) == n+3 && w[n] == 'x' && allDigits(w[n+1:])
}

func (p *markerStage) readAfterSeason(i int, start cursor, season, width int) bool {
	p.readSeasonPart(&start)
	seasons, last := seasonLetterList.read(listNumber{after: start, value: season, digits: width})
	c := last.after
	d := c
	d.skipAny(" ._-", 3)
	if episodes, end, ok := p.readEpisodes(d, "", true); ok && len(p.episodes) == 0 {
		at := p.markBytes(i, end, tagEpisode)
		if len(p.seasons) != 1 || p.seasons[0] == 0 || !slices.Equal(seasons, []int{1}) { // not "Title 2nd Season S01E05"
			p.seasons = seasons
		}
		p.episodes, p.seasonSpan, p.episodeSpan = episodes, at, at
		return true
	}
	if n, w, ok := c.readTightEpisode(); ok && w != width && len(seasons) == 1 && len(p.episodes) == 0 {
		p.markSeasonAndEpisode(i, c.i+1+w, season, []float64{float64(n)})
		return true
	}
	if !c.atWordEnd() {
		if c.peek() == 's' || c.peek() == 'o' {
			return p.readSeasonSpecial(i, c)
		}
		if !p.readSeasonSuffix(&c) && (len(seasons) == 1 || c.peek() != 'd') {
			return false
		}
	}
	if !p.seasonSpan.empty() && len(p.seasons) > 0 || !p.w.isFolder && i == 0 && p.w.tokens[0].bracket >= 0 &&
		p.w.inSameBracket(0, 1) && p.w.tagAt(1) == noTag && p.w.classAt(1) != number { // "[S1 Friends]"
		return false
	}
	p.seasons = seasons
	p.seasonSpan = p.markBytes(i, c.i, tagSeason)
	return true
}

// readSeasonPart reads the part in "S01P02E05".
func (p *markerStage) readSeasonPart(c *cursor) {
	d := *c
	if d.peek() != 'p' {
		return
	}
	d.i++
	if n, _, ok := d.readNumber(2); ok && d.peek() == 'e' && isDigit(d.peekAt(1)) {
		p.part, *c = n, d
	}
}

// readTightEpisode reads the "-15" of "S3-15".
func (c cursor) readTightEpisode() (n, width int, ok bool) {
	if c.peek() != '-' {
		return 0, 0, false
	}
	c.i++
	n, width, ok = c.readNumber(2)
	return n, width, ok && c.atWordEnd() && width == 2
}

// readSeasonSuffix reads the disc of "S07D1" and "S04DVD7", the part of "S01P01", or the version of "S01v2".
func (p *markerStage) readSeasonSuffix(c *cursor) bool {
	d := *c
	if d.accept("extras") {
		return d.atWordEnd()
	}
	first := d.peek()
	if first != 'd' && first != 'p' && first != 'v' {
		return false
	}
	d.i++
	if first == 'd' {
		d.accept("vd")
	}
	n, _, ok := d.readNumber(2)
	if !ok || !d.atWordEnd() {
		return false
	}
	switch first {
	case 'p':
		p.part = n
	case 'v':
		p.tags.version = n
	}
	*c = d
	return true
}

// readSeasonSpecial reads "S01SP02" and "S01OVA1". In TMDB's season 0, this special may have another number.
func (p *markerStage) readSeasonSpecial(i int, c cursor) bool {
	start := c.i
	if !c.acceptAny("sp", "ova", "oad") {
		return false
	}
	name := strings.ToUpper(c.text[start:c.i])
	n, _, ok := c.readNumber(3)
	if !ok || !c.atWordEnd() || !p.episodeSpan.empty() {
		return false
	}
	p.special = name
	p.episodes = []float64{float64(n)}
	p.episodeSpan = p.markBytes(i, c.i, tagEpisode)
	return true
}
