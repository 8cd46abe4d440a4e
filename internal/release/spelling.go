package release

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/anivault/anivault/internal/lazyregexp"
)

// normalizeName normalizes the characters of a name and its separators: underscores become spaces, and dashes become
// dots if nothing else separates the words. An underscore between two numbers becomes a dash if other separators are
// more frequent: "Cap.111_120", but not after the only digit of a season: "작은 제목2_03화".
func normalizeName(s string) string {
	s = normalizeWidth(s)
	if strings.Count(s, "-") > 1 && !strings.ContainsAny(s, " ._[](){}") {
		return strings.ReplaceAll(s, "-", ".")
	}
	if strings.Count(s, "+") > 1 && !strings.ContainsAny(s, " ._[]") {
		return strings.ReplaceAll(s, "+", " ")
	}
	lines := strings.Count(s, "_")
	if lines == 0 {
		return s
	}
	joins := strings.Count(s, " ")+strings.Count(s, ".") > lines
	b := []byte(s)
	for i, c := range b {
		switch {
		case c != '_' || i > 0 && i+1 < len(s) && s[i-1] == ' ' && s[i+1] == ' ':
		case joins && i > 1 && i+1 < len(s) && isDigit(s[i-2]) && isDigit(s[i-1]) && isDigit(s[i+1]):
			b[i] = '-'
		default:
			b[i] = ' '
		}
	}
	return string(b)
}

// normalizeWidth replaces full-width letters and digits with ASCII, but keeps the wide punctuation of titles. In a name
// that is not UTF-8, all that is not ASCII becomes U+FFFD: two bytes of another encoding may look like a letter.
func normalizeWidth(s string) string {
	i := 0
	for i < len(s) && s[i] >= ' ' && s[i] < 0x7F { // a quick check, because most names are ASCII
		i++
	}
	stable, kana, waves, crosses := true, false, false, false
	for k, r := range s[i:] {
		if isStableUnderNFC(r) {
			continue
		}
		stable = false
		kana = kana || isHalfwidthKana(r)
		waves = waves || r == '〜' || r == '～' || r == '∼'
		crosses = crosses || isCross(r) && i+k > 0 && (isDigit(s[i+k-1]) || s[i+k-1] >= utf8.RuneSelf) // or a wide digit
	}
	if stable {
		return s
	}
	if !utf8.ValidString(s) {
		s = notASCII().ReplaceAllString(s, "\uFFFD")
	}
	s = norm.NFC.String(strings.Map(normalizeRune, s))
	if kana {
		s = halfwidthKana().ReplaceAllStringFunc(s, norm.NFKC.String) // NFKC also composes the voicing marks
	}
	if waves {
		s = wavedNumbers().ReplaceAllString(s, "${1}~${2}")
	}
	if crosses { // the Cyrillic х and the sign × between digits: "06х01"
		for range 2 { // twice, because the two matches in "1×2×3" overlap
			s = crossedDigits().ReplaceAllString(s, "${1}x${2}")
		}
	}
	return s
}

// isStableUnderNFC reports whether NFC never changes r, whatever stands next to it.
func isStableUnderNFC(r rune) bool {
	return r >= ' ' && r < 0x7F || r >= 0x3041 && r <= 0x3096 || r >= 0x30A1 && r <= 0x30FF ||
		r >= 0x4E00 && r <= 0x9FFF || r >= 0xAC00 && r <= 0xD7A3
}

var (
	notASCII      = lazyregexp.New(`[^\x00-\x7F]+`)
	crossedDigits = lazyregexp.New(`([0-9])[хХ×]([0-9])`)
	wavedNumbers  = lazyregexp.New(`([0-9](?:화|회)? ?)[〜～∼]( ?(?:제|[Ee][Pp]?)?[0-9])`)
	halfwidthKana = lazyregexp.New(`[ｦ-ﾟ]+`)
)

func isHalfwidthKana(r rune) bool { return r >= 'ｦ' && r <= 'ﾟ' }

func isCross(r rune) bool { return r == 'х' || r == 'Х' || r == '×' }

func normalizeRune(r rune) rune {
	switch {
	case r < ' ', r >= 0x7F && r <= 0xA0: // titles have no control characters
		return ' '
	case r >= '٠' && r <= '٩':
		return r - '٠' + '0'
	case r >= '۰' && r <= '۹':
		return r - '۰' + '0'
	case r < 0x2000:
		return r
	case r >= '０' && r <= '９', r >= 'Ａ' && r <= 'Ｚ', r >= 'ａ' && r <= 'ｚ':
		return r - 0xFEE0
	case r == '　', r >= 0x2000 && r <= 0x200A:
		return ' '
	case r == '［', r == '］', r == '＃', r == '＿', r == '．', r == '／':
		return r - 0xFEE0
	case r == '－', r == '‐', r == '‑', r == '‒', r == '–', r == '−':
		return '-'
	}
	return r
}

// cleanTitle trims a title and replaces its separators with spaces. It does not allocate if nothing changes.
func (p *words) cleanTitle(s string) string {
	s = trimTitle(s)
	if !strings.Contains(s, "  ") && !(p.isDotted && strings.Contains(s, ".")) {
		return s
	}
	buf := make([]byte, 0, len(s))
	dots := p.isDotted && !strings.Contains(s, " ")
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '.' && dots && !keepsDot(s, i) {
			c = ' '
		}
		if c == ' ' && len(buf) > 0 && buf[len(buf)-1] == ' ' {
			continue
		}
		buf = append(buf, c)
	}
	return strings.TrimRight(string(buf), " ")
}

// keepsDot reports whether the dot at i belongs to initials ("S.H.I.E.L.D.", "R.O.D") or to a decimal ("3.0").
func keepsDot(s string, i int) bool {
	before, after := singleCharWord(s, i-1), singleCharWord(s, i+1)
	if isDigit(before) && isDigit(after) {
		return !isDotThenDigit(s, i-2, i-3) && !isDotThenDigit(s, i+2, i+3)
	}
	return isLetter(before) && (isLetter(after) || i >= 3 && s[i-2] == '.' && isLetter(singleCharWord(s, i-3)))
}

func singleCharWord(s string, k int) byte {
	if k < 0 || k >= len(s) || k > 0 && isWordByte(s[k-1]) || k+1 < len(s) && isWordByte(s[k+1]) {
		return 0
	}
	return s[k]
}

func isDotThenDigit(s string, dot, number int) bool {
	return number >= 0 && number < len(s) && s[dot] == '.' && isDigit(s[number])
}

func trimTitle(s string) string {
	s = strings.TrimLeftFunc(s, func(r rune) bool {
		return !isLetterRune(r) && (isTitleEdge(r) || strings.ContainsRune(")].!", r))
	})
	whole := s
	for {
		r, n := utf8.DecodeLastRuneInString(s)
		cut := whole[len(s):]
		dashed := strings.HasPrefix(cut, " ") && strings.HasPrefix(strings.TrimLeft(cut, " "), "-")
		switch {
		case n == 0, isLetterRune(r), strings.ContainsRune("+*#", r) && dashed: // "Title + - 07", "Title* - 07"
			return s
		case isTitleEdge(r) && !(r == '-' && strings.HasSuffix(s, "--")), strings.ContainsRune("([{#", r):
		case r == '.' && !strings.HasSuffix(s, "...") &&
			(len(s) < 4 || !isWordByte(s[len(s)-2]) || s[len(s)-3] != '.'): // not behind an initial
		default:
			return s
		}
		s = s[:len(s)-n]
	}
}

func isTitleEdge(r rune) bool {
	const signs = " _-—–―:：,;/|+★☆\t、=@*•\uFFFD】【\n\r~〜～"
	return strings.ContainsRune(signs, r) || r >= 0x1F200 && r <= 0x1F2FF // TV stations mark programmes with these: 🈞
}
