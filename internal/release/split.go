package release

import (
	"strings"

	"github.com/anivault/anivault/internal/title"
)

// maxTitles bounds the candidates of one name.
const maxTitles = 12

// addTitles adds the titles that stand in tokens [from, to).
func (p *titled) addTitles(from, to int) {
	mark := len(p.titles)
	switch {
	case p.splitSlash(from, to), p.splitAKA(from, to), p.splitDash(from, to):
	case p.twoScripts(from, to):
		p.splitScripts(from, to)
		p.addTitle(from, to)
	default:
		p.addTitle(from, to)
		p.splitScripts(from, to)
		return
	}
	p.preferLatin(mark)
}

// addTitle adds one, unless it is there already.
func (p *titled) addTitle(from, to int) {
	if from >= to {
		return
	}
	t := p.clean(p.raw(from, to))
	if t == "" {
		return
	}
	for i := range p.titles {
		if p.titles[i].Text == t {
			return
		}
	}
	if len(p.titles) < maxTitles {
		p.titles = append(p.titles, Title{Text: t, Lang: title.Script(t)})
	}
}

// preferLatin moves the first title in Latin letters to the front of those from mark on: it is the one that
// catalogues and other files know.
func (p *titled) preferLatin(mark int) {
	for i := mark; i < len(p.titles); i++ {
		if p.titles[i].Lang == "latin" {
			t := p.titles[i]
			copy(p.titles[mark+1:i+1], p.titles[mark:i])
			p.titles[mark] = t
			return
		}
	}
}

// separator is a slash, a bar or an underscore between two words, perhaps between two titles.
type separator struct {
	*titled
	i, from, to int    // it stands behind token i of the text [from, to)
	gap         string // how it is written
	at          int    // where in gap the slash or bar stands, -1 for an underscore
	first       bool   // no slash stands before it
	left, right scripts
	turns       bool // only one of the words beside it is in Han, kana or hangul
}

// cut is how titles are parted.
type cut uint8

const (
	noCut     cut = iota
	tightCut      // "中文/Romaji"
	spacedCut     // "中文 / Romaji"
)

// cutRules say whether a separator parts two titles.
var cutRules = []rule[separator, cut]{
	when("a slash or an underscore among blanks", "Silver Rail _ Gin no Michi - 07.mkv -> Silver Rail e7 episode",
		func(s separator) bool { return s.spaced() || s.gap == " _ " }, spacedCut),
	when("a slash where the script changes", "[组] 银色铁道 Rail/銀 [1080p] -> 银色铁道 Rail",
		func(s separator) bool { return s.at >= 0 && s.turns }, tightCut),
	when("a slash, and one side is in another script", "银色铁道 1/2.mkv -> 银色铁道 1",
		func(s separator) bool { return s.at >= 0 && (s.left.words > 0) != (s.right.words > 0) && !s.fate() }, tightCut),
	when("a slash between two words of Han, kana or hangul", "[组] 星之海/如星的海 [07][1080p] -> 星之海 e7 episode",
		func(s separator) bool {
			return s.at >= 0 && s.classAt(s.i) == cjk && s.classAt(s.i+1) == cjk && s.width(s.i) > 3 && s.width(s.i+1) > 3
		}, tightCut),
	when("a slash behind which the title is repeated", "[组][Silver/Silver Rail][1080p] -> Silver",
		func(s separator) bool { return s.at >= 0 && s.first && s.repeats(s.from, s.i+1, s.to) }, tightCut),
	when("a slash between two titles in brackets", "[组][Silver Rail/Gin no Michi][07][1080p] -> Silver Rail e7 episode",
		func(s separator) bool {
			return s.at >= 0 && s.first && len(s.places) > 0 && s.i > s.from && !s.fate() && s.classAt(s.i+1) == alpha
		}, tightCut),
}

// spaced reports whether a blank, or what stands for it, is on either side of the slash.
func (s separator) spaced() bool {
	return s.at > 0 && strings.ContainsAny(s.gap[:s.at], " .") || s.at >= 0 && s.at+1 < len(s.gap) && s.gap[s.at+1] == ' '
}

// fate reports whether the slash belongs to a title that is always written with one: "Fate/stay night".
func (s separator) fate() bool { return among(s.word(s.i), "fate") }

// separatorBehind returns the separator behind token i, if there is one.
func (p *titled) separatorBehind(i, from, to int) (s separator, ok bool) {
	gap := p.gap(i)
	at := strings.IndexAny(gap, "/|")
	if at < 0 && gap != " _ " {
		return s, false
	}
	s = separator{titled: p, i: i, from: from, to: to, gap: gap, at: at}
	s.turns = (p.tokens[i].class == cjk) != (p.tokens[i+1].class == cjk)
	return s, true
}

// splitSlash cuts at " / " or " | ", or at every slash when the scripts on its sides differ.
func (p *titled) splitSlash(from, to int) bool {
	all := p.scriptsOf(from, to)
	left := scripts{}
	first, how := true, noCut
	for i := from; i+1 < to; i++ {
		p.steps++
		left = left.plus(p.scriptsOf(i, i+1))
		s, ok := p.separatorBehind(i, from, to)
		if !ok {
			continue
		}
		s.left, s.right, s.first = left, all.minus(left), first
		how = max(how, decide(cutRules, s))
		first = first && s.at < 0
	}
	if how == noCut {
		return false
	}
	p.cutAt(how, from, to)
	for i := from; i+1 < to; i++ {
		if p.gap(i) == " _ " { // as likely a mark that the file system refused
			p.addTitle(from, to)
			break
		}
	}
	return true
}

// cutAt adds the titles between the separators that part titles in this way.
func (p *titled) cutAt(how cut, from, to int) {
	start := from
	for i := from; i+1 < to && len(p.titles) < maxTitles; i++ {
		s, ok := p.separatorBehind(i, from, to)
		if !ok {
			continue
		}
		if s.gap == " _ " || s.at >= 0 && (how == tightCut || s.spaced()) {
			p.addPart(start, i+1)
			start = i + 1
		}
	}
	if len(p.titles) < maxTitles {
		p.addPart(start, to)
	}
}

// scripts counts the words of a text by script.
type scripts struct {
	wide  int // in Han, kana or hangul
	latin int // in others
	words int // in Han, kana or hangul, besides "film"
}

func (s scripts) plus(o scripts) scripts {
	return scripts{s.wide + o.wide, s.latin + o.latin, s.words + o.words}
}

func (s scripts) minus(o scripts) scripts {
	return scripts{s.wide - o.wide, s.latin - o.latin, s.words - o.words}
}

// scriptsOf counts the scripts of tokens [from, to).
func (p *lexed) scriptsOf(from, to int) (s scripts) {
	for i := from; i < to; i++ {
		switch {
		case p.tokens[i].class != cjk:
			s.latin++
		case p.tokens[i].tag == tagMovie:
			s.wide++
		default:
			s.wide++
			s.words++
		}
	}
	return s
}

// repeats reports whether the words of [from, mid) begin [mid, to) again: "Free!/Free! Second Title".
func (p *lexed) repeats(from, mid, to int) bool {
	if to-mid < mid-from {
		return false
	}
	for i := from; i < mid; i++ {
		if !strings.EqualFold(p.word(i), p.word(mid+i-from)) {
			return false
		}
	}
	return true
}

// addPart adds one title of several, without the season or year at its end.
func (p *titled) addPart(from, to int) {
	for from < to && (p.tokens[from].tag == tagPromo || p.tokens[from].tag == tagSeason && p.tokens[from].class != cjk) {
		from++
	}
	if from >= to {
		return
	}
	to = p.endOfPart(from, to)
	if to-from > 1 && (p.repeatsSeason(from, to) || p.repeatsYear(to-1)) {
		to--
	}
	p.addTitle(from, p.trimTags(from, to))
}

// endOfPart returns where the title that starts at from ends, at most at to.
func (p *titled) endOfPart(from, to int) int {
	home := p.tokens[from].group
	for i := from + 1; i < to; i++ {
		t := &p.tokens[i]
		if t.group != home {
			b := p.enclosing(i, home)
			if b < 0 || !p.belongs(b, i, from) {
				return i
			}
			i = p.brackets[b].behind - 1
			continue
		}
		if t.tag == tagYear || t.tag == tagSeason && !(t.class == cjk && p.seasonInside(i, from) && i+1 < to) {
			return i
		}
	}
	return to
}

// repeatsYear reports whether token i is the year again.
func (p *laidOut) repeatsYear(i int) bool {
	return p.year > 0 && p.tokens[i].class == number && p.tokens[i].num == p.year
}

// repeatsSeason reports whether the title [from, to) ends with the season again: "花子君 第二季 / Hanako-kun 2".
func (p *titled) repeatsSeason(from, to int) bool {
	t := &p.tokens[to-1]
	return len(p.seasons) == 1 && from > p.first && t.class == number && t.num == p.seasons[0] && p.width(to-1) == 1 &&
		p.beside(from, to-1) && (to == len(p.tokens) || p.tokens[to].tag == tagEpisode)
}

// splitAKA cuts at "aka" and "a.k.a.".
func (p *titled) splitAKA(from, to int) bool {
	for i := from + 1; i+1 < to; i++ {
		n := 0
		switch {
		case p.roleAt(i) == akaWord && p.beside(i, from):
			n = 1
		case i+3 < to && among(p.word(i), "a") && among(p.word(i+1), "k") && among(p.word(i+2), "a") && p.gap(i) == ".":
			n = 3
		default:
			continue
		}
		p.addTitle(from, i)
		p.addPart(i+n, to)
		return true
	}
	return false
}

// splitDash cuts at a dash with two blanks behind it, which some groups put between two titles.
func (p *titled) splitDash(from, to int) bool {
	for i := from; i+1 < to; i++ {
		if strings.HasPrefix(strings.ReplaceAll(p.gap(i), ".", " "), " -  ") {
			p.addPart(from, i+1)
			p.addPart(i+1, to)
			return true
		}
	}
	return false
}

// splitScripts adds the halves of "中文名 Romaji Name", where the script changes once.
func (p *titled) splitScripts(from, to int) {
	if cut := p.turn(from, to); cut > 0 {
		p.addPart(cut, to)
		p.addPart(from, cut)
	}
}

// twoScripts reports whether a text of two scripts holds two titles: it has two words in Latin letters or more. Behind
// a dash between blanks stands the number of groups who write such a title as one.
func (p *titled) twoScripts(from, to int) bool {
	cut := p.turn(from, to)
	if cut == 0 || strings.ContainsAny(p.gap(cut-1), "-~〜～") && !p.subtitleCloses(from, cut) ||
		!strings.Contains(p.gap(cut-1), "·") && p.tokens[from].group < 0 && p.bare && dashGap(p.before(p.episode.from)) {
		return false
	}
	if p.tokens[from].class == cjk {
		if p.partsOnly(cut, to) || p.japanese(span{from, cut}) {
			return false
		}
		latin := p.text[p.tokens[cut].s:p.tokens[to-1].e]
		joined := latin[0] >= 'a' && latin != lower(latin) // "名 from Title"
		return !joined && to-cut > 1 || p.dotted && !p.fansub && p.gap(cut-1) != ""
	}
	// "STAR DRIVER 輝きのタクト" is one: names in Chinese translate titles, those in Japanese and Korean hold them.
	return cut-from > 1 && p.scriptOf(span{cut, to}) == "zh"
}

// subtitleCloses reports whether the sign before cut closes a subtitle that another one opened: "银色铁道 ～夜～ Silver Rail".
func (p *lexed) subtitleCloses(from, cut int) bool {
	gap := p.gap(cut - 1)
	sign := strings.TrimRight(gap, " .")
	return sign != "" && sign != gap && cut-1 > from && strings.Contains(p.text[p.tokens[from].e:p.tokens[cut-1].s], sign)
}

// partsOnly reports whether tokens [from, to) say a part or the last season and no title: "Part.2", "Final Season".
func (p *titled) partsOnly(from, to int) bool {
	for i := from; i < to; i++ {
		if p.tokens[i].tag != tagPart && p.roleAt(i) != seasonWord && !among(p.word(i), "final") {
			return false
		}
	}
	return true
}

// japanese reports whether a name is made as in Japan or Korea, where the words in Latin letters behind s belong to the title: it
// has kana or hangul before a counter of episodes, or names the episode in Japanese quotes.
func (p *titled) japanese(s span) bool {
	if p.episode.empty() || p.tokens[s.from].group >= 0 {
		return false
	}
	at := p.episode.from
	if p.classAt(at) != cjk && !strings.HasSuffix(p.before(at), "#") {
		return false
	}
	script := p.scriptOf(s)
	return script == "ja" || script == "ko" || p.classAt(at) != cjk || strings.Contains(p.gap(p.episode.to-1), "「")
}

// turn returns where the script changes in tokens [from, to), 0 where it does so never or more than once. A number
// belongs to the words before it, and so does a word that is run into them and stands on the other side again:
// "樱Trick Sakura Trick".
func (p *titled) turn(from, to int) (at int) {
	wide := p.tokens[from].class == cjk
	for i := from + 1; i < to; i++ {
		t := &p.tokens[i]
		counts := t.class == number && p.gap(i) == "" && p.classAt(i+1) == cjk // "17研究所"
		if (t.class == cjk || counts) == wide || t.class == number && !counts || !p.beside(from, i) {
			continue
		}
		if wide && p.gap(i-1) == "" && p.again(i, to) {
			continue
		}
		if at > 0 {
			return 0
		}
		at, wide = i, !wide
	}
	if at == 0 || p.oneNumber(span{at, to}) || p.oneNumber(span{from, at}) {
		return 0
	}
	return at
}

// again reports whether the word at i, or the numeral, stands once more before to.
func (p *titled) again(i, to int) bool {
	for k := i + 1; k < to; k++ {
		if strings.EqualFold(p.word(i), p.word(k)) {
			return true
		}
	}
	_, numeral := roman(p.word(i))
	return numeral
}

// oneNumber reports whether s is a number and nothing else.
func (p *lexed) oneNumber(s span) bool { return s.to-s.from == 1 && p.tokens[s.from].class == number }
