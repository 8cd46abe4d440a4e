package release

// markSeasonEpisode: "S01E02", "S01.E02", "S01 - E03", "S03-x01", "S01E01-E03", "S01-S03", "S01v2", "Se.3 afl.3", and
// the same at the end of a word that something ran into ("TitleS01E02").
func markSeasonEpisode(p *marked, i int) bool {
	t := p.w.tokens[i]
	c := cursor{p.w.text, t.s}
	first := c.peek() | 0x20
	if first != 's' && first != 't' || t.class == alpha && t.e-t.s > 2 {
		return markGluedSeason(p, i)
	}
	c.i++
	switch {
	case (c.peek() == 'o' || c.peek() == 'O') && digit(c.at(1)): // "SO2": an O for a zero
		c.i++
	case c.peek()|0x20 == 'e' && t.e-t.s == 2:
		c.i++
		c.skip(". ", len(c.text))
	}
	if t.class == alpha && t.e-t.s == 1 || p.groupAtEnd(i) {
		return false
	}
	season, n, ok := c.number(4)
	if !ok || n == 4 && (season < firstYear || season > 2099) {
		return markGluedSeason(p, i)
	}
	if first == 't' && !c.episodeFollows() {
		return false
	}
	return p.afterSeason(i, c, season, n)
}

// episodeFollows reports whether an episode with its letter stands behind the season: "T03E08", "T2 E05".
func (c cursor) episodeFollows() bool {
	c.skip(" .-", 3)
	return c.peek()|0x20 == 'e' && digit(c.at(1)) || c.isAny("cap ", "ep ", "capitulo ", "capítulo ", "episodio ")
}

// groupAtEnd reports whether token i stands where a scene name has its group: "x264-S4L".
func (p *marked) groupAtEnd(i int) bool {
	return p.tags.media && p.w.before(i) == "-" && p.w.tagAt(i-1) != none && !p.w.beside(i, i+1)
}

// groupAtStart reports whether token i begins the bracket that the name begins with, and more words stand in it: "[S1
// Friends]".
func (p *marked) groupAtStart(i int) bool {
	return !p.w.folder && i == 0 && p.w.tokens[0].group >= 0 && p.w.beside(0, 1) && p.w.tagAt(1) == none &&
		p.w.classAt(1) != number
}

// markGluedSeason cuts "DieS01E06" and "Title2x05" before the marker, which is the next token then.
func markGluedSeason(p *marked, i int) bool {
	t := p.w.tokens[i]
	if t.class != mixed || !p.episode.empty() {
		return false
	}
	w := p.w.word(i)
	for k := 1; k+3 < len(w); k++ {
		if !digit(w[k-1]) && (markerShape(w[k:]) || k > 1 && crossShape(w[k:])) {
			p.split(i, t.s+k)
			return false
		}
	}
	return false
}

// crossShape reports whether w is like "2x05".
func crossShape(w string) bool {
	n := leadingDigits(w)
	return n >= 1 && n <= 2 && len(w) == n+3 && w[n]|0x20 == 'x' && allDigits(w[n+1:])
}

// markerShape reports whether w begins like "S01E02".
func markerShape(w string) bool {
	return len(w) > 5 && w[0]|0x20 == 's' && digit(w[1]) && digit(w[2]) && w[3]|0x20 == 'e' && digit(w[4]) && digit(w[5])
}

// afterSeason goes on behind "S01": more seasons, or episodes, or neither.
func (p *marked) afterSeason(i int, start cursor, season, width int) bool {
	p.partOfSeason(&start)
	seasons, last := letterList.list(item{end: start, value: season, width: width})
	c := last.end
	d := c
	d.skip(" ._-", 3)
	if episodes, end, ok := p.readEpisodes(d, "", true); ok && len(p.episodes) == 0 {
		at := p.take(i, end, tagEpisode)
		p.seasons, p.episodes = seasons, episodes
		p.season, p.episode = at, at
		return true
	}
	if n, w, ok := c.tightEpisode(); ok && w != width && len(seasons) == 1 && len(p.episodes) == 0 {
		p.markBoth(i, c.i+1+w, season, []float64{float64(n)})
		return true
	}
	if !c.wordEnd() {
		if c.peek()|0x20 == 's' || c.peek()|0x20 == 'o' {
			return p.specialOfSeason(i, c)
		}
		if !p.behindSeason(&c) && (len(seasons) == 1 || c.peek()|0x20 != 'd') {
			return false
		}
	}
	if !p.season.empty() && len(p.seasons) > 0 || p.groupAtStart(i) {
		return false
	}
	p.seasons = seasons
	p.season = p.take(i, c.i, tagSeason)
	return true
}

// partOfSeason passes over the part in "S01P02E05".
func (p *marked) partOfSeason(c *cursor) {
	d := *c
	if d.peek()|0x20 != 'p' {
		return
	}
	d.i++
	if n, _, ok := d.number(2); ok && d.peek()|0x20 == 'e' && digit(d.at(1)) {
		p.part, *c = n, d
	}
}

// tightEpisode reads the "-15" of "S3-15".
func (c cursor) tightEpisode() (n, width int, ok bool) {
	if c.peek() != '-' {
		return 0, 0, false
	}
	c.i++
	n, width, ok = c.number(2)
	return n, width, ok && c.wordEnd() && width == 2
}

// behindSeason reads what is run into a season: the disc of "S07D1" and "S04DVD7", the part of "S01P01", the version of
// "S01v2". The word of "S01Extras" stays where it is.
func (p *marked) behindSeason(c *cursor) bool {
	d := *c
	if d.is("extras") {
		return d.wordEnd()
	}
	first := d.peek() | 0x20
	if first != 'd' && first != 'p' && first != 'v' {
		return false
	}
	d.i++
	if first == 'd' {
		d.is("vd")
	}
	n, _, ok := d.number(2)
	if !ok || !d.wordEnd() {
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

// specialOfSeason: "S01SP02", "S01OVA1": a special, of which season 0 may have another number.
func (p *marked) specialOfSeason(i int, c cursor) bool {
	start := c.i
	if !c.isAny("sp", "ova", "oad") {
		return false
	}
	name := upper(c.text[start:c.i])
	n, _, ok := c.number(3)
	if !ok || !c.wordEnd() || !p.episode.empty() {
		return false
	}
	p.special = name
	p.episodes = []float64{float64(n)}
	p.episode = p.take(i, c.i, tagEpisode)
	return true
}
