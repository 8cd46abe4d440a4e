package release

import (
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/title"
)

type titleSplitter struct{ in *titleStage }

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
	added := p.titles[mark:] // catalogues and other files know the title in Latin letters best
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
	text := p.w.clean(p.w.sourceText(from, to))
	known := func(t Title) bool { return t.Text == text }
	if text != "" && len(p.titles) < maxTitles && !slices.ContainsFunc(p.titles, known) {
		p.titles = append(p.titles, Title{Text: text, Lang: title.Script(text)})
	}
}

type separator struct {
	place      // the token before it
	in         *titleStage
	from, to   int  // the text around it
	slash      int  // where in the gap the slash or bar stands, -1 for an underscore
	first      bool // no slash comes before it
	wideBefore bool // words in Han, kana or hangul, besides "film", come before it
	wideAfter  bool // and after it
}

type cut uint8

const (
	noCut     cut = iota
	tightCut      // "中文/Romaji"
	spacedCut     // "中文 / Romaji"
)

var cutRules = []rule[separator, cut]{
	when("a slash or an underscore among spaces", "Silver Rail _ Gin no Michi - 07.mkv -> Silver Rail e7 episode",
		func(s separator) bool { return s.spaced() || s.gap() == " _ " }, spacedCut),
	when("a slash where the script changes", "[组] 银色铁道 Rail/銀 [1080p] -> 银色铁道 Rail",
		func(s separator) bool { return s.slash >= 0 && (s.class == cjk) != (s.at(1).class == cjk) }, tightCut),
	when("a slash, and one side is in another script", "银色铁道 1/2.mkv -> 银色铁道 1",
		func(s separator) bool { return s.slash >= 0 && s.wideBefore != s.wideAfter && !s.isFateTitle() }, tightCut),
	when("a slash between two East Asian words", "[组] 星之海/如星的海 [07][1080p] -> 星之海 e7 episode", func(s separator) bool {
		return s.slash >= 0 && s.class == cjk && s.at(1).class == cjk && s.w.width(s.i) > 3 &&
			s.w.width(s.i+1) > 3
	}, tightCut),
	when("a slash after which the title is repeated", "[组][Silver/Silver Rail][1080p] -> Silver",
		func(s separator) bool { return s.slash >= 0 && s.first && s.in.repeats(s.from, s.i+1, s.to) }, tightCut),
	when("a slash between two titles in brackets", "[组][Silver Rail/Gin no Michi][07][1080p] -> Silver Rail e7 episode",
		func(s separator) bool {
			return s.slash >= 0 && s.first && len(s.in.layout.titleSpans) > 0 && s.i > s.from && !s.isFateTitle() &&
				s.at(1).class == alpha
		}, tightCut),
}

func (s separator) spaced() bool {
	gap := s.gap()
	return s.slash > 0 && strings.ContainsAny(gap[:s.slash], " .") ||
		s.slash >= 0 && s.slash+1 < len(gap) && gap[s.slash+1] == ' '
}

// isFateTitle reports whether the slash belongs to a title that is always written with one: "Fate/stay night".
func (s separator) isFateTitle() bool { return s.lower() == "fate" }

// splitSlash cuts at " / " or " | ", or at every slash when the scripts on its sides differ.
func (p titleSplitter) splitSlash(from, to int) bool {
	var found []separator
	firstWide, lastWide := to, -1
	for i := from; i < to; i++ {
		p.in.w.steps++
		t := p.in.w.place(i)
		if t.class == cjk && t.tag != tagMovie {
			firstWide, lastWide = min(firstWide, i), i
		}
		slash := strings.IndexAny(t.gap(), "/|")
		if i+1 == to || slash < 0 && t.gap() != " _ " {
			continue
		}
		found = append(found, separator{place: t, in: p.in, from: from, to: to, slash: slash})
	}
	how, first := noCut, true
	for _, s := range found {
		s.wideBefore, s.wideAfter, s.first = firstWide <= s.i, lastWide > s.i, first
		how = max(how, decide(cutRules, s))
		first = first && s.slash < 0
	}
	if how == noCut {
		return false
	}
	start := from
	for _, s := range found {
		if len(p.in.titles) < maxTitles && (s.slash < 0 || how == tightCut || s.spaced()) {
			p.addPart(start, s.i+1)
			start = s.i + 1
		}
	}
	if len(p.in.titles) < maxTitles {
		p.addPart(start, to)
	}
	if slices.ContainsFunc(found, func(s separator) bool { return s.slash < 0 }) {
		p.in.addTitle(from, to) // the underscore may be a mark that the file system refused
	}
	return true
}

// repeats reports whether the words of [from, mid) begin [mid, to) again: "Free!/Free! Second Title".
func (p *titleStage) repeats(from, mid, to int) bool {
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
	for from < to &&
		(p.in.w.tokens[from].tag == tagPromo || p.in.w.tokens[from].tag == tagSeason && p.in.w.tokens[from].class != cjk) {
		from++
	}
	if from >= to {
		return
	}
	to = p.endOfPart(from, to)
	last, year := &p.in.w.tokens[to-1], p.in.layout.year
	if to-from > 1 && (p.repeatsSeason(from, to) || year > 0 && last.class == number && last.num == year) {
		to--
	}
	p.in.addTitle(from, p.in.trimTags(from, to))
}

func (p titleSplitter) endOfPart(from, to int) int {
	home := p.in.w.tokens[from].group
	for i := from + 1; i < to; i++ {
		t := &p.in.w.tokens[i]
		if t.group != home {
			b := p.in.w.innerBracketOf(i, home)
			if b < 0 || !p.in.bracketInTitle(b, i, from) {
				return i
			}
			i = p.in.w.brackets[b].to - 1
			continue
		}
		if t.tag == tagYear || t.tag == tagSeason && !(t.class == cjk && p.in.seasonCounterInTitle(i, from) && i+1 < to) {
			return i
		}
	}
	return to
}

// repeatsSeason reports whether the title [from, to) ends with the season again: "花子君 第二季 / Hanako-kun 2".
func (p titleSplitter) repeatsSeason(from, to int) bool {
	t := &p.in.w.tokens[to-1]
	return len(p.in.marks.seasons) == 1 && from > p.in.layout.first && t.class == number &&
		t.num == p.in.marks.seasons[0] && p.in.w.width(to-1) == 1 &&
		p.in.w.beside(from, to-1) && (to == len(p.in.w.tokens) || p.in.w.tokens[to].tag == tagEpisode)
}

// splitAKA cuts at "aka" and "a.k.a.".
func (p titleSplitter) splitAKA(from, to int) bool {
	for i := from + 1; i+1 < to; i++ {
		n := 0
		switch {
		case p.in.w.roleAt(i) == akaWord && p.in.w.beside(i, from):
			n = 1
		case i+3 < to && p.in.w.lower(i) == "a" && p.in.w.lower(i+1) == "k" && p.in.w.lower(i+2) == "a" &&
			p.in.w.gap(i) == ".":
			n = 3
		default:
			continue
		}
		p.in.addTitle(from, i)
		p.addPart(i+n, to)
		return true
	}
	return false
}

// splitDash cuts at a dash with two spaces after it, which some groups put between two titles.
func (p titleSplitter) splitDash(from, to int) bool {
	for i := from; i+1 < to; i++ {
		if strings.HasPrefix(strings.ReplaceAll(p.in.w.gap(i), ".", " "), " -  ") {
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
	if cut == 0 || strings.ContainsAny(p.in.w.gap(cut-1), "-~〜～") && !p.endsSubtitle(from, cut) ||
		!strings.Contains(p.in.w.gap(cut-1), "·") && p.in.w.tokens[from].group < 0 && p.in.numbers.bareEpisode &&
			dashGap(p.in.w.before(p.in.marks.episodeSpan.from)) {
		return false
	}
	if p.in.w.tokens[from].class == cjk {
		if p.isOnlyPart(cut, to) || p.keepsLatinWords(span{from, cut}) {
			return false
		}
		latin := p.in.w.text[p.in.w.tokens[cut].s:p.in.w.tokens[to-1].e]
		joined := latin[0] >= 'a' && latin != strings.ToLower(latin) // "名 from Title"
		return !joined && to-cut > 1 || p.in.w.dotted && !p.in.layout.fansubStyle && p.in.w.gap(cut-1) != ""
	}
	// "STAR DRIVER 輝きのタクト" is one: names in Chinese translate titles, those in Japanese and Korean hold them.
	return cut-from > 1 && p.in.w.scriptOf(span{cut, to}) == "zh"
}

// endsSubtitle reports whether the sign before cut closes a subtitle, as in "银色铁道 ～夜～ Silver Rail".
func (p titleSplitter) endsSubtitle(from, cut int) bool {
	gap := p.in.w.gap(cut - 1)
	sign := strings.TrimRight(gap, " .")
	return sign != "" && sign != gap && cut-1 > from &&
		strings.Contains(p.in.w.text[p.in.w.tokens[from].e:p.in.w.tokens[cut-1].s], sign)
}

// isOnlyPart reports whether tokens [from, to) only name a part or the last season: "Part.2", "Final Season".
func (p titleSplitter) isOnlyPart(from, to int) bool {
	return !p.in.w.anyToken(span{from, to}, func(i int) bool {
		return p.in.w.tagAt(i) != tagPart && p.in.w.roleAt(i) != seasonWord && p.in.w.lower(i) != "final"
	})
}

// keepsLatinWords reports whether the Latin words after s belong to the same title. They do after kana or hangul before
// an episode counter, and before an episode title in Japanese quotes.
func (p titleSplitter) keepsLatinWords(s span) bool {
	if p.in.marks.episodeSpan.empty() || p.in.w.tokens[s.from].group >= 0 {
		return false
	}
	at := p.in.marks.episodeSpan.from
	if p.in.w.classAt(at) != cjk && !strings.HasSuffix(p.in.w.before(at), "#") {
		return false
	}
	script := p.in.w.scriptOf(s)
	return script == "ja" || script == "ko" || p.in.w.classAt(at) != cjk ||
		strings.Contains(p.in.w.gap(p.in.marks.episodeSpan.to-1), "「")
}

// scriptChange returns the token at which the script changes in [from, to), or 0 if it never does or does so twice. A
// Latin word attached to Han that occurs again later doesn't count: "樱Trick Sakura Trick".
func (p titleSplitter) scriptChange(from, to int) (at int) {
	wide := p.in.w.tokens[from].class == cjk
	for i := from + 1; i < to; i++ {
		t := &p.in.w.tokens[i]
		counts := t.class == number && p.in.w.gap(i) == "" && p.in.w.classAt(i+1) == cjk // "17研究所"
		if (t.class == cjk || counts) == wide || t.class == number && !counts || !p.in.w.beside(from, i) {
			continue
		}
		if wide && p.in.w.gap(i-1) == "" && p.wordRepeats(i, to) {
			continue
		}
		if at > 0 {
			return 0
		}
		at, wide = i, !wide
	}
	if at == 0 || p.in.w.oneNumber(span{at, to}) || p.in.w.oneNumber(span{from, at}) {
		return 0
	}
	return at
}

func (p titleSplitter) wordRepeats(i, to int) bool {
	_, numeral := lists().romans[p.in.w.word(i)]
	same := func(k int) bool { return p.in.w.lower(i) == p.in.w.lower(k) }
	return numeral || p.in.w.anyToken(span{i + 1, to}, same)
}

func (p *words) oneNumber(s span) bool { return s.to-s.from == 1 && p.tokens[s.from].class == number }
