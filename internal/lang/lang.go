// Package lang says to people in their language what the program has to tell them. English stands where it is said, as
// everywhere in Go, and is the key; the catalogue (ko.po) has the same in Korean. What programs read never comes here:
// fields, codes, log keys, and the reasons in NDJSON, JSON and CSV.
//
// The language belongs to the process, as LC_MESSAGES does: Use sets it before anything is said.
package lang

import (
	"bufio"
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
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

// current has the translations of the language in use by their English; nil: English.
var current atomic.Pointer[map[string]string]

// typed returns the texts of errors from packages that don't know this one.
var typed atomic.Pointer[func(error) (Text, bool)]

// Use makes l the language of the process.
func Use(l Language) {
	if l != Korean {
		current.Store(nil)
		return
	}
	own := korean()
	current.Store(&own)
}

// UseErrors lets TextOf ask text what an error of another package says. It looks at the error itself, not at what that
// wraps.
func UseErrors(text func(error) (Text, bool)) { typed.Store(&text) }

// Current is the language of the process.
func Current() Language {
	if current.Load() == nil {
		return English
	}
	return Korean
}

// Sprintf is fmt.Sprintf in the language of the process. Texts and errors among args are translated too; all other
// arguments are shown as they are: a path may read like a message.
func Sprintf(format string, args ...any) string {
	if current.Load() == nil {
		return fmt.Sprintf(format, args...)
	}
	return Say(Textf(format, args...))
}

// Say returns a text in the language of the process. What the catalogue does not have stays as it is.
func Say[T ~string](text T) string {
	if own := current.Load(); own != nil {
		return Text(text).in(*own)
	}
	return Text(text).String()
}

// koPO is the Korean catalogue: msgid is an English text or format as it stands in the source, msgstr what is said in
// its place. Poedit opens it.
//
//go:embed ko.po
var koPO string

type message struct{ id, text string }

var korean = sync.OnceValue(func() map[string]string {
	messages, err := readPO(strings.NewReader(koPO))
	if err != nil {
		panic("ko.po: " + err.Error()) // a test reads it
	}
	own := make(map[string]string, len(messages))
	for _, m := range messages {
		own[m.id] = m.text
	}
	return own
})

// readPO returns the messages of a PO file in order, without the header. It knows what ko.po needs: comments, msgid and
// msgstr, each a quoted string that may continue on the lines below.
func readPO(in io.Reader) ([]message, error) {
	var messages []message
	var into *string
	lines := bufio.NewScanner(in)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		quoted := line
		if line == "" || line[0] == '#' {
			continue
		}
		if rest, ok := strings.CutPrefix(line, "msgid "); ok {
			messages, quoted = append(messages, message{}), rest
			into = &messages[len(messages)-1].id
		} else if rest, ok := strings.CutPrefix(line, "msgstr "); ok && len(messages) > 0 {
			quoted, into = rest, &messages[len(messages)-1].text
		}
		text, err := strconv.Unquote(quoted)
		if err != nil || into == nil {
			return nil, fmt.Errorf("line %d: %s is neither msgid nor msgstr with a quoted string", n, line)
		}
		*into += text
	}
	if len(messages) > 0 && messages[0].id == "" {
		messages = messages[1:]
	}
	return messages, lines.Err()
}
