package lang

import (
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/slicesx"
)

// Text is a translatable message: an English text, or a format with its arguments, encoded by Textf. It can be compared
// and stored. String returns it in English, for records and logs; Say in the language of the process.
type Text string

// Textf returns a message from a format with the verbs of fmt. Arguments that are Texts or errors are translated with
// the message, unless the verb quotes them; all others, such as names and titles, are not. An argument that is used
// twice must have the same verb.
func Textf(format string, args ...any) Text {
	if len(args) == 0 && strings.IndexByte(format, '%') < 0 {
		return Text(format)
	}
	if format == "%s" {
		if text, ok := args[0].(Text); ok {
			return text
		}
	}
	shown := make([]string, len(args))
	for _, v := range splitFormat(format) {
		if v.letter == 0 {
			continue
		}
		if v.arg >= len(args) {
			return literalText(fmt.Sprintf(format, args...))
		}
		arg := args[v.arg]
		if v.isUnformatted() {
			switch arg := arg.(type) {
			case Text:
				shown[v.arg] = "t" + string(arg)
				continue
			case error:
				shown[v.arg] = "t" + string(TextOf(arg))
				continue
			}
		}
		shown[v.arg] = "s" + fmt.Sprintf(v.withoutIndex(), arg)
	}
	var b strings.Builder
	b.WriteByte(encodingMark)
	for _, part := range append([]string{format}, shown...) {
		b.WriteString(strconv.Itoa(len(part)) + ":" + part)
	}
	return Text(b.String())
}

// encodingMark is the first byte of a Text with arguments. The format and the arguments follow, each preceded by its
// length. An argument begins with t if it is a Text, and with s if it is not translated.
const encodingMark = 0

// literalText returns s as a Text. It encodes an s that would otherwise look like a Text with arguments.
func literalText(s string) Text {
	if strings.IndexByte(s, encodingMark) == 0 {
		return Textf("%s", s)
	}
	return Text(s)
}

func (t Text) decode(parts []string) (format string, args []string, ok bool) {
	if t == "" || t[0] != encodingMark {
		return "", nil, false
	}
	for rest := string(t[1:]); rest != ""; {
		size, behind, _ := strings.Cut(rest, ":")
		n, err := strconv.Atoi(size)
		if err != nil || n < 0 || n > len(behind) {
			return "", nil, false // not encoded by Textf
		}
		parts, rest = append(parts, behind[:n]), behind[n:]
	}
	if len(parts) == 0 {
		return "", nil, false
	}
	return parts[0], parts[1:], true
}

// translate returns the text in the language of catalogue, which is English if it is nil.
func (t Text) translate(catalogue map[string]string) string {
	format, args, ok := t.decode(make([]string, 0, 4)) // a small slice, which can stay on the stack
	if !ok {
		if translated, ok := catalogue[string(t)]; ok {
			return translated
		}
		return string(t)
	}
	if translated, ok := catalogue[format]; ok {
		format = translated
	}
	var b strings.Builder
	b.Grow(len(t))
	for text, v := range splitFormat(format) {
		if catalogue == nil {
			b.WriteString(text)
		} else {
			appendTranslated(&b, text)
		}
		if v.letter == 0 || v.arg >= len(args) {
			continue
		}
		if arg, isText := strings.CutPrefix(args[v.arg], "t"); isText {
			b.WriteString(Text(arg).translate(catalogue))
		} else {
			b.WriteString(strings.TrimPrefix(arg, "s"))
		}
	}
	return b.String()
}

// String returns the text in English.
func (t Text) String() string { return t.translate(nil) }

// MarshalText returns the text in English, because programs read it.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// Count returns "1 file" or "3 files". It knows only regular plurals, with -ies for -y and -es for -s.
func Count(n int, noun string) Text {
	switch {
	case n == 1:
		return Text("1 " + noun)
	case strings.HasSuffix(noun, "y") && !strings.HasSuffix(noun, "ey"):
		noun = strings.TrimSuffix(noun, "y") + "ies"
	case strings.HasSuffix(noun, "s"):
		noun += "es"
	default:
		noun += "s"
	}
	return Textf("%d "+noun, Number(n))
}

// Number is a count of things, which is written with separators: 19,982.
type Number int64

// Format implements fmt.Formatter for all verbs without flags.
func (n Number) Format(f fmt.State, _ rune) {
	digits := strconv.FormatInt(int64(n), 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	_, _ = io.WriteString(f, digits)
}

// Join joins texts with a separator, which is not translated.
func Join(texts []Text, separator string) Text {
	args := slicesx.Map(texts, func(t Text) any { return t })
	return Textf(strings.Join(slices.Repeat([]string{"%s"}, len(texts)), separator), args...)
}

type verb struct {
	text   string // "%-8s", "%[2]d"
	letter byte   // 's' for %v and %w too
	arg    int    // the index of its argument
}

// withoutIndex returns the verb for a single argument, and with %v instead of %w.
func (v verb) withoutIndex() string {
	text := v.text
	if i := strings.IndexByte(text, '['); i >= 0 {
		text = text[:i] + text[strings.IndexByte(text, ']')+1:]
	}
	return strings.ReplaceAll(text, "w", "v")
}

// isUnformatted reports whether the verb is %s, %v or %w without flags and width.
func (v verb) isUnformatted() bool {
	return v.letter == 's' && (len(v.text) == 2 || strings.Contains(v.text, "]") && v.text[1] == '[')
}

// splitFormat yields the literal texts of a format, each with the verb that follows it. The verb is empty for the last
// text, and for a text that ends with "%%".
func splitFormat(format string) iter.Seq2[string, verb] {
	return func(yield func(string, verb) bool) {
		start, next := 0, 0
		for i := 0; i < len(format); i++ {
			if format[i] != '%' {
				continue
			}
			if strings.HasPrefix(format[i:], "%%") {
				i++
				if !yield(format[start:i], verb{}) {
					return
				}
				start = i + 1
				continue
			}
			end := i + 1
			for end < len(format) && strings.IndexByte("+-0123456789.[]", format[end]) >= 0 {
				end++
			}
			if end == len(format) || !isLetter(format[end]) {
				continue // a literal percent sign
			}
			v := verb{text: format[i : end+1], letter: format[end], arg: next}
			if open := strings.IndexByte(v.text, '['); open >= 0 {
				n, err := strconv.Atoi(v.text[open+1 : strings.IndexByte(v.text, ']')])
				if err == nil {
					v.arg = n - 1
				}
			}
			if v.letter == 'v' || v.letter == 'w' {
				v.letter = 's'
			}
			if !yield(format[start:i], v) {
				return
			}
			next, start, i = v.arg+1, end+1, end
		}
		yield(format[start:], verb{})
	}
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

type formattedError struct {
	error  // the result of fmt.Errorf
	format string
	args   []any
}

// Error is fmt.Errorf for a translatable error: its Error method returns English, and TextOf returns a Text with format
// and arguments.
func Error(format string, args ...any) error {
	return &formattedError{fmt.Errorf(format, args...), format, args}
}

func (e *formattedError) Unwrap() error { return e.error }
func (e *formattedError) Text() Text    { return Textf(e.format, e.args...) }

// TextOf returns the message of an error. It is translatable if the error comes from Error, has a method Text, or has a
// text from the function set by UseErrorTexts. Other errors, and what they add to a wrapped error, stay English.
func TextOf(err error) Text {
	switch e := err.(type) { //nolint:errorlint // wrapped errors are handled below
	case nil:
		return ""
	case interface{ Text() Text }:
		return e.Text()
	}
	if foreign := foreignErrorText.Load(); foreign != nil {
		if text, ok := (*foreign)(err); ok {
			return text
		}
	}
	whole := err.Error()
	switch e := err.(type) { //nolint:errorlint // one layer at a time
	case interface{ Unwrap() error }:
		if cause := e.Unwrap(); cause != nil {
			if before, ok := strings.CutSuffix(whole, cause.Error()); ok && before != "" {
				return Textf("%s%s", before, cause)
			} else if ok {
				return TextOf(cause)
			}
		}
	case interface{ Unwrap() []error }:
		texts := slicesx.Map(e.Unwrap(), TextOf)
		for _, separator := range []string{"\n", ": "} {
			if joined := Join(texts, separator); joined.String() == whole {
				return joined
			}
		}
	}
	return literalText(whole)
}
