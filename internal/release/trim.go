package release

import "strings"

// endWord is the last word of a title so far: it may belong to the tags behind it.
type endWord struct {
	*titled
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
		func(w endWord) bool { return w.tag == none || w.tag == tagPart || w.tag == tagMovie || w.tag == tagEnd }),
	because("no tag anywhere", "Silver Rail German.mkv -> Silver Rail German",
		func(w endWord) bool {
			return !w.ended && !w.media && (w.tag == tagCountry || !w.shouts(w.at)) &&
				w.tag != tagExtra && w.tag != tagSpecial && w.tag != tagBatch
		}),
	because("behind an article", "The.German.1080p.BluRay.x264-QUIET -> The German",
		func(w endWord) bool { return w.at-1 == w.from && lists().articles[lower(w.word(w.from))] }),
	because("a language before the year, the season or the episode",
		"The.Good.German.2009.1080p.BluRay.x264-QUIET -> The Good German y2009 movie",
		func(w endWord) bool { return w.tag == tagLanguage && (w.year || w.marker) && !w.shoutsLanguage() }),
	because("a short language alone, written like the title", "Silver Rail Vie [1080p].mkv -> Silver Rail Vie",
		func(w endWord) bool {
			return w.tag == tagLanguage && len(w.text) <= 3 && !w.shouts(w.at) && !w.amongItsKind()
		}),
	because("a country before the year, or in small letters", "The Last of Us S02E05.mkv -> The Last of Us s2 e5 episode",
		func(w endWord) bool { return w.tag == tagCountry && (w.year || !capitals(w.text)) }),
	because("a word that titles have too, written like the title",
		"Silver.Rail.Line.S02E05.1080p.WEB-QUIET -> Silver Rail Line s2 e5 episode",
		func(w endWord) bool {
			small := w.tag == tagOther && len(w.text) > 2 && w.text == lower(w.text) // as in a scene name of small letters
			return w.tokens[w.at].word.common && !w.shouts(w.at) && !w.amongItsKind() && !small
		}),
	because("a source or a remark among blanks, written like the title",
		"Silver Rail Web [1080p].mkv -> Silver Rail Web", func(w endWord) bool {
			return !w.dotted && (w.tag == tagSource && !capitals(w.text) || w.tag == tagOther && !w.shouts(w.at))
		}),
	because("TV", "Silver Rail TV [1080p].mkv -> Silver Rail TV",
		func(w endWord) bool { return w.tag == tagSource && w.text == "TV" && !dashGap(w.before(w.at)) }),
	because("a technical word in small letters, or a service not in capitals of its own",
		"Silver Rail Max S02E05.mkv -> Silver Rail Max s2 e5 episode", func(w endWord) bool {
			return w.tag == tagTech && !capitals(w.text) || w.tag == tagService && !w.shouts(w.at)
		}),
	because("a word for extras or specials inside the title", "Silver Rail Menu.mkv -> Silver Rail Menu",
		func(w endWord) bool {
			return (w.tag == tagExtra || w.tag == tagSpecial) && !w.plainSpecial(w.at) &&
				!(w.media && w.ended && among(w.text, "extras"))
		}),
	because("3D or 2D before the year or the end", "Silver Rail 3D (2009) [1080p].mkv -> Silver Rail 3D y2009 movie",
		func(w endWord) bool { return among(w.text, "3d", "2d") && (w.tagAt(w.at+1) == tagYear || !w.ended) }),
	because("a word for batches before one bare episode",
		"Silver Rail Collection - 05.mkv -> Silver Rail Collection e5 episode",
		func(w endWord) bool { return w.tag == tagBatch && len(w.episodes) == 1 && w.season.empty() && w.marker }),
}

// trimTags moves the end of a title back over weak tags that stand right before it.
func (p *titled) trimTags(from, to int) int {
	home := p.tokens[from].group
	end := endWord{
		titled: p, from: from,
		year: p.tagAt(to) == tagYear, marker: p.tagAt(to) == tagEpisode || p.tagAt(to) == tagSeason,
		ended: p.tagAt(to) != none && p.tokens[to].group == home,
	}
	if to < len(p.tokens) && p.anniversary(from, to) || to-1 > from && p.tagAt(to) == tagEdition && among(p.word(to-1), "the") {
		to--
	}
	for to > from+1 {
		t := p.tokens[to-1]
		if t.tag == tagSeason || t.tag == tagSpecial && t.class != cjk && home >= 0 {
			to--
			continue
		}
		end.tag, end.text, end.at = t.tag, p.word(to-1), to-1
		if !t.weak || t.group != home && p.enclosing(to-1, home) >= 0 || anyOf(staysInTitle, end) {
			return to
		}
		to--
		if p.anniversary(from, to) {
			to--
		}
		if to-1 > from && among(p.word(to-1), "the") {
			to--
		}
	}
	return to
}

// anniversary reports whether token at and the word before it say which anniversary it is: "20th Anniversary".
func (p *titled) anniversary(from, at int) bool {
	if at-1 <= from || !strings.EqualFold(p.word(at), "anniversary") {
		return false
	}
	_, ok := ordinal(lower(p.word(at - 1)))
	return ok
}

// shoutsLanguage reports whether w is in capitals as a tag is; a short one has another language before it.
func (w endWord) shoutsLanguage() bool {
	return w.shouts(w.at) && (len(w.text) > 2 || w.tagAt(w.at-1) == tagLanguage)
}

// amongItsKind reports whether a word beside w is a tag of the same kind.
func (w endWord) amongItsKind() bool {
	before := w.tagAt(w.at - 1)
	return before == w.tag || before == tagBatch || w.tagAt(w.at+1) == w.tag
}

// shouts reports whether the word at i is in capitals where the words before it are not.
func (p *titled) shouts(i int) bool {
	w := p.word(i)
	loud := strings.ReplaceAll(w, "i", "") // "iNTERNAL", "NORDiC"
	return capitals(loud) && (len(loud) > 1 || loud == w) && p.small >= 0 && p.small < i
}

// firstSmall returns the first word of the title that is not in capitals, -1 if there is none.
func (p *titled) firstSmall() int {
	for k := max(p.first, 0); k < len(p.tokens); k++ {
		if v := p.word(k); len(v) > 2 && p.tokens[k].class == alpha && !capitals(v) {
			return k
		}
	}
	return -1
}
