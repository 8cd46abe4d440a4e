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
	because("a language before the year", "The.Good.German.2009.1080p.BluRay.x264-QUIET -> The Good German y2009 movie",
		func(w endWord) bool { return w.tag == tagLanguage && w.year && !w.shoutsLanguage() }),
	because("a language before the season or episode",
		"Silver Rail French S02E05.mkv -> Silver Rail French s2 e5 episode",
		func(w endWord) bool { return w.tag == tagLanguage && w.marker && !w.shoutsLanguage() }),
	because("a language, and no tag anywhere", "Silver Rail German.mkv -> Silver Rail German",
		func(w endWord) bool { return w.tag == tagLanguage && !w.ended && !w.media }),
	because("a short language alone, written like the title", "Silver Rail Vie [1080p].mkv -> Silver Rail Vie",
		func(w endWord) bool {
			return w.tag == tagLanguage && len(w.text) <= 3 && !w.shouts(w.at) &&
				w.tagAt(w.at-1) != tagLanguage && w.tagAt(w.at+1) != tagLanguage
		}),
	because("a language behind an article", "The.German.1080p.BluRay.x264-QUIET -> The German",
		func(w endWord) bool { return w.tag == tagLanguage && w.behindArticle() }),
	because("a source in small letters among blanks", "Silver Rail Web [1080p].mkv -> Silver Rail Web",
		func(w endWord) bool { return w.tag == tagSource && !capitals(w.text) && !w.dotted }),
	because("TV", "Silver Rail TV [1080p].mkv -> Silver Rail TV",
		func(w endWord) bool { return w.tag == tagSource && w.text == "TV" }),
	because("ts in small letters", "silver.rail.ts.1080p.x264-quiet -> silver rail ts",
		func(w endWord) bool { return w.tag == tagSource && w.is("ts") && w.text != "TS" }),
	because("web before the year", "Silver.Rail.Web.2009.1080p.x264-QUIET -> Silver Rail Web y2009 movie",
		func(w endWord) bool { return w.tag == tagSource && w.is("web") && w.year }),
	because("a country before the year or the end", "Silver Rail US.mkv -> Silver Rail US",
		func(w endWord) bool { return w.tag == tagCountry && (!w.ended || w.year) }),
	because("a country in small letters", "The Last of Us S02E05.mkv -> The Last of Us s2 e5 episode",
		func(w endWord) bool { return w.tag == tagCountry && !capitals(w.text) }),
	because("a technical word in small letters", "Silver Rail hq.mkv -> Silver Rail hq",
		func(w endWord) bool { return w.tag == tagTech && !capitals(w.text) }),
	because("a service that is not in capitals of its own",
		"Silver Rail Max S02E05.mkv -> Silver Rail Max s2 e5 episode",
		func(w endWord) bool { return w.tag == tagService && (!w.media || !w.shouts(w.at)) }),
	because("a word for extras or specials inside the title", "Silver Rail Menu.mkv -> Silver Rail Menu",
		func(w endWord) bool {
			return (w.tag == tagExtra || w.tag == tagSpecial) && !w.plainSpecial(w.at) &&
				!(w.media && w.ended && w.is("extras"))
		}),
	because("3D or 2D before the year or the end", "Silver Rail 3D (2009).mkv -> Silver Rail 3D y2009 movie",
		func(w endWord) bool { return w.dimension() && (!w.ended || w.tagAt(w.at+1) == tagYear) }),
	because("an edition without year or tags", "Silver Rail Uncut.mkv -> Silver Rail Uncut",
		func(w endWord) bool { return w.edition() && !w.media && !w.year && !w.ended }),
	because("an edition behind an article", "The.Uncut.1080p.BluRay.x264-QUIET -> The Uncut",
		func(w endWord) bool { return w.edition() && w.behindArticle() }),
	because("edition or version of no kind", "Silver Rail Edition S02E05.mkv -> Silver Rail Edition s2 e5 episode",
		func(w endWord) bool {
			prev := w.tagAt(w.at - 1)
			return w.edition() && w.is("edition", "version") && prev != tagEdition && prev != tagBatch &&
				w.tagAt(w.at+1) != tagEdition
		}),
	because("an ordinary word that is an edition in capitals only",
		"Silver Rail Final S02E05.mkv -> Silver Rail Final s2 e5 episode",
		func(w endWord) bool {
			return w.edition() && !w.shouts(w.at) &&
				w.is("final", "dc", "se", "special", "alternative", "open", "matte", "ultimate", "ws", "fs")
		}),
	because("cut behind a word that is not an edition", "Silver Rail Cut S02E05.mkv -> Silver Rail Cut s2 e5 episode",
		func(w endWord) bool {
			return w.edition() && w.is("cut") && !w.shouts(w.at) && !(w.at-1 > w.from && w.tagAt(w.at-1) == tagEdition)
		}),
	because("uncut behind and", "Silver Rail and Uncut S02E05.mkv -> Silver Rail and Uncut s2 e5 episode",
		func(w endWord) bool {
			return w.edition() && w.is("uncut") && w.at-1 > w.from && strings.EqualFold(w.word(w.at-1), "and")
		}),
	because("a release remark written like the title", "Silver Rail line S02E05.mkv -> Silver Rail line s2 e5 episode",
		func(w endWord) bool { return w.tag == tagOther && !w.dotted && !w.shouts(w.at) }),
	because("a release remark that begins with a capital like the title",
		"Silver.Rail.Line.S02E05.mkv -> Silver Rail Line s2 e5 episode",
		func(w endWord) bool { return w.tag == tagOther && titleCase[w.text] }),
	because("a release remark of two small letters", "Silver.Rail.Ai.S02E05.mkv -> Silver Rail Ai s2 e5 episode",
		func(w endWord) bool { return w.tag == tagOther && len(w.text) == 2 && !capitals(w.text) }),
	because("a release remark, and no tag anywhere", "Silver.Rail.PROPER.mkv -> Silver Rail PROPER",
		func(w endWord) bool { return w.tag == tagOther && !w.media && !w.ended }),
	because("a word for batches before one bare episode",
		"Silver Rail Collection - 05.mkv -> Silver Rail Collection e5 episode",
		func(w endWord) bool { return w.tag == tagBatch && len(w.episodes) == 1 && w.season.empty() && w.marker }),
	because("full, and no tag behind it", "Silver Rail Full.mkv -> Silver Rail Full",
		func(w endWord) bool { return w.tag == tagBatch && w.is("full") && !w.ended }),
	because("collection as the last of two words", "Silver Collection.mkv -> Silver Collection", func(w endWord) bool {
		return w.tag == tagBatch && w.is("collection") && !w.media && len(w.tokens) == w.at+1 && w.at-1 == w.from
	}),
	because("a word for several films or series", "Silver Rail Trilogy [1080p].mkv -> Silver Rail Trilogy",
		func(w endWord) bool {
			return w.tag == tagBatch && w.is("series", "trilogy", "quadrilogy", "anthology", "duology")
		}),
}

// titleCase are words for releases that are ordinary words of a title when they are written so.
var titleCase = map[string]bool{
	"Real": true, "Line": true, "Internal": true, "Read": true, "Custom": true, "Limited": true, "Proof": true,
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

// dimension reports whether w is 3D or 2D.
func (w endWord) dimension() bool { return w.tag == tagEdition && w.is("3d", "2d") }

// shoutsLanguage reports whether w is in capitals as a tag is; a short one has another language before it.
func (w endWord) shoutsLanguage() bool {
	return w.shouts(w.at) && (len(w.text) > 2 || w.tagAt(w.at-1) == tagLanguage)
}

// edition reports whether w names an edition of a film.
func (w endWord) edition() bool { return w.tag == tagEdition && !w.is("3d", "2d") }

// is reports whether w is one of the words, in any case.
func (w endWord) is(words ...string) bool { return among(w.text, words...) }

// behindArticle reports whether the title would be an article alone without w: "The German".
func (w endWord) behindArticle() bool {
	return w.at-1 == w.from && among(w.titled.word(w.from), "the", "a", "an", "der", "die", "das", "le", "la", "les")
}

// shouts reports whether the word at i is in capitals where the words before it are not.
func (p *titled) shouts(i int) bool {
	w := p.word(i)
	return capitals(strings.ReplaceAll(w, "i", "")) && len(w) > 1 && p.small >= 0 && p.small < i // "iNTERNAL", "NORDiC"
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
