package release

import "strings"

// markEpisodeWord: "Episode 7", "Ep01", "E07", "Eps.05-08", "Cap.406", "Серии: 1-5", "Episode 1.22".
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
	if !ok || !digit(c.peek()) {
		return false
	}
	if len(leadingLetters(p.w.lower(i))) > 1 && markSeasonPoint(p, i, c) {
		return true
	}
	episodes, end, ok := p.readEpisodes(c, "", false)
	if !ok {
		return false
	}
	if len(episodes) == 1 {
		episodes, end = p.readSpacedRange(i, episodes, cursor{p.w.lowered, end})
	}
	p.episodeSpan = p.markBytes(i, end, tagEpisode)
	p.episodes = episodes
	p.readChapters(i)
	return true
}

// cursorAfterEpisodeWord returns the cursor at the number after the word for episode at i: "Ep01", "E07", "Episode #7".
func (p *markerStage) cursorAfterEpisodeWord(i int) (c cursor, ok bool) {
	t := &p.w.tokens[i]
	c = cursor{p.w.lowered, t.e}
	if t.class == mixed {
		head := leadingLetters(p.w.lower(i))
		c.i = t.s + len(head)
		if head == "e" {
			return c, p.episodeLetter(i)
		}
		k, _ := lookUpWord(head)
		return c, k.role == episodeWord && !(head == "cap" && len(p.w.word(i)) > 6)
	}
	if t.word.role != episodeWord && !p.isEpisodeUnit(i) {
		return c, false
	}
	c.skip(" ._:-#", 2)
	if c.skip("(", 1) > 0 && c.bracketedYear() {
		return c, false // "Grand Episode (2023)"
	}
	if !digit(c.peek()) {
		c.skip(" #", 1)
		c.read("№")
	}
	return c, true
}

// isEpisodeUnit reports whether the word at i is the work's own word for an episode: after a dash, "Title - Session 5",
// or with a sign before the number, "Title Act.14". A film's chapter has one digit and its year.
func (p *markerStage) isEpisodeUnit(i int) bool {
	if p.w.tokens[i].word.role != unitWord || !p.w.plainNumber(i+1) || !p.w.beside(i, i+1) {
		return false
	}
	switch gap := p.w.gap(i); {
	case gap == " #", gap == ".#":
		return p.w.classAt(i-1) == cjk // after Latin letters it is more often the last word of the title
	case gap == ":", gap == "." && !p.w.dotted:
		return !p.w.folder && p.w.width(i+1) > 1 && p.w.width(i+1) < 4
	case gap == "-":
		return i == 0 && p.w.zeroPadded(i+1)
	}
	if i == 0 || !dashGap(p.w.before(i)) || len(p.w.gap(i)) != 1 {
		return false
	}
	after := p.w.gap(i + 1)
	if p.w.beside(i+1, i+2) && !dashGap(after) && !strings.HasPrefix(after, ":") && !p.w.strongAt(i+2) {
		return false
	}
	return p.w.width(i+1) > 1 || p.w.classAt(i+2) != number
}

func (p *words) zeroPadded(i int) bool { return p.text[p.tokens[i].s] == '0' }

func (c cursor) bracketedYear() bool {
	n, width, ok := c.number(4)
	return ok && width == 4 && yearNumber(n) && c.peek() == ')'
}

// episodeLetter reports whether the word at i is "E" and a number. With one digit, "E7" is more often part of a title.
func (p *markerStage) episodeLetter(i int) bool {
	w := p.w.lower(i)
	c := cursor{w, 1}
	_, width, ok := c.number(5)
	if ok && width == 1 && len(w) == 2 && len(p.w.tokens) == 1 {
		return true // all that the name says
	}
	if ok && width == 1 && len(w) == 2 && p.w.word(i)[0] == 'E' && i > 0 && p.w.titleMayEndBefore(i+1) {
		return true // "Title E1"
	}
	return ok && width >= 2 && (c.wordEnd() || c.peek() == 'v' || c.peek() == 'e' || len(w) == c.i+1)
}

// markSeasonPoint: "Episode 1.22" is season 1, episode 22.
func markSeasonPoint(p *markerStage, i int, c cursor) bool {
	season, _, ok := c.number(2)
	if !ok || c.peek() != '.' || len(p.seasons) > 0 {
		return false
	}
	c.i++
	episode, width, ok := c.number(2)
	if !ok || width != 2 || !c.wordEnd() {
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

// readSpacedRange: "Ep 01 - 220", "Eps 1 ~ 12", "3 Al 18".
func (p *markerStage) readSpacedRange(i int, episodes []float64, c cursor) ([]float64, int) {
	after := c.i
	if !c.readAny(" - ", " ~ ", "~e") && c.joinWord() != toWord {
		return episodes, after
	}
	c.read("e")
	last, width, ok := c.number(4)
	if !ok || float64(last) <= episodes[0] || width < 2 && p.w.tokens[i].group < 0 || !p.endsRange(i, c) {
		return episodes, after
	}
	for k := int(episodes[0]) + 1; k <= last && len(episodes) < maxEpisodes; k++ {
		episodes = append(episodes, float64(k))
	}
	return episodes, c.i
}

func (p *markerStage) endsRange(i int, c cursor) bool {
	switch c.peek() {
	case ')', ']':
		return true
	case '.':
		return p.w.tokens[i].group >= 0
	case ' ':
		return !p.textFollows(c)
	}
	return c.i >= len(c.text)
}

func (p *markerStage) textFollows(c cursor) bool {
	for i := range p.w.tokens {
		if p.w.tokens[i].s >= c.i {
			return p.w.tokens[i].tag == none && p.w.tokens[i].group < 0 && p.w.tokens[i].class != number
		}
	}
	return false
}

// readChapters reads the Spanish "Cap.1903" at token i as season 19, episode 3, where the name speaks of seasons.
func (p *markerStage) readChapters(i int) {
	if len(p.seasons) != 1 || !strings.HasPrefix(p.w.lower(i), "cap") {
		return
	}
	first, last := int(p.episodes[0]), int(p.episodes[len(p.episodes)-1])
	if first < 100 || first > 9999 || first/100 != last/100 {
		return
	}
	p.seasons = []int{first / 100}
	p.episodes = nil
	for v := first % 100; v <= last%100; v++ {
		p.episodes = append(p.episodes, float64(v))
	}
}

// markCounted: "7. Bölüm", "21.ser", "12 серия", "04-я серия"; but not "38 episode".
func markCounted(p *markerStage, i int) bool {
	t := &p.w.tokens[i]
	if !p.episodeSpan.empty() || t.num < 0 || t.e-t.s > 4 || !p.w.beside(i, i+1) || len(p.w.gap(i)) > 2 {
		return false
	}
	word := i + 1
	if _, after, _, ok := p.ordinalAt(i); ok && after < len(p.w.tokens) {
		word = after
	}
	if !lists().counterWords[p.w.lower(word)] {
		return false
	}
	if p.w.plainNumber(i-1) && p.w.gap(i-1) == "-" && p.w.tokens[i-1].num < t.num && t.num < maxEpisodes {
		p.setEpisodes(i-1, word+1, p.w.tokens[i-1].num, t.num)
	} else {
		p.setEpisode(i, word+1, float64(t.num))
	}
	return true
}

// markHash: "#07", "#01v2", "№ 7".
func markHash(p *markerStage, i int) bool {
	b := p.w.before(i)
	if !p.episodeSpan.empty() || !strings.HasSuffix(b, "#") && !strings.HasSuffix(b, "№") && !strings.HasSuffix(b, "№ ") {
		return false
	}
	episodes, end, ok := p.readEpisodes(cursor{p.w.lowered, p.w.tokens[i].s}, "", false)
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
		if t.num < 0 || t.class != cjk {
			continue
		}
		switch t.tag {
		case tagSeason:
			if p.w.countsFilms(i) {
				t.tag = none
			}
			if p.w.tagAt(i-1) == tagExtra && strings.HasSuffix(p.w.word(i), "弾") { // "PV第2弾"
				t.tag = tagPromo
			}
			if len(p.seasons) > 0 || t.tag != tagSeason {
				continue
			}
			p.seasonSpan = span{i, i + 1}
			for v := t.num; v <= max(t.num, min(t.last, t.num+60)); v++ {
				p.seasons = append(p.seasons, v)
			}
		case tagEpisode:
			if p.episodeSpan.empty() && !p.isTotalCount(i) &&
				!(t.group >= 0 && digit(p.w.text[t.s]) && p.w.countUntagged(p.w.brackets[t.group].span) > 0 && !p.fillsBracket(i)) {
				p.markCounter(i)
			}
		default:
		}
	}
}

// isTotalCount reports whether the counter at i is the total, as the first one is in "全24話 第5話".
func (p *markerStage) isTotalCount(i int) bool {
	if !strings.HasPrefix(p.w.word(i), "全") {
		return false
	}
	return p.w.anyToken(span{i + 1, len(p.w.tokens)}, func(k int) bool {
		t := &p.w.tokens[k]
		return t.class == cjk && t.tag == tagEpisode && t.num >= 0
	})
}

// countsFilms reports whether the counter at i counts films: "24기" beside or after the word for film is the 24th film.
func (p *words) countsFilms(i int) bool {
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
	for first < i && p.tokens[first].group >= 0 {
		first++
	}
	return film(first) || film(i-1) && p.beside(i-1, i) || film(i+1) && p.beside(i, i+1) && !p.joinedByPlus(i+1)
}

// "第01-12話", "01-12話"
func (p *markerStage) markCounter(i int) {
	t := &p.w.tokens[i]
	from, lo := i, t.num
	if i > 0 && t.last == 0 && p.w.tokens[i-1].class == number && joinOf(p.w.before(i)) != noJoin &&
		p.w.before(i) != " - " {
		n, listed := p.w.tokens[i-1].num, joinOf(p.w.before(i)) == listJoin
		if n >= 0 && n < t.num && t.num-n < maxEpisodes && (!listed || n == t.num-1) {
			from, lo = i-1, n
		}
	}
	to, hi := i+1, max(t.num, t.last)
	if p.isDecimalOfCounter(i) {
		if from = i - 1; from > 0 && p.w.tokens[from-1].e == p.w.tokens[from].s && isOneOf(p.w.lower(from-1), "第", "제") {
			from--
		}
		p.setEpisode(from, to, float64(p.w.tokens[i-1].num)+float64(t.num)/10)
		return
	}
	if next := i + 1; p.w.classAt(next) == cjk && p.w.tagAt(next) == tagEpisode && joinOf(p.w.gap(i)) != noJoin &&
		p.w.beside(i, next) {
		n, listed := p.w.tokens[next].num, joinOf(p.w.gap(i)) == listJoin
		if n > hi && n-hi < maxEpisodes && (!listed || n == hi+1) { // "第1話~第12話", "5화, 6화"
			to, hi = next+1, n
		}
	}
	p.setEpisodes(from, to, lo, hi)
	p.batch = p.batch || hi > lo && lo == 1
}

// fillsBracket reports whether a bracket holds only the counter at i and the number before it: "(1-23话)".
func (p *markerStage) fillsBracket(i int) bool {
	w := p.w.brackets[p.w.tokens[i].group].span
	return w.to == i+1 && w.from == i-1 && p.w.classAt(w.from) == number && joinOf(p.w.gap(w.from)) == rangeJoin
}

// isDecimalOfCounter reports whether the counter at i is the ".5話" of "第12.5話".
func (p *markerStage) isDecimalOfCounter(i int) bool {
	return !p.w.dotted && p.w.plainNumber(i-1) && p.w.before(i) == "." && leadingDigits(p.w.word(i)) == 1 &&
		p.w.tokens[i].last == 0
}
