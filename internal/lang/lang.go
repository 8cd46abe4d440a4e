// Package lang translates messages for people. The source code has the English text, which is also the key of its
// translation in the catalogue ko.po. Output for programs is never translated: fields, codes, log keys, and the reasons
// in NDJSON, JSON and CSV.
//
// The language is one for the whole process. Main sets it with Use before it prints anything.
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

// Language is a language of messages.
type Language string

// The languages. English needs no catalogue.
const (
	English Language = "en"
	Korean  Language = "ko"
)

// Names returns the values of --lang.
func Names() []string { return []string{string(English), string(Korean)} }

// Of returns the language of the environment, from the first of LC_ALL, LC_MESSAGES and LANG that is set; English by
// default.
func Of(getenv func(string) string) Language {
	if code, _, _ := strings.Cut(strings.ToLower(Tag(getenv)), "-"); code == string(Korean) {
		return Korean
	}
	return English
}

var locale = regexp.MustCompile(`^([a-z]{2,3})(?:_([A-Z]{2}))?(?:[.@].*)?$`)

// Tag returns language and country from the environment, such as ko-KR or ja; "" if it has none.
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

// current maps English texts to translations; nil means English.
var current atomic.Pointer[map[string]string]

// foreignErrorText is the function set by UseErrors.
var foreignErrorText atomic.Pointer[func(error) (Text, bool)]

// Use makes l the language of the process.
func Use(l Language) {
	if l != Korean {
		current.Store(nil)
		return
	}
	own := korean()
	current.Store(&own)
}

// UseErrors sets a function that returns the texts of errors of packages that don't use lang. TextOf calls it with each
// error of a chain, so it must not unwrap.
func UseErrors(text func(error) (Text, bool)) { foreignErrorText.Store(&text) }

// Current returns the language of the process.
func Current() Language {
	if current.Load() == nil {
		return English
	}
	return Korean
}

// Sprintf is fmt.Sprintf in the language of the process. It also translates args that are Texts or errors, but no
// strings, because a path may look like a message.
func Sprintf(format string, args ...any) string {
	if current.Load() == nil {
		return fmt.Sprintf(format, args...)
	}
	return Say(Textf(format, args...))
}

// Say translates a text into the language of the process. A text without a translation stays English.
func Say[T ~string](text T) string {
	if own := current.Load(); own != nil {
		return Text(text).translate(*own)
	}
	return Text(text).String()
}

// koPO is the Korean catalogue, in the format of gettext: msgid is an English text or format of the source, msgstr its
// translation.
//
//go:embed ko.po
var koPO string

type message struct{ id, text string }

var korean = sync.OnceValue(func() map[string]string {
	messages, err := readPO(strings.NewReader(koPO))
	if err != nil {
		panic("ko.po: " + err.Error()) // a bug: tests parse it
	}
	own := make(map[string]string, len(messages))
	for _, m := range messages {
		own[m.id] = m.text
	}
	return own
})

// readPO returns the messages of a PO file in order, without the header. It supports comments, msgid and msgstr, whose
// quoted strings may continue on the next lines.
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
