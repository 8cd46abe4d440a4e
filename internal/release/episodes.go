package release

import (
	"strings"
	"unicode/utf8"

	"github.com/anivault/anivault/internal/title"
)

// markEpisodeWord marks an episode number after a word for episode: "Episode 7", "Ep01", "E07", "Eps.05-08", "Cap.406",
// "Серии: 1-5", "Episode 1.22".
func markEpisodeWord(p *markerStage, i int) bool {
	if !p.episodeSpan.empty() {
		return false
	}
	if p.w.tokens[i].class != mixed && p.w.roleAt(i) == episodeWord && p.w.classAt(i+1) == mixed && markCross(p, i+1) {
		p.w.setTags(i, i+1, tagEpisode)
		p.episodeSpan.from = i
		return true
	}
	c, ok := p.cursorAfterEpisodeWord(i)
	if !ok || !isDigit(c.peek()) {
		return ok && p.markEpisodeSpelled(i)
	}
	if len(leadingLetters(p.w.lower(i))) > 1 && markSeasonDotEpisode(p, i, c) {
		return true
	}
	episodes, end, ok := p.readEpisodes(c, "", false)
	if !ok {
		return false
	}
	if len(episodes) == 1 {
		episodes, end = p.readSpacedRange(i, episodes, cursor{p.w.lowerText, end})
	}
	p.episodeSpan = p.markBytes(i, end, tagEpisode)
	p.episodes = episodes
	if p.w.isPlainNumber(i-1) && p.w.gapBefore(i) == "-" && len(episodes) == 1 && i > 1 &&
		(p.w.isZeroPadded(i-1) || p.w.tagAt(i-2) == tagSeason) && p.w.tokens[i-1].num < int(episodes[0]) {
		p.setEpisodes(i-1, p.episodeSpan.to, p.w.tokens[i-1].num, int(episodes[0])) // "1기 01-E03화", of a template
	}
	p.readChapters(i)
	return true
}

// markEpisodeSpelled marks an episode that is spelled out, and after a season also a Roman numeral: "Episode Seven",
// "Season 2 Episode IX". Without a season, a Roman numeral is more often that of a film.
func (p *markerStage) markEpisodeSpelled(i int) bool {
	if p.w.length(i) < len("folge") || !p.w.inSameBracket(i, i+1) || len(p.w.gapAfter(i)) != 1 {
		return false
	}
	n, ok := lists().cardinals[p.w.lower(i+1)]
	if !ok && !p.seasonSpan.empty() {
		n, ok = lists().romans[p.w.word(i+1)]
	}
	if ok {
		p.setEpisode(i, i+2, float64(n))
	}
	return ok
}

// cursorAfterEpisodeWord returns a cursor at the number after the word for episode at i: "Ep01", "E07", "Episode #7".
func (p *markerStage) cursorAfterEpisodeWord(i int) (c cursor, ok bool) {
	t := &p.w.tokens[i]
	c = cursor{p.w.lowerText, t.end}
	if t.class == mixed {
		head := leadingLetters(p.w.lower(i))
		c.i = t.start + len(head)
		if head == "e" {
			return c, p.hasEpisodeLetter(i)
		}
		return c, lists().words[head].role == episodeWord && !(head == "cap" && len(p.w.word(i)) > 6)
	}
	if t.word.role != episodeWord && !p.isEpisodeUnit(i) {
		return c, false
	}
	c.skipAny(" ._:-#", 2)
	if c.skipAny("(", 1) > 0 {
		year := c
		if n, width, ok := year.readNumber(4); ok && width == 4 && isYearNumber(n) && year.peek() == ')' {
			return c, false // "Grand Episode (2023)"
		}
	}
	if !isDigit(c.peek()) {
		c.skipAny(" #", 1)
		c.accept("№")
	}
	return c, true
}

// isEpisodeUnit reports whether the word at i is the work's own word for an episode. It stands after a dash, as in
// "Title - Session 5", or has a sign before the number, as in "Title Act.14". A single digit before a year is a film's
// chapter.
func (p *markerStage) isEpisodeUnit(i int) bool {
	if p.w.tokens[i].word.role != unitWord || !p.w.isPlainNumber(i+1) || !p.w.inSameBracket(i, i+1) {
		return false
	}
	switch gap := p.w.gapAfter(i); {
	case gap == " #", gap == ".#":
		return p.w.classAt(i-1) == cjk // after Latin letters it is more often the last word of the title
	case gap == ":", gap == "." && !p.w.isDotted:
		return !p.w.isFolder && p.w.length(i+1) > 1 && p.w.length(i+1) < 4
	case gap == "-":
		return i == 0 && p.w.isZeroPadded(i+1)
	}
	return i > 0 && isSpacedDash(p.w.gapBefore(i)) && len(p.w.gapAfter(i)) == 1 &&
		(p.w.length(i+1) > 1 || p.w.classAt(i+2) != number)
}

func (p *words) isZeroPadded(i int) bool { return p.text[p.tokens[i].start] == '0' }

// hasEpisodeLetter reports whether the word at i is "E" and an episode number. "E7", with one digit, is more often part
// of a title.
func (p *markerStage) hasEpisodeLetter(i int) bool {
	w := p.w.lower(i)
	c := cursor{w, 1}
	_, width, ok := c.readNumber(5)
	one := ok && width == 1 && len(w) == 2
	return one && (len(p.w.tokens) == 1 || // the name has no other word
		p.w.word(i)[0] == 'E' && i > 0 && p.w.titleMayEndBefore(i+1) || // "Title E1"
		p.w.gapAfter(i) == "-" && p.w.isPlainNumber(i+1) && p.w.length(i+1) < 4) || // "Title E1-150"
		ok && width >= 2 && (c.atWordEnd() || c.peek() == 'v' || c.peek() == 'e' || len(w) == c.i+1)
}

// markSeasonDotEpisode marks "Episode 1.22" as season 1, episode 22.
func markSeasonDotEpisode(p *markerStage, i int, c cursor) bool {
	season, _, ok := c.readNumber(2)
	if !ok || c.peek() != '.' || len(p.seasons) > 0 {
		return false
	}
	c.i++
	episode, width, ok := c.readNumber(2)
	if !ok || width != 2 || !c.atWordEnd() {
		return false
	}
	p.markSeasonAndEpisode(i, c.i, season, []float64{float64(episode)})
	return true
}

func (p *markerStage) markSeasonAndEpisode(i, end, season int, episodes []float64) {
	at := p.markBytes(i, end, tagEpisode)
	p.seasonSpan, p.episodeSpan = at, at
	p.seasons, p.episodes = []int{season}, episodes
}

// readSpacedRange reads the rest of a range with spaces: "Ep 01 - 220", "Eps 1 ~ 12", "3 Al 18".
func (p *markerStage) readSpacedRange(i int, episodes []float64, c cursor) ([]float64, int) {
	after := c.i
	if !c.acceptAny(" - ", " ~ ", "~e") && c.readJoinWord() != toWord {
		return episodes, after
	}
	c.accept("e")
	last, width, ok := c.readNumber(4)
	if !ok || float64(last) <= episodes[0] || width < 2 && p.w.tokens[i].bracket < 0 || !c.endOrTagFollows() {
		return episodes, after
	}
	return appendRange(episodes, int(episodes[0])+1, last), c.i
}

// readChapters reads the Spanish "Cap.1903" at token i as season 19, episode 3, if the name also has a season.
func (p *markerStage) readChapters(i int) {
	if len(p.seasons) != 1 || !strings.HasPrefix(p.w.lower(i), "cap") {
		return
	}
	first, last := int(p.episodes[0]), int(p.episodes[len(p.episodes)-1])
	if first < 100 || first > 9999 || first/100 != last/100 {
		return
	}
	p.seasons = []int{first / 100}
	p.setEpisodes(p.episodeSpan.from, p.episodeSpan.to, first%100, last%100)
}

// markNumberBeforeWord marks an episode number before a word for episode: "7. Bölüm", "21.ser", "12 серия",
// "04-я серия"; but not "38 episode".
func markNumberBeforeWord(p *markerStage, i int) bool {
	t := &p.w.tokens[i]
	if !p.episodeSpan.empty() || t.num < 0 || t.end-t.start > 4 || !p.w.inSameBracket(i, i+1) || len(p.w.gapAfter(i)) > 2 {
		return false
	}
	word := i + 1
	if _, after, _, ok := p.ordinalAt(i); ok && after < len(p.w.tokens) {
		word = after
	}
	if !wordSets()["counted"][p.w.lower(word)] {
		return false
	}
	if p.w.isPlainNumber(i-1) && p.w.gapAfter(i-1) == "-" && p.w.tokens[i-1].num < t.num && t.num < maxEpisodes {
		p.setEpisodes(i-1, word+1, p.w.tokens[i-1].num, t.num)
	} else {
		p.setEpisode(i, word+1, float64(t.num))
	}
	return true
}

// markHashNumber marks an episode number after a number sign: "#07", "#01v2", "№ 7".
func markHashNumber(p *markerStage, i int) bool {
	b := p.w.gapBefore(i)
	if !p.episodeSpan.empty() || !strings.HasSuffix(b, "#") && !strings.HasSuffix(strings.TrimSuffix(b, " "), "№") {
		return false
	}
	episodes, end, ok := p.readEpisodes(cursor{p.w.lowerText, p.w.tokens[i].start}, "", false)
	if !ok {
		return false
	}
	p.episodeSpan = p.markBytes(i, end, tagEpisode)
	p.episodes = episodes
	return true
}

func (p *markerStage) markCounters() {
	for i := range p.w.tokens {
		t := &p.w.tokens[i]
		if len(p.seasons) == 0 && p.w.isAloneInBracket(i) && p.w.classAt(i-1) == cjk && p.w.tagAt(i-1) == noTag {
			if n, size := hanNumber(p.w.word(i)); n > 1 && n < 10 && size == p.w.length(i) {
				p.setSeasons(i, i+1, []int{n}) // "铁道（二）"
			}
		}
		if t.num < 0 || t.class != cjk {
			continue
		}
		switch t.tag {
		case tagSeason:
			p.markSeasonCounter(i)
		case tagEpisode:
			if p.episodeSpan.empty() && !p.isTotalCount(i) && !(t.bracket >= 0 && isDigit(p.w.text[t.start]) &&
				p.w.countUntagged(p.w.brackets[t.bracket].span) > 0 && !p.fillsBracket(i)) {
				p.markCounter(i)
			}
		default:
		}
	}
}

// markSeasonCounter reads the counter at i, which looks like one of seasons. It may count films, promotions or issues.
func (p *markerStage) markSeasonCounter(i int) {
	t := &p.w.tokens[i]
	switch {
	case p.w.tagAt(i-1) == tagExtra && strings.HasSuffix(p.w.word(i), "弾"): // "PV第2弾"
		t.tag = tagPromo
	case strings.HasSuffix(p.w.word(i), "부") && p.w.tagAt(i-1) == tagEpisode: // "제7회 제2부"
		t.tag, p.part = tagPart, t.num
	case p.w.isFilmCounter(i):
		t.tag = noTag
	case p.isIssue(i):
		p.markCounter(i)
	case len(p.seasons) == 0:
		p.markSeasons(i)
	case len(p.seasons) == 1 && p.seasons[0] == 1 && p.seasonSpan == p.episodeSpan && i < p.seasonSpan.from && t.num > 0:
		p.seasons = []int{t.num} // "題 第2季 S01E05"
	}
}

// markSeasons marks the seasons of the counter at i: "第1-3季", "1~3기", "1,2기", "1期・2期".
func (p *markerStage) markSeasons(i int) {
	t := &p.w.tokens[i]
	lo, hi := t.num, max(t.num, min(t.rangeEnd, t.num+60))
	from, list := p.readSeasonsBefore(i, lo)
	at := span{from, i + 1}
	p.seasons = appendRange(list, lo+1, hi)
	for next := p.w.tokenAt(at.to); next.class == cjk && next.tag == tagSeason && next.num > hi &&
		p.w.inSameBracket(i, at.to); next = p.w.tokenAt(at.to) {
		switch joinKindOf(p.w.gapBefore(at.to)) {
		case rangeJoin:
			for hi++; hi < next.num && hi-lo < 60; hi++ {
				p.seasons = append(p.seasons, hi)
			}
		case listJoin:
		default:
			p.setSeasonSpan(at)
			return
		}
		hi = next.num
		p.seasons = append(p.seasons, hi)
		at.to++
	}
	p.setSeasonSpan(at)
}

func (p *markerStage) setSeasonSpan(at span) {
	p.w.setTags(at.from, at.to, tagSeason)
	p.seasonSpan = at
}

// isIssue reports whether the counter at i is an issue of a Chinese show and not a season: "第10期",
// "第二季 第05期". In Japanese names, and for small numbers, "期" counts seasons.
func (p *markerStage) isIssue(i int) bool {
	w := p.w.word(i)
	if !strings.HasPrefix(w, "第") || !strings.HasSuffix(w, "期") || title.Script(p.w.text) == "ja" ||
		isSpacedDash(p.w.gapAfter(i)) && p.w.classAt(i+1) == number {
		return false
	}
	next, _ := utf8.DecodeRuneInString(p.w.text[p.w.tokens[i].end:])
	afterSeason := len(p.seasons) > 0 && p.w.classAt(p.seasonSpan.from) == cjk
	padded := strings.HasPrefix(strings.TrimLeft(w[len("第"):], " "), "0")
	return p.episodeSpan.empty() && (afterSeason || padded || p.w.tokens[i].num >= 7 || next == '上' || next == '下')
}

// isTotalCount reports whether the counter at i is the total, not the episode: the first one of "全24話 第5話".
func (p *markerStage) isTotalCount(i int) bool {
	return strings.HasPrefix(p.w.word(i), "全") && p.w.anyToken(span{i + 1, len(p.w.tokens)}, func(k int) bool {
		t := &p.w.tokens[k]
		return t.class == cjk && t.tag == tagEpisode && t.num >= 0
	})
}

// isFilmCounter reports whether the counter at i counts films: "24기" next to the word for film means the 24th film.
func (p *words) isFilmCounter(i int) bool {
	film := func(k int) bool { return p.classAt(k) == cjk && p.tagAt(k) == tagMovie }
	switch w := p.word(i); {
	case p.tokens[i].num < 0:
		return false
	case strings.HasSuffix(w, "部"):
		return film(i - 1)
	case !strings.HasSuffix(w, "기"):
		return false
	}
	first := 0
	for first < i && p.tokens[first].bracket >= 0 {
		first++
	}
	return film(0) || film(first) || film(i-1) && p.inSameBracket(i-1, i) ||
		film(i+1) && p.inSameBracket(i, i+1) && !p.isJoinedByPlus(i+1)
}

// markCounter marks the episodes of the counter at i: "第01-12話", "01-12話".
func (p *markerStage) markCounter(i int) {
	t := &p.w.tokens[i]
	from, lo := i, t.num
	if t.rangeEnd == 0 && p.w.classAt(i-1) == number && p.mayEndRange(i) {
		n, listed := p.w.tokens[i-1].num, joinKindOf(p.w.gapBefore(i)) == listJoin
		if n >= 0 && n < t.num && t.num-n < maxEpisodes && (!listed || n == t.num-1) {
			from, lo = i-1, n
		}
	}
	to, hi := i+1, max(t.num, t.rangeEnd)
	if p.isDecimalOfCounter(i) {
		if from = i - 1; from > 0 && p.w.tokens[from-1].end == p.w.tokens[from].start &&
			isOneOf(p.w.lower(from-1), "第", "제") {
			from--
		}
		p.setEpisode(from, to, float64(p.w.tokens[i-1].num)+float64(t.num)/10)
		return
	}
	if next := i + 1; p.w.classAt(next) == cjk && p.w.tagAt(next) == tagEpisode && joinKindOf(p.w.gapAfter(i)) != noJoin &&
		p.w.inSameBracket(i, next) {
		n, listed := p.w.tokens[next].num, joinKindOf(p.w.gapAfter(i)) == listJoin
		if n > hi && n-hi < maxEpisodes && (!listed || n == hi+1) { // "第1話~第12話", "5화, 6화"
			to, hi = next+1, n
		}
	}
	p.setEpisodes(from, to, lo, hi)
	p.isBatch = p.isBatch || hi > lo && lo == 1
}

// mayEndRange reports whether the counter at i may end a range that the number before it begins. In "제목2-03회", that
// number is the season.
func (p *markerStage) mayEndRange(i int) bool {
	isSeason := p.w.length(i-1) == 1 && p.w.tokens[i-1].num > 1 && p.w.length(i) > len("3회") &&
		p.w.classAt(i-2) == cjk && p.w.gapBefore(i-1) == ""
	return joinKindOf(p.w.gapBefore(i)) != noJoin && p.w.gapBefore(i) != " - " && !isSeason
}

// isDecimalOfCounter reports whether the counter at i is the ".5話" of "第12.5話".
func (p *markerStage) isDecimalOfCounter(i int) bool {
	return !p.w.isDotted && p.w.isPlainNumber(i-1) && p.w.gapBefore(i) == "." && leadingDigits(p.w.word(i)) == 1 &&
		p.w.tokens[i].rangeEnd == 0
}

// fillsBracket reports whether a bracket holds only the counter at i and the number before it: "(1-23话)".
func (p *markerStage) fillsBracket(i int) bool {
	w := p.w.brackets[p.w.tokens[i].bracket].span
	return w.to == i+1 && w.from == i-1 && p.w.classAt(w.from) == number && joinKindOf(p.w.gapAfter(w.from)) == rangeJoin
}
