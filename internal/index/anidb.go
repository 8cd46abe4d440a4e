package index

// This file reads AniDB's titles in both forms in which they are given out: XML and lines of "aid|type|language|title".

import (
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

var titleKinds = map[string]titleKind{
	"main": mainTitle, "official": officialTitle, "syn": synonym, "synonym": synonym, "short": shortTitle, "card": synonym,
	// of the lines
	"1": mainTitle, "2": synonym, "3": shortTitle, "4": officialTitle,
}

// readAniDBXML yields every title of <animetitles><anime aid><title xml:lang type>.
func readAniDBXML(r io.Reader, yield func(titleRow) error) error {
	d := newXML(r)
	var row titleRow
	var text strings.Builder
	return d.walk("animetitles", func(path []string, tok xml.Token) error {
		switch t := tok.(type) {
		case xml.StartElement:
			text.Reset()
			switch {
			case len(path) == 2 && path[1] == "anime":
				row = titleRow{anime: attrNumber(t, "aid")}
			case len(path) == 3 && path[2] == "title":
				row.kind, row.language = kindOf(attr(t, "type")), attr(t, "lang")
			}
		case xml.CharData:
			text.Write(t)
		case xml.EndElement:
			if len(path) == 3 && path[2] == "title" && row.anime > 0 {
				row.text = strings.TrimSpace(text.String())
				if row.text != "" {
					return yield(row)
				}
			}
		}
		return nil
	})
}

// kindOf reads a title's type; one that is not known counts as a synonym.
func kindOf(s string) titleKind {
	if k, ok := titleKinds[s]; ok {
		return k
	}
	return synonym
}

// maxLine is the longest line of a list of lines.
const maxLine = 1 << 20

// readAniDBLines yields every title of the lines; those that begin with # are comments.
func readAniDBLines(r io.Reader, yield func(titleRow) error) error {
	return eachLine(r, func(text string) error {
		if strings.HasPrefix(text, "#") {
			return nil
		}
		parts := strings.SplitN(text, "|", 4)
		if len(parts) != 4 {
			return errors.New("it is not of the form aid|type|language|title")
		}
		id, err := strconv.Atoi(parts[0])
		if err != nil || id <= 0 || id > maxID {
			return fmt.Errorf("%.40q is no id of an anime", parts[0])
		}
		row := titleRow{anime: id, kind: kindOf(parts[1]), language: parts[2], text: strings.TrimSpace(parts[3])}
		if row.text == "" {
			return nil
		}
		return yield(row)
	})
}

// eachLine calls do for every line that is not empty. Its error becomes a *lineError unless it comes from further on.
func eachLine(r io.Reader, do func(text string) error) error {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 64<<10), maxLine)
	n := 0
	for in.Scan() {
		n++
		text := strings.TrimSpace(in.Text())
		if n == 1 {
			text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
		}
		if text == "" {
			continue
		}
		if err := do(text); err != nil {
			var further *storeError
			if errors.As(err, &further) {
				return err
			}
			return &lineError{n, err}
		}
	}
	if err := in.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = errors.New("the line is longer than 1 MiB")
		}
		return &lineError{n + 1, err}
	}
	return nil
}
