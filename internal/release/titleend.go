package release

import (
	"strings"
	"unicode/utf8"

	"github.com/anivault/anivault/internal/title"
)

// titleWord is a word with a tag, before which a title may end.
type titleWord struct {
	place
	stage        *titleStage
	titleStart   int // the first token of the title
	titleBracket int // the bracket that holds the title, -1 if none does
}

// titleEndRules decide whether a title ends before a word. If no row applies, the word belongs to the title.
var titleEndRules = []rule[titleWord, bool]{
	{"a year or special before another title of the bracket", func(t titleWord) bool {
		return (t.tag == tagYear || t.tag == tagSpecial) && t.titleBracket >= 0 &&
			t.stage.slashFollowsInBracket(t.index, t.titleBracket)
	}, false},
	{"a counter of seasons inside the title", func(t titleWord) bool {
		return t.tag == tagSeason && t.class == cjk && t.stage.isSeasonCounterInTitle(t.index, t.titleStart)
	}, false},
	{"a volume of a fansub release", func(t titleWord) bool {
		return t.index > t.titleStart && t.stage.layout.fansubStyle && t.stage.layout.yearAt < 0 &&
			(t.tag == tagVolume || t.word.role == volumeWord && t.index+1 < len(t.w.tokens) &&
				isDigit(t.w.text[t.neighbor(1).start])) // "Vol. 3", "Vol3"
	}, true},
	{"a word for the end, before the episode or another title", func(t titleWord) bool {
		return t.tag == tagEnd && t.index > t.titleStart && (strings.Trim(t.gapAfter(), " ") == "/" ||
			t.neighbor(1).tag == tagEpisode && isSpacedDash(t.gapAfter()))
	}, false},
	{"a season, an episode, a year or another tag", func(t titleWord) bool { return t.isStrong() }, true},
	{"the first of several things in a batch", func(t titleWord) bool {
		return t.index > t.titleStart && t.w.isJoinedByPlus(t.index) &&
			(t.tag == tagSource || t.tag == tagMovie || t.tag == tagSpecial)
	}, true},
}

func (p *titleStage) endOfTitle(from int) int {
	home := p.w.tokens[from].bracket
	for i := from; i < len(p.w.tokens); i++ {
		p.w.steps++
		if p.w.tokens[i].bracket != home {
			b := p.w.innerBracketOf(i, home)
			if b < 0 {
				return i // the bracket that holds the title ends
			}
			if !p.isBracketInTitle(b, i, from) && !(home >= 0 && p.slashFollowsInBracket(p.w.brackets[b].to-1, home)) {
				return i
			}
			i = p.w.brackets[b].to - 1
			continue
		}
		if t := &p.w.tokens[i]; t.tag == noTag && t.word.role != volumeWord {
			continue // no rule is about ordinary words
		}
		if applyRules(titleEndRules, titleWord{p.w.place(i), p, from, home}) {
			if p.w.tagAt(i) == tagBatch && i-1 > from && p.w.lower(i-1) == "the" {
				return i - 1 // "Title The Complete Series"
			}
			return i
		}
	}
	return len(p.w.tokens)
}

// innerBracket is a bracket inside or right after a title.
type innerBracket struct {
	stage       *titleStage
	w           *words
	bracket     *bracket
	remark      bool // it holds a remark, which is neither a group nor a title
	afterWord   bool // a word stands before it without a space
	textFollows bool // text outside it follows
	nextTag     tag  // the tag of the word after it
}

// innerBracketRules decide whether a bracket is part of the title. If no row applies, it is not.
var innerBracketRules = []rule[innerBracket, bool]{
	{"Latin words in square brackets before the episode", func(b innerBracket) bool {
		other := func(i int) bool { return b.w.classAt(i) != alpha || b.w.tagAt(i) != noTag }
		in := b.bracket.span
		return (b.stage.layout.fansubStyle || b.w.isArc(in)) && !b.bracket.isRound && b.nextTag == tagEpisode && !b.remark &&
			in.to-in.from >= 2 && b.stage.marks.seasonSpan.empty() && !b.w.anyToken(in, other)
	}, true},
	{"the final season", func(b innerBracket) bool { return b.w.isFinalSeason(b.bracket.span) }, true},
	{"words run into it on both sides", func(b innerBracket) bool { return b.afterWord && b.wordFollows() }, true},
	{"a word goes on after it", func(b innerBracket) bool {
		return b.textFollows && b.nextTag == noTag && b.bracket.isRound && b.wordFollows()
	}, true},
	{"the end, or another bracket after it", func(b innerBracket) bool { return !b.textFollows }, false},
	{"a remark, the title goes on", func(b innerBracket) bool {
		return b.remark && b.nextTag == noTag && b.w.classAt(b.bracket.to) != number
	}, true},
	{"run into after a group, before the episode", func(b innerBracket) bool {
		return b.afterWord && !b.bracket.isRound && !b.remark && b.stage.layout.fansubStyle && b.nextTag == tagEpisode &&
			b.stage.marks.seasonSpan.empty() && title.Script(b.w.text[b.bracket.innerStart:b.bracket.close]) != "ja"
	}, true},
	{"another remark, or a bracket that is not round", func(b innerBracket) bool {
		return b.remark || !b.bracket.isRound
	}, false},
	{"run into, in a name without season", func(b innerBracket) bool {
		return b.afterWord && b.stage.marks.seasonSpan.empty() && (b.nextTag == tagEpisode || b.nextTag == noTag)
	}, true},
	{"the title again in another script", func(b innerBracket) bool {
		return b.nextTag == tagEpisode && b.hasOtherScript()
	}, false},
	{"an episode after it", func(b innerBracket) bool {
		return b.nextTag == tagEpisode && b.stage.marks.seasonSpan.empty() &&
			(b.stage.numbers.bareEpisode || b.bracket.to-b.bracket.from >= 2 && !b.stage.tags.hasMediaTag)
	}, true},
	{"the title goes on, with spaces", func(b innerBracket) bool { return b.nextTag == noTag && !b.w.isDotted }, true},
}

func (b innerBracket) hasOtherScript() bool {
	wide := func(i int) bool { return b.w.classAt(i) == cjk }
	other := func(i int) bool { return b.w.classAt(i) != cjk }
	before, in := span{b.stage.layout.titleStart, b.bracket.from}, b.bracket.span
	return !b.w.anyToken(before, other) && !b.w.anyToken(in, wide) && in.to-in.from > 1 ||
		!b.w.anyToken(before, wide) && !b.w.anyToken(in, other)
}

// isBracketInTitle reports whether bracket b, which starts at token i, is part of the title that starts at from.
func (p *titleStage) isBracketInTitle(b, i, from int) bool {
	br := &p.w.brackets[b]
	if i == from || br.from != i || br.to <= i || p.bracketHasTags(br) && !p.w.isFinalSeason(br.span) {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(p.w.text[:br.open])
	inner := innerBracket{
		stage: p, w: p.w, bracket: br, remark: p.isRemark(br),
		afterWord:   before < utf8.RuneSelf && isWordByte(byte(before)) || isLetterRune(before),
		textFollows: br.to < len(p.w.tokens) && p.w.tokens[br.to].bracket == br.outer,
		nextTag:     p.w.tagAt(br.to),
	}
	return applyRules(innerBracketRules, inner)
}

func (p *words) isFinalSeason(s span) bool {
	return s.to-s.from >= 2 && p.lower(s.to-2) == "final" && p.roleAt(s.to-1) == seasonWord &&
		(s.to-s.from == 2 || s.to-s.from == 3 && p.lower(s.from) == "the")
}

func (p *words) isArc(s span) bool { return isOneOf(p.lower(s.to-1), "arc", "hen", "saga", "chapter") }

func (p *titleStage) bracketHasTags(b *bracket) bool {
	return p.w.anyToken(b.span, func(k int) bool {
		switch p.w.tagAt(k) {
		case noTag, tagPromo, tagMovie:
			return false
		default:
			return p.w.tagAt(k) != tagLanguage || p.w.length(k) >= 3
		}
	})
}

// isRemark reports whether a bracket holds a remark and no group or title: "（僅限港澳台地區）".
func (p *titleStage) isRemark(b *bracket) bool {
	return p.w.anyToken(b.span, func(k int) bool { return p.w.tagAt(k) == tagPromo }) ||
		b.to == b.from+1 && wordSets()["recorder"][p.w.word(b.from)]
}

// wordFollows reports whether a word follows the bracket without a space: "DIVA(A)LIVE", "要【招架】一切".
func (b innerBracket) wordFollows() bool {
	return b.bracket.outerEnd < len(b.w.text) &&
		(isWordByte(b.w.text[b.bracket.outerEnd]) || b.w.text[b.bracket.outerEnd] >= utf8.RuneSelf)
}

// slashFollowsInBracket reports whether another title follows token i in its bracket: "[名 2020/Name 2020]".
func (p *titleStage) slashFollowsInBracket(i, home int) bool {
	return i+1 < p.w.brackets[home].to && strings.ContainsAny(p.w.gapAfter(i), "/|")
}

func (p *titleStage) isSeasonCounterInTitle(i, from int) bool {
	if i == from || i+1 >= len(p.w.tokens) {
		return false
	}
	if !p.w.inSameBracket(i, i+1) {
		return p.w.tokens[i].bracket < 0 && strings.HasPrefix(strings.TrimLeft(p.w.gapAfter(i), " "), "（")
	}
	return !p.w.isStrongAt(i+1) && p.w.tokens[i+1].class != number && !isSpacedDash(p.w.gapAfter(i))
}

// innerBracketOf returns the bracket directly inside home that contains token i, or -1.
func (p *words) innerBracketOf(i, home int) int {
	g := p.tokens[i].bracket
	for g >= 0 && p.brackets[g].outer != home {
		g = p.brackets[g].outer
	}
	return g
}

// lastTitleWord is a word with a weak tag at the end of a title.
type lastTitleWord struct {
	place
	stage        *titleStage
	titleStart   int  // the first word of the title
	beforeYear   bool // the year comes right after the title
	beforeMarker bool // a season or episode comes right after the title
	beforeTag    bool // a tag comes right after the title, in the same bracket
}

// keptTagReasons list why a word with a weak tag at the end of a title belongs to the title. Otherwise, it is only a
// tag: "Title EXTENDED 2016", "Title FRENCH BluRay".
var keptTagReasons = []reason[lastTitleWord]{
	{"a part, a film or the last episode", func(e lastTitleWord) bool {
		return e.tag == noTag || e.tag == tagPart || e.tag == tagMovie || e.tag == tagEnd
	}, true},
	{"no tag anywhere", func(e lastTitleWord) bool {
		return !e.beforeTag && !e.stage.tags.hasMediaTag && (e.tag == tagCountry || !e.stage.isTagInCapitals(e.index)) &&
			e.tag != tagExtra && e.tag != tagSpecial && e.tag != tagBatch
	}, true},
	{"after an article", func(e lastTitleWord) bool {
		return e.index-1 == e.titleStart && wordSets()["article"][e.w.lower(e.titleStart)]
	}, true},
	{"a language before the year, the season or the episode", func(e lastTitleWord) bool {
		inCapitals := e.stage.isTagInCapitals(e.index) && (len(e.text()) > 2 || e.neighbor(-1).tag == tagLanguage)
		return e.tag == tagLanguage && (e.beforeYear || e.beforeMarker) && !inCapitals
	}, true},
	{"a short language alone, written like the title", func(e lastTitleWord) bool {
		return e.tag == tagLanguage && len(e.text()) <= 3 && !e.stage.isTagInCapitals(e.index) && !e.besideSameTag()
	}, true},
	{"a country before the year, or in lower case", func(e lastTitleWord) bool {
		return e.tag == tagCountry && (e.beforeYear || !hasNoLowerCase(e.text()))
	}, true},
	{"a word that titles have too, written like the title", func(e lastTitleWord) bool {
		small := e.tag == tagOther && len(e.text()) > 2 && e.text() == e.lower()
		return e.word.common && !e.stage.isTagInCapitals(e.index) && !e.besideSameTag() && !small
	}, true},
	{"a source or a remark among spaces, written like the title", func(e lastTitleWord) bool {
		return !e.w.isDotted &&
			(e.tag == tagSource && !hasNoLowerCase(e.text()) || e.tag == tagOther && !e.stage.isTagInCapitals(e.index))
	}, true},
	{"an edition or source before season and episode, written like the title", func(e lastTitleWord) bool {
		return (e.tag == tagEdition || e.tag == tagSource) && !hasNoLowerCase(e.text()) && !e.besideSameTag() &&
			e.beforeMarker && !e.stage.marks.seasonSpan.empty() && e.stage.marks.seasonSpan.from == e.index+1
	}, true},
	{"a source before the year, written like the title", func(e lastTitleWord) bool {
		return e.tag == tagSource && e.beforeYear && !hasNoLowerCase(e.text())
	}, true},
	{"TV", func(e lastTitleWord) bool {
		return e.tag == tagSource && e.text() == "TV" && !isSpacedDash(e.gapBefore())
	}, true},
	{"a technical word in lower case, or a service not in capitals of its own", func(e lastTitleWord) bool {
		return e.tag == tagTech && !hasNoLowerCase(e.text()) || e.tag == tagService && !e.stage.isTagInCapitals(e.index)
	}, true},
	{"a word for extras or specials inside the title", func(e lastTitleWord) bool {
		return (e.tag == tagExtra || e.tag == tagSpecial) && !e.stage.numbers.isSpecial(e.index) &&
			!(e.stage.tags.hasMediaTag && e.beforeTag && e.lower() == "extras")
	}, true},
	{"3D or 2D before the year or the end", func(e lastTitleWord) bool {
		return isOneOf(e.lower(), "3d", "2d") && (e.neighbor(1).tag == tagYear || !e.beforeTag)
	}, true},
	{"a word for batches before one bare episode", func(e lastTitleWord) bool {
		return e.tag == tagBatch && len(e.stage.marks.episodes) == 1 && e.stage.marks.seasonSpan.empty() && e.beforeMarker
	}, true},
}

func (p *titleStage) trimTags(from, to int) int {
	home := p.w.tokens[from].bracket
	end := lastTitleWord{
		stage: p, titleStart: from,
		beforeYear: p.w.tagAt(to) == tagYear, beforeMarker: p.w.tagAt(to) == tagEpisode || p.w.tagAt(to) == tagSeason,
		beforeTag: p.w.tagAt(to) != noTag && p.w.tokens[to].bracket == home,
	}
	if to < len(p.w.tokens) && p.isAnniversary(from, to) ||
		to-1 > from && p.w.tagAt(to) == tagEdition && p.w.lower(to-1) == "the" {
		to--
	}
	for to > from+1 {
		t := p.w.tokens[to-1]
		if t.tag == tagSeason || t.tag == tagSpecial && t.class != cjk && home >= 0 {
			to--
			continue
		}
		end.place = p.w.place(to - 1)
		if !t.weak || t.bracket != home && p.w.innerBracketOf(to-1, home) >= 0 || applyRules(keptTagReasons, end) {
			return to
		}
		to--
		if to-1 > from && p.w.lower(to-1) == "the" {
			to--
		}
	}
	return to
}

// isAnniversary reports whether the word at index at ends a phrase like "20th Anniversary".
func (p *titleStage) isAnniversary(from, at int) bool {
	if at-1 <= from || p.w.lower(at) != "anniversary" {
		return false
	}
	_, ok := ordinal(p.w.lower(at - 1))
	return ok
}

func (e lastTitleWord) besideSameTag() bool {
	before := e.neighbor(-1).tag
	return before == e.tag || before == tagBatch || e.neighbor(1).tag == e.tag
}

// isTagInCapitals reports whether the word at i is in capitals and the words before it are not.
func (p *titleStage) isTagInCapitals(i int) bool {
	w := p.w.word(i)
	loud := strings.ReplaceAll(w, "i", "") // "iNTERNAL", "NORDiC"
	return hasNoLowerCase(loud) && (len(loud) > 1 || loud == w) && p.firstNotCapitals >= 0 && p.firstNotCapitals < i
}

func (p *titleStage) findFirstNotCapitals() int {
	for k := max(p.layout.titleStart, 0); k < len(p.w.tokens); k++ {
		if v := p.w.word(k); len(v) > 2 && p.w.tokens[k].class == alpha && !hasNoLowerCase(v) {
			return k
		}
	}
	return -1
}
