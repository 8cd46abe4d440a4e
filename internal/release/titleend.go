package release

import (
	"strings"
	"unicode/utf8"

	"github.com/anivault/anivault/internal/title"
)

type titleWord struct {
	place
	in   *titleStage
	from int // the first token of the title
	home int // the title's bracket, -1 for none
}

// titleEnds decides whether a title ends before a word; if no row applies, it goes on.
var titleEnds = []rule[titleWord, bool]{
	when("a year or special before another title of the bracket",
		"[组][银色铁道 2020/Silver Rail 2020][07][1080p] -> Silver Rail e7 y2020 episode",
		func(t titleWord) bool {
			return (t.tag == tagYear || t.tag == tagSpecial) && t.home >= 0 && t.in.slashInBracketAfter(t.i, t.home)
		}, false),
	when("a counter of seasons inside the title", "铁道 第二季 Rail - 07.mkv -> 铁道 第二季 Rail s2 e7 episode",
		func(t titleWord) bool {
			return t.tag == tagSeason && t.class == cjk && t.in.seasonCounterInTitle(t.i, t.from)
		}, false),
	when("a volume of a fansub release", "[Quiet] Silver Rail Vol.3.mkv -> Silver Rail", func(t titleWord) bool {
		return t.i > t.from && t.in.layout.fansubStyle && t.in.layout.yearAt < 0 && t.volume()
	}, true),
	when("a version at the end", "Silver Rail v2.mkv -> Silver Rail v2", func(t titleWord) bool {
		return t.tag == tagVersion && t.i > t.from && (t.w.titleMayEndBefore(t.i+1) || dashGap(t.gap()))
	}, true),
	when("a version or film that begins the title, or a version inside",
		"Silver Rail V2 Night Train.mkv -> Silver Rail V2 Night Train v2",
		func(t titleWord) bool {
			return t.tag == tagVersion && t.i > t.from || t.tag == tagMovie && t.i == t.from
		}, false),
	when("a season, an episode, a year or another tag", "Silver Rail S02E05.mkv -> Silver Rail s2 e5 episode",
		func(t titleWord) bool { return t.strong() }, true),
	when("the first of several things in a batch", "[Quiet] Silver Rail TV + Movie + Specials [BD] -> Silver Rail batch",
		func(t titleWord) bool {
			return t.i > t.from && t.w.joinedByPlus(t.i) && (t.tag == tagSource || t.tag == tagMovie || t.tag == tagSpecial)
		}, true),
	when("a word for an extra or special after the title", "Silver Rail SP, 7.mkv -> Silver Rail SP special",
		func(t titleWord) bool {
			return t.weak && t.i > t.from && t.in.marks.special != "" && (t.tag == tagExtra || t.tag == tagSpecial) &&
				t.in.numbers.isSpecial(t.i)
		}, true),
}

func (p *titleStage) endOfTitle(from int) int {
	home := p.w.tokens[from].group
	for i := from; i < len(p.w.tokens); i++ {
		p.w.steps++
		if p.w.tokens[i].group != home {
			b := p.w.innerBracketOf(i, home)
			if b < 0 {
				return i // the title's own bracket ends
			}
			if !p.bracketInTitle(b, i, from) && !(home >= 0 && p.slashInBracketAfter(p.w.brackets[b].to-1, home)) {
				return i
			}
			i = p.w.brackets[b].to - 1
			continue
		}
		t := &p.w.tokens[i]
		if t.tag == none && t.word.role != volumeWord {
			continue // no row is about an ordinary word
		}
		if decide(titleEnds, titleWord{p.w.place(i), p, from, home}) {
			return i
		}
	}
	return len(p.w.tokens)
}

// volume reports whether the word names a volume: "Vol. 3", "Vol3".
func (t titleWord) volume() bool {
	return t.tag == tagVolume ||
		t.word.role == volumeWord && t.i+1 < len(t.w.tokens) && digit(t.w.text[t.at(1).s])
}

// innerBracket is a bracket inside or after the text of a title.
type innerBracket struct {
	in       *titleStage
	w        *words
	b        *bracket
	promo    bool // it holds a word that is neither group nor title
	attached bool // a word runs into it
	goesOn   bool // the text around it goes on after it
	follow   tag  // what stands there
}

// innerBrackets decides whether a bracket is part of the title; if no row applies, it is not.
var innerBrackets = []rule[innerBracket, bool]{
	when("words run into it on both sides", "Silver[07]Rail - 07.mkv -> Silver[07]Rail e7 episode",
		func(b innerBracket) bool { return b.attached && b.runsOn() }, true),
	when("a word goes on after it", "The.(Un)Known.Rail.S01E02.mkv -> The (Un)Known Rail s1 e2 episode",
		func(b innerBracket) bool { return b.goesOn && b.follow == none && b.b.round && b.runsOn() }, true),
	when("the end, or another bracket after it", "Silver Rail (Remake).mkv -> Silver Rail",
		func(b innerBracket) bool { return !b.goesOn }, false),
	when("a remark, the title goes on", "铁道（僅限港澳台地區） 之夜.mkv -> 铁道（僅限港澳台地區） 之夜",
		func(b innerBracket) bool { return b.promo && b.follow == none && b.w.classAt(b.b.to) != number }, true),
	when("run into after a group, before the episode", "[Quiet] Silver Rail[r=1] - 07.mkv -> Silver Rail[r=1] e7 episode",
		func(b innerBracket) bool {
			return b.attached && !b.b.round && !b.promo && b.in.layout.fansubStyle && b.follow == tagEpisode &&
				b.in.marks.seasonSpan.empty() && !b.kana()
		}, true),
	when("another remark, or a bracket that is not round", "Silver Rail [Gin] 07.mkv -> Silver Rail e7 episode",
		func(b innerBracket) bool { return b.promo || !b.b.round }, false),
	when("run into, in a name without season", "Silver(Remake) E07.mkv -> Silver(Remake) e7 episode",
		func(b innerBracket) bool {
			return b.attached && b.in.marks.seasonSpan.empty() && (b.follow == tagEpisode || b.follow == none)
		}, true),
	when("the title again in another script", "[组] 银色铁道 (Silver Rail) - 07.mkv -> 银色铁道 e7 episode",
		func(b innerBracket) bool { return b.follow == tagEpisode && b.otherScript() }, false),
	when("an episode after it", "Silver Rail (0) - 07.mkv -> Silver Rail (0) e7 episode", func(b innerBracket) bool {
		return b.follow == tagEpisode && b.in.marks.seasonSpan.empty() &&
			(b.in.numbers.bareEpisode || b.b.to-b.b.from >= 2 && !b.in.tags.hasMediaTag)
	}, true),
	when("the title goes on, with spaces", "Silver Rail (Gin) Night Train.mkv -> Silver Rail (Gin) Night Train",
		func(b innerBracket) bool { return b.follow == none && !b.w.dotted }, true),
}

func (b innerBracket) otherScript() bool {
	wide := func(i int) bool { return b.w.classAt(i) == cjk }
	other := func(i int) bool { return b.w.classAt(i) != cjk }
	before, in := span{b.in.layout.first, b.b.from}, b.b.span
	return !b.w.anyToken(before, other) && !b.w.anyToken(in, wide) && in.to-in.from > 1 ||
		!b.w.anyToken(before, wide) && !b.w.anyToken(in, other)
}

// kana reports whether the bracket holds the reading of the title before it in kana.
func (b innerBracket) kana() bool { return title.Script(b.w.text[b.b.innerStart:b.b.close]) == "ja" }

// bracketInTitle reports whether bracket b, which starts at token i, is part of the title that starts at from.
func (p *titleStage) bracketInTitle(b, i, from int) bool {
	br := &p.w.brackets[b]
	if i == from {
		return br.to < len(p.w.tokens) && p.w.tokens[br.to].group < 0
	}
	if br.from != i || br.to <= i || p.bracketHasTags(br) {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(p.w.text[:br.open])
	inner := innerBracket{
		in: p, w: p.w, b: br, promo: p.isRemark(br),
		attached: before < utf8.RuneSelf && wordByte(byte(before)) || letterRune(before),
		goesOn:   br.to < len(p.w.tokens) && p.w.tokens[br.to].group == br.outer,
		follow:   p.w.tagAt(br.to),
	}
	return decide(innerBrackets, inner)
}

func (p *titleStage) bracketHasTags(b *bracket) bool {
	return p.w.anyToken(b.span, func(k int) bool {
		switch p.w.tagAt(k) {
		case none, tagPromo, tagMovie:
			return false
		default:
			return p.w.tagAt(k) != tagLanguage || p.w.width(k) >= 3
		}
	})
}

// isRemark reports whether a bracket holds a remark, neither group nor title: "（僅限港澳台地區）".
func (p *titleStage) isRemark(b *bracket) bool {
	return p.w.anyToken(b.span, func(k int) bool { return p.w.tagAt(k) == tagPromo }) ||
		b.to == b.from+1 && lists().recorderMarks[p.w.word(b.from)]
}

// runsOn reports whether a word follows the bracket without a space: "DIVA(A)LIVE", "要【招架】一切".
func (b innerBracket) runsOn() bool {
	return b.b.outerEnd < len(b.w.text) && (wordByte(b.w.text[b.b.outerEnd]) || b.w.text[b.b.outerEnd] >= utf8.RuneSelf)
}

// slashInBracketAfter reports whether another title follows token i in its bracket: "[名 2020/Name 2020]".
func (p *titleStage) slashInBracketAfter(i, home int) bool {
	return i+1 < p.w.brackets[home].to && strings.ContainsAny(p.w.gap(i), "/|")
}

func (p *titleStage) seasonCounterInTitle(i, from int) bool {
	if i == from || i+1 >= len(p.w.tokens) {
		return false
	}
	if !p.w.beside(i, i+1) {
		return p.w.tokens[i].group < 0 && strings.HasPrefix(strings.TrimLeft(p.w.gap(i), " "), "（")
	}
	return !p.w.strongAt(i+1) && p.w.tokens[i+1].class != number && !dashGap(p.w.gap(i))
}

// innerBracketOf returns the bracket directly inside home that contains token i, or -1.
func (p *words) innerBracketOf(i, home int) int {
	g := p.tokens[i].group
	for g >= 0 && p.brackets[g].outer != home {
		g = p.brackets[g].outer
	}
	return g
}

type lastTitleWord struct {
	place
	in     *titleStage
	from   int  // the first word of the title
	year   bool // the year comes right after the title
	marker bool // a season or episode does
	ended  bool // some tag does, in the title's own bracket
}

// staysInTitle lists why a weak tag at the end of a title is a word of the title. Other weak tags there are tags:
// "Title EXTENDED 2016", "Title FRENCH BluRay".
var staysInTitle = []reason[lastTitleWord]{
	because("a part, a film or the last episode", "Silver Rail Part 2 [1080p].mkv -> Silver Rail Part 2 part2",
		func(e lastTitleWord) bool {
			return e.tag == none || e.tag == tagPart || e.tag == tagMovie || e.tag == tagEnd
		}),
	because("no tag anywhere", "Silver Rail German.mkv -> Silver Rail German", func(e lastTitleWord) bool {
		return !e.ended && !e.in.tags.hasMediaTag && (e.tag == tagCountry || !e.in.isTagInCapitals(e.i)) &&
			e.tag != tagExtra && e.tag != tagSpecial && e.tag != tagBatch
	}),
	because("after an article", "The.German.1080p.BluRay.x264-QUIET -> The German",
		func(e lastTitleWord) bool { return e.i-1 == e.from && lists().articles[e.w.lower(e.from)] }),
	because("a language before the year, the season or the episode",
		"The.Good.German.2009.1080p.BluRay.x264-QUIET -> The Good German y2009 movie",
		func(e lastTitleWord) bool { return e.tag == tagLanguage && (e.year || e.marker) && !e.shoutsLanguage() }),
	because("a short language alone, written like the title", "Silver Rail Vie [1080p].mkv -> Silver Rail Vie",
		func(e lastTitleWord) bool {
			return e.tag == tagLanguage && len(e.text()) <= 3 && !e.in.isTagInCapitals(e.i) && !e.amongItsKind()
		}),
	because("a country before the year, or in lower case", "The Last of Us S02E05.mkv -> The Last of Us s2 e5 episode",
		func(e lastTitleWord) bool { return e.tag == tagCountry && (e.year || !hasNoLowerCase(e.text())) }),
	because("a word that titles have too, written like the title",
		"Silver.Rail.Line.S02E05.1080p.WEB-QUIET -> Silver Rail Line s2 e5 episode",
		func(e lastTitleWord) bool {
			small := e.tag == tagOther && len(e.text()) > 2 && e.text() == e.lower()
			return e.word.common && !e.in.isTagInCapitals(e.i) && !e.amongItsKind() && !small
		}),
	because("a source or a remark among spaces, written like the title",
		"Silver Rail Web [1080p].mkv -> Silver Rail Web", func(e lastTitleWord) bool {
			return !e.w.dotted &&
				(e.tag == tagSource && !hasNoLowerCase(e.text()) || e.tag == tagOther && !e.in.isTagInCapitals(e.i))
		}),
	because("TV", "Silver Rail TV [1080p].mkv -> Silver Rail TV",
		func(e lastTitleWord) bool { return e.tag == tagSource && e.text() == "TV" && !dashGap(e.before()) }),
	because("a technical word in lower case, or a service not in capitals of its own",
		"Silver Rail Max S02E05.mkv -> Silver Rail Max s2 e5 episode", func(e lastTitleWord) bool {
			return e.tag == tagTech && !hasNoLowerCase(e.text()) || e.tag == tagService && !e.in.isTagInCapitals(e.i)
		}),
	because("a word for extras or specials inside the title", "Silver Rail Menu.mkv -> Silver Rail Menu",
		func(e lastTitleWord) bool {
			return (e.tag == tagExtra || e.tag == tagSpecial) && !e.in.numbers.isSpecial(e.i) &&
				!(e.in.tags.hasMediaTag && e.ended && e.lower() == "extras")
		}),
	because("3D or 2D before the year or the end", "Silver Rail 3D (2009) [1080p].mkv -> Silver Rail 3D y2009 movie",
		func(e lastTitleWord) bool {
			return isOneOf(e.lower(), "3d", "2d") && (e.at(1).tag == tagYear || !e.ended)
		}),
	because("a word for batches before one bare episode",
		"Silver Rail Collection - 05.mkv -> Silver Rail Collection e5 episode",
		func(e lastTitleWord) bool {
			return e.tag == tagBatch && len(e.in.marks.episodes) == 1 && e.in.marks.seasonSpan.empty() && e.marker
		}),
}

func (p *titleStage) trimTags(from, to int) int {
	home := p.w.tokens[from].group
	end := lastTitleWord{
		in: p, from: from,
		year: p.w.tagAt(to) == tagYear, marker: p.w.tagAt(to) == tagEpisode || p.w.tagAt(to) == tagSeason,
		ended: p.w.tagAt(to) != none && p.w.tokens[to].group == home,
	}
	if to < len(p.w.tokens) && p.anniversary(from, to) ||
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
		if !t.weak || t.group != home && p.w.innerBracketOf(to-1, home) >= 0 || decide(staysInTitle, end) {
			return to
		}
		to--
		if p.anniversary(from, to) {
			to--
		}
		if to-1 > from && p.w.lower(to-1) == "the" {
			to--
		}
	}
	return to
}

// anniversary reports whether token at and the one before it are like "20th Anniversary".
func (p *titleStage) anniversary(from, at int) bool {
	if at-1 <= from || p.w.lower(at) != "anniversary" {
		return false
	}
	_, ok := ordinal(p.w.lower(at - 1))
	return ok
}

// shoutsLanguage reports whether the language is in capitals like a tag; a short one also needs a language before it.
func (e lastTitleWord) shoutsLanguage() bool {
	return e.in.isTagInCapitals(e.i) && (len(e.text()) > 2 || e.at(-1).tag == tagLanguage)
}

func (e lastTitleWord) amongItsKind() bool {
	before := e.at(-1).tag
	return before == e.tag || before == tagBatch || e.at(1).tag == e.tag
}

// isTagInCapitals reports whether the word at i is in capitals and the words before it are not.
func (p *titleStage) isTagInCapitals(i int) bool {
	w := p.w.word(i)
	loud := strings.ReplaceAll(w, "i", "") // "iNTERNAL", "NORDiC"
	return hasNoLowerCase(loud) && (len(loud) > 1 || loud == w) && p.firstNotCapitals >= 0 && p.firstNotCapitals < i
}

func (p *titleStage) findNotCapitals() int {
	for k := max(p.layout.first, 0); k < len(p.w.tokens); k++ {
		if v := p.w.word(k); len(v) > 2 && p.w.tokens[k].class == alpha && !hasNoLowerCase(v) {
			return k
		}
	}
	return -1
}
