package release

import (
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/title"
)

// titleSplitter splits a text into several titles of the work.
type titleSplitter struct{ stage *titleStage }

const maxTitles = 12

func (p *titleStage) addTitles(from, to int) {
	s, mark := titleSplitter{p}, len(p.titles)
	switch {
	case s.splitSlash(from, to), s.splitAKA(from, to), s.splitDash(from, to):
	case s.isTwoTitles(from, to):
		s.splitScripts(from, to)
		p.addTitle(from, to)
	default:
		p.addTitle(from, to)
		s.splitScripts(from, to)
		return
	}
	added := p.titles[mark:] // put the Latin title first: catalogues and other files have it most often
	if i := slices.IndexFunc(added, func(t Title) bool { return t.Lang == "latin" }); i > 0 {
		latin := added[i]
		copy(added[1:], added[:i])
		added[0] = latin
	}
}

func (p *titleStage) addTitle(from, to int) {
	if from >= to {
		return
	}
	text := p.w.cleanTitle(p.w.sourceText(from, to))
	known := func(t Title) bool { return t.Text == text }
	if text != "" && len(p.titles) < maxTitles && !slices.ContainsFunc(p.titles, known) {
		p.titles = append(p.titles, Title{Text: text, Lang: title.Script(text)})
	}
}

// separator is a place where a text may be split into two titles.
type separator struct {
	place      // the token before it
	stage      *titleStage
	from, to   int  // the tokens of the whole text
	slash      int  // index of the slash or bar in the gap, -1 for an underscore
	isFirst    bool // no slash comes before it
	wideBefore bool // words in Han, kana or hangul, besides "film", come before it
	wideAfter  bool // such words come after it
}

// cut is how a text is split at its slashes.
type cut uint8

const (
	noCut     cut = iota
	tightCut      // "中文/Romaji"
	spacedCut     // "中文 / Romaji"
)

// cutRules decide whether a text is split at a separator.
var cutRules = []rule[separator, cut]{
	{"a slash or an underscore among spaces", func(s separator) bool {
		return s.isSpaced() || s.gapAfter() == " _ "
	}, spacedCut},
	{"a slash where the script changes", func(s separator) bool {
		return s.slash >= 0 && (s.class == cjk) != (s.neighbor(1).class == cjk)
	}, tightCut},
	{"a slash, and one side is in another script", func(s separator) bool {
		return s.slash >= 0 && s.wideBefore != s.wideAfter && !s.isFateTitle()
	}, tightCut},
	{"a slash between two East Asian words", func(s separator) bool {
		return s.slash >= 0 && s.class == cjk && s.neighbor(1).class == cjk && s.w.length(s.index) > 3 &&
			s.w.length(s.index+1) > 3
	}, tightCut},
	{"a slash after which the title is repeated", func(s separator) bool {
		return s.slash >= 0 && s.isFirst && s.stage.repeatsWords(s.from, s.index+1, s.to)
	}, tightCut},
	{"a slash between two titles in brackets", func(s separator) bool {
		return s.slash >= 0 && s.isFirst && len(s.stage.layout.titleSpans) > 0 && s.index > s.from && !s.isFateTitle() &&
			s.neighbor(1).class == alpha
	}, tightCut},
}

func (s separator) isSpaced() bool {
	gap := s.gapAfter()
	return s.slash > 0 && strings.ContainsAny(gap[:s.slash], " .") ||
		s.slash >= 0 && s.slash+1 < len(gap) && gap[s.slash+1] == ' '
}

// isFateTitle reports whether the slash belongs to a title that is always written with one: "Fate/stay night".
func (s separator) isFateTitle() bool { return s.lower() == "fate" }

// splitSlash splits a text at " / " or " | ", or at every slash if a rule says so.
func (p titleSplitter) splitSlash(from, to int) bool {
	var found []separator
	firstWide, lastWide := to, -1
	for i := from; i < to; i++ {
		p.stage.w.steps++
		t := p.stage.w.place(i)
		if t.class == cjk && t.tag != tagMovie {
			firstWide, lastWide = min(firstWide, i), i
		}
		slash := strings.IndexAny(t.gapAfter(), "/|")
		if i+1 == to || slash < 0 && t.gapAfter() != " _ " {
			continue
		}
		found = append(found, separator{place: t, stage: p.stage, from: from, to: to, slash: slash})
	}
	how, first := noCut, true
	for _, s := range found {
		s.wideBefore, s.wideAfter, s.isFirst = firstWide <= s.index, lastWide > s.index, first
		how = max(how, applyRules(cutRules, s))
		first = first && s.slash < 0
	}
	if how == noCut {
		return false
	}
	start := from
	for _, s := range found {
		if len(p.stage.titles) < maxTitles && (s.slash < 0 || how == tightCut || s.isSpaced()) {
			p.addPart(start, s.index+1)
			start = s.index + 1
		}
	}
	if len(p.stage.titles) < maxTitles {
		p.addPart(start, to)
	}
	if slices.ContainsFunc(found, func(s separator) bool { return s.slash < 0 }) {
		p.stage.addTitle(from, to) // the underscore may replace a character that the file system refused
	}
	return true
}

// repeatsWords reports whether [mid, to) begins with the words of [from, mid): "Free!/Free! Second Title".
func (p *titleStage) repeatsWords(from, mid, to int) bool {
	if to-mid < mid-from {
		return false
	}
	for i := from; i < mid; i++ {
		if p.w.lower(i) != p.w.lower(mid+i-from) {
			return false
		}
	}
	return true
}

func (p titleSplitter) addPart(from, to int) {
	to = p.endOfPart(from, to)
	last, year := &p.stage.w.tokens[to-1], p.stage.layout.year
	if to-from > 1 && (p.repeatsSeason(from, to) || year > 0 && last.class == number && last.num == year) {
		to--
	}
	p.stage.addTitle(from, p.stage.trimTags(from, to))
}

func (p titleSplitter) endOfPart(from, to int) int {
	home := p.stage.w.tokens[from].bracket
	for i := from + 1; i < to; i++ {
		t := &p.stage.w.tokens[i]
		if t.bracket != home {
			b := p.stage.w.innerBracketOf(i, home)
			if b < 0 || !p.stage.isBracketInTitle(b, i, from) {
				return i
			}
			i = p.stage.w.brackets[b].to - 1
			continue
		}
		if t.tag == tagYear ||
			t.tag == tagSeason && !(t.class == cjk && p.stage.isSeasonCounterInTitle(i, from) && i+1 < to) {
			return i
		}
	}
	return to
}

// repeatsSeason reports whether [from, to) ends by repeating the season: "花子君 第二季 / Hanako-kun 2".
func (p titleSplitter) repeatsSeason(from, to int) bool {
	t := &p.stage.w.tokens[to-1]
	return len(p.stage.marks.seasons) == 1 && from > p.stage.layout.titleStart && t.class == number &&
		t.num == p.stage.marks.seasons[0] && p.stage.w.length(to-1) == 1 &&
		p.stage.w.inSameBracket(from, to-1) && (to == len(p.stage.w.tokens) || p.stage.w.tokens[to].tag == tagEpisode)
}

// splitAKA splits a text at "aka" and "a.k.a.".
func (p titleSplitter) splitAKA(from, to int) bool {
	for i := from + 1; i+1 < to; i++ {
		n := 0
		switch {
		case p.stage.w.roleAt(i) == akaWord && p.stage.w.inSameBracket(i, from):
			n = 1
		case i+3 < to && p.stage.w.lower(i) == "a" && p.stage.w.lower(i+1) == "k" && p.stage.w.lower(i+2) == "a" &&
			p.stage.w.gapAfter(i) == ".":
			n = 3
		default:
			continue
		}
		p.stage.addTitle(from, i)
		p.addPart(i+n, to)
		return true
	}
	return false
}

// splitDash splits a text at a dash with two spaces after it. Some groups put one between two titles.
func (p titleSplitter) splitDash(from, to int) bool {
	for i := from; i+1 < to; i++ {
		if gap := p.stage.w.gapAfter(i); len(gap) > 3 && strings.HasPrefix(strings.ReplaceAll(gap, ".", " "), " -  ") {
			p.addPart(from, i+1)
			p.addPart(i+1, to)
			return true
		}
	}
	return false
}

// splitScripts adds the halves of "中文名 Romaji Name", where the script changes once.
func (p titleSplitter) splitScripts(from, to int) {
	if cut := p.scriptChange(from, to); cut > 0 {
		p.addPart(cut, to)
		p.addPart(from, cut)
	}
}

// isTwoTitles reports whether a text in two scripts is two titles. A group that writes one title in two scripts puts a
// spaced dash before the number.
func (p titleSplitter) isTwoTitles(from, to int) bool {
	cut := p.scriptChange(from, to)
	if cut == 0 || strings.ContainsAny(p.stage.w.gapAfter(cut-1), "-~〜～") && !p.endsSubtitle(from, cut) ||
		!strings.Contains(p.stage.w.gapAfter(cut-1), "·") && p.stage.w.tokens[from].bracket < 0 &&
			p.stage.numbers.bareEpisode && isSpacedDash(p.stage.w.gapBefore(p.stage.marks.episodeSpan.from)) {
		return false
	}
	if p.stage.w.tokens[from].class == cjk {
		if p.isOnlyPartName(cut, to) || p.keepsLatinWords(span{from, cut}) {
			return false
		}
		latin := p.stage.w.text[p.stage.w.tokens[cut].start:p.stage.w.tokens[to-1].end]
		joined := latin[0] >= 'a' && latin != strings.ToLower(latin) // "名 from Title"
		return !joined && to-cut > 1 || p.stage.w.isDotted && !p.stage.layout.fansubStyle && p.stage.w.gapAfter(cut-1) != ""
	}
	// Text in Chinese is a translation of the title. Japanese or Korean is part of it: "STAR DRIVER 輝きのタクト".
	return cut-from > 1 && p.stage.w.scriptOf(span{cut, to}) == "zh"
}

// endsSubtitle reports whether the sign before cut closes a subtitle, as in "银色铁道 ～夜～ Silver Rail".
func (p titleSplitter) endsSubtitle(from, cut int) bool {
	gap := p.stage.w.gapAfter(cut - 1)
	sign := strings.TrimRight(gap, " .")
	return sign != "" && sign != gap && cut-1 > from &&
		strings.Contains(p.stage.w.text[p.stage.w.tokens[from].end:p.stage.w.tokens[cut-1].start], sign)
}

// isOnlyPartName reports whether tokens [from, to) only name a part or the last season: "Part.2", "Final Season".
func (p titleSplitter) isOnlyPartName(from, to int) bool {
	return !p.stage.w.anyToken(span{from, to}, func(i int) bool {
		return p.stage.w.tagAt(i) != tagPart && p.stage.w.roleAt(i) != seasonWord && p.stage.w.lower(i) != "final"
	})
}

// keepsLatinWords reports whether the Latin words after s belong to the same title. They do after kana or hangul before
// an episode counter, and before an episode title in Japanese quotes.
func (p titleSplitter) keepsLatinWords(s span) bool {
	if p.stage.marks.episodeSpan.empty() || p.stage.w.tokens[s.from].bracket >= 0 {
		return false
	}
	at := p.stage.marks.episodeSpan.from
	if p.stage.w.classAt(at) != cjk && !strings.HasSuffix(p.stage.w.gapBefore(at), "#") {
		return false
	}
	script := p.stage.w.scriptOf(s)
	return script == "ja" || script == "ko" || p.stage.w.classAt(at) != cjk ||
		strings.Contains(p.stage.w.gapAfter(p.stage.marks.episodeSpan.to-1), "「")
}

// scriptChange returns the token at which the script changes in [from, to), or 0 if it never does or does so twice. A
// Latin word attached to Han that occurs again later doesn't count: "樱Trick Sakura Trick".
func (p titleSplitter) scriptChange(from, to int) (at int) {
	wide := p.stage.w.tokens[from].class == cjk
	for i := from + 1; i < to; i++ {
		t := &p.stage.w.tokens[i]
		counts := t.class == number && p.stage.w.gapAfter(i) == "" && p.stage.w.classAt(i+1) == cjk // "17研究所"
		if (t.class == cjk || counts) == wide || t.class == number && !counts || !p.stage.w.inSameBracket(from, i) {
			continue
		}
		if wide && p.stage.w.gapAfter(i-1) == "" && p.wordRepeats(i, to) {
			continue
		}
		if at > 0 {
			return 0
		}
		at, wide = i, !wide
	}
	if at == 0 || p.stage.w.isOneNumber(span{at, to}) || p.stage.w.isOneNumber(span{from, at}) {
		return 0
	}
	return at
}

func (p titleSplitter) wordRepeats(i, to int) bool {
	_, numeral := lists().romans[p.stage.w.word(i)]
	same := func(k int) bool { return p.stage.w.lower(i) == p.stage.w.lower(k) }
	return numeral || p.stage.w.anyToken(span{i + 1, to}, same)
}

func (p *words) isOneNumber(s span) bool { return s.to-s.from == 1 && p.tokens[s.from].class == number }
