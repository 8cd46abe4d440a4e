package release

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// readChecksum reads a checksum: "[ABCD1234]". If it has only digits, it must be in the last bracket.
func readChecksum(p *tagStage, i int) bool {
	w := p.w.word(i)
	if len(w) != 8 || !p.w.isAloneInBracket(i) || strings.Trim(w, "0123456789abcdefABCDEF") != "" ||
		allDigits(w) && p.w.tokens[i].bracket != len(p.w.brackets)-1 {
		return false
	}
	p.w.setTags(i, i+1, tagChecksum)
	p.checksum = strings.ToUpper(w)
	return true
}

// readResolution reads a resolution: "1080p", "720i", "1080p25", "1920x1080", "HD720", "1o8op", or "1080" among tags.
func readResolution(p *tagStage, i int) bool {
	w, height := p.w.lower(i), ""
	switch {
	case p.w.tokens[i].class == number:
		if height = standardResolutions[w]; height != "" && !p.w.isAloneInBracket(i) &&
			(p.w.gapAfter(i) == " - " || !p.isMediaTagWord(i+1)) {
			return false
		}
	case !isDigit(w[len(w)-1]) && !isDigit(w[max(len(w)-2, 0)]):
		if w == "1o8op" {
			height = "1080p"
		}
	case len(w) > 4 && isOneOf(w[:2], "hd", "sd", "bd"):
		height = standardResolutions[strings.TrimRight(w[2:], "pi")]
	case len(w) > 6 && isOneOf(w[:3], "web", "dvd", "fhd", "uhd"):
		height = standardResolutions[strings.TrimRight(w[3:], "pi")]
	default:
		height = resolutionOf(w)
	}
	if height == "" {
		return false
	}
	p.w.setTags(i, i+1, tagResolution)
	p.w.tokens[i].word.value = height
	return true
}

// readWordPair tags two words that form one tag: "h 264", "WEB DL", "Blu-ray". A pair that may be part of a title, such
// as the station "AT-X", must be joined by "-".
func readWordPair(p *tagStage, i int) bool {
	if !p.w.inSameBracket(i, i+1) || len(p.w.gapAfter(i)) > 1 {
		return false
	}
	for _, c := range p.w.lists.pairs[p.w.lower(i)] {
		if c.info.weak && p.w.gapAfter(i) != "-" || c.second != p.w.lower(i+1) {
			continue
		}
		p.w.setTags(i, i+2, c.info.tag)
		p.w.tokens[i].word, p.w.tokens[i+1].word = c.info, c.info
		p.w.tokens[i].weak, p.w.tokens[i+1].weak = c.info.weak, c.info.weak
		return true
	}
	return false
}

// resolutionOf returns the resolution that a word names: "1080p", "720i", "1080p25", "1920x1080". It returns "" for
// other words.
func resolutionOf(w string) string {
	n := leadingDigits(w)
	if n < 3 || n > 5 || n == len(w) {
		return ""
	}
	rest := w[n+1:]
	switch w[n] {
	case 'p', 'i':
		if len(rest) <= 2 && leadingDigits(rest) == len(rest) {
			return w[:n+1]
		}
	case 'x':
		m := leadingDigits(rest)
		if n <= 4 && (m == 3 || m == 4) && (m == len(rest) || rest[m:] == "p") {
			return cmp.Or(standardResolutions[rest[:m]], rest[:m]+"p")
		}
	}
	return ""
}

var standardResolutions = map[string]string{
	"2160": "2160p", "1080": "1080p", "720": "720p", "576": "576p", "540": "540p", "480": "480p",
}

// isMediaTagWord reports whether the word at i is listed as a source or codec. It works before findTags has reached i.
func (p *tagStage) isMediaTagWord(i int) bool {
	if i >= len(p.w.tokens) {
		return false
	}
	k := p.w.lists.words[p.w.lower(i)]
	if k.weak {
		return k.tag == tagSource && k.value != "TV" && p.w.length(i) == 3
	}
	return k.tag == tagSource || k.tag == tagVideo || k.tag == tagAudio
}

// readQuantity tags an amount with its unit: "700MB", "1.46Gb", "10 bit", "60fps", "6ch", "2CD", "384kbit", "35mm".
func readQuantity(p *tagStage, i int) bool {
	w, last := p.w.lower(i), i
	n := leadingDigits(w)
	switch {
	case n == 0:
		return false
	case n < len(w):
		if !wordSets()["quantity"][w[n:]] {
			return false
		}
	default:
		if last++; last >= len(p.w.tokens) || !p.isSpacedUnit(i) {
			return false
		}
	}
	from := i
	if i > 0 && p.w.isPlainNumber(i-1) && (p.w.gapBefore(i) == "." || p.w.gapBefore(i) == ",") {
		from = i - 1
	}
	p.w.setTags(from, last+1, tagTech)
	return true
}

// isSpacedUnit reports whether the word after the number at i is its unit: "10 bit", "[700 MB]".
func (p *tagStage) isSpacedUnit(i int) bool {
	if gap := p.w.gapAfter(i); gap != " " && gap != "-" && gap != "" {
		return false
	}
	unit := p.w.lower(i + 1)
	return isOneOf(unit, "bit", "bits", "kbps", "mbps") || p.w.tokens[i].bracket >= 0 && isOneOf(unit, "mb", "gb")
}

// readAudioChannels tags an audio codec with its channels: "AAC2.0", "DD51", "DDP5", "TrueHD5", "FLACx2"; "DTS-HD"
// comes as two words.
func readAudioChannels(p *tagStage, i int) bool {
	w := p.w.lower(i)
	head := trimTrailingDigits(w)
	n := len(head)
	if n == len(w) || n < 2 || len(w)-n > 2 {
		return false
	}
	k := p.w.lists.words[head]
	if k.tag != tagAudio {
		if n <= 3 || head[n-1] != 'x' {
			return false
		}
		if k = p.w.lists.words[head[:n-1]]; k.tag != tagAudio && k.tag != tagSubtitle {
			return false
		}
	}
	p.w.setTags(i, i+1, k.tag)
	p.w.tokens[i].word = k
	return true
}

// tagChannels tags the "5.1" of "DDP 5.1" and the "1" of "DD5.1". It runs when the other tags are known.
func (p *tagStage) tagChannels(i int) {
	t := &p.w.tokens[i]
	if t.class != number && t.class != mixed || t.tag != noTag || t.end-t.start != 1 {
		return
	}
	first := p.w.text[t.start]
	afterAudio := p.w.tagAt(i-1) == tagAudio && len(p.w.gapBefore(i)) <= 1
	if afterAudio && first <= '2' && isDigit(p.w.text[p.w.tokens[i-1].end-1]) { // "DD5.1": the word for audio took the 5
		p.w.setTags(i, i+1, tagTech)
		return
	}
	if i+1 >= len(p.w.tokens) || len(p.w.gapAfter(i)) != 1 {
		return
	}
	low := p.w.lower(i + 1) // "1", "1ch"
	if strings.IndexByte("1256789", first) < 0 || low[0] < '0' || low[0] > '2' ||
		len(low) > 1 && !isOneOf(low[1:], "ch", "x") {
		return
	}
	surround := p.hasMediaTag && (first == '5' || first == '7') && low[0] == '1'
	if afterAudio || p.w.gapAfter(i) == "." && (surround || p.w.tagAt(i+2) == tagAudio) {
		p.w.setTags(i, i+2, tagTech)
	}
}

// readVersion reads a version that is a word: "v2", "V3"; but not the "v2" of the word "07v2".
func readVersion(p *tagStage, i int) bool {
	w := p.w.lower(i)
	if len(w) > 3 || w[0] != 'v' || !allDigits(w[1:]) {
		return false
	}
	p.w.setTags(i, i+1, tagVersion)
	p.version = cmp.Or(p.version, atoi(w[1:]))
	return true
}

// readDisc tags a disc or volume with its number: "CD1", "DVD9", "BOX7", "Disc2", "Vol3".
func readDisc(p *tagStage, i int) bool {
	w := p.w.lower(i)
	head := trimTrailingDigits(w)
	switch n := len(w) - len(head); {
	case n == 0 && len(w) != 4:
		return false
	case n == 0 && i > 0 && p.w.isPlainNumber(i+1) && p.w.length(i+1) <= 2 && len(p.w.gapAfter(i)) == 1 &&
		isOneOf(w, "disc", "disk"):
		p.w.setTags(i, i+2, tagTech)
	case n == 0 || n > 2:
		return false
	case isOneOf(head, "cd", "disc", "disk", "dvd", "box", "bdmv"):
		p.w.setTags(i, i+1, tagTech)
	case isOneOf(head, "vol", "volume"):
		p.w.setTags(i, i+1, tagVolume)
	default:
		return false
	}
	return true
}

// readSite tags a web site: "www.site.com", or "site.com" at the start or alone in a bracket.
func readSite(p *tagStage, i int) bool {
	to := 0
	if p.w.lower(i) == "www" {
		to = p.siteEnd(i)
		if p.begins(i-1) && to > 0 && p.w.classAt(i-1) == cjk && p.w.gapBefore(i) == "" { // "银色电影www.site.com"
			p.w.setTags(i-1, i, tagSite)
		}
	} else if p.w.inSameBracket(i, i+1) && p.w.gapAfter(i) == "." && p.isSiteAlone(i) &&
		wordSets()["domain"][p.w.lower(i+1)] {
		to = i + 2
	}
	if to == 0 {
		return false
	}
	p.w.setTags(i, to, tagSite)
	return true
}

// begins reports whether token i is the first of the name, or the first after a bracket.
func (p *tagStage) begins(i int) bool {
	return i == 0 || i > 0 && p.w.tokens[i-1].bracket >= 0 && p.w.tokens[i].bracket < 0
}

func (p *tagStage) siteEnd(i int) int {
	j := i + 1
	if gap := p.w.gapAfter(min(i+2, len(p.w.tokens)-1)); (p.begins(i) || p.begins(i-1)) && p.w.inSameBracket(i, i+3) &&
		(gap == "." && p.w.isDotted || gap == " ") && p.w.tokens[i].bracket < 0 && wordSets()["domain"][p.w.lower(i+2)] {
		return i + 3 // "www.site.com.Title"
	}
	for p.w.inSameBracket(i, j) && !isSpacedDash(p.w.gapAfter(j-1)) && j-i < 5 &&
		!strings.ContainsAny(p.w.gapAfter(j-1), "])】") {
		j++
	}
	if j-i >= 2 && (p.w.tokens[i].bracket >= 0 || !p.w.inSameBracket(i, j) || isSpacedDash(p.w.gapAfter(j-1))) {
		return j
	}
	return 0
}

// isSiteAlone reports whether a site at i is apart from the title: "[site.com]", "[by site.com]", "site.com - Title".
func (p *tagStage) isSiteAlone(i int) bool {
	if g := p.w.tokens[i].bracket; g >= 0 {
		return p.w.brackets[g].to == i+2 && p.w.brackets[g].from >= i-2
	}
	return i == 0 && (isSpacedDash(p.w.gapAfter(1)) || p.w.gapAfter(1) == " " && p.w.isDotted)
}

// readCatalogueID reads "[tmdbid-26209]", "{tmdb-26209}", "tmdbid=26209", "imdb-tt0061265" or "[tt0061265]".
func readCatalogueID(p *tagStage, i int) bool {
	if p.w.length(i) < len("tmdb") || strings.IndexByte("tia", p.w.lower(i)[0]) < 0 {
		return false // a quick check, because few words can be one
	}
	w := p.w.lower(i)
	if p.w.tokens[i].bracket >= 0 && len(w) >= 9 && isIMDbID(w) {
		p.addID(i, i+1, ID{Source: "imdb", Value: w})
		return true
	}
	id := ID{Source: catalogues[strings.TrimSuffix(w, "id")]}
	if id.Source == "" {
		return false
	}
	j := i + 1
	if isIDGap(p.w.gapAfter(i)) && j < len(p.w.tokens) {
		switch k := p.w.lower(j); k {
		case "tv", "movie":
			id.Kind = k
			j++
		case "id":
			j++
		}
	}
	if !p.w.inSameBracket(i, j) || !isIDGap(p.w.gapAfter(j-1)) {
		return false
	}
	id.Value = p.w.lower(j)
	switch {
	case id.Source == "imdb" && isIMDbID(id.Value):
	case p.w.tokens[j].class != number:
		return false
	case id.Source == "imdb":
		id.Value = "tt" + id.Value
	case p.w.tokens[i].bracket < 0 && w == id.Source && p.w.gapAfter(j-1) == " ": // it may be a title
		return false
	}
	p.addID(i, j+1, id)
	return true
}

var catalogues = map[string]string{
	"tmdb": "tmdb", "themoviedb": "tmdb", "tvdb": "tvdb", "thetvdb": "tvdb", "imdb": "imdb", "anidb": "anidb",
}

func isIMDbID(w string) bool { return strings.HasPrefix(w, "tt") && allDigits(w[2:]) }

func (p *tagStage) addID(from, to int, id ID) {
	p.ids = append(p.ids, id)
	p.w.setTags(from, to, tagID)
}

func isIDGap(g string) bool { return g == ": " || len(g) == 1 && strings.Contains("-=:_ /", g) }

// readHanRemark tags a run of Han after the title that says what was done to the video: "双语字幕", "142分钟版".
func readHanRemark(p *tagStage, i int) bool {
	w, from := p.w.word(i), i
	counted := i > 0 && p.w.gapBefore(i) == "" && p.w.isPlainNumber(i-1) &&
		(strings.HasPrefix(w, "分") || w == "版" && p.w.isYearlike(i-1))
	last, _ := utf8.DecodeLastRuneInString(w)
	ends := func(end string) bool { return strings.HasSuffix(w, end) }
	if !counted && !slices.ContainsFunc(p.w.lists.remarkEndings[last], ends) {
		return false
	}
	for from > 0 && p.w.inSameBracket(from-1, from) && (p.w.gapBefore(from) == "" ||
		p.w.gapBefore(from) == "." && p.w.isPlainNumber(from-1) && p.w.isPlainNumber(from)) {
		from--
	}
	if !p.w.anyToken(span{0, from}, func(k int) bool { return p.w.tagAt(k) == noTag && p.w.classAt(k) != number }) {
		if from == i || w != "版" { // no title stands before it
			return false
		}
		from = i // "银色铁道2019版"
	}
	p.w.setTags(from, i+1, tagPromo)
	return true
}

// readDecoration tags what is before a Han title at the start of a name: a rank, a letter of an index, a station.
func readDecoration(p *tagStage, i int) bool {
	if !p.begins(i) || p.w.classAt(i+1) != cjk && p.w.classAt(i+2) != cjk {
		return false
	}
	to, w := i+1, p.w.lower(i)
	switch word := trimTrailingDigits(w); {
	case wordSets()["rank"][word] && word != w, wordSets()["station"][word], len(w) == 1 && p.w.word(i) != w: // a capital
	case wordSets()["rank"][word] && p.w.isPlainNumber(to) && len(p.w.gapBefore(to)) <= 1:
		to++
	default:
		return false
	}
	if p.w.classAt(to) != cjk || !p.w.inSameBracket(i, to) || p.w.gapBefore(to) == "" {
		return false
	}
	p.w.setTags(i, to, tagPromo)
	return true
}

func allDigits(s string) bool { return s != "" && leadingDigits(s) == len(s) }
