package lang

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// Text is a message for people that is not said yet: an English text, or a format with its arguments, as Textf puts
// them together. It can be compared and stored. String says it in English, as records and logs have it, Say in the
// language of the process. A constant is a Text without arguments.
type Text string

// Textf returns the message that format makes of args. An argument that is a Text or an error is said in the language
// of the message, unless its verb quotes it; all others, such as names and titles, are shown as they are. The verbs are
// fmt's; an argument that is shown twice is shown alike.
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
	for _, v := range pieces(format) {
		if v.letter == 0 {
			continue
		}
		if v.arg >= len(args) {
			return plain(fmt.Sprintf(format, args...))
		}
		arg := args[v.arg]
		if v.whole() {
			switch arg := arg.(type) {
			case Text:
				shown[v.arg] = "t" + string(arg)
				continue
			case error:
				shown[v.arg] = "t" + string(TextOf(arg))
				continue
			}
		}
		shown[v.arg] = "s" + fmt.Sprintf(v.plain(), arg)
	}
	var b strings.Builder
	b.WriteByte(mark)
	for _, part := range append([]string{format}, shown...) {
		b.WriteString(strconv.Itoa(len(part)) + ":" + part)
	}
	return Text(b.String())
}

// mark begins a Text that has arguments. Format and arguments follow, each with its length in front. An argument begins
// with t if it is a Text, and with s if it is shown as it is.
const mark = 0

func plain(s string) Text {
	if strings.IndexByte(s, mark) == 0 {
		return Textf("%s", s)
	}
	return Text(s)
}

func (t Text) parts(parts []string) (format string, args []string, ok bool) {
	if t == "" || t[0] != mark {
		return "", nil, false
	}
	for rest := string(t[1:]); rest != ""; {
		size, behind, _ := strings.Cut(rest, ":")
		n, err := strconv.Atoi(size)
		if err != nil || n < 0 || n > len(behind) {
			return "", nil, false // not of Textf
		}
		parts, rest = append(parts, behind[:n]), behind[n:]
	}
	if len(parts) == 0 {
		return "", nil, false
	}
	return parts[0], parts[1:], true
}

// in returns the text in the language of own; nil: in English.
func (t Text) in(own map[string]string) string {
	format, args, ok := t.parts(make([]string, 0, 4)) // which needs no memory of its own
	if !ok {
		if said, ok := own[string(t)]; ok {
			return said
		}
		return string(t)
	}
	if said, ok := own[format]; ok {
		format = said
	}
	var b strings.Builder
	b.Grow(len(t))
	for text, v := range pieces(format) {
		b.WriteString(text)
		if v.letter == 0 || v.arg >= len(args) {
			continue
		}
		if arg, isText := strings.CutPrefix(args[v.arg], "t"); isText {
			b.WriteString(Text(arg).in(own))
		} else {
			b.WriteString(strings.TrimPrefix(arg, "s"))
		}
	}
	return b.String()
}

// String is the text in English.
func (t Text) String() string { return t.in(nil) }

// MarshalText gives programs the English.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// Count is "1 file" or "3 files". The plural is regular; a noun in -y takes -ies, one in -s -es.
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
	return Textf("%d "+noun, n)
}

// Join puts texts together, with a separator that is said as it is.
func Join(texts []Text, separator string) Text {
	args := make([]any, len(texts))
	for i, t := range texts {
		args[i] = t
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return Textf(strings.Join(slices.Repeat([]string{"%s"}, len(texts)), separator), args...)
}

type verb struct {
	text   string // as it is written: "%-8s", "%[2]d"
	letter byte   // 's' for %v and %w too
	arg    int    // which argument, from 0
}

func (v verb) plain() string {
	text := v.text
	if i := strings.IndexByte(text, '['); i >= 0 {
		text = text[:i] + text[strings.IndexByte(text, ']')+1:]
	}
	return strings.ReplaceAll(text, "w", "v")
}

func (v verb) whole() bool {
	return v.letter == 's' && (len(v.text) == 2 || strings.Contains(v.text, "]") && v.text[1] == '[')
}

// pieces yields the texts of a format, each with the verb behind it. The last one has none, nor has one that ends with
// "%%".
func pieces(format string) iter.Seq2[string, verb] {
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
				continue // a percent sign of the text
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

type said struct {
	error  // as fmt.Errorf makes it
	format string
	args   []any
}

// Error is fmt.Errorf for an error shown to people: Error() is English, and TextOf keeps format and arguments, so Say
// can translate it.
func Error(format string, args ...any) error {
	return &said{fmt.Errorf(format, args...), format, args}
}

func (e *said) Unwrap() error { return e.error }
func (e *said) Text() Text    { return Textf(e.format, e.args...) }

// TextOf returns an error's message. An error from Error, or with a method Text, keeps its arguments and can be
// translated; words wrapped around it, and any other error, stay English.
func TextOf(err error) Text {
	switch e := err.(type) { //nolint:errorlint // this very layer: what it wraps is looked at below
	case nil:
		return ""
	case interface{ Text() Text }:
		return e.Text()
	}
	if foreign := typed.Load(); foreign != nil {
		if text, ok := (*foreign)(err); ok {
			return text
		}
	}
	whole := err.Error()
	switch e := err.(type) { //nolint:errorlint // the layers are taken off one by one
	case interface{ Unwrap() error }:
		if cause := e.Unwrap(); cause != nil {
			if before, ok := strings.CutSuffix(whole, cause.Error()); ok && before != "" {
				return Textf("%s%s", before, cause)
			} else if ok {
				return TextOf(cause)
			}
		}
	case interface{ Unwrap() []error }:
		var texts []Text
		for _, cause := range e.Unwrap() {
			texts = append(texts, TextOf(cause))
		}
		for _, separator := range []string{"\n", ": "} {
			if joined := Join(texts, separator); joined.String() == whole {
				return joined
			}
		}
	}
	return plain(whole)
}
