package release

import (
	"strings"
)

// This file decides which words before the first tag still belong to the tags:
// "Title EXTENDED 2016", "Title FRENCH BluRay", "Title - 12 (S01E12)".

// trimNumber moves the end of a title back over a number that a marker repeats: "Title - 12 (S01E12)", "Title - 06.5 (S00E01)".
func (p *titled) trimNumber(to int) int {
	if p.season.empty() || p.season != p.episode || p.season.from < to {
		return to
	}
	for i := max(p.first+1, to-2); i < to; i++ {
		if p.tokens[i].class == number && p.tokens[i].tag == none && dashGap(p.before(i)) && (i+1 == to || p.gap(i) == ".") {
			return i
		}
	}
	return to
}

// trimWeak moves the end of a title back over weak tags that stand right before it.
func (p *titled) trimWeak(from, to int) int {
	year := to < len(p.tokens) && p.tokens[to].tag == tagYear
	marked := to < len(p.tokens) && (p.tokens[to].tag == tagEpisode || p.tokens[to].tag == tagSeason)
	ended := to < len(p.tokens) && p.tokens[to].tag != none && p.tokens[to].group == p.tokens[from].group
	if to < len(p.tokens) && to-1 > from && strings.EqualFold(p.word(to), "anniversary") {
		if _, ok := ordinal(lower(p.word(to - 1))); ok {
			to--
		}
	}
	for to > from+1 {
		t := &p.tokens[to-1]
		if t.tag == tagSeason || t.tag == tagSpecial && t.class != cjk && p.tokens[from].group >= 0 {
			to--
			continue
		}
		if t.group != p.tokens[from].group && p.enclosing(to-1, p.tokens[from].group) >= 0 {
			return to
		}
		if !t.weak {
			return to
		}
		switch t.tag {
		case tagLanguage:
			if year || marked || !ended && !p.media {
				return to
			}
			if len(p.word(to-1)) <= 3 && !p.shouts(to-1) && p.tokens[to-2].tag != tagLanguage && (to >= len(p.tokens) || p.tokens[to].tag != tagLanguage) {
				return to
			}
			if to-2 == from && isArticle(p.word(from)) {
				return to
			}
		case tagSource:
			w := p.word(to - 1)
			if w != upper(w) && !p.dotted || w == "TV" && p.tokens[from].group < 0 && !p.media && !ended {
				return to
			}
			if w == "TV" || lower(w) == "ts" && w != "TS" || lower(w) == "web" && year {
				return to
			}
		case tagCountry:
			if !ended || year || p.word(to-1) != upper(p.word(to-1)) || p.text[p.tokens[to-1].s-1] == '.' && p.tokens[to-1].s >= 2 && p.text[p.tokens[to-1].s-2] == '.' {
				return to
			}
		case tagPart, tagMovie, tagTech:
			if t.tag != tagTech || p.word(to-1) != upper(p.word(to-1)) {
				return to
			}
		case tagService:
			if !p.media || !p.shouts(to-1) {
				return to
			}
		case tagExtra, tagSpecial:
			if !p.plainSpecial(to-1) && !(p.media && ended && lower(p.word(to-1)) == "extras") {
				return to
			}
		case tagEdition:
			if w := lower(p.word(to - 1)); w == "3d" || w == "2d" {
				if !ended || year {
					return to
				}
			} else if !p.media && !year && !ended || to-2 == from && isArticle(p.word(from)) {
				return to
			} else if w == "edition" || w == "version" {
				if prev := p.tokens[to-2].tag; prev != tagEdition && prev != tagBatch && !(to < len(p.tokens) && p.tokens[to].tag == tagEdition) {
					return to
				}
			} else if w == "anniversary" {
				if _, ok := ordinal(lower(p.word(to - 2))); ok && to-2 > from {
					to--
				}
			} else if w == "final" || w == "dc" || w == "se" || w == "special" || w == "alternative" || w == "cut" || w == "version" || w == "open" || w == "matte" || w == "ultimate" || w == "ws" || w == "fs" {
				if !p.shouts(to-1) && !(w == "cut" && to-2 > from && p.tokens[to-2].tag == tagEdition) {
					return to
				}
			} else if w == "uncut" && to-2 > from && lower(p.word(to-2)) == "and" {
				return to
			}
		case tagOther:
			if !p.dotted && !p.shouts(to-1) {
				return to
			}
			if w := p.word(to - 1); (w == "Real" || w == "Line" || w == "Internal" || w == "Read" || w == "Custom" || w == "Limited" || w == "Proof") || len(w) == 2 && w != upper(w) || !p.media && !ended {
				return to
			}
		case tagBatch:
			if len(p.episodes) == 1 && p.season.empty() && marked {
				return to // "Ninja Collection - 05" is one episode of what is called so
			}
			if w := lower(p.word(to - 1)); w == "series" && !(to-2 > from && lower(p.word(to-2)) == "complete") && !p.season.empty() || w == "full" && !ended || w == "collection" && !p.media && len(p.tokens) == to && to-2 == from {
				return to
			}
			if w := lower(p.word(to - 1)); w == "series" || w == "trilogy" || w == "quadrilogy" || w == "anthology" || w == "duology" {
				return to
			}
		case tagEnd:
			return to
		case none:
			return to
		default:
		}
		to--
		if to-1 > from && p.word(to-1) == "The" {
			to--
		}
	}
	return to
}

func isArticle(w string) bool {
	switch lower(w) {
	case "the", "a", "an", "der", "die", "das", "le", "la", "les":
		return true
	}
	return false
}

// shouts says whether the word at i is in capitals where the words before it are not.
func (p *titled) shouts(i int) bool {
	w := p.word(i)
	if w != upper(w) && w != "iNTERNAL" {
		return false
	}
	return p.small >= 0 && p.small < i
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
