package release

import "strings"

// alone reports whether token i is all that its bracket holds.
func (p *lexed) alone(i int) bool {
	g := p.tokens[i].group
	return g >= 0 && p.brackets[g].behind-p.brackets[g].first == 1
}

// tagChecksum: "[ABCD1234]". One of digits only is the last bracket of its name.
func (p *tagged) tagChecksum(i int) bool {
	w := p.word(i)
	if len(w) != 8 || !p.alone(i) || strings.Trim(w, "0123456789abcdefABCDEF") != "" {
		return false
	}
	if allDigits(w) && p.tokens[i].group != len(p.brackets)-1 {
		return false
	}
	p.set(i, i+1, tagChecksum)
	p.checksum = strings.ToUpper(w)
	return true
}

// tagHeight: "1080p", "720i", "1080p25", "1920x1080", "HD720", "1o8op", "1080" among tags.
func (p *tagged) tagHeight(i int) bool {
	w := p.word(i)
	height := ""
	switch {
	case p.tokens[i].class == number:
		if height = usualHeight(w); height != "" && !p.alone(i) && (p.gap(i) == " - " || !p.madeTag(i+1)) {
			return false
		}
	case !digit(w[len(w)-1]) && !digit(w[max(len(w)-2, 0)]):
		if strings.EqualFold(w, "1o8op") {
			height = "1080p"
		}
	case len(w) > 4 && among(w[:2], "hd", "sd", "bd"):
		height = usualHeight(strings.TrimRight(w[2:], "piPI"))
	case len(w) > 6 && among(w[:3], "web", "dvd", "fhd", "uhd"):
		height = usualHeight(strings.TrimRight(w[3:], "piPI"))
	default:
		height = heightOf(w)
	}
	if height == "" {
		return false
	}
	p.set(i, i+1, tagResolution)
	p.tokens[i].word.value = height
	return true
}

// tagCompound: "h 264", "H.265", "x-264", "WEB DL", "Blu-ray", "HD TS"; a station's name has its dash.
func (p *tagged) tagCompound(i int) bool {
	if !p.beside(i, i+1) || len(p.gap(i)) > 1 {
		return false
	}
	pairs, _ := find(lists().pairs, p.word(i))
	for _, c := range pairs {
		if c.kw.weak && p.gap(i) != "-" || !strings.EqualFold(c.tail, p.word(i+1)) {
			continue
		}
		p.set(i, i+2, c.kw.tag)
		p.tokens[i].word, p.tokens[i+1].word = c.kw, c.kw
		p.tokens[i].weak, p.tokens[i+1].weak = c.kw.weak, c.kw.weak
		return true
	}
	return false
}

// heightOf reads "1080p", "720i", "1080p25" and "1920x1080"; it returns "" for another word.
func heightOf(w string) string {
	n := leadingDigits(w)
	if n < 3 || n > 5 || n == len(w) {
		return ""
	}
	rest := w[n+1:]
	switch w[n] | 0x20 {
	case 'p', 'i':
		if len(rest) <= 2 && leadingDigits(rest) == len(rest) {
			return lower(w[:n+1])
		}
	case 'x':
		m := leadingDigits(rest)
		if n <= 4 && (m == 3 || m == 4) && (m == len(rest) || strings.EqualFold(rest[m:], "p")) {
			if usual := usualHeight(rest[:m]); usual != "" {
				return usual
			}
			return rest[:m] + "p"
		}
	}
	return ""
}

// usualHeight returns the resolution of a height in lines, "" for an unusual one.
func usualHeight(lines string) string {
	switch lines {
	case "2160":
		return "2160p"
	case "1080":
		return "1080p"
	case "720":
		return "720p"
	case "576":
		return "576p"
	case "540":
		return "540p"
	case "480":
		return "480p"
	}
	return ""
}

// madeTag reports whether the word at i is in the table as a tag of how the file was made; it looks ahead of tagWords.
func (p *tagged) madeTag(i int) bool {
	if i >= len(p.tokens) {
		return false
	}
	k, _ := lookup(p.word(i))
	if k.weak {
		return k.tag == tagSource && k.value != "TV" && p.width(i) == 3
	}
	return k.tag == tagSource || k.tag == tagVideo || k.tag == tagAudio
}

// tagQuantity: "700MB", "1.46Gb", "10 bit", "60fps", "6ch", "2CD", "384kbit", "35mm".
func (p *tagged) tagQuantity(i int) bool {
	w := p.word(i)
	n := leadingDigits(w)
	last := i
	switch {
	case n == 0:
		return false
	case n < len(w):
		if !lists().quantities[lower(w[n:])] {
			return false
		}
	default:
		if last++; last >= len(p.tokens) || !p.spacedUnit(i) {
			return false
		}
	}
	from := i
	if i > 0 && p.plainNumber(i-1) && (p.before(i) == "." || p.before(i) == ",") {
		from = i - 1
	}
	p.set(from, last+1, tagTech)
	return true
}

// spacedUnit reports whether the unit of the number at i is the word behind it: "10 bit", "[700 MB]".
func (p *lexed) spacedUnit(i int) bool {
	if gap := p.gap(i); gap != " " && gap != "-" && gap != "" {
		return false
	}
	unit := p.word(i + 1)
	return among(unit, "bit", "bits", "kbps", "mbps") || p.tokens[i].group >= 0 && among(unit, "mb", "gb")
}

// tagAudioChannels: "AAC2.0", "DD51", "DDP5", "TrueHD5", "FLACx2"; "DTS-HD" comes as two words.
func (p *tagged) tagAudioChannels(i int) bool {
	w := p.word(i)
	head := withoutDigits(w)
	n := len(head)
	if n == len(w) || n < 2 || len(w)-n > 2 {
		return false
	}
	k, _ := lookup(head)
	if k.tag != tagAudio {
		if n <= 3 || head[n-1]|0x20 != 'x' {
			return false
		}
		if k, _ = lookup(head[:n-1]); k.tag != tagAudio && k.tag != tagSubtitle {
			return false
		}
	}
	p.set(i, i+1, k.tag)
	p.tokens[i].word = k
	return true
}

// tagChannels marks the "5.1" of "DDP 5.1" and the "1" of "DD5.1"; it runs when the other tags are known.
func (p *tagged) tagChannels(i int) {
	t := &p.tokens[i]
	if t.class != number && t.class != mixed || t.tag != none || t.e-t.s != 1 {
		return
	}
	first := p.text[t.s]
	afterAudio := p.tagAt(i-1) == tagAudio && len(p.before(i)) <= 1
	if afterAudio && first <= '2' && digit(p.text[p.tokens[i-1].e-1]) { // "DD5.1": the word for audio took the 5
		p.set(i, i+1, tagTech)
		return
	}
	if i+1 >= len(p.tokens) || len(p.gap(i)) != 1 || !channels(first, p.word(i+1)) {
		return
	}
	surround := p.media && (first == '5' || first == '7') && p.word(i + 1)[0] == '1'
	if afterAudio || p.gap(i) == "." && (surround || p.tagAt(i+2) == tagAudio) {
		p.set(i, i+2, tagTech)
	}
}

// channels reports whether a digit and the word behind it can say how many channels there are: "5" and "1", "1ch".
func channels(first byte, low string) bool {
	if strings.IndexByte("1256789", first) < 0 || low[0] < '0' || low[0] > '2' {
		return false
	}
	return len(low) == 1 || among(low[1:], "ch", "x")
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

// tagDisc: "CD1", "DVD9", "BOX7", "Disc2", "Vol3".
func (p *tagged) tagDisc(i int) bool {
	w := p.word(i)
	head := withoutDigits(w)
	switch n := len(w) - len(head); {
	case n == 0 && len(w) != 4:
		return false
	case n == 0 && i > 0 && p.plainNumber(i+1) && p.width(i+1) <= 2 && len(p.gap(i)) == 1 && among(w, "disc", "disk"):
		p.set(i, i+2, tagTech)
	case n == 0 || n > 2:
		return false
	case among(head, "cd", "disc", "disk", "dvd", "box", "bdmv"):
		p.set(i, i+1, tagTech)
	case among(head, "vol", "volume"):
		p.set(i, i+1, tagVolume)
	default:
		return false
	}
	return true
}

// tagWebSite: "www.site.com", "site.com" at the start or alone in a bracket.
func (p *tagged) tagWebSite(i int) bool {
	to := 0
	if among(p.word(i), "www") {
		to = p.endOfSite(i)
		if i == 1 && to > 0 && p.classAt(0) == cjk && p.gap(0) == "" { // "银色电影www.site.com"
			p.set(0, 1, tagSite)
		}
	} else if p.beside(i, i+1) && p.gap(i) == "." && p.siteAlone(i) && lists().domains[lower(p.word(i+1))] {
		to = i + 2
	}
	if to == 0 {
		return false
	}
	p.set(i, to, tagSite)
	return true
}

// endOfSite returns the token behind the address that "www" at i begins, 0 when there is none.
func (p *lexed) endOfSite(i int) int {
	j := i + 1
	if i <= 1 && p.dotted && p.beside(i, i+3) && p.gap(i+2) == "." && p.tokens[i].group < 0 && lists().domains[lower(p.word(i+2))] {
		return i + 3 // "www.site.com.Title"
	}
	for p.beside(i, j) && !dashGap(p.gap(j-1)) && j-i < 5 && !strings.ContainsAny(p.gap(j-1), "])】") {
		j++
	}
	if j-i >= 2 && (p.tokens[i].group >= 0 || !p.beside(i, j) || dashGap(p.gap(j-1))) {
		return j
	}
	return 0
}

// siteAlone reports whether the two words from i on stand apart, as an address does: in a bracket with at most one word
// before them, or at the start before a dash.
func (p *lexed) siteAlone(i int) bool {
	if g := p.tokens[i].group; g >= 0 {
		return p.brackets[g].behind == i+2 && p.brackets[g].first >= i-2
	}
	return i == 0 && (dashGap(p.gap(1)) || p.gap(1) == " " && p.dotted)
}
