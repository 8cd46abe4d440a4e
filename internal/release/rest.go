package release

import "strings"

// findRest reads what remains once title, season and episode are known: the values of tags and the episode's title.
func (p *titled) findRest() {
	for i := range p.w.tokens {
		t := &p.w.tokens[i]
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
			p.marks.batch = p.marks.batch || !inTitle && (!t.weak || p.marks.episode.empty())
		case tagMovie:
			p.movie = p.movie || p.marks.episode.empty() || !t.weak
		default:
		}
	}
	if p.epTitle == "" && !p.marks.episode.empty() && !p.layout.led {
		p.epTitle = p.episodeTitle()
	}
	p.findEdition()
}

// findEdition reads which cut of a film, or which edition of a series, the name says, of several all of them.
func (p *titled) findEdition() {
	for i := range p.w.tokens {
		t := &p.w.tokens[i]
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
func (p *titled) inTitle(i int) bool {
	return p.layout.first >= 0 && i >= p.layout.first && i < p.bound
}

// keepFirst sets an empty field to v.
func keepFirst(field *string, v string) {
	if *field == "" {
		*field = v
	}
}

// episodeTitle returns the text right behind the episode number, up to the tags or the group.
func (p *titled) episodeTitle() string {
	from := p.marks.episode.to
	if from >= len(p.w.tokens) || p.w.tokens[from].group >= 0 || p.w.tokens[p.marks.episode.from].group >= 0 {
		return ""
	}
	to := from
	for to < len(p.w.tokens) && p.w.tokens[to].group < 0 && !p.w.strongAt(to) {
		to++
	}
	for to > from && p.w.tagAt(to-1) != none && p.w.tagAt(to) != none && p.w.tagAt(to-1) != tagPart {
		to--
	}
	if !p.layout.groupTok.empty() && p.layout.groupTok.from >= from && p.layout.groupTok.from < to {
		to = p.layout.groupTok.from
	}
	if to == from || to == from+1 && p.w.tokens[from].tag != none {
		return ""
	}
	return p.w.clean(p.w.raw(from, to))
}

// left returns the words that nothing explained, at most 16 of them.
func (p *titled) left() []string {
	var out []string
	for i := range p.w.tokens {
		switch {
		case p.w.tokens[i].tag != none, p.inTitle(i), p.layout.groupTok.holds(i), p.epTitle != "" && i >= p.marks.episode.to, p.layout.inPlace(i):
		case len(out) < 16:
			out = append(out, p.w.word(i))
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
