package release

import (
	"strings"

	"github.com/anivault/anivault/internal/title"
)

func (p *titleStage) findTitles() {
	switch {
	case p.layout.titleStart < 0 || p.layout.titleStart >= len(p.w.tokens):
	case len(p.layout.titleSpans) > 0:
		p.readTitlesInBrackets()
	default:
		p.readTitlesInText()
	}
	p.findDetails()
}

func (p *titleStage) readTitlesInText() {
	p.firstNotCapitals = p.findFirstNotCapitals()
	first := p.layout.titleStart
	quoted := p.enterQuotedTitle()
	if first == p.layout.titleStart {
		p.skipKindOfWork()
	}
	whole := min(p.endOfTitle(p.layout.titleStart), quoted)
	p.end = p.trimTags(p.layout.titleStart, whole)
	if p.end <= p.layout.titleStart {
		return
	}
	if p.layout.startsWithNumber && p.marks.seasonSpan.empty() {
		p.splitNumberedTitle()
	}
	p.addTitles(p.layout.titleStart, p.end)
	if s := p.marks.seasonSpan; s.from > p.layout.titleStart && s.to < p.end && len(p.titles) == 1 {
		p.addTitle(p.layout.titleStart, s.from) // "제목 2기 부제", "題 第2期 副題"
	}
	for i := p.layout.titleStart; i+1 < p.end; i++ { // "KBS 대하드라마 제목"
		if w := p.w.word(i); p.w.classAt(i) == cjk && strings.HasSuffix(w, "드라마") && w != "드라마" {
			p.addTitle(i+1, p.end)
		}
	}
	if isOneOf(p.w.word(p.end-1), "상", "하", "상편", "하편", "전편", "후편") { // one of two files of a film
		p.addTitle(p.layout.titleStart, p.end-1)
	}
	if first != p.layout.titleStart {
		for i := range p.titles {
			p.titles[i].Text = strings.Trim(p.titles[i].Text, "「」『』")
		}
	}
	p.addAliasInBracket()
	p.addAliasInTitle()
	p.addTitleAcrossSeason()
	p.addTitleWithTag(whole)
	p.addFilmTitleWithoutCount()
	if p.end+1 <= len(p.w.tokens) && p.w.tokenAt(p.end).word.value == "TV" && p.w.isAloneInBracket(p.end) {
		p.titles = append(p.titles, Title{Text: p.titles[0].Text + " (TV)", Lang: p.titles[0].Lang}) // not its film or OVA
	}
	if p.isSceneShortForm() {
		p.addTitle(p.layout.titleStart+1, p.end)
	}
	if p.layout.yearAt == p.end && p.w.tokens[p.layout.yearAt].bracket < 0 {
		p.addTitle(p.layout.titleStart, p.end+1) // a year outside brackets may be part of the title
	}
}

// enterQuotedTitle moves the title's start into the quotes after words for the kind of work. It returns the token after
// the quotes, or the number of tokens if there are none.
func (p *titleStage) enterQuotedTitle() (after int) {
	if !strings.Contains(p.w.text, "「") && !strings.Contains(p.w.text, "『") {
		return len(p.w.tokens)
	}
	for i := p.layout.titleStart; i+1 < len(p.w.tokens) && wordSets()["work"][p.w.lower(i)]; i++ {
		for _, q := range [...][2]string{{"「", "」"}, {"『", "』"}} {
			if !strings.HasPrefix(strings.TrimLeft(p.w.gapAfter(i), " "), q[0]) {
				continue
			}
			p.layout.titleStart = i + 1
			end := strings.Index(p.w.text[p.w.tokens[i].end:], q[1])
			for after = i + 1; after < len(p.w.tokens) && (end < 0 || p.w.tokens[after].start < p.w.tokens[i].end+end); after++ {
			}
			return after
		}
	}
	return len(p.w.tokens)
}

// skipKindOfWork skips the word for the kind of work that recorders put first: "アニメ 銀色鉄道 第7話".
func (p *titleStage) skipKindOfWork() {
	i := p.layout.titleStart
	if i+1 < len(p.w.tokens) && p.w.word(i) == "TV" && p.w.gapAfter(i) == "" {
		i++
	}
	gap := p.w.gapAfter(i)
	if p.w.classAt(i) == cjk && p.w.word(i) == "アニメ" && (gap == " " || gap == "." && p.w.isDotted) &&
		p.w.inSameBracket(i, i+1) && p.w.tagAt(i+1) == noTag {
		p.layout.titleStart = i + 1
	}
}

// addFilmTitleWithoutCount adds a film's title without "극장판 24기" (24th film of the show).
func (p *titleStage) addFilmTitleWithoutCount() {
	first := p.layout.titleStart
	if p.w.tagAt(first) == tagMovie {
		first++
	}
	for i := first; i+1 < p.end; i++ {
		if !p.w.isFilmCounter(i) {
			continue
		}
		from, to := i, i+1
		if p.w.tagAt(i-1) == tagMovie {
			from--
		} else if p.w.tagAt(i+1) == tagMovie {
			to++
		}
		if from > first && to < p.end && len(p.titles) < maxTitles {
			text := p.w.cleanTitle(p.w.sourceText(first, from) + " " + p.w.sourceText(to, p.end))
			p.titles = append(p.titles, Title{Text: text, Lang: title.Script(text)})
		}
		return
	}
}

// isSceneShortForm reports whether the name is a short scene name, which begins with the group: "grp-title.2016.1080p".
func (p *titleStage) isSceneShortForm() bool {
	return p.w.isDotted && p.layout.group == "" && p.tags.hasMediaTag && p.end-p.layout.titleStart > 1 &&
		p.w.gapAfter(p.layout.titleStart) == "-" && p.w.tokens[p.layout.titleStart].start == 0 && p.w.text == p.w.lowerText
}

// splitNumberedTitle splits "003. Title - Episode's Name" at the dash.
func (p *titleStage) splitNumberedTitle() {
	if !strings.HasPrefix(p.w.gapAfter(p.marks.episodeSpan.to-1), ".") {
		return
	}
	for i := p.layout.titleStart; i+1 < p.end; i++ {
		if p.w.gapAfter(i) == " - " {
			p.episodeTitle = p.w.cleanTitle(p.w.sourceText(i+1, p.end))
			p.end = i + 1
			return
		}
	}
}

func (p *titleStage) readTitlesInBrackets() {
	best := 0
	for k, s := range p.layout.titleSpans {
		if k > 0 && p.w.scriptOf(s) == "latin" && p.w.scriptOf(p.layout.titleSpans[k-1]) != "latin" {
			best = k // the first Latin title after one in another script
		}
	}
	p.layout.titleStart = p.layout.titleSpans[best].from
	p.firstNotCapitals = p.findFirstNotCapitals()
	p.readTitlesInBracket(p.layout.titleSpans[best])
	for k, s := range p.layout.titleSpans {
		if k != best {
			p.readTitlesInBracket(s)
		}
	}
}

func (p *titleStage) readTitlesInBracket(s span) {
	if cut := p.latinAfterSeason(s); cut > s.from {
		s.from = cut
	}
	end := p.trimTags(s.from, min(p.endOfTitle(s.from), s.to))
	if end > s.from {
		p.addTitles(s.from, end)
	}
	if p.endsWithRemark(s, end) {
		p.addTitle(s.from, s.to) // "[Title (Remake)]"
	}
}

func (p *titleStage) latinAfterSeason(s span) int {
	for i := s.from + 1; i+1 < s.to; i++ {
		if p.w.tokens[i].tag == tagSeason && p.w.tokens[i].class == cjk && p.w.tokens[i+1].class == alpha &&
			p.w.tokens[i+1].tag == noTag && !strings.Contains(p.w.gapAfter(i), "/") && p.w.tokens[s.from].class == cjk {
			return i + 1
		}
	}
	return 0
}

func (p *words) scriptOf(s span) string {
	return title.Script(p.text[p.tokens[s.from].start:p.tokens[s.to-1].end])
}

func (p *words) sourceText(from, to int) string {
	start, end, floor := p.tokens[from].start, len(p.text), 0
	if home := p.tokens[from].bracket; home >= 0 {
		b := &p.brackets[home]
		if from == b.from && b.outer < 0 {
			start = b.innerStart
		}
		floor, end = b.innerStart, b.close
	}
	start = floor + len(strings.TrimRight(p.text[floor:start], "「『“\"¿¡'‘<〈#")) // signs that belong to the word after them
	if to < len(p.tokens) {
		end = min(end, p.tokens[to].start)
	}
	if to < len(p.tokens) || p.tokens[from].bracket < 0 {
		for b := range p.brackets { // end before the bracket after the last word
			if open := p.brackets[b].open; open >= p.tokens[to-1].end && open < end {
				end = open
			}
		}
	}
	return p.text[start:max(start, end)]
}

// addTitleAcrossSeason adds the text up to the episode as a title if words follow the season. They may name an arc or a
// special: "Title 2nd Season - The Night Ferry - 05".
func (p *titleStage) addTitleAcrossSeason() {
	if !p.numbers.bareEpisode || p.marks.seasonSpan.empty() || p.marks.seasonSpan.from < p.end ||
		p.marks.episodeSpan.from <= p.marks.seasonSpan.to {
		return
	}
	home, season, to := p.w.tokens[p.layout.titleStart].bracket, p.marks.seasonSpan, p.marks.episodeSpan.from
	outside := func(i int) bool { return p.w.tokens[i].bracket != home }
	isWord := func(i int) bool { return p.w.tagAt(i) == noTag && p.w.classAt(i) != number }
	if !p.w.anyToken(span{season.from, to}, outside) && p.w.anyToken(span{season.to, to}, isWord) {
		p.addTitle(p.layout.titleStart, to)
	}
}

// addTitleWithTag adds the title together with the weak tag after it: "Title 3D - 01".
func (p *titleStage) addTitleWithTag(whole int) {
	if p.end+1 != whole || p.marks.episodeSpan.from != whole || !p.numbers.bareEpisode || !p.w.tokens[p.end].weak ||
		p.w.tokens[p.end].bracket != p.w.tokens[p.layout.titleStart].bracket {
		return
	}
	switch p.w.tokens[p.end].tag {
	case tagEdition, tagTech, tagSource, tagBatch:
		p.addTitle(p.layout.titleStart, whole)
	default:
	}
}

func (p *titleStage) endsWithRemark(s span, end int) bool {
	b := p.w.innerBracketOf(min(end, s.to-1), p.w.tokens[s.from].bracket)
	return end < s.to && b >= 0 && p.w.brackets[b].isRound && p.w.brackets[b].from == end && p.w.brackets[b].to == s.to &&
		!p.w.anyToken(span{end, s.to}, func(i int) bool { return p.w.tagAt(i) != noTag || p.w.classAt(i) == number })
}

// addAliasInTitle adds the two parts of a title that ends with a bracket: "Title (Other Name)".
func (p *titleStage) addAliasInTitle() {
	b := p.w.outermostBracket(p.end - 1)
	if b < 0 || p.w.brackets[b].to != p.end || p.w.brackets[b].from <= p.layout.titleStart ||
		!strings.HasPrefix(p.w.gapBefore(p.w.brackets[b].from), " ") {
		return
	}
	p.addTitle(p.layout.titleStart, p.w.brackets[b].from)
	p.addTitle(p.w.brackets[b].from, p.end)
}

// addAliasInBracket adds the name in a bracket right after the title: "Title (Other Name)", "한글 (English)".
func (p *titleStage) addAliasInBracket() {
	at := p.end
	for p.w.tagAt(at) == tagSeason {
		at++
	}
	if at >= len(p.w.tokens) {
		return
	}
	b := p.w.outermostBracket(at)
	if b < 0 || p.w.brackets[b].from != at {
		return
	}
	s := p.w.brackets[b].span
	if p.w.roleAt(s.from) == akaWord {
		s.from++
	}
	if s.empty() || p.w.isOneNumber(s) || p.isRemark(&p.w.brackets[b]) ||
		!p.w.brackets[b].isRound && p.w.tokens[s.from].class != cjk {
		return
	}
	if !p.w.anyToken(s, func(i int) bool { return p.w.tagAt(i) != noTag || p.w.tokens[i].bracket != b }) {
		p.addTitle(s.from, s.to)
	}
}
