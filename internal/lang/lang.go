// Package lang says to people in their language what the program has to tell them. English stands where it is said, as
// everywhere in Go, and is the key; the catalogue (ko*.go) has the same in Korean. What programs read never comes here:
// fields, codes, log keys, and the reasons in NDJSON, JSON and CSV.
//
// The language belongs to the process, as LC_MESSAGES does: Use sets it before anything is said.
package lang

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync/atomic"
)

// Language is one that the program speaks.
type Language string

// The languages. English needs no catalogue, and loads none.
const (
	English Language = "en"
	Korean  Language = "ko"
)

// Names are what --lang takes.
func Names() []string { return []string{string(English), string(Korean)} }

// Of returns the language of an environment: that of LC_ALL, LC_MESSAGES or LANG, whichever is set first, or English.
func Of(getenv func(string) string) Language {
	if code, _, _ := strings.Cut(strings.ToLower(Tag(getenv)), "-"); code == string(Korean) {
		return Korean
	}
	return English
}

var locale = regexp.MustCompile(`^([a-z]{2,3})(?:_([A-Z]{2}))?(?:[.@].*)?$`)

// Tag returns the environment's language and country, such as ko-KR or ja; "" where it names none.
func Tag(getenv func(string) string) string {
	m := locale.FindStringSubmatch(cmp.Or(getenv("LC_ALL"), getenv("LC_MESSAGES"), getenv("LANG")))
	switch {
	case m == nil:
		return ""
	case m[2] == "":
		return m[1]
	}
	return m[1] + "-" + m[2]
}

// current is the catalogue in use; nil: English.
var current atomic.Pointer[words]

// typed says errors of packages that know nothing of this one.
var typed atomic.Pointer[func(error) (Text, bool)]

// Use makes l the language of the process.
func Use(l Language) {
	if l != Korean {
		current.Store(nil)
		return
	}
	current.Store(korean())
}

// UseErrors lets TextOf ask text what an error of another package says. It looks at the error itself, not at what that wraps.
func UseErrors(text func(error) (Text, bool)) { typed.Store(&text) }

// Current is the language of the process.
func Current() Language {
	if current.Load() == nil {
		return English
	}
	return Korean
}

// Sprintf is fmt.Sprintf in the language of the process. Texts and errors among args are said in it too; all other arguments
// are shown as they are.
func Sprintf(format string, args ...any) string {
	w := current.Load()
	if w == nil {
		return fmt.Sprintf(format, args...)
	}
	return w.sprintf(format, args)
}

// Say returns a text in the language of the process: a Text, a word, or a sentence of the program without arguments. What the
// catalogue does not have stays as it is.
func Say[T ~string](text T) string {
	w := current.Load()
	if w == nil {
		return Text(text).String()
	}
	return w.say(string(text))
}

// Writer returns a writer that says each text written to it, which is one message or whole lines, in the language of the
// process. It is for text alone: nothing that a program reads may go through it.
func Writer(out io.Writer) io.Writer {
	if current.Load() == nil {
		return out
	}
	return speaker{out}
}

type speaker struct{ out io.Writer }

func (s speaker) Write(p []byte) (int, error) {
	if _, err := io.WriteString(s.out, Say(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
