package release

import (
	"slices"
	"strings"
)

// This file decides how far a list of episodes goes on: S01E02E03, S01E02-E05,
// 1x02x03, S01E01-02-03.

// readEpisodes reads a list of episodes at c: "E02", "E02E03", "E02-E05", "E02-05", "E01-02-03", "x02x03", "E01+02",
// "E29-31", "E01.and.S14E02". signed says that the first needs its sign. It returns the expanded list and where it ends.
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
	last := n
	for steps := 0; steps < 64; steps++ {
		d := c
		d.skip(" ._-+&/~,", 3)
		sep := d.text[c.i:d.i]
		if e := c; (e.is(".and.") || e.is(" and ") || e.is(" en ") || e.is(" to ")) && (digit(e.peek()) || e.peek()|0x20 == 's' || e.peek()|0x20 == 'e') {
			d, sep = e, "+"
		}
		again := false // the season is written again: S01E02 - S01E03, 2x04.2x05
		e := d
		if e.peek()|0x20 == 's' {
			e.i++
			if _, _, ok := e.number(4); ok {
				g := e
				g.skip(" .", 1)
				if g.episodeSign(true) {
					d, again = g, true
				}
			}
		} else if _, _, ok := e.number(4); ok && e.peek()|0x20 == 'x' && e.i+1 < len(e.text) && digit(e.text[e.i+1]) && (e.i-d.i <= 2 || e.i-d.i == 4 && season == p.text[d.i:e.i]) {
			e.i++
			d, again = e, true
		}
		sign := again || d.episodeSign(true)
		if !sign {
			if sep == "" || !digit(d.peek()) || strings.ContainsAny(sep, " ") && !strings.ContainsAny(sep, "&+~") || strings.ContainsAny(sep, "./") || sep == "," && d.i+1 < len(d.text) && !digit(d.text[d.i+1]) {
				break
			}
		}
		if sep != "" && strings.TrimLeft(sep, " ") == "" && !sign {
			break
		}
		v, w, ok := d.number(5)
		if !ok || v == last {
			break
		}
		if !sign && (v < last || v > last+300 || w < 2 && width > 1 || w > width+1 || d.peek() == '_' && !strings.HasPrefix(d.text[d.i:], "_of_") || !plainEnd(&d)) {
			break
		}
		if !sign && strings.ContainsAny(sep, "_,") && v != last+1 {
			break
		}
		if sign && !d.wordEnd() && !extends(d) {
			break
		}
		if strings.ContainsAny(sep, "-~") && v > last && v-last < 2000 && !p.listed(d) {
			for k := last + 1; k < v; k++ {
				list = append(list, float64(k))
			}
		}
		list = append(list, float64(v))
		last = v
		c = d
		if v := c.suffix(); v > 0 {
			version = v
		}
	}
	if !c.wordEnd() && !extends(c) {
		return nil, 0, false
	}
	if len(list) > 1 && !slices.IsSorted(list) {
		slices.Sort(list)
	}
	if version > 0 {
		p.version = version
	}
	return list, c.i, true
}

// listed says whether another item follows with a dash, so that what stands before is a list and not a range: "E01-02-03".
func (p *marked) listed(c cursor) bool {
	if c.skip(" -", 3) == 0 {
		return false
	}
	c.episodeSign(true)
	_, w, ok := c.number(3)
	return ok && w >= 2 && c.wordEnd() && c.peek() != '_'
}
