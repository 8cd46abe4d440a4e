package lang

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

// koPO is the Korean catalogue: msgid is an English text or format as it stands in the source, msgstr what is said in its
// place. Poedit opens it.
//
//go:embed ko.po
var koPO string

// message is an entry of a catalogue.
type message struct{ id, text string }

// catalogue returns the messages of ko.po.
var catalogue = sync.OnceValue(func() []message {
	messages, err := readPO(strings.NewReader(koPO))
	if err != nil {
		panic("ko.po: " + err.Error()) // a test reads it
	}
	return messages
})

// readPO returns the messages of a PO file in their order, without its header. It knows what ko.po needs: comments, msgid
// and msgstr, each a quoted string that may go on in the lines below.
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
