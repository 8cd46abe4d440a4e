package release

import (
	"strings"
	"unicode/utf8"
)

// readNumberedExtra tags an extra or special with a number or version: "NCOP2", "NCEDv2", "OP4a", "PV2", "CM1", "SP03",
// "OVA3.5", "EX01".
func readNumberedExtra(p *tagStage, i int) bool {
	w := p.w.lower(i)
	if p.w.isDotted && p.w.gapBefore(i) == "-" && !p.w.inSameBracket(i, i+1) {
		return false // the group of a scene name: "-CM8"
	}
	head := untilDigit(w)
	n := len(head)
	k, ok := lists().words[head]
	if !ok && n > 1 && head[n-1] == 'v' && len(w) == n+1 {
		head = head[:n-1]
		k = lists().words[head]
	}
	if k.tag != tagExtra && k.tag != tagSpecial || n > 8 || len(w)-n > 4 {
		if head != "ex" || len(w)-len(head) != 2 {
			return false
		}
		k = wordInfo{tag: tagSpecial, value: "EX"}
	}
	if isOneOf(head, "op", "ed") && !hasNoLowerCase(p.w.word(i)[:n]) {
		return false
	}
	k.weak = false
	p.w.tokens[i].word = k
	p.w.setTags(i, i+1, k.tag)
	return true
}

// readSpecials finds extras and specials. It runs when the title's start is known, because a weak word counts only
// outside the title.
func (p *numberStage) readSpecials() {
	for i := range p.w.tokens {
		t := &p.w.tokens[i]
		if t.tag == tagEdition && t.weak && i > 0 && t.bracket < 0 && p.marks.episodeSpan.empty() &&
			isSpacedDash(p.w.gapBefore(i)) && p.w.titleMayEndBefore(i+1) && p.w.lower(i) == "special" ||
			p.isNumberedBonus(i) {
			// the last word of "Title - Special"; elsewhere, it is an edition
			t.weak, t.word.value = false, strings.ToUpper(p.w.word(i))
			if t.tag != tagExtra {
				t.tag = tagSpecial
			}
		}
		if t.tag != tagExtra && t.tag != tagSpecial || t.weak && !p.isSpecial(i) && !p.w.isJoinedByPlus(i) {
			continue
		}
		if p.w.isJoinedByPlus(i) {
			p.marks.isBatch = true
			continue
		}
		p.isExtra = p.isExtra || t.tag == tagExtra
		if t.tag == tagExtra || p.marks.special == "" && len(p.marks.episodes) <= 3 { // "01-12 + OVA" is a batch
			p.marks.special = p.specialName(i)
		}
		p.readSpecialNumber(i)
	}
}

// isNumberedBonus reports whether the word at i says what the number after it counts: "BD Special 02", "DVD Omake 02".
// A strong tag before it has ended the title, so it is no word of that.
func (p *numberStage) isNumberedBonus(i int) bool {
	return p.marks.episodeSpan.from == i+1 && p.marks.episodeSpan != p.marks.seasonSpan && p.w.isStrongAt(i-1) &&
		i > p.layout.titleStart && wordSets()["bonus"][p.w.lower(i)]
}

// isJoinedByPlus reports whether the word at i has a plus before or after it, as in a batch: "TV + OVA", "01-12 + SP".
func (p *words) isJoinedByPlus(i int) bool {
	return i > 0 && (strings.Contains(p.gapBefore(i), "+") || strings.Contains(p.gapAfter(i), "+"))
}

func (p *numberStage) specialName(i int) string {
	t := &p.w.tokens[i]
	if v := t.word.value; v != "" && v != "NC" {
		return v
	}
	if t.class == mixed {
		return strings.ToUpper(leadingLetters(p.w.lower(i)))
	}
	return strings.ToUpper(trimTrailingDigits(p.w.word(i)))
}

// specialWord is a word that may be an extra or special.
type specialWord struct {
	place
	stage *numberStage
}

// specialRules decide whether such a word is one, and not a word of the title.
var specialRules = []rule[specialWord, bool]{
	{"alone in a bracket", func(s specialWord) bool {
		return s.w.isAloneInBracket(s.index) || s.bracket >= 0 && s.w.isPlainNumber(s.index+1) &&
			s.w.brackets[s.bracket].span == span{s.index, s.index + 2}
	}, true},
	{"two letters that are not in capitals", func(s specialWord) bool {
		return isOneOf(s.lower(), "op", "ed", "pv", "cm", "sp") && !hasNoLowerCase(s.text())
	}, false},
	{"the first word, and a title follows", func(s specialWord) bool {
		return s.index == 0 && s.w.inSameBracket(0, 1) && s.w.classAt(1) != number
	}, false},
	{"the first word", func(s specialWord) bool { return s.index == 0 }, true},
	{"part of the episode's title", func(s specialWord) bool {
		inside := !s.stage.marks.episodeSpan.empty() && s.index >= s.stage.marks.episodeSpan.to
		preview := s.lower() == "preview" || s.class == cjk && s.word.value == "PV" && s.w.titleMayEndBefore(s.index+1)
		return inside && s.word.value != "SAMPLE" && !preview
	}, false},
	{"after a dash between spaces", func(s specialWord) bool { return isSpacedDash(s.gapBefore()) }, true},
	{"the last word before a film's year", func(s specialWord) bool { return s.index == s.stage.layout.yearAt-1 }, false},
	{"an East Asian word at the end", func(s specialWord) bool {
		return s.class == cjk && s.gapBefore() != "" && s.index+1 == len(s.w.tokens)
	}, true},
	{"an ordinary word after the season", func(s specialWord) bool {
		season := s.stage.marks.seasonSpan
		return s.isOrdinary() && !season.empty() && s.index >= season.to && s.w.titleMayEndBefore(s.index+1)
	}, true},
	{"an ordinary word", func(s specialWord) bool { return s.isOrdinary() }, false},
	{"a word of a title, and not a fansub release", func(s specialWord) bool {
		return !s.stage.layout.fansubStyle && len(s.text()) > 3 && s.gapBefore() != "-" && !s.neighbor(-1).isStrong() &&
			!(s.stage.tags.hasMediaTag && s.index+1 == len(s.w.tokens))
	}, false},
	{"before an end or a tag", func(s specialWord) bool { return s.w.titleMayEndBefore(s.index + 1) }, true},
}

func (s specialWord) isOrdinary() bool {
	return isOneOf(s.lower(), "extra", "extras", "bonus", "opening", "ending", "interview", "specials", "deleted")
}

// isSpecial reports whether the weak word at i is an extra or special, and not a word of the title.
func (p *numberStage) isSpecial(i int) bool {
	return applyRules(specialRules, specialWord{p.w.place(i), p})
}

func (p *words) titleMayEndBefore(i int) bool {
	return !p.inSameBracket(i-1, i) || p.isStrongAt(i) ||
		p.tokens[i].class == number && (!p.inSameBracket(i, i+1) || p.tokens[i+1].tag != noTag)
}

func (p *numberStage) readSpecialNumber(i int) {
	w := p.w.lower(i)
	head := untilDigit(w)
	if !p.marks.episodeSpan.empty() && (!p.bareEpisode || p.marks.episodeSpan.from > i+2) ||
		p.w.tokens[i].tag == tagExtra && utf8.RuneCountInString(leadingLetters(w)) > 4 {
		return
	}
	at, n := i, 0
	switch {
	case len(head) < len(w):
		if leadingLetters(w) != head {
			return // the digit is that of a version
		}
		rest := w[len(head):]
		n = atoi(rest[:leadingDigits(rest)])
	case p.w.inSameBracket(i, i+1) && p.w.isPlainNumber(i+1) && p.w.length(i+1) <= 3 && len(p.w.gapAfter(i)) <= 1:
		at, n = i+1, p.w.tokens[i+1].num
	default:
		return
	}
	v := float64(n)
	if at+1 < len(p.w.tokens) && p.w.gapAfter(at) == "." && p.w.word(at+1) == "5" {
		v += 0.5
	}
	p.marks.episodes = []float64{v}
	p.marks.episodeSpan = span{i, at + 1}
	p.bareEpisode = false
	if at > i || p.w.gapAfter(i) == "-" {
		p.marks.extendRange()
	}
}

func untilDigit(w string) string {
	if i := strings.IndexAny(w, "0123456789"); i >= 0 {
		return w[:i]
	}
	return w
}

// leadingLetters returns w up to its first digit, without the "v" of a version.
func leadingLetters(w string) string {
	head := untilDigit(w)
	if n := len(head); n > 2 && n < len(w) && head[n-1] == 'v' {
		return head[:n-1]
	}
	return head
}

func hasNoLowerCase(w string) bool {
	return !strings.ContainsFunc(w, func(r rune) bool { return r >= 'a' && r <= 'z' })
}
