package release

import "strings"

// endWord is the last word of a title so far: it may belong to the tags behind it.
type endWord struct {
	in       *titled
	w        *words
	tag      tag
	text     string
	from, at int  // the first word of the title, and this one
	year     bool // the year stands right behind the title
	marker   bool // a season or episode does
	ended    bool // some tag does, in the title's own bracket
}

// staysInTitle are the reasons for which a weak tag at the end of a title is a word of the title. Any other weak tag
// there belongs to the tags: "Title EXTENDED 2016", "Title FRENCH BluRay".
var staysInTitle = []reason[endWord]{
	because("a part, a film or the last episode", "Silver Rail Part 2 [1080p].mkv -> Silver Rail Part 2 part2",
		func(e endWord) bool { return e.tag == none || e.tag == tagPart || e.tag == tagMovie || e.tag == tagEnd }),
	because("no tag anywhere", "Silver Rail German.mkv -> Silver Rail German",
		func(e endWord) bool {
			return !e.ended && !e.in.tags.media && (e.tag == tagCountry || !e.in.shouts(e.at)) &&
				e.tag != tagExtra && e.tag != tagSpecial && e.tag != tagBatch
		}),
	because("behind an article", "The.German.1080p.BluRay.x264-QUIET -> The German",
		func(e endWord) bool { return e.at-1 == e.from && lists().articles[lower(e.w.word(e.from))] }),
	because("a language before the year, the season or the episode",
		"The.Good.German.2009.1080p.BluRay.x264-QUIET -> The Good German y2009 movie",
		func(e endWord) bool { return e.tag == tagLanguage && (e.year || e.marker) && !e.shoutsLanguage() }),
	because("a short language alone, written like the title", "Silver Rail Vie [1080p].mkv -> Silver Rail Vie",
		func(e endWord) bool {
			return e.tag == tagLanguage && len(e.text) <= 3 && !e.in.shouts(e.at) && !e.amongItsKind()
		}),
	because("a country before the year, or in small letters", "The Last of Us S02E05.mkv -> The Last of Us s2 e5 episode",
		func(e endWord) bool { return e.tag == tagCountry && (e.year || !capitals(e.text)) }),
	because("a word that titles have too, written like the title",
		"Silver.Rail.Line.S02E05.1080p.WEB-QUIET -> Silver Rail Line s2 e5 episode",
		func(e endWord) bool {
			small := e.tag == tagOther && len(e.text) > 2 && e.text == lower(e.text) // as in a scene name of small letters
			return e.w.tokens[e.at].word.common && !e.in.shouts(e.at) && !e.amongItsKind() && !small
		}),
	because("a source or a remark among blanks, written like the title",
		"Silver Rail Web [1080p].mkv -> Silver Rail Web", func(e endWord) bool {
			return !e.w.dotted && (e.tag == tagSource && !capitals(e.text) || e.tag == tagOther && !e.in.shouts(e.at))
		}),
	because("TV", "Silver Rail TV [1080p].mkv -> Silver Rail TV",
		func(e endWord) bool { return e.tag == tagSource && e.text == "TV" && !dashGap(e.w.before(e.at)) }),
	because("a technical word in small letters, or a service not in capitals of its own",
		"Silver Rail Max S02E05.mkv -> Silver Rail Max s2 e5 episode", func(e endWord) bool {
			return e.tag == tagTech && !capitals(e.text) || e.tag == tagService && !e.in.shouts(e.at)
		}),
	because("a word for extras or specials inside the title", "Silver Rail Menu.mkv -> Silver Rail Menu",
		func(e endWord) bool {
			return (e.tag == tagExtra || e.tag == tagSpecial) && !e.in.numbers.plainSpecial(e.at) &&
				!(e.in.tags.media && e.ended && among(e.text, "extras"))
		}),
	because("3D or 2D before the year or the end", "Silver Rail 3D (2009) [1080p].mkv -> Silver Rail 3D y2009 movie",
		func(e endWord) bool { return among(e.text, "3d", "2d") && (e.w.tagAt(e.at+1) == tagYear || !e.ended) }),
	because("a word for batches before one bare episode",
		"Silver Rail Collection - 05.mkv -> Silver Rail Collection e5 episode",
		func(e endWord) bool {
			return e.tag == tagBatch && len(e.in.marks.episodes) == 1 && e.in.marks.season.empty() && e.marker
		}),
}

// trimTags moves the end of a title back over weak tags that stand right before it.
func (p *titled) trimTags(from, to int) int {
	home := p.w.tokens[from].group
	end := endWord{
		in: p, w: p.w, from: from,
		year: p.w.tagAt(to) == tagYear, marker: p.w.tagAt(to) == tagEpisode || p.w.tagAt(to) == tagSeason,
		ended: p.w.tagAt(to) != none && p.w.tokens[to].group == home,
	}
	if to < len(p.w.tokens) && p.anniversary(from, to) || to-1 > from && p.w.tagAt(to) == tagEdition && among(p.w.word(to-1), "the") {
		to--
	}
	for to > from+1 {
		t := p.w.tokens[to-1]
		if t.tag == tagSeason || t.tag == tagSpecial && t.class != cjk && home >= 0 {
			to--
			continue
		}
		end.tag, end.text, end.at = t.tag, p.w.word(to-1), to-1
		if !t.weak || t.group != home && p.w.enclosing(to-1, home) >= 0 || anyOf(staysInTitle, end) {
			return to
		}
		to--
		if p.anniversary(from, to) {
			to--
		}
		if to-1 > from && among(p.w.word(to-1), "the") {
			to--
		}
	}
	return to
}

// anniversary reports whether token at and the word before it say which anniversary it is: "20th Anniversary".
func (p *titled) anniversary(from, at int) bool {
	if at-1 <= from || !strings.EqualFold(p.w.word(at), "anniversary") {
		return false
	}
	_, ok := ordinal(lower(p.w.word(at - 1)))
	return ok
}

// shoutsLanguage reports whether w is in capitals as a tag is; a short one has another language before it.
func (e endWord) shoutsLanguage() bool {
	return e.in.shouts(e.at) && (len(e.text) > 2 || e.w.tagAt(e.at-1) == tagLanguage)
}

// amongItsKind reports whether a word beside w is a tag of the same kind.
func (e endWord) amongItsKind() bool {
	before := e.w.tagAt(e.at - 1)
	return before == e.tag || before == tagBatch || e.w.tagAt(e.at+1) == e.tag
}

// shouts reports whether the word at i is in capitals where the words before it are not.
func (p *titled) shouts(i int) bool {
	w := p.w.word(i)
	loud := strings.ReplaceAll(w, "i", "") // "iNTERNAL", "NORDiC"
	return capitals(loud) && (len(loud) > 1 || loud == w) && p.small >= 0 && p.small < i
}

// firstSmall returns the first word of the title that is not in capitals, -1 if there is none.
func (p *titled) firstSmall() int {
	for k := max(p.layout.first, 0); k < len(p.w.tokens); k++ {
		if v := p.w.word(k); len(v) > 2 && p.w.tokens[k].class == alpha && !capitals(v) {
			return k
		}
	}
	return -1
}
