package release

import "strings"

// Scores of the places where a number may be the episode. The number with the highest score becomes the episode.
const (
	dashThenEndScore       = 100 // "Title - 07 [...]", "Title - 07 - Name"
	squareBracketScore     = 80  // "[Title][07][1080p]"
	dashThenTextScore      = 70  // "Title - 07 Name"
	roundBracketRangeScore = 65  // "Title 2 (01-12)"
	titleEndScore          = 60  // "Title 07 [1080p]"
	roundBracketScore      = 45  // "Title (07)"
	beforeTextScore        = 30  // "Title 07 Name"
	notEpisode             = 0
)

// bareNumber is a number without a marker, which may be the episode.
type bareNumber struct {
	place
	stage         *numberStage
	value, digits int  // digits: how many it has
	padded        bool // it begins with a zero
	afterDash     bool // a dash between spaces comes before it
	endsTitle     bool // the title ends after it
	beforeYear    bool // the year comes right after it
}

// numberRules give each number outside brackets a score. The number with the highest score is the episode; of several
// with that score, the last one in the name.
var numberRules = []rule[bareNumber, int]{
	{"the title begins with it", func(b bareNumber) bool { return b.index <= b.stage.layout.titleStart }, notEpisode},
	{"a percentage", func(b bareNumber) bool { return strings.HasPrefix(b.gapAfter(), "%") }, notEpisode},
	{"a decimal, and not a half episode", func(b bareNumber) bool {
		return b.gapAfter() == "." && b.neighbor(1).class == number && b.neighbor(1).tag == noTag && !b.w.isDotted &&
			!b.isHalfEpisode()
	}, notEpisode},
	{"a list or fraction follows", func(b bareNumber) bool {
		list := b.gapAfter() == "," && !(b.afterDash && b.padded && b.endsTitle)
		return b.index+1 < len(b.w.tokens) && (b.gapAfter() == "/" || list) && !b.isHalfEpisode()
	}, notEpisode},
	{"joined to the number before it", func(b bareNumber) bool {
		return b.index > 0 && b.neighbor(-1).class == number && b.gapBefore() != " " && !b.afterDash &&
			b.neighbor(-1).tag != tagYear && !(b.padded && (b.w.isDotted && b.w.length(b.index-1) == 3 ||
			b.neighbor(-2).class == cjk && b.neighbor(-2).end == b.neighbor(-1).start)) // "银色铁道2-05"
	}, notEpisode},
	{"after No.", func(b bareNumber) bool {
		return b.index > 0 && strings.TrimRight(b.gapBefore(), " ") == "." && b.w.lower(b.index-1) == "no"
	}, notEpisode},
	{"the number of a volume, part or film", func(b bareNumber) bool { return b.belongsToWord() }, notEpisode},
	{"a year after an apostrophe", func(b bareNumber) bool {
		s := b.start
		return s > 0 && b.w.text[s-1] == '\''
	}, notEpisode},
	{"a counter after it means something else", func(b bareNumber) bool {
		return b.gapAfter() == "" && b.neighbor(1).class == cjk && b.neighbor(1).tag != tagEnd
	}, notEpisode},
	{"a group after a codec", func(b bareNumber) bool {
		t := b.neighbor(-1).tag
		return (t == tagVideo || t == tagAudio || t == tagTech) && !b.neighbor(-1).weak &&
			b.w.inSameBracket(b.index-1, b.index)
	}, notEpisode},
	{"a folder's number without a dash", func(b bareNumber) bool {
		return b.w.isFolder && !b.afterDash && !(b.num == 1 && isRangeGap(b.gapAfter()) && // "제목 1-16", not "Film 1-4"
			(b.neighbor(2).tag == tagEnd || b.endsTitle && b.neighbor(1).num > 5))
	}, notEpisode},
	{"a folder's number before the year", func(b bareNumber) bool {
		return b.w.isFolder && b.beforeYear && b.digits == 4
	}, notEpisode},
	{"a dash before it, an end after it", func(b bareNumber) bool {
		return b.afterDash && b.endsTitle && !(b.beforeYear && b.digits == 1 && b.value > 0)
	}, dashThenEndScore},
	{"a dash before it, a name after it", func(b bareNumber) bool {
		return b.afterDash && !b.endsTitle && b.digits >= 2 && !(b.digits > 3 && isYearNumber(b.value)) &&
			!(b.beforeYear && !b.padded)
	}, dashThenTextScore},
	{"a film's number before its year", func(b bareNumber) bool { return b.beforeYear && !b.padded }, notEpisode},
	{"among the tags", func(b bareNumber) bool {
		return b.endsTitle && b.index > 0 && b.neighbor(-1).isStrong() && b.neighbor(-1).tag != tagSeason &&
			b.neighbor(-1).tag != tagYear && b.neighbor(-1).tag != tagPromo && !b.followsRemark()
	}, notEpisode},
	{"last of the title, written like an episode", func(b bareNumber) bool {
		return b.endsTitle && b.digits >= 2 && !b.looksLikeYear() && (b.padded || b.digits >= 3)
	}, titleEndScore},
	{"last of the title, in a name made like an episode's", func(b bareNumber) bool {
		return b.endsTitle && b.digits >= 2 && !b.looksLikeYear() &&
			(b.stage.layout.fansubStyle || !b.stage.marks.seasonSpan.empty() || !b.stage.tags.hasMediaTag)
	}, titleEndScore},
	{"last of the title, before a bracket or a television source", func(b bareNumber) bool {
		return b.endsTitle && b.digits >= 2 && !b.looksLikeYear() &&
			(b.stage.tags.tvSourceAt > b.index || !b.w.isDotted && b.index+1 < len(b.w.tokens) && b.neighbor(1).bracket >= 0)
	}, titleEndScore},
	{"last of a title without a year, before a resolution", func(b bareNumber) bool {
		return b.endsTitle && b.digits == 2 && b.stage.layout.yearAt < 0 && b.neighbor(1).tag == tagResolution
	}, titleEndScore},
	{"a last digit before a television source", func(b bareNumber) bool {
		return b.endsTitle && b.digits == 1 && b.stage.tags.tvSourceAt > b.index
	}, titleEndScore},
	{"a last digit after a tight dash", func(b bareNumber) bool {
		return b.endsTitle && b.digits == 1 && b.gapBefore() == "-" && !b.stage.tags.hasMediaTag
	}, titleEndScore},
	{"the first of a range", func(b bareNumber) bool {
		n, ok := b.w.plainEpisode(b.index + 1)
		return b.endsTitle && b.digits == 1 && ok && (b.gapAfter() == "-" || b.gapAfter() == "~") && b.num == 1 && n > 4 &&
			b.w.length(b.index+1) >= 2
	}, titleEndScore},
	{"the year follows, with words between", func(b bareNumber) bool {
		return !b.endsTitle && b.stage.layout.yearAt > b.index && !b.stage.layout.fansubStyle &&
			b.stage.marks.seasonSpan.empty()
	}, notEpisode},
	{"a padded number before the episode's name", func(b bareNumber) bool {
		return !b.endsTitle && b.padded &&
			(b.w.isDotted || b.stage.layout.fansubStyle || b.stage.tags.hasMediaTag || b.gapAfter() == " " ||
				b.gapAfter() == ". ") && b.stage.marks.seasonSpan.empty()
	}, beforeTextScore},
	{"two digits before the episode's name, after a group", func(b bareNumber) bool {
		return !b.endsTitle && b.digits == 2 && b.stage.layout.fansubStyle && !b.w.isDotted && b.gapAfter() == " " &&
			b.stage.marks.seasonSpan.empty()
	}, beforeTextScore},
	{"three digits after a tight dash", func(b bareNumber) bool {
		return !b.endsTitle && b.digits == 3 && !b.stage.tags.hasMediaTag && b.gapBefore() == "-"
	}, beforeTextScore},
}

// bracketNumberRules give the score of a number inside brackets.
var bracketNumberRules = []rule[bareNumber, int]{
	{"text before it in its bracket", func(b bareNumber) bool {
		first := b.enclosingBracket().from
		return b.index != first && !(b.index == first+1 && (b.w.lower(first) == "tv" || b.w.tagAt(first) == tagSeason))
	}, notEpisode},
	{"two digits or more in the bracket that a name begins with", func(b bareNumber) bool {
		return b.index == 0 && b.index < b.stage.layout.titleStart && b.w.isAloneInBracket(0) &&
			!b.enclosingBracket().isRound && b.digits >= 2
	}, roundBracketScore},
	{"a bracket before the title", func(b bareNumber) bool { return b.index < b.stage.layout.titleStart }, notEpisode},
	{"other text in its bracket", func(b bareNumber) bool {
		return !b.stage.layout.isEpisodeNumber(span{b.index, b.enclosingBracket().to})
	}, notEpisode},
	{"a bracket that is not round", func(b bareNumber) bool { return !b.enclosingBracket().isRound }, squareBracketScore},
	{"an old year in a round bracket", func(b bareNumber) bool {
		return b.digits == 4 && b.value >= 1800 && b.value < 2100
	}, notEpisode},
	{"a range in a round bracket", func(b bareNumber) bool {
		return b.enclosingBracket().to > b.index+1 && b.digits >= 2 && isRangeGap(b.gapAfter())
	}, roundBracketRangeScore},
	{"two digits or more in a round bracket, or one at the end", func(b bareNumber) bool {
		return b.enclosingBracket().to > b.index+1 || b.digits >= 2 || b.index+1 == len(b.w.tokens) &&
			!b.stage.tags.hasMediaTag
	}, roundBracketScore},
}

// dropSeasonInEpisodeTitle drops a season found in the episode's title: "Title - 05 - The 2nd Season Begins".
func (p *numberStage) dropSeasonInEpisodeTitle() {
	if !p.bareEpisode || p.marks.seasonSpan.empty() || p.marks.seasonSpan.from <= p.marks.episodeSpan.to ||
		p.w.tokens[p.marks.seasonSpan.from].bracket >= 0 {
		return
	}
	word := func(i int) bool {
		return p.w.inSameBracket(i, p.marks.seasonSpan.from) && p.w.classAt(i) == alpha && p.w.tagAt(i) == noTag
	}
	if word(p.marks.seasonSpan.from-1) && word(p.marks.seasonSpan.to) &&
		isSpacedDash(p.w.gapAfter(p.marks.episodeSpan.to-1)) {
		p.w.setTags(p.marks.seasonSpan.from, p.marks.seasonSpan.to, noTag)
		p.marks.seasons, p.marks.seasonSpan = nil, span{}
	}
}

func (p *numberStage) findNumber() {
	if !p.marks.episodeSpan.empty() || p.layout.titleStart < 0 {
		p.findOverallNumbers()
		if p.marks.episodeSpan.empty() && !p.w.isFolder && len(p.w.tokens) > 0 && p.w.isPlainNumber(0) &&
			p.w.isAloneInBracket(0) && (p.w.length(0) == 2 || p.w.length(0) == 3) { // "[03][1080p]"
			p.useAsEpisode(0)
		}
		return
	}
	if p.readSeasonDotEpisode() {
		return
	}
	bestToken, bestScore := -1, 0
	for i := range p.w.tokens {
		if v := p.episodeScore(i); v > 0 && v >= bestScore && !(v == bestScore && bestScore == squareBracketScore) {
			bestToken, bestScore = i, v
		}
		p.w.steps++
	}
	switch {
	case bestToken >= 0:
		if bestToken == 0 && p.layout.groupSpan.from == 0 {
			p.layout.groupSpan, p.layout.group, p.layout.startsWithNumber = span{}, "", true
		}
		if bestScore == dashThenEndScore && p.startsRange(bestToken-1) {
			bestToken--
		}
		p.useAsEpisode(bestToken)
		p.marks.extendRange()
		p.readSeasonAfterBracket(p.marks.episodeSpan.from - 1)
	case !p.w.isFolder:
		p.readLeadingNumber()
		p.usePartAsEpisode()
	}
}

// readSeasonAfterBracket reads a season between a year, or "(TV)", and the episode: "Title (2019) 2 - 05".
func (p *numberStage) readSeasonAfterBracket(i int) {
	if i < 1 || len(p.marks.seasons) > 0 || p.w.tokens[i].bracket >= 0 || !isSpacedDash(p.w.gapAfter(i)) ||
		!p.w.isAloneInBracket(i-1) || i-1 != p.layout.yearAt && p.w.lower(i-1) != "tv" {
		return
	}
	n := p.w.tokens[i].num
	if p.w.classAt(i) != number {
		n = lists().romans[strings.ToUpper(p.w.word(i))]
	}
	if n >= 2 && n <= 20 && !p.w.isZeroPadded(i) {
		p.marks.seasons, p.marks.seasonSpan = []int{n}, span{i, i + 1}
	}
}

func (p *numberStage) episodeScore(i int) int {
	t := &p.w.tokens[i]
	if t.tag != noTag || t.class == cjk || t.class == alpha {
		return notEpisode
	}
	n, ok := p.w.plainEpisode(i)
	if !ok || i == p.layout.yearAt ||
		!p.tags.dateSpan.empty() && p.tags.dateSpan.from > 0 && i >= p.tags.dateSpan.to && !p.w.isAloneInBracket(i) {
		return notEpisode
	}
	b := bareNumber{place: p.w.place(i), stage: p, value: n, digits: leadingDigits(p.w.word(i))}
	if t.bracket >= 0 {
		return applyRules(bracketNumberRules, b)
	}
	b.padded = p.w.isZeroPadded(i) && b.digits > 1
	b.afterDash = isSpacedDash(p.w.gapBefore(i))
	b.endsTitle = p.w.titleEndsAfterNumber(i)
	b.beforeYear = p.layout.yearAt == i+1 || // a number right before the year belongs to the title
		p.layout.yearAt == i+2 && p.w.classAt(i+1) == number && isRangeGap(p.w.gapAfter(i))
	return applyRules(numberRules, b)
}

func (b bareNumber) enclosingBracket() *bracket { return &b.w.brackets[b.bracket] }

// followsRemark reports whether a zero-padded number follows a source, edition or language: "Title BD 05".
func (b bareNumber) followsRemark() bool {
	switch b.neighbor(-1).tag {
	case tagSource, tagEdition, tagSubtitle, tagLanguage:
		return b.padded && len(b.gapBefore()) == 1 && b.w.inSameBracket(b.index-1, b.index)
	default:
		return false
	}
}

func (b bareNumber) looksLikeYear() bool { return b.digits == 4 && isYearNumber(b.value) }

func (b bareNumber) isHalfEpisode() bool {
	_, ok := b.w.fractionAt(b.index)
	return ok
}

// belongsToWord reports whether the number belongs to the word before it: "Ver 1.1", "Vol. 3", "Act.2", "Movie 2".
func (b bareNumber) belongsToWord() bool {
	if b.index == 0 {
		return false
	}
	switch t := &b.w.tokens[b.index-1]; {
	case t.tag == tagVolume, t.word.role == volumeWord:
		return true
	case t.word.role == partWord:
		ordered := t.tag == tagPart && b.neighbor(-2).tag == tagPart // "2nd Cour 05"
		return !ordered && (t.tag != tagPart || !b.afterDash)
	default:
		return t.tag == tagMovie && !b.afterDash
	}
}

func (p *numberStage) useAsEpisode(i int) {
	n, _ := p.w.plainEpisode(i)
	t := p.w.tokens[i]
	c := cursor{p.w.lowerText[:t.end], t.start}
	_, _, _ = c.readNumber(4)
	if version := c.readSuffix(); version > 0 {
		p.tags.version = version
	}
	v, to := float64(n), i+1
	if f, ok := p.w.fractionAt(i); ok {
		v, to = v+f, i+2
		if w := p.w.word(i + 1); len(w) == 3 {
			p.tags.version = int(w[2] - '0')
		}
	}
	p.marks.setEpisode(i, to, v)
	p.bareEpisode = true
}
