package match

import (
	"strconv"

	"github.com/anivault/anivault/internal/lazyregexp"
)

// Sequel is what the end of a title says of season, part and year: "2nd Season", "II", "Part 2", "第二季", "(2016)". Names and
// TMDB's alternative titles tell sequels apart so. Fields are 0 where it says nothing.
type Sequel struct {
	Season int
	Part   int
	Year   int
	Final  bool
}

// Zero reports whether the title ends plainly.
func (s Sequel) Zero() bool { return s == Sequel{} }

// numberWords are the ways of writing small numbers at the end of a title, in normalised spelling.
var numberWords = map[string]int{
	"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10,
	"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
	"ii": 2, "iii": 3, "iv": 4, "vi": 6, "vii": 7, "viii": 8, "ix": 9,
	"zwei": 2, "drei": 3, "deux": 2, "trois": 3, "zoku": 2,
	"ichi": 1, "ni": 2, "san": 3, "yon": 4, "shi": 4, "go": 5, "roku": 6, "shichi": 7, "hachi": 8,
	"yi": 1, "er": 2, "si": 4, "wu": 5,
}

// hanNumbers are the numerals of Chinese and Japanese season words.
var hanNumbers = map[string]int{
	"一": 1, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10, "十一": 11, "十二": 12,
	"壱": 1, "弐": 2, "贰": 2, "貳": 2, "参": 3,
}

var (
	ordinalRE  = lazyregexp.New(`^(\d{1,2})(?:st|nd|rd|th)$`)
	shortRE    = lazyregexp.New(`^(?:s|season)(\d{1,2})$`)
	hanTailRE  = lazyregexp.New(`^(.*?) ?(?:第 ?(\d{1,2}|[一二三四五六七八九十]{1,2}|[弐贰貳参壱]) ?(季|期|シーズン|部|クール|シリーズ)|(\d{1,2}) ?(기|期|シーズン|쿨)|시즌 ?(\d{1,2})|シーズン ?(\d{1,2}))$`)
	hanFinalRE = lazyregexp.New(`^(.+?)(?: 더)? ?(?:파이널 ?시즌|최종 ?시즌)$`)
	joinedTail = lazyregexp.New(`^(.*?)(\d{1,2}|i{2,3}|iv|vi{1,3}|ix)$`)
	yearTailRE = lazyregexp.New(`^(.+) ((?:19[3-9]|20[0-4])\d)$`)
)

// splitSequel cuts the sequel marker off a normalised title (title.Normalize) and returns the base title with what
// the marker says. The base is never empty; a title that is nothing but a number is its own base.
func splitSequel(norm string) (string, Sequel) {
	base, seq := norm, Sequel{}
	for range 3 { // year, part and season may follow one another
		cut, more := cutMarker(base)
		if more.Zero() || cut == "" {
			break
		}
		if seq.Season > 0 && more.Season > 0 || seq.Part > 0 && more.Part > 0 || seq.Year > 0 && more.Year > 0 {
			break
		}
		base = cut
		seq.Season += more.Season
		seq.Part += more.Part
		seq.Year += more.Year
		seq.Final = seq.Final || more.Final
	}
	return base, seq
}

// BaseTitle is a normalised title without what its end says of season, part and year.
func BaseTitle(norm string) string {
	base, _ := splitSequel(norm)
	return base
}

// smallNumber reads "2", "2nd", "second", "ii" and the like; 0 when it is none.
func smallNumber(w string) int {
	if n, ok := numberWords[w]; ok {
		return n
	}
	if m := ordinalRE().FindStringSubmatch(w); m != nil {
		w = m[1]
	}
	if n, err := strconv.Atoi(w); err == nil && n > 0 && n < 100 && len(w) <= 2 {
		return n
	}
	return 0
}

// bareNumber tells which number words may stand alone at the end of a title and still mean a sequel.
func bareNumber(w string) bool {
	switch w {
	case "ii", "iii", "iv", "vi", "vii", "viii", "ix", "zwei", "drei", "zoku":
		return true
	}
	_, err := strconv.Atoi(w)
	return err == nil
}

func ordinalWord(w string) bool {
	switch w {
	case "second", "third", "fourth", "fifth", "sixth":
		return true
	}
	return false
}

func hanNumber(s string) int {
	if n, ok := hanNumbers[s]; ok {
		return n
	}
	n, _ := strconv.Atoi(s)
	return n
}

// placeholderRE matches names such as "Episode 3", "第3話" and "에피소드 3" in normalised spelling.
var placeholderRE = lazyregexp.New(`^(?:(?:episode|episodio|episódio|épisode|folge|epizóda|エピソード|에피소드|special|ova|эпизод) ?\d+|第 ?\d+ ?[話话集回]|\d+)$`)
