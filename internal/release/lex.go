package release

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a run of letters and digits. Digits next to Han, kana or hangul form a separate token, which makes a counter
// such as "第07話" readable.
type token struct {
	start, end int      // text[start:end]
	bracket    int      // index of the innermost bracket around it, -1 at top level
	class      class    // the kind of characters it has
	num        int      // the value of a number or counter; -1 for other words and for more than eight digits
	rangeEnd   int      // the 12 of the counter "第01-12话"; 0 if it has no range
	tag        tag      // its meaning; noTag if it may be part of a title
	weak       bool     // despite its tag, it may be part of a title
	word       wordInfo // its entry in words.txt
}

// class is the kind of characters that a token has.
type class uint8

const (
	alpha   class = iota // letters of an alphabet
	number               // ASCII digits only
	mixed                // ASCII digits and letters
	cjk                  // Han, kana, hangul
	noClass              // there is no token
)

// bracket is a pair of brackets and the tokens between them.
type bracket struct {
	span                 // the tokens inside
	open, innerStart int // byte offsets of the opening bracket and of what follows it
	close, outerEnd  int // byte offsets of the closing bracket and of what follows it
	outer            int // index of the bracket around it, -1 if there is none
	isRound          bool
}

// Limits on what is read of one name; no real name has more words or deeper brackets.
const (
	maxWords = 256
	maxDepth = 8
)

func lex(text string, folder bool, w *words) {
	*w = words{
		lists: lists(), tokens: w.tokens[:0], brackets: w.brackets[:0], text: text, lowerText: lowerCase(text),
		isFolder: folder, isDotted: strings.Count(text, ".") > strings.Count(text, " "),
	}
	p := lexer{w}
	p.matchBrackets()
	current, next := -1, 0
	for i := 0; i < len(text) && len(w.tokens) < maxWords; {
		w.steps++
		for current >= 0 && i >= w.brackets[current].close {
			w.brackets[current].to = len(w.tokens)
			current = w.brackets[current].outer
		}
		if next < len(w.brackets) && i >= w.brackets[next].open {
			w.brackets[next].outer = current
			w.brackets[next].span = span{len(w.tokens), len(w.tokens)}
			current = next
			next++
		}
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[i:])
		}
		switch {
		case isCJK(r):
			i = p.lexCJK(i, current)
		case isLetterRune(r):
			i = max(p.lexWord(i, current), i+size)
		default:
			i += size
		}
	}
	for current >= 0 {
		w.brackets[current].to = len(w.tokens)
		current = w.brackets[current].outer
	}
	w.brackets = w.brackets[:next]
}

type lexer struct{ w *words }

// lowerCase returns s in lower case. It keeps letters whose lower-case form has another length, so byte offsets in s
// are valid in the result.
func lowerCase(s string) string {
	b := []byte(s)
	for i, r := range s {
		switch {
		case r >= 'A' && r <= 'Z':
			b[i] = byte(r) + 'a' - 'A'
		case r >= utf8.RuneSelf && !isCJK(r): // these have no lower case
			if lower := unicode.ToLower(r); lower != r && utf8.RuneLen(lower) == utf8.RuneLen(r) {
				utf8.EncodeRune(b[i:], lower)
			}
		}
	}
	return string(b)
}

func (p lexer) lexWord(i, group int) int {
	text := p.w.text
	j, digits, letters := i, 0, 0
loop:
	for j < len(text) {
		c := text[j]
		r, size := rune(c), 1
		if c >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[j:])
		}
		switch {
		case isDigit(c):
			digits++
		case isLetter(c), c >= utf8.RuneSelf && isLetterRune(r) && !isCJK(r):
			letters++
		case (r == '\'' || r == '’') && j > i && j+size < len(text) && isWordByte(text[j+size]):
		default:
			break loop
		}
		j += size
	}
	t := token{start: i, end: j, bracket: group, num: -1}
	switch {
	case letters == 0:
		t.class = number
		if j-i <= 8 {
			t.num = atoi(text[i:j])
		}
		if j < len(text) && (text[j] >= utf8.RuneSelf || text[j] == ' ') {
			j = p.lexCounter(&t)
		}
	case digits > 0:
		t.class = mixed
	}
	p.w.tokens = append(p.w.tokens, t)
	return j
}

// matchBrackets finds the pairs of brackets. An unmatched bracket is punctuation.
func (p lexer) matchBrackets() {
	type opened struct{ bracket, kind int }
	var stack []opened // brackets that are still open
	for i, r := range p.w.text {
		switch r { // a quick check, because few characters are brackets
		default:
			continue
		case '[', ']', '(', ')', '{', '}', '【', '】', '《', '》', '（', '）', '［', '］':
		}
		kind, after := slices.Index(bracketSigns, r), i+utf8.RuneLen(r)
		switch {
		case kind%2 == 0 && len(p.w.brackets) < maxWords && len(stack) < maxDepth:
			stack = append(stack, opened{len(p.w.brackets), kind})
			p.w.brackets = append(p.w.brackets,
				bracket{open: i, innerStart: after, close: -1, outer: -1, isRound: r == '(' || r == '（'})
		case kind%2 == 1:
			// Look only at the last two openers, because a stray bracket must not swallow the name.
			for k := len(stack) - 1; k >= 0 && k >= len(stack)-2; k-- {
				if stack[k].kind == kind-1 {
					b := &p.w.brackets[stack[k].bracket]
					b.close, b.outerEnd = i, after
					stack = stack[:k]
					break
				}
			}
		}
	}
	p.w.brackets = slices.DeleteFunc(p.w.brackets, func(b bracket) bool { return b.close < 0 })
}

var bracketSigns = []rune("[](){}【】《》（）［］")

func isWordByte(c byte) bool { return isDigit(c) || isLetter(c) }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// symbolRanges are the Unicode ranges of punctuation and symbols beyond the Latin letters.
var symbolRanges = [...][2]rune{
	{0x2000, 0x214F},
	{0x2190, 0x2BFF},
	{0x3000, 0x3004},
	{0x3008, 0x3020},
	{'・', '・'},
	{0xFE00, 0xFE6F},
	{0xFF00, 0xFF0F},
	{0xFF1A, 0xFF20},
	{0xFF3B, 0xFF40},
	{0xFF5B, 0xFF65},
	{utf8.RuneError, utf8.RuneError},
	{0x1F000, utf8.MaxRune},
}

func isLetterRune(r rune) bool {
	if r < utf8.RuneSelf {
		return isWordByte(byte(r))
	}
	if r < 0x250 { // Latin-1 and extensions
		return r >= 0xC0 && r != '×' && r != '÷' || r == 'ª' || r == 'º' || r == 'µ'
	}
	return !slices.ContainsFunc(symbolRanges[:], func(s [2]rune) bool { return r >= s[0] && r <= s[1] })
}

func isCJK(r rune) bool {
	switch {
	case r < 0x1100:
		return false
	case r <= 0x11FF, r >= 0x3041 && r <= 0x30FA, r >= 0x30FC && r <= 0x318F, r >= 0x3400 && r <= 0x4DBF,
		r >= 0x4E00 && r <= 0x9FFF, r >= 0xAC00 && r <= 0xD7A3, r >= 0xF900 && r <= 0xFAFF,
		r >= 0x20000 && r <= 0x3FFFF, r == '々', r == '〇', r >= 0xFF66 && r <= 0xFF9F:
		return true
	}
	return false
}

func atoi(s string) int {
	n := 0
	for i := 0; i < len(s); i++ {
		n = n*10 + int(s[i]-'0')
	}
	return n
}
