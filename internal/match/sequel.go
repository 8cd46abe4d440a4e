package match

import (
	"cmp"
	_ "embed"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/anivault/anivault/internal/lazyregexp"
	"github.com/anivault/anivault/internal/title"
	"github.com/anivault/anivault/internal/wordlist"
)

// Sequel is the sequel marker at the end of a title, such as "2nd Season", "II", "Part 2", "第二季" or "(2016)".
type Sequel struct {
	Season int
	Part   int
	Year   int
	Final  bool
}

// IsZero reports whether there is no sequel marker.
func (s Sequel) IsZero() bool { return s == Sequel{} }

var (
	ordinalRE       = lazyregexp.New(`^(\d{1,2})(?:st|nd|rd|th)$`)
	shortSeasonRE   = lazyregexp.New(`^(?:s|season)(\d{1,2})$`)
	eastAsianTailRE = lazyregexp.New(`^(.*?) ?(?:` +
		`第 ?(\d{1,2}|[一二三四五六七八九十]{1,2}|[弐贰貳参壱]) ?` +
		`(季|期|シーズン|部|クール|シリーズ)|` +
		`(\d{1,2}) ?(기|期|シーズン|쿨)|시즌 ?(\d{1,2})|シーズン ?(\d{1,2}))$`)
	finalRE        = lazyregexp.New(`^(.+?)(?:(?: 더)? ?(?:파이널 ?시즌|최종 ?시즌)| [完終终완])$`)
	joinedNumberRE = lazyregexp.New(`^(.*?)(\d{1,2}|i{2,3}|iv|vi{1,3}|ix)$`)
	counterRE      = lazyregexp.New(`(?:^제 ?)?(\d+)(?:편|탄|부|번째)(?: |$)`)
	yearTailRE     = lazyregexp.New(`^(.+) ((?:19[3-9]|20[0-4])\d)$`)
)

// splitSequel splits a normalised title into its base and its sequel marker. A title that is only a number is a base.
func splitSequel(norm string) (string, Sequel) {
	base, seq := norm, Sequel{}
	for range 3 { // a title may end with up to three markers: year, part and season
		cut, more := cutMarker(base)
		if more.IsZero() || cut == "" {
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

// BaseTitle returns a normalised title without its sequel marker.
func BaseTitle(norm string) string {
	base, _ := splitSequel(norm)
	return base
}

// parseSmallNumber parses words such as "2", "2nd", "second" and "ii". It returns 0 for other words.
func parseSmallNumber(w string) int {
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

// placeholderRE matches normalised episode names such as "Episode 3", "第3話" and "에피소드 3".
var placeholderRE = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:(?:` + words().episodePattern + `) ?\d+|第 ?\d+ ?[話话集回]|\d+)$`)
})

// titleEnd is a normalised title split into words. prev and last are the last two words, empty for a single word.
type titleEnd struct {
	text       string
	words      []string
	prev, last string
}

func newTitleEnd(norm string) *titleEnd {
	t := &titleEnd{text: norm, words: strings.Fields(norm)}
	if n := len(t.words); n > 1 {
		t.prev, t.last = t.words[n-2], t.words[n-1]
	}
	return t
}

// textBefore returns the title without its last n words and without "the" before them.
func (t *titleEnd) textBefore(n int) string {
	end := len(t.text)
	for _, w := range t.words[len(t.words)-n:] {
		end -= len(w) + 1
	}
	return strings.TrimSuffix(t.text[:max(end, 0)], " the")
}

func (t *titleEnd) wordFromEnd(n int) string { return t.words[len(t.words)-n] }

// numberBefore returns the number before the last word if that is one of the words, otherwise 0.
func (t *titleEnd) numberBefore(words map[string]bool) int {
	if !words[t.last] {
		return 0
	}
	return parseSmallNumber(t.prev)
}

// numberAfter returns the last word as a number if the word before it is one of the words, otherwise 0.
func (t *titleEnd) numberAfter(words map[string]bool) int {
	if !words[t.prev] {
		return 0
	}
	return parseSequelNumber(t.last)
}

func noSequel() (string, Sequel) { return "", Sequel{} }

// sequelMarkers are the rules for the ends of titles, tried in this order. A rule applies only to titles of at least
// minWords words. Each rule has an example for the test, with the expected base and sequel.
var sequelMarkers = []struct {
	name     string
	minWords int
	cut      func(t *titleEnd) (base string, seq Sequel)
	example  string
	base     string
	seq      Sequel
}{
	{"a year", 2, cutYear, "salt harbor 2019", "salt harbor", Sequel{Year: 2019}},
	{"East Asian words for season and part", 1, cutEastAsian, "塩港 第二季", "塩港", Sequel{Season: 2}},
	{"the Korean final season, or a word for the end", 2, func(t *titleEnd) (string, Sequel) {
		m := finalRE().FindStringSubmatch(t.text)
		if m == nil {
			return noSequel()
		}
		return m[1], Sequel{Final: true}
	}, "소금항 파이널 시즌", "소금항", Sequel{Final: true}},
	{"a number joined to East Asian letters", 1, cutJoinedNumber, "塩港2", "塩港", Sequel{Season: 2}},
	{"the final season", 2, func(t *titleEnd) (string, Sequel) {
		if t.prev != "final" || !words().seasonAfterNumber[t.last] {
			return noSequel()
		}
		return t.textBefore(2), Sequel{Final: true}
	}, "salt harbor the final season", "salt harbor", Sequel{Final: true}},
	{"a numbered season", 2, func(t *titleEnd) (string, Sequel) {
		cut := 2
		if len(t.words) > 3 && (t.wordFromEnd(3) == "dai" || t.wordFromEnd(3) == "di") {
			cut = 3
		}
		return t.textBefore(cut), Sequel{Season: t.numberBefore(words().seasonAfterNumber)}
	}, "shio no minato dai 2 ki", "shio no minato", Sequel{Season: 2}},
	{"a numbered part", 2, func(t *titleEnd) (string, Sequel) {
		return t.textBefore(2), Sequel{Part: t.numberBefore(words().partAfterNumber)}
	}, "salt harbor 2nd cour", "salt harbor", Sequel{Part: 2}},
	{"dai N bu: the N-th part", 4, func(t *titleEnd) (string, Sequel) {
		if t.last != "bu" || t.wordFromEnd(3) != "dai" {
			return noSequel()
		}
		return t.textBefore(3), Sequel{Part: parseSmallNumber(t.prev)}
	}, "shio no minato dai 2 bu", "shio no minato", Sequel{Part: 2}},
	{"sono ni: number two", 3, func(t *titleEnd) (string, Sequel) {
		if t.prev != "sono" || t.last != "ni" && t.last != "san" && t.last != "yon" {
			return noSequel()
		}
		return t.textBefore(2), Sequel{Part: parseSmallNumber(t.last)}
	}, "shio no minato sono ni", "shio no minato", Sequel{Part: 2}},
	{"ni no shou: the second chapter", 4, func(t *titleEnd) (string, Sequel) {
		if t.last != "shou" || t.prev != "no" {
			return noSequel()
		}
		return t.textBefore(3), Sequel{Season: parseSmallNumber(t.wordFromEnd(3))}
	}, "shio no minato ni no shou", "shio no minato", Sequel{Season: 2}},
	{"season N", 2, func(t *titleEnd) (string, Sequel) {
		return t.textBefore(2), Sequel{Season: t.numberAfter(words().seasonBeforeNumber)}
	}, "salt harbor season 2", "salt harbor", Sequel{Season: 2}},
	{"part N", 2, func(t *titleEnd) (string, Sequel) {
		return t.textBefore(2), Sequel{Part: t.numberAfter(words().partBeforeNumber)}
	}, "salt harbor part 2", "salt harbor", Sequel{Part: 2}},
	{"a bare number", 2, func(t *titleEnd) (string, Sequel) {
		if _, err := strconv.Atoi(t.last); err != nil && !words().sequelWords[t.last] {
			return noSequel()
		}
		return t.textBefore(1), Sequel{Season: parseSequelNumber(t.last)}
	}, "salt harbor ii", "salt harbor", Sequel{Season: 2}},
	{"sN", 2, func(t *titleEnd) (string, Sequel) {
		m := shortSeasonRE().FindStringSubmatch(t.last)
		if m == nil {
			return noSequel()
		}
		n, _ := strconv.Atoi(m[1])
		return t.textBefore(1), Sequel{Season: n}
	}, "salt harbor s3", "salt harbor", Sequel{Season: 3}},
	{"an ordinal and one more word", 3, func(t *titleEnd) (string, Sequel) {
		n := parseSmallNumber(t.prev)
		if n < 2 || n > 5 || t.last == "bu" || t.last == "shou" ||
			!ordinalRE().MatchString(t.prev) && !words().ordinalWords[t.prev] {
			return noSequel()
		}
		return t.textBefore(2), Sequel{Season: n}
	}, "salt harbor the second tide", "salt harbor", Sequel{Season: 2}},
}

func cutMarker(norm string) (string, Sequel) {
	t := newTitleEnd(norm)
	for _, m := range sequelMarkers {
		if len(t.words) < m.minWords {
			continue
		}
		if base, seq := m.cut(t); !seq.IsZero() {
			return base, seq
		}
	}
	return norm, Sequel{}
}

func cutYear(t *titleEnd) (string, Sequel) {
	if !isDigit(t.text[len(t.text)-1]) {
		return noSequel()
	}
	m := yearTailRE().FindStringSubmatch(t.text)
	if m == nil {
		return noSequel()
	}
	y, _ := strconv.Atoi(m[2])
	return m[1], Sequel{Year: y}
}

func cutEastAsian(t *titleEnd) (string, Sequel) {
	s := t.text
	if s[len(s)-1] < 0x80 &&
		(!isDigit(s[len(s)-1]) || !strings.Contains(s, "시즌") && !strings.Contains(s, "シーズン")) {
		return noSequel()
	}
	m := eastAsianTailRE().FindStringSubmatch(s)
	if m == nil {
		return noSequel()
	}
	digits := m[2] + m[4] + m[6] + m[7]
	n, ok := words().hanNumerals[digits]
	if !ok {
		n, _ = strconv.Atoi(digits)
	}
	if m[3] == "部" || m[3] == "クール" || m[5] == "쿨" {
		return strings.TrimSpace(m[1]), Sequel{Part: n}
	}
	return strings.TrimSpace(m[1]), Sequel{Season: n}
}

// cutJoinedNumber handles "ばらかもん2" and "ばらかもんⅡ". Latin words such as "x1" keep their number.
func cutJoinedNumber(t *titleEnd) (string, Sequel) {
	m := joinedNumberRE().FindStringSubmatch(t.text)
	if m == nil {
		return noSequel()
	}
	if before, _ := utf8.DecodeLastRuneInString(m[1]); scriptClass(before) != 1 && before != 'ー' {
		return noSequel()
	}
	return m[1], Sequel{Season: parseSequelNumber(m[2])}
}

func parseSequelNumber(w string) int {
	if n := parseSmallNumber(w); n <= 30 {
		return n
	}
	return 0
}

// lostSequel returns the sequel marker that a title of a file has and its folder's title lacks, and the text after it:
// "Show2 Rerun", "S2", "2 Subtitle" and "Final Season" in the folder "Show". byOther is true if the text before it is
// neither the folder's title nor an abbreviation of that.
func lostSequel(own, folder string) (lost Sequel, subtitle string, byOther bool) {
	folder = title.Normalize(folder)
	_, has := splitSequel(folder)
	own = strings.Replace(title.Normalize(own), folder, folder+" ", 1)
	all := strings.Fields(counterRE().ReplaceAllString(own, "$1 "))
	for i, last := range all {
		base, seq := splitSequel(folder + " " + strings.Join(all[:i+1], " "))
		n := cmp.Or(seq.Season, seq.Part)
		if n < 2 || n == has.Season || n == has.Part || strings.Contains(folder, strconv.Itoa(n)) {
			n = 0
		}
		lost = Sequel{Season: n, Final: seq.Final && !has.Final && utf8.RuneCountInString(last) > 1} // "완" may be "complete"
		if !lost.IsZero() {
			before, named := strings.CutPrefix(base, folder+" ")
			subtitle = strings.Join(all[i+1:], " ")
			ofShow := !named && subtitle == "" || named && (abbreviates(before, folder) ||
				strings.HasSuffix(title.Compact(before), title.Compact(folder)))
			return lost, subtitle, !ofShow
		}
	}
	return lost, "", false
}

// abbreviates reports whether the letters of a text are in a title, in that order, the first at a word's beginning.
func abbreviates(short, long string) bool {
	_, first := utf8.DecodeRuneInString(short)
	_, long, found := strings.Cut(" "+long, " "+short[:first])
	for _, r := range strings.ReplaceAll(short[first:], " ", "") {
		if found {
			_, long, found = strings.Cut(long, string(r))
		}
	}
	return found
}

//go:embed words.txt
var wordsText string

// vocabulary holds the words of words.txt, which explains each list.
type vocabulary struct {
	numbers, hanNumerals, groupYears map[string]int

	sequelWords, ordinalWords, wholeShowWords, derivedWorkWords, specialWords, commonWords map[string]bool
	seasonAfterNumber, seasonBeforeNumber, partAfterNumber, partBeforeNumber               map[string]bool

	filmWords, arcWords         []string // Latin words have a space before them, and film words also one after them
	notRegularWords             []string // words after a title for something that is no regular episode
	filmOrSpecialWords          map[string]bool
	spacelessFilmOrSpecialWords []string
	seasonPattern               string // the alternatives of a regular expression
	episodePattern              string
}

var words = sync.OnceValue(func() *vocabulary {
	list := wordlist.Parse(wordsText)
	v := &vocabulary{
		numbers: list.Numbers("number"), hanNumerals: list.Numbers("han"), groupYears: list.Numbers("group"),
		sequelWords: list.Set("alone"), ordinalWords: list.Set("ordinal"), wholeShowWords: list.Set("whole"),
		derivedWorkWords: list.Set("piece"), specialWords: list.Set("special"), commonWords: list.Set("common"),
		seasonAfterNumber: list.Set("seasonafter"), seasonBeforeNumber: list.Set("seasonbefore"),
		partAfterNumber: list.Set("partafter"), partBeforeNumber: list.Set("partbefore"),
		filmOrSpecialWords: list.Set("filmorspecial"), seasonPattern: strings.Join(list.Words("season"), "|"),
		episodePattern:  strings.Join(list.Words("episode"), "|"),
		notRegularWords: append(list.Words("piece"), list.Words("extra")...),
	}
	for _, w := range list.Words("film") {
		if !hasSpacelessScript(w) {
			w = " " + w + " "
		}
		v.filmWords = append(v.filmWords, w)
	}
	for _, w := range list.Words("arc") {
		if !hasSpacelessScript(w) {
			w = " " + w
		}
		v.arcWords = append(v.arcWords, w)
	}
	for w := range v.filmOrSpecialWords {
		if hasSpacelessScript(w) {
			v.spacelessFilmOrSpecialWords = append(v.spacelessFilmOrSpecialWords, title.Normalize(w))
		}
	}
	return v
})
