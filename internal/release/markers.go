package release

import (
	"cmp"
	"slices"
	"strings"
)

// markerForms are tried in this order at every token. The first marker in a name wins.
var markerForms = []tokenForm[markerStage]{
	{"S01E02", classMixed | classAlpha, markSeasonEpisode},
	{"1x02", classMixed, markCross},
	{"2nd Season", classMixed | classNumber | classAlpha, markOrdinalSeason},
	{"Season 2", classAlpha | classMixed, markSeasonWord},
	{"Episode 7", classAlpha | classMixed, markEpisodeWord},
	{"7 of 9", classNumber | classMixed, markNumberOfTotal},
	{"7. Bölüm", classNumber, markNumberBeforeWord},
	{"#7", classNumber | classMixed, markHashNumber},
	{"Part 2", classAlpha | classMixed, markPart},
	{"2nd Part", classAlpha | classMixed, markOrdinalPart},
	{"Dai 2 Bu", classNumber, markDaiPart},
	{"TV01", classMixed, splitTVNumber},
	{"TV-2", classNumber, markTVSeason},
}

func (p *markerStage) findMarkers() {
	for i := range p.w.tokens {
		if t := &p.w.tokens[i]; t.class == cjk && t.tag == tagPart && p.part == 0 && t.num > 0 {
			p.part = t.num
		}
	}
	for i := 0; i < len(p.w.tokens); i++ {
		t := &p.w.tokens[i]
		p.w.steps++
		if t.class != alpha || t.word.role != noRole || t.end-t.start == 1 || p.isSpelledOrdinal(i) {
			tryForms(markerForms, p, i, t)
		}
	}
	p.markCounters()
	p.tagFootage()
	if i := p.episodeSpan.from - 1; len(p.episodes) == 1 && i >= 0 && p.w.isPlainNumber(i) &&
		float64(p.w.tokens[i].num) == p.episodes[0] && (p.w.length(i) > 1 || isSpacedDash(p.w.gapBefore(i))) {
		p.setEpisode(i, p.episodeSpan.to, p.episodes[0]) // its own title repeats the number: "Title - 07 - Episode 7"
	}
}

// tagFootage tags the words after an episode that say that this is only footage of it: "3화 하이라이트", "E07.비하인드".
func (p *markerStage) tagFootage() {
	from := p.episodeSpan.to
	if from == 0 || p.w.classAt(from-1) != cjk && !p.seasonSpan.empty() { // "S01E03 인터뷰" is more often its title
		return
	}
	if from >= len(p.w.tokens) || !wordSets()["footage"][p.w.lower(from)] {
		return
	}
	to := from + 1
	for p.w.inSameBracket(from, to) && wordSets()["footagekind"][p.w.lower(to)] {
		to++
	}
	if p.w.titleMayEndBefore(to) {
		p.w.setTags(from, to, tagExtra)
		for i := from; i < to; i++ {
			p.w.tokens[i].word.value = cmp.Or(p.w.tokens[from].word.value, "EXTRA")
		}
	}
}

// isSpelledOrdinal reports whether the word at i is a spelled ordinal, as in "Second Season" and "Second Part".
func (p *markerStage) isSpelledOrdinal(i int) bool {
	if p.w.roleAt(i+1) != seasonWord && p.w.roleAt(i+1) != partWord {
		return false
	}
	_, ok := ordinal(p.w.lower(i))
	return ok
}

// markBytes tags the tokens from token i up to byte to, and returns their span. It splits a token that reaches beyond.
func (p *markerStage) markBytes(i, to int, t tag) span {
	s := span{i, i}
	for s.to < len(p.w.tokens) && p.w.tokens[s.to].start < to {
		if p.w.tokens[s.to].end > to {
			p.splitToken(s.to, to)
		}
		s.to++
	}
	p.w.setTags(s.from, s.to, t)
	return s
}

func (p *markerStage) splitToken(i, at int) {
	head, rest := p.w.tokens[i], p.w.tokens[i]
	head.end, rest.start = at, at
	for _, t := range []*token{&head, &rest} {
		w := p.w.text[t.start:t.end]
		t.class, t.num, t.word, t.tag, t.weak = alpha, -1, wordInfo{}, noTag, false
		switch n := leadingDigits(w); {
		case n == len(w):
			t.class, t.num = number, atoi(w[:min(len(w), 8)])
		case strings.ContainsAny(w, "0123456789"):
			t.class = mixed
		}
	}
	p.w.tokens = slices.Insert(p.w.tokens, i+1, rest)
	p.w.tokens[i] = head
	for b := range p.w.brackets {
		if p.w.brackets[b].from > i {
			p.w.brackets[b].from++
		}
		if p.w.brackets[b].to > i {
			p.w.brackets[b].to++
		}
	}
	p.tags.lookUp(i)
	p.tags.lookUp(i + 1)
	tryForms(tagForms, p.tags, i+1, &p.w.tokens[i+1])
}

// crossMarker is a pair of numbers such as "1x02".
type crossMarker struct {
	stage                       *markerStage
	token                       int // the token with the pair
	season, episode             int
	seasonDigits, episodeDigits int  // how many digits they have
	wordEnds                    bool // the word ends after the second number
	startsName                  bool // the bracket with the pair begins the name
}

var crossExceptions = []reason[crossMarker]{
	{"channels", func(x crossMarker) bool {
		at := x.stage.w.tokens[x.token].start // "7.1x2", "DTS5.1x2"
		return x.episodeDigits == 1 && at > 1 && x.stage.w.text[at-1] == '.' && isDigit(x.stage.w.text[at-2])
	}, true},
	{"a size, or four digits that are not a year", func(x crossMarker) bool {
		return x.episodeDigits > 3 || x.seasonDigits == 3 || x.seasonDigits == 4 && (x.season < 1930 || x.season > 2099)
	}, true},
	{"a number in base sixteen", func(x crossMarker) bool {
		return x.season == 0 && x.seasonDigits == 1 && x.episodeDigits == 3
	}, true},
	{"a group's name in base sixteen", func(x crossMarker) bool {
		return x.startsName && (x.episodeDigits == 3 || x.season == 0)
	}, true},
	{"the start of a title", func(x crossMarker) bool {
		w, i := x.stage.w, x.token
		return x.episodeDigits == 1 && x.wordEnds && w.tokens[i].bracket < 0 && (i == 0 || w.tokens[i-1].bracket >= 0) &&
			w.inSameBracket(i, i+1) && w.tokens[i+1].class == alpha && len(w.gapAfter(i)) == 1
	}, true},
}

// markCross marks a season and episodes joined by an x: "1x02", "01x02x03", "2009x02", "2x9-2x10", "[02x01]", "2xAll".
func markCross(p *markerStage, i int) bool {
	if !p.episodeSpan.empty() {
		return false
	}
	t := p.w.tokens[i]
	c := cursor{p.w.lowerText, t.start}
	x := crossMarker{stage: p, token: i, startsName: t.bracket == 0 && p.w.brackets[0].open == 0}
	var ok bool
	x.season, x.seasonDigits, ok = c.readNumber(4)
	// "02E04"
	letterE := x.seasonDigits <= 2 && c.peek() == 'e' && leadingDigits(c.text[min(c.i+1, len(c.text)):]) >= 2
	if !ok || c.peek() != 'x' && !letterE {
		return false
	}
	d := c
	d.i++
	if d.accept("all") && d.atWordEnd() && !applyRules(crossExceptions, x) {
		p.seasons = []int{x.season}
		p.seasonSpan = p.markBytes(i, d.i, tagSeason)
		p.isBatch = true
		return true
	}
	if d.peek() == 'e' {
		d.i++
	}
	x.episode, x.episodeDigits, ok = d.readNumber(4)
	x.wordEnds = d.atWordEnd()
	if !ok || applyRules(crossExceptions, x) {
		return false
	}
	episodes, end, ok := p.readEpisodes(c, p.w.text[t.start:c.i], true)
	if !ok {
		if x.episodeDigits < 2 || d.peek() != 'm' { // "3x11m720p": the number ends where letters begin
			return false
		}
		episodes, end = []float64{float64(x.episode)}, d.i
	}
	p.markSeasonAndEpisode(i, end, x.season, episodes)
	return true
}

// markNumberOfTotal marks an episode number with the total: "5 of 9", "5of9", "01_of_24", "3iz6", "26 из 26".
func markNumberOfTotal(p *markerStage, i int) bool {
	if !p.episodeSpan.empty() {
		return false
	}
	if n, ok := p.readCompactCount(i); ok {
		p.setEpisode(i, i+1, float64(n))
		return true
	}
	if p.w.classAt(i) != number || p.w.roleAt(i+1) != ofWord || p.w.classAt(i+2) != number ||
		len(p.w.gapAfter(i)) != 1 || len(p.w.gapAfter(i+1)) != 1 {
		return false
	}
	n, total := p.w.tokens[i].num, p.w.tokens[i+2].num
	if n < 0 || total < n || total > 999 {
		return false
	}
	switch {
	case p.w.tagAt(i-1) == tagPart && p.w.roleAt(i-1) == partWord && p.w.inSameBracket(i-1, i): // "Part 3 of 6"
		p.setEpisode(i-1, i+3, float64(n))
		p.part = 0
	case n == total && p.w.tokens[i].bracket >= 0 && n > 1 && (p.w.lower(i+1) == "из" || p.w.isFolder && n > 2):
		p.setEpisodes(i, i+3, 1, n) // all of them
	case p.w.isPlainNumber(i-1) && p.w.gapAfter(i-1) == "-" && p.w.inSameBracket(i-1, i) &&
		p.w.tokens[i-1].num < n: // "04-06 of 13"
		p.setEpisodes(i-1, i+3, p.w.tokens[i-1].num, n)
	default:
		p.setEpisode(i, i+3, float64(n))
	}
	return true
}

func (p *markerStage) readCompactCount(i int) (n int, ok bool) {
	if p.w.classAt(i) != mixed {
		return 0, false
	}
	c := cursor{p.w.lowerText, p.w.tokens[i].start}
	if n, _, ok = c.readNumber(3); !ok || !c.acceptAny("of", "iz") {
		return 0, false
	}
	total, _, ok := c.readNumber(3)
	return n, ok && c.atWordEnd() && n <= total
}

func (p *markerStage) setEpisode(from, to int, v float64) {
	p.w.setTags(from, to, tagEpisode)
	p.episodes = append(p.episodes[:0:0], v)
	p.episodeSpan = span{from, to}
}

func (p *markerStage) setEpisodes(from, to, lo, hi int) {
	p.w.setTags(from, to, tagEpisode)
	p.episodeSpan = span{from, to}
	p.episodes = appendRange[float64](nil, lo, hi)
}

// markPart marks the number of a part: "Part 2", "Pt. 1", "Part.II", "Cour 2", "PART1". The tag is weak, because the
// title may contain it.
func markPart(p *markerStage, i int) bool {
	t := &p.w.tokens[i]
	if t.class == mixed {
		head := leadingLetters(p.w.lower(i))
		if k := lists().words[head]; k.role != partWord || p.w.length(i)-len(head) > 2 {
			return false
		}
		number := p.w.word(i)[len(head):]
		p.setPart(i, i+1, atoi(number[:leadingDigits(number)]))
		return true
	}
	if t.word.role != partWord || t.tag == tagPart || !p.w.inSameBracket(i, i+1) || len(p.w.gapAfter(i)) > 2 {
		return false
	}
	n, ok := p.w.tokens[i+1].num, p.w.tokens[i+1].class == number
	if !ok || n <= 0 || n >= 30 {
		if n, ok = lists().romans[p.w.word(i+1)]; !ok {
			n, ok = lists().cardinals[p.w.lower(i+1)]
		}
	}
	switch {
	case ok && !p.seasonSpan.empty() && p.seasonSpan.to == i && p.w.roleAt(p.seasonSpan.from) == seriesWord:
		p.setEpisode(i, i+2, float64(n)) // "Series 2 Part 7": British serials count episodes as parts
	case ok:
		p.setPart(i, i+2, n)
	}
	return ok
}

// markOrdinalPart marks a part written as an ordinal: "2nd Part", "Second Cour"; but not "First Part 2".
func markOrdinalPart(p *markerStage, i int) bool {
	if !p.w.inSameBracket(i, i+1) || p.w.roleAt(i+1) != partWord || len(p.w.gapAfter(i)) != 1 && p.w.classAt(i+1) != cjk {
		return false
	}
	n, ok := ordinal(p.w.lower(i))
	if !ok || p.hasOrdinalLetter(i) ||
		p.w.classAt(i+2) == number && p.w.gapAfter(i+1) != " #" && p.w.length(i+2) < 2 && len(p.w.gapAfter(i+1)) <= 2 {
		return false
	}
	p.setPart(i, i+2, n)
	return true
}

// markDaiPart marks "Dai 2 Bu", the Japanese "second part" in Latin letters.
func markDaiPart(p *markerStage, i int) bool {
	if !p.w.inSameBracket(i-1, i+1) || p.w.lower(i-1) != "dai" || p.w.lower(i+1) != "bu" || p.w.tokens[i].num > 9 {
		return false
	}
	p.setPart(i-1, i+2, p.w.tokens[i].num)
	return true
}

func (p *markerStage) setPart(from, to, n int) {
	p.part = cmp.Or(p.part, n)
	for k := from; k < to; k++ {
		p.w.tokens[k].tag, p.w.tokens[k].weak = tagPart, true
	}
}

// isPartOfEpisode reports whether the part is one of the episode, not of the season: it comes after season and episode,
// ends the episode's title, or is a half of a Korean broadcast, "8회 2부". "08 Part 2" may be a cour.
func (p *markerStage) isPartOfEpisode() bool {
	i, at := slices.IndexFunc(p.w.tokens, func(t token) bool { return t.tag == tagPart }), p.episodeSpan
	return p.part > 0 && !at.empty() && i >= at.to &&
		(i > at.to || !p.seasonSpan.empty() || strings.HasSuffix(p.w.lower(i), "부")) &&
		!strings.ContainsAny(p.w.lower(i), "쿨ク") && !p.w.anyToken(span{i, min(i+2, len(p.w.tokens))}, func(k int) bool {
		return leadingLetters(p.w.lower(k)) == "cour"
	})
}

// splitTVNumber splits "TV01" at the start of a bracket, so that its number is read alone: "[TV01-12 Fin]", "[TV2]".
func splitTVNumber(p *markerStage, i int) bool {
	w := p.w.lower(i)
	g := p.w.tokens[i].bracket
	if g < 0 || p.w.brackets[g].from != i || len(w) < 3 || len(w) > 5 || w[:2] != "tv" || !allDigits(w[2:]) {
		return false
	}
	p.splitToken(i, p.w.tokens[i].start+2)
	return true
}

// markTVSeason marks "TV-2" and "[TV2]", by which Russian sites mean the second season.
func markTVSeason(p *markerStage, i int) bool {
	if i < 2 || p.w.lower(i-1) != "tv" || strings.Trim(p.w.gapBefore(i), "-") != "" || p.w.length(i) > 1 ||
		p.w.gapAfter(i) == "-" || len(p.seasons) > 0 || p.w.tokens[i].num == 0 {
		return false
	}
	p.setSeasons(i-1, i+1, []int{p.w.tokens[i].num})
	return true
}
