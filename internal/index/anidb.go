package index

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/lang"
)

// titleKinds are the types of titles, as words in AniDB's XML and as numbers in its lines.
var titleKinds = map[string]titleKind{
	"main": mainTitle, "official": officialTitle, "syn": synonym, "synonym": synonym, "short": shortTitle, "card": synonym,
	"1": mainTitle, "2": synonym, "3": shortTitle, "4": officialTitle,
}

// kindOf reads a title's type; an unknown one counts as a synonym.
func kindOf(s string) titleKind {
	if k, ok := titleKinds[strings.TrimSpace(s)]; ok {
		return k
	}
	return synonym
}

type titlesElement struct {
	ID     string `xml:"aid,attr"`
	Titles []struct {
		Language string `xml:"lang,attr"`
		Kind     string `xml:"type,attr"`
		Text     string `xml:",chardata"`
	} `xml:"title"`
}

// readAniDBXML yields every title of AniDB's XML: <animetitles><anime aid><title xml:lang type>.
func readAniDBXML(r io.Reader, yield func(titleRow) error) error {
	return eachElement(r, "animetitles", "anime", func(e titlesElement) error {
		id := number(e.ID)
		for _, t := range e.Titles {
			row := titleRow{anime: id, kind: kindOf(t.Kind), language: strings.TrimSpace(t.Language), text: strings.TrimSpace(t.Text)}
			if id == 0 || row.text == "" {
				continue
			}
			if err := yield(row); err != nil {
				return err
			}
		}
		return nil
	})
}

// readAniDBLines yields every title of AniDB's other form, lines of "aid|type|language|title". Lines that begin with
// # are comments.
func readAniDBLines(r io.Reader, yield func(titleRow) error) error {
	return eachLine(r, func(text string) error {
		if strings.HasPrefix(text, "#") {
			return nil
		}
		parts := strings.SplitN(text, "|", 4)
		if len(parts) != 4 {
			return lang.Error("it is not of the form aid|type|language|title")
		}
		id, err := strconv.Atoi(parts[0])
		if err != nil || id <= 0 || id > maxID {
			return fmt.Errorf("%.40q is not an id of an anime", parts[0])
		}
		row := titleRow{anime: id, kind: kindOf(parts[1]), language: parts[2], text: strings.TrimSpace(parts[3])}
		if row.text == "" {
			return nil
		}
		return yield(row)
	})
}

// maxLine is the longest line of a list of lines.
const maxLine = 1 << 20

// eachLine calls do for every line that is not empty, and makes its error a *lineError. An error of the input comes
// first: the line that it cut is not judged.
func eachLine(r io.Reader, do func(text string) error) error {
	in := &remembering{r: r}
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	n := 0
	for lines.Scan() && in.err == nil {
		n++
		text := lines.Text()
		if n == 1 {
			text = strings.TrimPrefix(text, "\ufeff")
		}
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		if err := do(text); errors.As(err, new(*storeError)) {
			return err
		} else if err != nil {
			return &lineError{n, err}
		}
	}
	switch err := lines.Err(); {
	case in.err != nil:
		return &lineError{n + 1, in.err}
	case errors.Is(err, bufio.ErrTooLong):
		return &lineError{n + 1, lang.Error("the line is longer than 1 MiB")}
	}
	return nil
}

// remembering keeps the error with which its reader failed.
type remembering struct {
	r   io.Reader
	err error
}

func (m *remembering) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		m.err = err
	}
	return n, err
}
