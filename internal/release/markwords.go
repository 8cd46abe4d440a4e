package release

import (
	"strings"
	"unicode/utf8"
)

// This file decides what a season or episode word makes of the numbers beside it.

// markSeasonWord: "Season 2", "Season.2of5", "Seasons 1-4", "Season 1 2 3", "Saison VII", "Temporada4", "Сезон: 5".
func (p *marked) markSeasonWord(i int) bool {
	t := p.tokens[i]
	role := t.word.role
	c := cursor{p.text, t.e}
	if t.class == mixed { // "Season2", "Temporada15", "Sezon01", "SezonSO3"
		head := letters(p.word(i))
		k, ok := lookup(head)
		if !ok || k.role != seasonWord {
			return false
		}
		role = k.role
		c.i = t.s + len(head)
	} else if role != seasonWord && role != seasonsWord {
		return false
	} else if strings.HasPrefix(p.gap(i), " - ") {
		return false
	} else {
		c.skip(" ._:-#(", 2)
		c.skip(" ", 1)
		c.is("№")
	}
	if c.peek()|0x20 == 's' && c.i+1 < len(c.text) && (digit(c.text[c.i+1]) || c.text[c.i+1] == 'O') {
		c.i++
		if c.peek() == 'O' {
			c.i++
		}
	}
	n, width, ok := c.number(4)
	if !ok {
		return p.markSeasonSpelled(i)
	}
	if c.peek()|0x20 == 'e' && c.i+1 < len(c.text) && digit(c.text[c.i+1]) {
		return false // "Season S02E03": the next word says more
	}
	if width == 3 && n > 0 && c.text[c.i-3] != '0' || width == 4 && (n < 1930 || n > 2099) {
		return false
	}
	if len(p.seasons) > 0 && !p.season.empty() {
		p.take(i, c.i, tagSeason)
		return true
	}
	seasons := []int{n}
	if c.is("of") {
		if _, _, ok := c.number(2); !ok {
			return false
		}
	}
	last := n
	for len(seasons) < 60 {
		d := c
		d.skip(" ._-+&~,", 3)
		sep := d.text[c.i:d.i]
		if e := c; e.is(" to ") {
			d, sep = e, "-"
		} else if e.is(" and ") || e.is(" e ") || e.is(" y ") || e.is(" et ") {
			d, sep = e, "&"
		}
		if sep == "" {
			break
		}
		if d.peek()|0x20 == 's' && d.i+1 < len(d.text) && digit(d.text[d.i+1]) {
			d.i++
		}
		v, w, ok := d.number(2)
		if !ok || v <= last || !d.wordEnd() || v > last+40 {
			break
		}
		ranged := strings.ContainsAny(sep, "-~")
		spaced := strings.ContainsAny(sep, " ._")
		if role == seasonWord && spaced && (ranged && (w > 1 || width > 1 || !p.seasonsGoOn(d)) || !ranged && strings.TrimLeft(sep, " ") == "" && (v != last+1 || width > 2 || w != width && len(seasons) == 1 && v != 10)) {
			break
		}
		if ranged && !spaced && d.peek() == '.' && d.i+1 < len(d.text) && digit(d.text[d.i+1]) {
			break
		}
		if ranged {
			for k := last + 1; k < v; k++ {
				seasons = append(seasons, k)
			}
		}
		seasons = append(seasons, v)
		last = v
		c = d
	}
	if len(seasons) == 2 && role == seasonWord && seasons[1] == seasons[0]+1 && c.text[c.i-2] == ' ' && !p.seasonsGoOn(c) {
		// "Season 1 2" is more likely season 1, episode 2.
		seasons = seasons[:1]
		c.i -= 2
	}
	p.seasons = seasons
	p.season = p.take(i, c.i, tagSeason)
	if p.episode.empty() {
		p.markAfterSeason(c)
	}
	return true
}

// seasonsGoOn says whether what follows shows that a list of seasons was read: an end, a bracket, "Complete", "+ Extras".
func (p *marked) seasonsGoOn(c cursor) bool {
	c.skip(" -+.", 3)
	if c.i >= len(c.text) {
		return false
	}
	for _, w := range [...]string{"complete", "extras", "ova", "movies", "+", "specials", "dvd", "batch"} {
		if d := c; d.is(w) {
			return true
		}
	}
	return strings.HasPrefix(c.text[c.i-1:], "+")
}

// markAfterSeason takes the number right behind a season for the episode: "Season 11 01", "S02 03", "S01.07".
func (p *marked) markAfterSeason(c cursor) {
	i := p.season.to
	if i >= len(p.tokens) || p.tokens[i].group != p.tokens[i-1].group || p.tokens[i].class != number {
		return
	}
	gap := p.gap(i - 1)
	if gap != " " && gap != "." && gap != "_" {
		return
	}
	t := &p.tokens[i]
	if t.tag != none || t.e-t.s < 2 || t.e-t.s > 3 || i+1 < len(p.tokens) && p.gap(i) == "." && p.tokens[i+1].class == number && p.tokens[i+1].e-p.tokens[i+1].s == 1 {
		return
	}
	if i+1 < len(p.tokens) && (p.tokens[i+1].word.role == ofWord || p.tokens[i+1].word.role == episodeWord) {
		return
	}
	p.setEpisode(i, i+1, float64(t.num))
	p.extendRange()
}

// markSeasonSpelled: "Saison VII", "Season Two", "Saison sept".
func (p *marked) markSeasonSpelled(i int) bool {
	if i+1 >= len(p.tokens) || p.tokens[i].class == mixed || len(p.gap(i)) != 1 || len(p.seasons) > 0 || p.tokens[i+1].group != p.tokens[i].group {
		return false
	}
	w := p.word(i + 1)
	n, ok := roman(w)
	if !ok {
		if n, ok = spelled(lower(w)); !ok || len(w) == 2 && w != "un" && w != "Un" {
			return false
		}
	}
	p.seasons = []int{n}
	p.season = span{i, i + 2}
	p.set(i, i+2, tagSeason)
	return true
}

// markOrdinalSeason: "2nd Season", "Second Season", "10 th season", "3 Temporada", "5 сезон", "2.Sezon".
func (p *marked) markOrdinalSeason(i int) bool {
	t := p.tokens[i]
	j := i + 1
	if j >= len(p.tokens) || p.tokens[j].group != t.group {
		return false
	}
	n, plain := t.num, t.class == number
	if !plain {
		v, ok := ordinal(lower(p.word(i)))
		if !ok {
			return false
		}
		n = v
		if p.romanceOrdinal(i) && strings.EqualFold(p.word(j), "season") {
			return false // "Ver1.1a Season 2"
		}
	} else {
		if t.e-t.s > 2 {
			return false
		}
		if g := p.gap(i); strings.HasPrefix(g, "°") || strings.HasPrefix(g, "º") || strings.HasPrefix(g, "ª") {
			plain = false
		}
		if w := p.word(j); j+1 < len(p.tokens) && len(p.gap(i)) == 1 && (w == "th" || w == "nd" || w == "rd" || w == "st" || w == "a") {
			j++
			plain = false
		}
	}
	if p.tokens[j].word.role != seasonWord && p.tokens[j].word.role != seasonsWord || len(p.gap(j-1)) > 4 || strings.HasPrefix(p.gap(j-1), " - ") {
		return false
	}
	if lw := p.word(j); plain && (strings.EqualFold(lw, "season") || strings.EqualFold(lw, "temp") || strings.EqualFold(lw, "staffel") && p.gap(i) != ".") && n > 0 {
		// "24 Season 1": the word takes what follows it.
		if j+1 < len(p.tokens) && (p.tokens[j+1].class == number || p.tokens[j+1].class == mixed && digit(p.text[p.tokens[j+1].s])) || !strings.EqualFold(lw, "season") {
			return false
		}
	}
	if plain && p.word(j)[0] < utf8.RuneSelf && j+1 < len(p.tokens) && p.tokens[j+1].class == number && len(p.gap(j)) <= 2 && p.tokens[j+1].group == t.group &&
		(j+2 >= len(p.tokens) || p.tokens[j+2].word.role != episodeWord) {
		return false
	}
	if len(p.seasons) > 0 {
		p.set(i, j+1, tagSeason)
		return true
	}
	p.seasons = []int{n}
	p.season = span{i, j + 1}
	p.set(i, j+1, tagSeason)
	return true
}

// markEpisodeWord: "Episode 7", "Ep01", "E07", "Eps.05-08", "Cap.406", "Серии: 1-5", "Episode 1.22".
func (p *marked) markEpisodeWord(i int) bool {
	t := p.tokens[i]
	if !p.episode.empty() {
		return false
	}
	c := cursor{p.text, t.e}
	switch {
	case t.class == mixed:
		head := letters(p.word(i))
		k, ok := lookup(head)
		if head == "" || !(ok && k.role == episodeWord) && !strings.EqualFold(head, "e") {
			return false
		}
		if strings.EqualFold(head, "cap") && len(p.word(i)) > 6 {
			return false
		}
		c.i = t.s + len(head)
		if len(head) == 1 && (p.tokens[i].e-t.s < 3 || !p.episodeLetter(i)) {
			return false
		}
	case t.word.role == episodeWord && i+1 < len(p.tokens) && p.tokens[i+1].class == mixed && p.markCross(i+1):
		p.set(i, i+1, tagEpisode)
		p.episode.from = i
		return true
	case t.word.role == episodeWord:
		c.skip(" ._:-#", 2)
		if c.peek() == '(' {
			c.i++
		}
		if !digit(c.peek()) {
			c.skip(" #", 1)
			c.is("№")
		}
	default:
		return false
	}
	if !digit(c.peek()) {
		return false
	}
	d := c
	if s, w, ok := d.number(2); ok && t.class == alpha && d.peek() == '.' { // "Episode 1.22" is season 1
		d.i++
		if v, x, ok := d.number(2); ok && x == 2 && d.wordEnd() && w <= 2 && len(p.seasons) == 0 {
			p.seasons = []int{s}
			at := p.take(i, d.i, tagEpisode)
			p.season, p.episode = at, at
			p.episodes = []float64{float64(v)}
			return true
		}
	}
	eps, end, ok := p.readEpisodes(c, "", false)
	if !ok || len(eps) == 0 {
		return false
	}
	// "Ep 01 - 220", "Eps 1 ~ 12", "3 Al 18": a range may have spaces behind an episode word.
	if len(eps) == 1 {
		e := cursor{p.text, end}
		if e.is(" - ") || e.is(" ~ ") || e.is(" al ") || e.is(" a ") || e.is("~e") || e.is("_") {
			e.is("e")
			if v, w, ok := e.number(4); ok && float64(v) > eps[0] && e.wordEnd() && (w >= 2 || p.tokens[i].group >= 0) && (e.i >= len(e.text) || e.peek() == '.' && p.tokens[i].group >= 0 || e.peek() == ')' || e.peek() == ']' || e.peek() == ' ' && !p.textFollows(e)) {
				for k := int(eps[0]) + 1; k <= v && len(eps) < 3000; k++ {
					eps = append(eps, float64(k))
				}
				end = e.i
			}
		}
	}
	p.episode = p.take(i, end, tagEpisode)
	p.episodes = eps
	p.chapter(i)
	return true
}

// chapter reads the Spanish "Cap.1903" as season 19, episode 3, where the name speaks of seasons.
func (p *marked) chapter(i int) {
	if len(p.seasons) != 1 || len(p.word(i)) < 3 || !strings.EqualFold(p.word(i)[:3], "cap") {
		return
	}
	first := int(p.episodes[0])
	if first < 100 || first > 9999 || first/100 != int(p.episodes[len(p.episodes)-1])/100 {
		return
	}
	p.seasons[0] = first / 100
	lo, hi := first%100, int(p.episodes[len(p.episodes)-1])%100
	p.episodes = p.episodes[:0]
	for v := lo; v <= hi; v++ {
		p.episodes = append(p.episodes, float64(v))
	}
}

// textFollows says whether plain text follows the cursor, so that a number before it belongs to that text.
func (p *marked) textFollows(c cursor) bool {
	for i := range p.tokens {
		if p.tokens[i].s >= c.i {
			return p.tokens[i].tag == none && p.tokens[i].group < 0 && p.tokens[i].class != number
		}
	}
	return false
}

// episodeLetter says whether a word such as "E07" is an episode and no part of a title: it has two digits or more and
// nothing shows a code ("E-HARO").
func (p *marked) episodeLetter(i int) bool {
	w := p.word(i)
	c := cursor{w, 1}
	_, n, ok := c.number(5)
	if !ok || n < 2 {
		return false
	}
	return c.wordEnd() || c.peek()|0x20 == 'v' || c.peek()|0x20 == 'e' || len(w) == c.i+1
}

// markCounted: "7. Bölüm", "21.ser", "12 серия", "38 episode" is not one.
func (p *marked) markCounted(i int) bool {
	t := p.tokens[i]
	if !p.episode.empty() || i+1 >= len(p.tokens) || t.num < 0 || t.e-t.s > 4 || p.tokens[i+1].word.role != episodeWord || len(p.gap(i)) > 2 || p.tokens[i+1].group != t.group {
		return false
	}
	switch lower(p.word(i + 1)) {
	case "bölüm", "bolum", "blm", "серия", "серии", "серий", "ser", "serija", "seria", "serya", "odcinek", "серія", "серії":
		if i > 0 && p.tokens[i-1].class == number && p.tokens[i-1].tag == none && p.gap(i-1) == "-" && p.tokens[i-1].num < t.num && t.num < 3000 {
			p.setEpisodes(i-1, i+2, p.tokens[i-1].num, t.num)
			return true
		}
		p.setEpisode(i, i+2, float64(t.num))
		return true
	}
	return false
}

// markHash: "#07", "#01v2", "№ 7".
func (p *marked) markHash(i int) bool {
	b := p.before(i)
	if !p.episode.empty() || !strings.HasSuffix(b, "#") && !strings.HasSuffix(b, "№") && !strings.HasSuffix(b, "№ ") {
		return false
	}
	c := cursor{p.text, p.tokens[i].s}
	eps, end, ok := p.readEpisodes(c, "", false)
	if !ok {
		return false
	}
	p.episode = p.take(i, end, tagEpisode)
	p.episodes = eps
	return true
}

// romanceOrdinal says whether the word at i is a digit with an ending such as "1a", "2o", "3e".
func (p *lexed) romanceOrdinal(i int) bool {
	w := p.word(i)
	return digit(w[0]) && (w[len(w)-1] == 'a' || w[len(w)-1] == 'o' || w[len(w)-1] == 'e')
}

// markPart: "Part 2", "Pt. 1", "Part.II", "Cour 2", "PartA", "PART1". It stays part of the title, weakly.
func (p *marked) markPart(i int) bool {
	t := p.tokens[i]
	n, to := 0, i+1
	switch {
	case t.class == mixed:
		head := letters(p.word(i))
		if k, ok := lookup(head); !ok || k.role != partWord || len(p.word(i))-len(head) > 2 {
			return false
		}
		n = atoi(p.word(i)[len(head):])
	case t.word.role == partWord && i+1 < len(p.tokens) && len(p.gap(i)) <= 2 && p.tokens[i+1].group == t.group:
		next := p.tokens[i+1]
		to = i + 2
		switch {
		case next.class == number && next.num > 0 && next.num < 30:
			n = next.num
		default:
			v, ok := roman(p.word(i + 1))
			if !ok {
				v, ok = spelled(lower(p.word(i + 1)))
			}
			if !ok {
				return false
			}
			n = v
		}
	default:
		return false
	}
	p.setPart(i, to, n)
	return true
}
