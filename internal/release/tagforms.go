package release

import (
	"strings"
)

// This file holds the forms of tags that have a number in them: resolutions,
// sizes, channels, discs, checksums; and sites.

// alone says whether token i is all that its bracket holds.
func (p *lexed) alone(i int) bool {
	g := p.tokens[i].group
	return g >= 0 && p.brackets[g].behind-p.brackets[g].first == 1
}

// tagChecksum: "[ABCD1234]".
func (p *tagged) tagChecksum(i int) bool {
	w := p.word(i)
	if len(w) != 8 || !p.alone(i) {
		return false
	}
	letters := false
	for k := 0; k < len(w); k++ {
		c := w[k] | 0x20
		if !digit(w[k]) && (c < 'a' || c > 'f') {
			return false
		}
		letters = letters || !digit(w[k])
	}
	if !letters && p.tokens[i].group != len(p.brackets)-1 {
		return false
	}
	p.set(i, i+1, tagChecksum)
	p.checksum = strings.ToUpper(w)
	return true
}

// tagHeight: "1080p", "720i", "1080p25", "1920x1080", "1o8op", "1080" among tags.
func (p *tagged) tagHeight(i int) bool {
	w := p.word(i)
	if p.tokens[i].class == number {
		switch w {
		case "480", "540", "576", "720", "1080", "2160":
			if p.alone(i) || i+1 < len(p.tokens) && p.madeTag(i+1) && p.gap(i) != " - " {
				p.resolution(i, w+"p")
				return true
			}
		}
		return false
	}
	n := 0
	for n < len(w) && digit(w[n]) {
		n++
	}
	if n == 1 && len(w) == 5 && strings.EqualFold(w, "1o8op") {
		p.resolution(i, "1080p")
		return true
	}
	if n < 3 || n > 5 || n == len(w) {
		return false
	}
	rest := w[n+1:]
	switch w[n] | 0x20 {
	case 'p', 'i':
		if rest == "" || allDigits(rest) && len(rest) <= 2 {
			p.resolution(i, lower(w[:n+1]))
			return true
		}
	case 'x':
		m := 0
		for m < len(rest) && digit(rest[m]) {
			m++
		}
		if m >= 3 && m <= 4 && n <= 4 && (m == len(rest) || m+1 == len(rest) && rest[m]|0x20 == 'p') {
			p.resolution(i, heightName(rest[:m]))
			return true
		}
	}
	return false
}

func (p *tagged) resolution(i int, v string) {
	p.set(i, i+1, tagResolution)
	p.tokens[i].word.value = v
}

// heightName writes a height in lines without allocating for the usual ones.
func heightName(h string) string {
	switch h {
	case "2160":
		return "2160p"
	case "1080":
		return "1080p"
	case "720":
		return "720p"
	case "576":
		return "576p"
	case "480":
		return "480p"
	}
	return h + "p"
}

// madeTag says whether the word at i is in the table as a tag of how the file was made; it looks ahead of tag().
func (p *tagged) madeTag(i int) bool {
	k, ok := lookup(p.word(i))
	if !ok || k.weak {
		return ok && k.tag == tagSource && k.value != "TV" && len(p.word(i)) == 3
	}
	switch k.tag {
	case tagSource, tagVideo, tagAudio:
		return true
	default:
		return false
	}
}

// tagQuantity: "700MB", "1.46Gb", "10 bit", "60fps", "6ch", "2CD", "384kbit", "35mm".
func (p *tagged) tagQuantity(i int) bool {
	w := p.word(i)
	n := 0
	for n < len(w) && digit(w[n]) {
		n++
	}
	unit := ""
	last := i
	switch {
	case n == len(w):
		if i+1 >= len(p.tokens) || p.gap(i) != " " && p.gap(i) != "-" && p.gap(i) != "" {
			return false
		}
		unit = lower(p.word(i + 1))
		last = i + 1
		switch unit {
		case "bit", "bits", "kbps", "mbps":
		case "mb", "gb":
			if p.tokens[i].group < 0 {
				return false
			}
		default:
			return false
		}
	case n > 0:
		unit = lower(w[n:])
	default:
		return false
	}
	switch unit {
	case "mb", "gb", "kb", "bit", "bits", "fps", "ch", "kbps", "mbps", "kbit", "hz", "khz", "cd", "mm", "mib", "gib", "xdvd", "xdvd9", "xdvd5", "disc", "discs", "audio":
	default:
		return false
	}
	from := i
	if i > 0 && p.tokens[i-1].class == number && (p.gap(i-1) == "." || p.gap(i-1) == ",") && p.tokens[i-1].tag == none {
		from = i - 1
	}
	p.set(from, last+1, tagTech)
	return true
}

// tagAudioChannels: "AAC2.0", "DD51", "DDP5", "TrueHD5", "FLACx2", "DTS-HD" comes as two words.
func (p *tagged) tagAudioChannels(i int) bool {
	w := p.word(i)
	n := len(w)
	for n > 0 && digit(w[n-1]) {
		n--
	}
	if n == len(w) || n < 2 || len(w)-n > 2 {
		return false
	}
	head := w[:n]
	if k, ok := lookup(head); ok && k.tag == tagAudio {
		p.set(i, i+1, tagAudio)
		p.tokens[i].word = k
		return true
	}
	if n > 3 && head[n-1]|0x20 == 'x' {
		if k, ok := lookup(head[:n-1]); ok && (k.tag == tagAudio || k.tag == tagSubtitle) {
			p.set(i, i+1, k.tag)
			p.tokens[i].word = k
			return true
		}
	}
	return false
}

// tagChannels marks the "5.1" of "DDP 5.1" and the "1" of "DD5.1"; it runs when the other tags are known.
func (p *tagged) tagChannels(i int) {
	t := &p.tokens[i]
	if t.class != number && t.class != mixed || t.tag != none || t.e-t.s > 3 || !digit(p.text[t.s]) {
		return
	}
	first := p.text[t.s]
	afterAudio := i > 0 && p.tokens[i-1].tag == tagAudio && len(p.before(i)) <= 1
	// "DD5.1": the audio word took the 5.
	if afterAudio && t.e-t.s == 1 && first <= '2' && digit(p.text[p.tokens[i-1].e-1]) {
		p.set(i, i+1, tagTech)
		return
	}
	if i+1 >= len(p.tokens) || t.e-t.s != 1 || first == '0' || first == '3' || first == '4' {
		return
	}
	next := p.word(i + 1)
	if next[0] > '2' || !digit(next[0]) || len(next) > 1 && !strings.EqualFold(next[1:], "ch") && !strings.EqualFold(next[1:], "x") || len(p.gap(i)) != 1 {
		return
	}
	point := p.gap(i) == "."
	if afterAudio || point && (first == '5' || first == '7') && (next[0] == '1') && p.media ||
		point && i+2 < len(p.tokens) && p.tokens[i+2].tag == tagAudio {
		p.set(i, i+2, tagTech)
	}
}

// tagVersionWord: "v2", "V3"; not the "v2" inside "07v2", which is part of its token.
func (p *tagged) tagVersionWord(i int) bool {
	w := p.word(i)
	if len(w) > 3 || w[0]|0x20 != 'v' || !allDigits(w[1:]) {
		return false
	}
	p.set(i, i+1, tagVersion)
	if v := atoi(w[1:]); p.version == 0 && v > 0 {
		p.version = v
	}
	return true
}

// tagDisc: "CD1", "DVD9", "BOX7", "Disc2", "D2".
func (p *tagged) tagDisc(i int) bool {
	w := p.word(i)
	n := len(w)
	for n > 0 && digit(w[n-1]) {
		n--
	}
	if n == len(w) || len(w)-n > 2 {
		return false
	}
	switch lower(w[:n]) {
	case "cd", "disc", "disk", "dvd", "box", "bdmv":
		p.set(i, i+1, tagTech)
		return true
	case "vol", "volume":
		p.set(i, i+1, tagVolume)
		return true
	}
	return false
}

// tagWebSite: "www.site.com", "site.com" at the start or alone in a bracket.
func (p *tagged) tagWebSite(i int) bool {
	w := p.word(i)
	if strings.EqualFold(w, "www") {
		j := i + 1
		for j < len(p.tokens) && p.tokens[j].group == p.tokens[i].group && !dashGap(p.gap(j-1)) && j-i < 5 && !strings.ContainsAny(p.gap(j-1), "])】") {
			j++
		}
		if j-i >= 2 && (j == len(p.tokens) || dashGap(p.gap(j-1)) || p.tokens[j].group != p.tokens[i].group || p.tokens[i].group >= 0) {
			p.set(i, j, tagSite)
			return true
		}
		return false
	}
	if i+1 >= len(p.tokens) || p.gap(i) != "." || p.tokens[i+1].group != p.tokens[i].group || i > 2 && p.tokens[i].group < 0 {
		return false
	}
	switch lower(p.word(i + 1)) {
	case "com", "net", "org", "tv", "cd", "cc", "me", "io", "mx", "lt", "my", "am", "ag", "pl", "to", "info", "nu", "se":
	default:
		return false
	}
	if g := p.tokens[i].group; g >= 0 && (p.brackets[g].behind != i+2 || p.brackets[g].first < i-2) || g < 0 && i != 0 {
		return false
	}
	if p.tokens[i].group < 0 && !dashGap(p.gap(i+1)) && !strings.HasPrefix(p.gap(i+1), "_") {
		return false
	}
	p.set(i, i+2, tagSite)
	return true
}
