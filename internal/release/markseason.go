package release

import (
	"strings"
)

// This file decides what S01E02 and its kin say.

// markSeasonEpisode: "S01E02", "S01.E02", "S01 - E03", "S03-x01", "S01E01-E03", "S01-S03", "S01v2", "Se.3 afl.3", and the
// same at the end of a word that something ran into ("TitleS01E02").
func (p *marked) markSeasonEpisode(i int) bool {
	t := p.tokens[i]
	c := cursor{p.text, t.s}
	if c.peek()|0x20 != 's' || t.class == alpha && t.e-t.s > 2 {
		return p.markGluedSeason(i)
	}
	c.i++
	if (c.peek() == 'o' || c.peek() == 'O') && c.i+1 < len(c.text) && digit(c.text[c.i+1]) {
		c.i++
	} else if c.peek()|0x20 == 'e' && t.e-t.s == 2 {
		c.i++
		for c.peek() == '.' || c.peek() == ' ' {
			c.i++
		}
	}
	if t.class == alpha && c.i == t.e && t.e-t.s == 1 || p.media && i > 0 && p.before(i) == "-" && (i+1 == len(p.tokens) || p.tokens[i+1].group != t.group) && p.tokens[i-1].tag != none {
		return false
	}
	season, n, ok := c.number(4)
	if !ok || n == 4 && (season < 1900 || season > 2099) {
		return p.markGluedSeason(i)
	}
	return p.afterSeason(i, c, season)
}

// markGluedSeason: "DieS01E06".
func (p *marked) markGluedSeason(i int) bool {
	t := p.tokens[i]
	if t.class != mixed || !p.episode.empty() {
		return false
	}
	w := p.word(i)
	for k := 1; k+5 < len(w); k++ {
		if w[k]|0x20 == 's' && digit(w[k+1]) && digit(w[k+2]) && w[k+3]|0x20 == 'e' && digit(w[k+4]) && digit(w[k+5]) && !digit(w[k-1]) {
			p.split(i, t.s+k)
			return false // the next token is the marker
		}
	}
	return false
}

// afterSeason goes on behind "S01": more seasons, or episodes, or neither.
func (p *marked) afterSeason(i int, c cursor, season int) bool {
	start := c
	last := season
	seasons := []int{season}
	for {
		d := c
		gapLen := d.skip(" ._-+&/~", 3)
		tight := gapLen == 0
		ranged := strings.ContainsAny(d.text[c.i:d.i], "-~")
		if d.peek()|0x20 == 's' && d.i+1 < len(d.text) && digit(d.text[d.i+1]) {
			d.i++
			n, w, ok := d.number(2)
			if !ok || w == 0 || n <= last || n > last+30 || !(d.wordEnd() || d.peek()|0x20 == 'e' || d.peek()|0x20 == 's') {
				break
			}
			if ranged {
				for k := last + 1; k < n; k++ {
					seasons = append(seasons, k)
				}
			}
			seasons = append(seasons, n)
			last = n
			c = d
			continue
		}
		if !tight && d.text[c.i:d.i] == "-" && digit(d.peek()) && len(seasons) == 1 {
			n, w, ok := d.number(2)
			if ok && w == 2 && n > last && d.wordEnd() && n-last < 40 {
				for k := last + 1; k <= n; k++ {
					seasons = append(seasons, k)
				}
				c = d
			}
		}
		break
	}
	d := c
	d.skip(" ._-", 3)
	if eps, end, ok := p.readEpisodes(d, "", true); ok && len(p.episodes) == 0 {
		at := p.take(i, end, tagEpisode)
		p.seasons, p.episodes = seasons, eps
		p.season, p.episode = at, at
		return true
	}
	if !c.wordEnd() {
		// "S07D1", "S04DVD7", "S01P01", "S01Extras", "S01v2", "S01MULTI": a season, with something run into it.
		switch c.peek() | 0x20 {
		case 's', 'o':
			return p.specialOfSeason(i, c)
		case 'd':
			e := c
			e.i++
			e.is("vd")
			if _, _, ok := e.number(2); ok && e.wordEnd() {
				c = e
			} else if start.i == c.i {
				return false
			}
		case 'p', 'v':
			e := c
			e.i++
			n, _, ok := e.number(2)
			if !ok || !e.wordEnd() {
				return false
			}
			if c.peek()|0x20 == 'p' {
				p.part = n
			} else {
				p.version = n
			}
			c = e
		default:
			if e := c; !e.is("extras") || !e.wordEnd() {
				return false
			}
		}
	}
	if !p.season.empty() && len(p.seasons) > 0 {
		return false
	}
	p.seasons = seasons
	p.season = p.take(i, c.i, tagSeason)
	return true
}

// specialOfSeason: "S01SP02", "S01OVA1": a special, of which season 0 may have another number.
func (p *marked) specialOfSeason(i int, c cursor) bool {
	name := ""
	for _, n := range [...]string{"SP", "OVA", "OAD"} {
		if name == "" && c.is(n) {
			name = n
		}
	}
	n, _, ok := c.number(3)
	if name == "" || !ok || !c.wordEnd() || !p.episode.empty() {
		return false
	}
	p.special = name
	p.episodes = []float64{float64(n)}
	p.episode = p.take(i, c.i, tagEpisode)
	return true
}
