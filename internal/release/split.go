package release

import (
	"strings"

	"github.com/anivault/anivault/internal/title"
)

// This file decides where one text holds several titles: at slashes, at "aka",
// at a dash between two blanks, between two scripts.

// maxTitles bounds the candidates of one name.
const maxTitles = 12

// addTitles adds the titles that stand in tokens [from, to).
func (p *titled) addTitles(from, to int) {
	mark := len(p.titles)
	if p.splitSlash(from, to) || p.splitAKA(from, to) || p.splitDash(from, to) {
		p.preferLatin(mark)
		return
	}
	p.addTitle(from, to)
	p.splitScripts(from, to)
	if p.dotted && !p.fansub && p.tokens[from].class == cjk {
		p.preferLatin(mark)
	}
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

// splitSlash cuts at " / " or " | ", or at every slash when the scripts on its sides differ.
func (p *titled) splitSlash(from, to int) bool {
	spaced, tight := false, false
	han, latin, wide := 0, 0, 0 // tokens in Han, kana or hangul, others, and the former besides "film", on the left
	allHan, allLatin, allWide := p.scripts(from, to)
	first := true
	for i := from; i+1 < to; i++ {
		p.steps++
		h, l, w := p.scripts(i, i+1)
		han, latin, wide = han+h, latin+l, wide+w
		g := p.gap(i)
		at := strings.IndexAny(g, "/|")
		if at < 0 && !strings.HasSuffix(g, "_") && g != " _ " {
			continue
		}
		under := p.tokens[i].group >= 0 || g == " _ "
		turns := (p.tokens[i].class == cjk) != (p.tokens[i+1].class == cjk)
		leftHan, rightHan := 2*han > latin, 2*(allHan-han) > allLatin-latin
		switch {
		case at < 0 && !under:
		case at > 0 && strings.ContainsAny(g[:at], " _.") || at >= 0 && at+1 < len(g) && g[at+1] == ' ' || g == " _ ":
			spaced = true
		case turns && (at >= 0 || leftHan != rightHan):
			tight = true
		case at >= 0 && (wide > 0) != (allWide-wide > 0) && !strings.EqualFold(p.word(i), "fate"):
			tight = true
		case at >= 0 && first && (p.repeats(from, i+1, to) || len(p.places) > 0 && i > from && !strings.EqualFold(p.word(i), "fate") && p.tokens[i+1].class == alpha):
			tight = true
		}
		first = first && at < 0
	}
	if !spaced && !tight {
		return false
	}
	start := from
	for i := from; i < to; i++ {
		if i+1 < to {
			g := p.gap(i)
			at := strings.IndexAny(g, "/|")
			switch {
			case g == " _ ":
			case !spaced && strings.HasSuffix(g, "_") && p.tokens[i].class == cjk != (p.tokens[i+1].class == cjk):
			case at < 0:
				continue
			case spaced && !(at > 0 && strings.ContainsAny(g[:at], " _.") || at+1 < len(g) && g[at+1] == ' '):
				continue
			}
		}
		p.addPart(start, i+1)
		start = i + 1
		if len(p.titles) >= maxTitles {
			break
		}
	}
	for i := from; i+1 < to; i++ {
		if p.gap(i) == " _ " { // as likely a mark that the file system refused
			p.addTitle(from, to)
			break
		}
	}
	return true
}

// scripts counts in tokens [from, to) those in Han, kana or hangul, the others, and the former besides "film".
func (p *lexed) scripts(from, to int) (han, latin, wide int) {
	for i := from; i < to; i++ {
		switch {
		case p.tokens[i].class != cjk:
			latin++
		case p.tokens[i].tag == tagMovie:
			han++
		default:
			han++
			wide++
		}
	}
	return han, latin, wide
}

// repeats says whether the words of [from, mid) begin [mid, to) again: "Free!/Free! Second Title".
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
	home := p.tokens[min(from, len(p.tokens)-1)].group
	for i := from + 1; i < to; i++ {
		t := &p.tokens[i]
		if t.group != home {
			b := p.enclosing(i, home)
			if b < 0 || !p.belongs(b, i, from) {
				to = i
				break
			}
			i = p.brackets[b].behind - 1
			continue
		}
		if t.tag == tagSeason && !(t.class == cjk && p.seasonInside(i, from) && i+1 < to) || t.tag == tagYear {
			to = i
			break
		}
	}
	if len(p.seasons) == 1 && to-from > 1 { // "花子君 第二季 / Hanako-kun 2"
		if t := &p.tokens[to-1]; t.class == number && t.num == p.seasons[0] && t.group == home && t.e-t.s == 1 && (to == len(p.tokens) || p.tokens[to].tag == tagEpisode) && from > p.first {
			to--
		}
	}
	if t := &p.tokens[max(to-1, 0)]; to-from > 1 && p.year > 0 && t.num == p.year && t.class == number {
		to-- // the year again, behind another of the titles
	}
	to = p.trimWeak(from, to)
	p.addTitle(from, to)
}

// splitAKA cuts at "aka" and "a.k.a.".
func (p *titled) splitAKA(from, to int) bool {
	for i := from + 1; i+1 < to; i++ {
		n := 0
		switch {
		case p.tokens[i].word.role == akaWord && p.tokens[i].group == p.tokens[from].group:
			n = 1
		case i+3 < to && len(p.word(i)) == 1 && p.word(i)[0]|0x20 == 'a' && strings.EqualFold(p.word(i+1), "k") && strings.EqualFold(p.word(i+2), "a") && p.gap(i) == ".":
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
		if strings.HasPrefix(p.gap(i), " -  ") {
			p.addPart(from, i+1)
			p.addPart(i+1, to)
			return true
		}
	}
	return false
}

// splitScripts adds the halves of "中文名 Romaji Name" behind the whole.
func (p *titled) splitScripts(from, to int) {
	cut := -1
	for i := from; i+1 < to; i++ {
		a, b := &p.tokens[i], &p.tokens[i+1]
		if (a.class == cjk) == (b.class == cjk) || a.group != b.group {
			continue
		}
		if cut >= 0 {
			return
		}
		cut = i + 1
	}
	if cut < 0 || to-from < 2 {
		return
	}
	if p.tokens[cut].class == number && to-cut == 1 || p.tokens[from].class == number && cut-from == 1 {
		return
	}
	p.addPart(cut, to)
	p.addPart(from, cut)
}

// aliasInTitle adds both halves of a title that ends in a bracket: "Title (Other Name)".
func (p *titled) aliasInTitle() {
	b := p.outermost(p.bound - 1)
	if b < 0 || p.brackets[b].behind != p.bound || p.brackets[b].first <= p.first || !strings.HasPrefix(p.before(p.brackets[b].first), " ") {
		return
	}
	p.addTitle(p.first, p.brackets[b].first)
	p.addTitle(p.brackets[b].first, p.bound)
}

// aliasInBracket adds the name in a bracket right behind the title: "Title (Other Name)", "한글 (English)".
func (p *titled) aliasInBracket() {
	at := p.bound
	for at < len(p.tokens) && p.tokens[at].tag == tagSeason {
		at++
	}
	if at >= len(p.tokens) {
		return
	}
	b := p.outermost(at)
	if b < 0 || p.brackets[b].first != at {
		return
	}
	s := span{p.brackets[b].first, p.brackets[b].behind}
	for s.to-1 > s.from && p.tokens[s.to-1].tag == tagSeason {
		s.to--
	}
	for i := s.from; i < s.to; i++ {
		if p.tokens[i].tag != none || p.tokens[i].group != b {
			if i == s.from && p.tokens[i].word.role == akaWord {
				continue
			}
			return
		}
	}
	if p.tokens[s.from].word.role == akaWord {
		s.from++
	}
	if s.empty() || p.tokens[s.from].class == number && s.to-s.from == 1 || !p.brackets[b].round && p.tokens[s.from].class != cjk {
		return
	}
	p.addTitle(s.from, s.to)
}
