package lang

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// verb is a place in a format where an argument goes.
type verb struct {
	text   string // as it is written: "%-8s", "%[2]d"
	letter byte   // 's' for %v and %w too
	arg    int    // which argument, from 0
}

// plain is the verb as fmt takes it for one argument.
func (v verb) plain() string {
	text := v.text
	if i := strings.IndexByte(text, '['); i >= 0 {
		text = text[:i] + text[strings.IndexByte(text, ']')+1:]
	}
	return strings.ReplaceAll(text, "w", "v")
}

// whole reports whether the verb shows all of a text, as it is.
func (v verb) whole() bool {
	return v.letter == 's' && (len(v.text) == 2 || strings.Contains(v.text, "]") && v.text[1] == '[')
}

// parse cuts a format into its verbs and what stands before, between and behind them: one text more than verbs.
func parse(format string) (texts []string, verbs []verb) {
	var text strings.Builder
	next := 0
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			text.WriteByte(format[i])
			continue
		}
		if strings.HasPrefix(format[i:], "%%") {
			text.WriteByte('%')
			i++
			continue
		}
		end := i + 1
		for end < len(format) && strings.IndexByte("+-0123456789.[]", format[end]) >= 0 {
			end++
		}
		if end == len(format) || !isLetter(format[end]) { // a percent sign of the text
			text.WriteByte('%')
			continue
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
		next = v.arg + 1
		texts, verbs = append(texts, text.String()), append(verbs, v)
		text.Reset()
		i = end
	}
	return append(texts, text.String()), verbs
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// asTexts is the format with every verb replaced by one for a text.
func asTexts(format string) string {
	texts, verbs := parse(format)
	var b strings.Builder
	for i, text := range texts {
		b.WriteString(strings.ReplaceAll(text, "%", "%%"))
		if i < len(verbs) {
			fmt.Fprintf(&b, "%%[%d]s", verbs[i].arg+1)
		}
	}
	return b.String()
}

// pattern recognises what came of a format.
type pattern struct {
	key    string
	texts  []string
	verbs  []verb
	args   int // how many
	weight int // how much text of its own it has
}

func newPattern(format string) pattern {
	p := pattern{key: format}
	p.texts, p.verbs = parse(format)
	for _, text := range p.texts {
		p.weight += len(text)
	}
	for _, v := range p.verbs {
		p.args = max(p.args, v.arg+1)
	}
	return p
}

// phrase is two words beside each other, or one with a colon behind it.
var phrase = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[A-Za-z'-]{2,}[,;.)]* [(]?(?:[A-Za-z]{2,}|a )|[A-Za-z]{3,}:|; [a-z]{5,} |^[a-z]{6,} $`)
})

// telling reports whether a text can be recognised by the format: one with words for an argument has a phrase of its own. Others,
// as "%s to %s", are said where they are formatted.
func (p *pattern) telling() bool {
	if slices.ContainsFunc(p.texts, phrase().MatchString) {
		return true
	}
	return !slices.ContainsFunc(p.verbs, func(v verb) bool { return v.letter == 's' }) && strings.ContainsFunc(p.key, unicode.IsSpace)
}

// read returns the arguments with which the format makes the text.
func (p *pattern) read(text string) (args []string, ok bool) {
	if !strings.HasPrefix(text, p.texts[0]) || !strings.HasSuffix(text, p.texts[len(p.texts)-1]) {
		return nil, false
	}
	args = make([]string, p.args)
	return args, p.rest(0, text[len(p.texts[0]):], args)
}

// rest reads from verb i on.
func (p *pattern) rest(i int, text string, args []string) bool {
	if i == len(p.verbs) {
		return text == ""
	}
	v, after := p.verbs[i], p.texts[i+1]
	if i == len(p.verbs)-1 { // its end is the text's
		arg, ok := strings.CutSuffix(text, after)
		args[v.arg] = arg
		return ok && v.takes(arg)
	}
	for from := 0; ; {
		at := strings.Index(text[from:], after)
		if at < 0 {
			return false
		}
		args[v.arg] = text[:from+at]
		if v.takes(args[v.arg]) && p.rest(i+1, text[from+at+len(after):], args) {
			return true
		}
		from += at + 1
		if from > len(text) {
			return false
		}
	}
}

// takes reports whether the verb can have written s.
func (v verb) takes(s string) bool {
	switch v.letter {
	case 'd', 'f', 'g':
		return strings.Trim(s, "0123456789") == "" && s != "" || s != "" && strings.Trim(s, "+-.,0123456789 e") == "" && strings.ContainsAny(s, "0123456789")
	case 'q':
		return len(s) >= 2 && s[0] == s[len(s)-1] && (s[0] == '"' || s[0] == '\'')
	}
	return strings.TrimSpace(s) != ""
}
