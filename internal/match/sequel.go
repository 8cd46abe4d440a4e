package match

import (
	"regexp"
	"strconv"
	"sync"

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
	if n, ok := words().numbers[w]; ok {
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

// placeholderRE matches names such as "Episode 3", "第3話" and "에피소드 3" in normalised spelling.
var placeholderRE = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:(?:` + words().episode + `) ?\d+|第 ?\d+ ?[話话集回]|\d+)$`)
})
