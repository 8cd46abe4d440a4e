package release

import "strings"

// findRest reads what remains once title, season and episode are known: the values of tags and the episode's title.
func (p *titled) findRest() {
	for i := range p.tokens {
		t := &p.tokens[i]
		inTitle := p.inTitle(i)
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
	if p.epTitle == "" && !p.episode.empty() && !p.led {
		p.epTitle = p.episodeTitle()
	}
	p.findEdition()
}

// findEdition reads which cut of a film, or which edition of a series, the name says, of several all of them.
func (p *titled) findEdition() {
	for i := range p.tokens {
		t := &p.tokens[i]
		v := t.word.value
		if t.tag != tagEdition || v == "" || p.inTitle(i) || p.epTitle != "" && t.weak && t.group < 0 || strings.Contains(p.edition, v) {
			continue
		}
		if p.edition != "" {
			p.edition += " "
		}
		p.edition += v
	}
}

// inTitle reports whether token i is part of the title.
func (p *titled) inTitle(i int) bool { return p.first >= 0 && i >= p.first && i < p.bound }

// keepFirst sets an empty field to v.
func keepFirst(field *string, v string) {
	if *field == "" {
		*field = v
	}
}

// episodeTitle returns the text right behind the episode number, up to the tags or the group.
func (p *titled) episodeTitle() string {
	from := p.episode.to
	if from >= len(p.tokens) || p.tokens[from].group >= 0 || p.tokens[p.episode.from].group >= 0 {
		return ""
	}
	to := from
	for to < len(p.tokens) && p.tokens[to].group < 0 && !p.strongAt(to) {
		to++
	}
	for to > from && p.tagAt(to-1) != none && p.tagAt(to) != none && p.tagAt(to-1) != tagPart {
		to--
	}
	if !p.groupTok.empty() && p.groupTok.from >= from && p.groupTok.from < to {
		to = p.groupTok.from
	}
	if to == from || to == from+1 && p.tokens[from].tag != none {
		return ""
	}
	return p.clean(p.raw(from, to))
}

// left returns the words that nothing explained, at most 16 of them.
func (p *titled) left() []string {
	var out []string
	for i := range p.tokens {
		switch {
		case p.tokens[i].tag != none, p.inTitle(i), p.groupTok.holds(i), p.epTitle != "" && i >= p.episode.to, p.inPlace(i):
		case len(out) < 16:
			out = append(out, p.word(i))
		}
	}
	return out
}

// inPlace reports whether token i stands in one of the brackets that hold titles.
func (p *laidOut) inPlace(i int) bool {
	for _, s := range p.places {
		if s.holds(i) {
			return true
		}
	}
	return false
}
