package release

import "strings"

// This file decides what remains once title, season and episode are known: who
// released it, the episode's title, the tags' values, what was not understood.

// findRest reads the tags behind the title.
func (p *titled) findRest() {
	for i := range p.tokens {
		t := &p.tokens[i]
		inTitle := i >= p.first && i < p.bound && p.first >= 0
		switch t.tag {
		case tagResolution:
			keepFirst(&p.resolution, t.word.value)
		case tagSource:
			if !t.weak || !inTitle && t.word.value != "TV" {
				keepFirst(&p.source, t.word.value)
			}
		case tagVideo:
			keepFirst(&p.video, t.word.value)
		case tagAudio:
			keepFirst(&p.audio, t.word.value)
		case tagBatch:
			p.batch = p.batch || !inTitle && (!t.weak || p.episode.empty())
		case tagMovie:
			p.movie = p.movie || p.episode.empty() || !t.weak
		default:
		}
	}
	p.findEpisodeTitle()
}

// keepFirst sets an empty field to v.
func keepFirst(field *string, v string) {
	if *field == "" {
		*field = v
	}
}

// findEpisodeTitle takes the text right behind the episode number.
func (p *titled) findEpisodeTitle() {
	if p.episode.empty() || p.epTitle != "" {
		return
	}
	from := p.episode.to
	if from >= len(p.tokens) || p.tokens[from].group >= 0 || p.tokens[p.episode.from].group >= 0 || p.led {
		return
	}
	to := from
	for to < len(p.tokens) && p.tokens[to].group < 0 && (p.tokens[to].tag == none || p.tokens[to].weak) {
		to++
	}
	for to > from && p.tokens[to-1].tag != none && to < len(p.tokens) && p.tokens[to].tag != none && p.tokens[to-1].tag != tagPart {
		to--
	}
	if to > from && !(to-from == 1 && (p.tokens[from].tag != none || p.groupTok.from == from && !p.groupTok.empty())) {
		if !p.groupTok.empty() && p.groupTok.from < to && p.groupTok.from > from {
			to = p.groupTok.from
		}
		if p.groupTok.from != from || p.groupTok.empty() {
			p.epTitle = p.clean(p.raw(from, to))
		}
	}
}

// findGroup looks for who released it: "-GROUP" at the end, "[Group]" in front or behind.
func (p *laidOut) findGroup() {
	if !p.groupTok.empty() {
		p.group = strings.TrimSpace(p.inside(p.groupTok))
		for n := len(p.group); n > 0 && strings.HasPrefix(p.group, "[") && !strings.Contains(p.group, "]"); n-- {
			p.group = p.group[1:]
		}
	}
	if p.group != "" {
		return
	}
	if p.trailingGroup() {
		return
	}
	// A bracket behind the title that no table explains.
	for k := len(p.segments) - 1; k > 0; k-- {
		s := p.segments[k]
		if s.bracket < 0 || s.from < p.first || !p.unknown(s.span) || s.from == p.yearAt {
			continue
		}
		plain := 0
		for i := s.from; i < s.to; i++ {
			if p.tokens[i].tag == none {
				plain++
			}
		}
		if plain == s.to-s.from || plain >= 2 && s.to-s.from <= 3 {
			p.group = strings.TrimSpace(p.inside(s.span))
			p.groupTok = s.span
			return
		}
	}
}

// trailingGroup reads the group behind the last dash of a scene name, or the last word behind its tags.
func (p *laidOut) trailingGroup() bool {
	last := -1
	for i := len(p.tokens) - 1; i >= 0; i-- {
		if p.tokens[i].group < 0 {
			last = i
			break
		}
	}
	if last <= 0 || last <= p.first {
		return false
	}
	for last > 1 && (p.before(last) == "-" && reposted(p.word(last)) || p.before(last) == "." && p.tokens[last].word.value == "SAMPLE") {
		last--
	}
	from := last
	for from > p.first+1 && p.tokens[from].group < 0 && p.before(from) != "-" && !dashGap(p.before(from)) && p.tokens[from-1].tag == none && p.tokens[from-1].group < 0 && last-from < 3 {
		from--
	}
	if from == 0 {
		return false
	}
	b := p.before(from)
	dash := b == "-" || dashGap(b)
	if t := &p.tokens[from]; t.tag != none && !t.weak && !dash || !dash && (p.tokens[from-1].tag == none || p.tokens[from-1].weak || p.tokens[from-1].tag == tagSeason || p.tokens[from-1].tag == tagEpisode || p.tokens[from-1].tag == tagYear) {
		return false
	}
	if t := &p.tokens[from]; t.tag == tagResolution || t.class == number && (p.tokens[from-1].tag == none || p.tokens[from-1].weak) {
		return false
	}
	if !p.media && !(b == "-" && !p.episode.empty() && p.dotted) {
		return false
	}
	if t := &p.tokens[from]; dash && t.tag != none && t.class == alpha && !t.weak && from != last {
		return false
	}
	if i := from - 1; p.tokens[i].tag == none && !strings.HasPrefix(b, "-") {
		return false
	}
	// Where two dashed words follow the tags, the group has a dash in its name.
	if from > 1 && p.before(from) == "-" && p.tokens[from-1].tag == none && p.tokens[from-1].group < 0 && p.before(from-1) != "-" && (p.tokens[from-1].e-p.tokens[from-1].s <= 1) && p.tokens[from-2].tag != none {
		from--
	}
	p.groupTok = span{from, last + 1}
	p.group = p.text[p.tokens[from].s:p.tokens[last].e]
	for i := from; i <= last; i++ {
		if p.tokens[i].weak {
			p.tokens[i].tag, p.tokens[i].weak = none, false
		}
	}
	return true
}

// reposted says whether w is what a reposter puts behind the group.
func reposted(w string) bool {
	switch lower(w) {
	case "obfuscated", "asrequested", "xpost", "scrambled", "postbot", "rakuv", "rakuv02", "rakuvfinhel", "rakuvus", "buymore", "4p", "1",
		"alternativetorequested", "obfuscation", "altezachen", "repackpost", "wrtteam", "nzbgeek", "chamele0n", "sample":
		return true
	}
	return false
}

// left collects the words that nothing explained.
func (p *titled) left() []string {
	var out []string
	for i := range p.tokens {
		t := &p.tokens[i]
		if t.tag != none || p.first >= 0 && i >= p.first && i < p.bound || i >= p.groupTok.from && i < p.groupTok.to || p.epTitle != "" && i >= p.episode.to {
			continue
		}
		if len(p.places) > 0 && p.inPlace(i) {
			continue
		}
		if len(out) < 16 {
			out = append(out, p.word(i))
		}
	}
	return out
}

func (p *laidOut) inPlace(i int) bool {
	for _, s := range p.places {
		if i >= s.from && i < s.to {
			return true
		}
	}
	return false
}
