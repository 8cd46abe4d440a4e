package release

import "strings"

// How much a place speaks for a number being the episode.
const (
	dashThenEnd         = 100 // "Title - 07 [...]", "Title - 07 - Name"
	inSquareBracket     = 80  // "[Title][07][1080p]"
	dashThenText        = 70  // "Title - 07 Name"
	rangeInRoundBracket = 65  // "Title 2 (01-12)"
	lastOfTitle         = 60  // "Title 07 [1080p]"
	inRoundBracket      = 45  // "Title (07)"
	beforeText          = 30  // "Title 07 Name"
	notEpisode          = 0
)

type bareNumber struct {
	place
	in           *numberStage
	value, width int  // width: its digits
	padded       bool // it begins with a zero
	dash         bool // a dash between spaces comes before it
	closes       bool // the title or the name ends after it
	year         bool // the year comes right after it
}

// numberRules weigh a number outside brackets. The best number of a name wins, the later one of two equals.
var numberRules = []rule[bareNumber, int]{
	when("the title begins with it", "- 07 Silver Rail.mkv -> Silver Rail e7 episode",
		func(b bareNumber) bool { return b.i <= b.in.layout.first }, notEpisode),
	when("a percentage", "Silver Rail 50%.mkv -> Silver Rail 50%",
		func(b bareNumber) bool { return strings.HasPrefix(b.gap(), "%") }, notEpisode),
	when("a decimal, and not a half episode", "Silver Rail - 12.100.mkv -> Silver Rail - 12.100", func(b bareNumber) bool {
		return b.gap() == "." && b.at(1).class == number && b.at(1).tag == none && !b.w.dotted && !b.half()
	}, notEpisode),
	when("a list or fraction follows", "Silver Rail 01,02.mkv -> Silver Rail 01,02", func(b bareNumber) bool {
		list := b.gap() == "," && !(b.dash && b.padded && b.closes)
		return b.i+1 < len(b.w.tokens) && (b.gap() == "/" || list) && !b.half()
	}, notEpisode),
	when("joined to the number before it", "Silver.Rail.12.100 -> Silver Rail 12 100", func(b bareNumber) bool {
		return b.i > 0 && b.at(-1).class == number && b.before() != " " && !b.dash && b.at(-1).tag != tagYear &&
			!(b.w.dotted && b.padded && b.w.width(b.i-1) == 3)
	}, notEpisode),
	when("after No.", "Silver Rail No.16 720p HDTV -> Silver Rail No.16", func(b bareNumber) bool {
		return b.i > 0 && strings.TrimRight(b.before(), " ") == "." && b.w.lower(b.i-1) == "no"
	}, notEpisode),
	when("the number of a volume, part or film", "Silver Rail Vol.12.mkv -> Silver Rail Vol.12",
		func(b bareNumber) bool { return b.belongsToWord() }, notEpisode),
	when("the end of a range", "Silver Rail 07v2, 86.mkv -> Silver Rail e7,86 v2 episode", func(b bareNumber) bool {
		m, ok := b.w.plainEpisode(b.i - 1)
		return ok && b.at(-1).tag == none && rangeGap(b.before()) && m < b.value
	}, notEpisode),
	when("the end of a range with a word", "Silver Rail 01 to 23 [1080p] -> Silver Rail e1-23 batch",
		func(b bareNumber) bool { return b.w.rangeByWord(b.i - 2) }, notEpisode),
	when("the second of two years", "Silver Rail 2009 - 2012.mkv -> Silver Rail 2009 - 2012",
		func(b bareNumber) bool { return b.i > 0 && b.w.yearlike(b.i) && b.w.yearlike(b.i-1) }, notEpisode),
	when("a year after an apostrophe", "Silver Rail '84.mkv -> Silver Rail '84", func(b bareNumber) bool {
		s := b.s
		return s > 0 && b.w.text[s-1] == '\''
	}, notEpisode),
	when("a counter after it means something else", "Rail.00은빛 -> Rail 00은빛",
		func(b bareNumber) bool { return b.gap() == "" && b.at(1).class == cjk && b.at(1).tag != tagEnd }, notEpisode),
	when("a group after a codec", "Silver Rail 1080p x264 -7 -> Silver Rail", func(b bareNumber) bool {
		t := b.at(-1).tag
		return (t == tagVideo || t == tagAudio || t == tagTech) && !b.at(-1).weak && b.w.beside(b.i-1, b.i)
	}, notEpisode),
	when("a folder's number without a dash", "Silver Rail 24/07.mkv -> Silver Rail 24 e7 episode",
		func(b bareNumber) bool { return b.w.folder && !b.dash }, notEpisode),
	when("a folder's number before the year", "Silver Rail - 1874 (2009)/movie.mkv -> Silver Rail - 1874 y2009 movie",
		func(b bareNumber) bool { return b.w.folder && b.year && b.width == 4 }, notEpisode),
	when("a film's number before its subtitle and year",
		"Silver Rail 02 - The Long Night (2001).mkv -> Silver Rail 02 - The Long Night y2001 movie",
		func(b bareNumber) bool { return !b.dash && b.in.isFilmSequelNumber(b.i) }, notEpisode),
	when("a dash before it, an end after it", "Silver Rail - 7.mkv -> Silver Rail e7 episode",
		func(b bareNumber) bool { return b.dash && b.closes && !(b.year && b.width == 1 && b.value > 0) }, dashThenEnd),
	when("a dash before it, a name after it", "Silver Rail - 17 Night Train.mkv -> Silver Rail e17 episode",
		func(b bareNumber) bool {
			return b.dash && !b.closes && b.width >= 2 && !(b.width > 3 && yearNumber(b.value)) && !(b.year && !b.padded)
		}, dashThenText),
	when("a film's number before its year", "Silver Rail 1-1984.mkv -> Silver Rail 1 y1984 movie",
		func(b bareNumber) bool { return b.year && !b.padded }, notEpisode),
	when("among the tags", "Silver Rail 1080p 07 -> Silver Rail", func(b bareNumber) bool {
		return b.closes && b.i > 0 && b.at(-1).strong() && b.at(-1).tag != tagSeason && b.at(-1).tag != tagYear &&
			b.at(-1).tag != tagPromo && !b.afterRemark()
	}, notEpisode),
	when("last of the title, written like an episode", "Silver Rail 07 BluRay.mkv -> Silver Rail e7 episode",
		func(b bareNumber) bool {
			return b.closes && b.width >= 2 && !b.likeYear() && (b.padded || b.width >= 3)
		}, lastOfTitle),
	when("last of the title, in a name made like an episode's", "Silver Rail 12.mkv -> Silver Rail e12 episode",
		func(b bareNumber) bool {
			return b.closes && b.width >= 2 && !b.likeYear() &&
				(b.in.layout.fansubStyle || !b.in.marks.seasonSpan.empty() || !b.in.tags.hasMediaTag)
		}, lastOfTitle),
	when("last of the title, before a bracket or a television source",
		"Silver Rail 15 [BluRay].mkv -> Silver Rail e15 episode",
		func(b bareNumber) bool {
			return b.closes && b.width >= 2 && !b.likeYear() &&
				(b.in.tags.tvSourceAt > b.i || !b.w.dotted && b.i+1 < len(b.w.tokens) && b.at(1).group >= 0)
		}, lastOfTitle),
	when("last of a title without a year, before a resolution", "Silver.Rail.12.480p -> Silver Rail e12 episode",
		func(b bareNumber) bool {
			return b.closes && b.width == 2 && b.in.layout.yearAt < 0 && b.at(1).tag == tagResolution
		}, lastOfTitle),
	when("a last digit before a television source", "Silver Rail 7 HDTV.mkv -> Silver Rail e7 episode",
		func(b bareNumber) bool { return b.closes && b.width == 1 && b.in.tags.tvSourceAt > b.i }, lastOfTitle),
	when("a last digit after a tight dash", "Silver Rail-7.mkv -> Silver Rail e7 episode",
		func(b bareNumber) bool {
			return b.closes && b.width == 1 && b.before() == "-" && !b.in.tags.hasMediaTag
		}, lastOfTitle),
	when("the first of a range", "Silver Rail 1-13.mkv -> Silver Rail e1-13 batch",
		func(b bareNumber) bool { return b.closes && b.width == 1 && b.in.rangeTo(b.i) }, lastOfTitle),
	when("the year follows, with words between", "Silver.Rail.07.Nights.2009.mkv -> Silver Rail 07 Nights y2009 movie",
		func(b bareNumber) bool {
			return !b.closes && b.in.layout.yearAt > b.i && !b.in.layout.fansubStyle && b.in.marks.seasonSpan.empty()
		}, notEpisode),
	when("a padded number before the episode's name", "Silver.Rail.07.Night.Train.mkv -> Silver Rail e7 episode",
		func(b bareNumber) bool {
			return !b.closes && b.padded && (b.w.dotted || b.in.layout.fansubStyle || b.in.tags.hasMediaTag || b.gap() == " ") &&
				b.in.marks.seasonSpan.empty()
		}, beforeText),
	when("two digits before the episode's name, after a group",
		"[Quiet] Silver Rail 14 Night.mkv -> Silver Rail e14 episode",
		func(b bareNumber) bool {
			return !b.closes && b.width == 2 && b.in.layout.fansubStyle && !b.w.dotted && b.gap() == " " &&
				b.in.marks.seasonSpan.empty()
		}, beforeText),
	when("three digits after a tight dash", "Silver Rail-107-Night Train.mkv -> Silver Rail e107 episode",
		func(b bareNumber) bool {
			return !b.closes && b.width == 3 && !b.in.tags.hasMediaTag && b.before() == "-"
		}, beforeText),
}

var bracketRules = []rule[bareNumber, int]{
	when("text before it in its bracket", "Silver Rail (1-13).mkv -> Silver Rail e1-13 batch", func(b bareNumber) bool {
		first := b.around().from
		return b.i != first && !(b.i == first+1 && (b.w.lower(first) == "tv" || b.w.tagAt(first) == tagSeason))
	}, notEpisode),
	when("two digits or more in the bracket that a name begins with", "[07] Silver Rail.mkv -> Silver Rail e7 episode",
		func(b bareNumber) bool {
			return b.i == 0 && b.i < b.in.layout.first && b.w.alone(0) && !b.around().round && b.width >= 2
		}, inRoundBracket),
	when("a bracket before the title", "(07) Silver Rail.mkv -> Silver Rail",
		func(b bareNumber) bool { return b.i < b.in.layout.first }, notEpisode),
	when("other text in its bracket", "Silver Rail (3 Nights).mkv -> Silver Rail",
		func(b bareNumber) bool { return !b.in.layout.isEpisodeNumber(span{b.i, b.around().to}) }, notEpisode),
	when("a bracket that is not round", "Silver Rail 00[07].mkv -> Silver Rail 00 e7 episode",
		func(b bareNumber) bool { return !b.around().round }, inSquareBracket),
	when("an old year in a round bracket", "Silver Rail (1897).mkv -> Silver Rail",
		func(b bareNumber) bool { return b.width == 4 && b.value >= 1800 && b.value < 2100 }, notEpisode),
	when("a range in a round bracket", "Time Flock 24 (01-24) [1080p] -> Time Flock 24 e1-24 batch",
		func(b bareNumber) bool { return b.around().to > b.i+1 && b.width >= 2 && rangeGap(b.gap()) }, rangeInRoundBracket),
	when("two digits or more in a round bracket, or one at the end", "Silver Rail (07).mkv -> Silver Rail e7 episode",
		func(b bareNumber) bool {
			return b.around().to > b.i+1 || b.width >= 2 || b.i+1 == len(b.w.tokens) && !b.in.tags.hasMediaTag
		}, inRoundBracket),
	when("a round bracket before the name of an episode", "銀色鉄道 (3)「夜」.ts -> 銀色鉄道 e3 episode",
		func(b bareNumber) bool { return strings.HasPrefix(b.w.text[b.around().outerEnd:], "「") }, inRoundBracket),
}

// dropSeasonInEpisodeTitle drops a season found in the episode's title: "Title - 05 - The 2nd Season Begins".
func (p *numberStage) dropSeasonInEpisodeTitle() {
	if !p.bareEpisode || p.marks.seasonSpan.empty() || p.marks.seasonSpan.from <= p.marks.episodeSpan.to ||
		p.w.tokens[p.marks.seasonSpan.from].group >= 0 {
		return
	}
	word := func(i int) bool {
		return p.w.beside(i, p.marks.seasonSpan.from) && p.w.classAt(i) == alpha && p.w.tagAt(i) == none
	}
	if word(p.marks.seasonSpan.from-1) && word(p.marks.seasonSpan.to) && dashGap(p.w.gap(p.marks.episodeSpan.to-1)) {
		p.w.setTags(p.marks.seasonSpan.from, p.marks.seasonSpan.to, none)
		p.marks.seasons, p.marks.seasonSpan = nil, span{}
	}
}

func (p *numberStage) findNumber() {
	if !p.marks.episodeSpan.empty() || p.layout.first < 0 {
		p.findOverall()
		p.takeOnlyNumber()
		return
	}
	if p.readSeasonDotEpisode() {
		return
	}
	best, most := -1, 0
	for i := range p.w.tokens {
		if v := p.episodeScore(i); v > 0 && v >= most && !(v == most && most == inSquareBracket) {
			best, most = i, v
		}
		p.w.steps++
	}
	switch {
	case best >= 0:
		p.bareEpisode = true
		if best == 0 && p.layout.groupSpan.from == 0 {
			p.layout.groupSpan, p.layout.group, p.layout.numberFirst = span{}, "", true
		}
		if most == dashThenEnd && p.startsRange(best-1) {
			best--
		}
		p.takeNumber(best)
		p.marks.extendRange()
	case !p.w.folder:
		p.readLeadingNumber()
		p.partAsEpisode()
	}
}

// takeOnlyNumber uses the number in the first bracket of a name without a title: "[03][1080p]".
func (p *numberStage) takeOnlyNumber() {
	if !p.marks.episodeSpan.empty() || p.w.folder || len(p.w.tokens) == 0 || !p.w.plainNumber(0) || !p.w.alone(0) {
		return
	}
	if w := p.w.width(0); w == 2 || w == 3 {
		p.bareEpisode = true
		p.takeNumber(0)
	}
}

func (p *numberStage) episodeScore(i int) int {
	t := &p.w.tokens[i]
	if t.tag != none || t.class == cjk || t.class == alpha {
		return notEpisode
	}
	n, ok := p.w.plainEpisode(i)
	if !ok || i == p.layout.yearAt ||
		!p.tags.dateSpan.empty() && p.tags.dateSpan.from > 0 && i >= p.tags.dateSpan.to && !p.w.alone(i) {
		return notEpisode
	}
	b := bareNumber{place: p.w.place(i), in: p, value: n, width: leadingDigits(p.w.word(i))}
	if t.group >= 0 {
		return decide(bracketRules, b)
	}
	b.padded = p.w.zeroPadded(i) && b.width > 1
	b.dash = dashGap(p.w.before(i))
	b.closes = p.w.titleEndsAfterNumber(i)
	b.year = p.layout.yearAt == i+1 || // right after it, so that the number is the title's
		p.layout.yearAt == i+2 && p.w.classAt(i+1) == number && rangeGap(p.w.gap(i))
	return decide(numberRules, b)
}

func (b bareNumber) around() *bracket { return &b.w.brackets[b.group] }

// afterRemark reports whether a padded number follows a source, edition or language: "Title BD 05".
func (b bareNumber) afterRemark() bool {
	switch b.at(-1).tag {
	case tagSource, tagEdition, tagSubtitle, tagLanguage:
		return b.padded && len(b.before()) == 1 && b.w.beside(b.i-1, b.i)
	default:
		return false
	}
}

func (b bareNumber) likeYear() bool { return b.width == 4 && yearNumber(b.value) }

func (b bareNumber) half() bool {
	_, ok := b.w.fractionAt(b.i)
	return ok
}

// belongsToWord reports whether the number belongs to the word before it: "Ver 1.1", "Vol. 3", "Act.2", "Movie 2".
func (b bareNumber) belongsToWord() bool {
	if b.i == 0 {
		return false
	}
	switch t := &b.w.tokens[b.i-1]; {
	case t.tag == tagVolume, t.word.role == volumeWord:
		return true
	case t.word.role == partWord:
		ordered := t.tag == tagPart && b.at(-2).tag == tagPart // "2nd Cour 05"
		return !ordered && (t.tag != tagPart || !b.dash)
	default:
		return t.tag == tagMovie && !b.dash
	}
}

func (p *numberStage) takeNumber(i int) {
	n, _ := p.w.plainEpisode(i)
	t := p.w.tokens[i]
	c := cursor{p.w.lowered[:t.e], t.s}
	_, _, _ = c.number(4)
	if version := c.readSuffix(); version > 0 {
		p.tags.version = version
	}
	v := float64(n)
	to := i + 1
	if f, ok := p.w.fractionAt(i); ok {
		v += f
		to = i + 2
		if w := p.w.word(i + 1); len(w) == 3 {
			p.tags.version = int(w[2] - '0')
		}
	}
	p.marks.setEpisode(i, to, v)
}

// isFilmSequelNumber reports whether the number at i is a film's: "Title 02 - The Long Night (2001)". A year after an
// episode's title doesn't count.
func (p *numberStage) isFilmSequelNumber(i int) bool {
	if p.layout.yearAt <= i+1 || p.w.tokens[p.layout.yearAt].group < 0 || !dashGap(p.w.gap(i)) {
		return false
	}
	return !p.w.anyToken(span{i + 1, p.layout.yearAt}, func(j int) bool {
		return p.w.tokens[j].group >= 0 || p.w.strongAt(j)
	})
}
