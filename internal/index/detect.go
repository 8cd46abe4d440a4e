package index

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/match"
)

type listFormat struct {
	source Source
	read   func(io.Reader, *collector) error
}

var (
	animeListsXML = listFormat{AnimeLists, func(r io.Reader, c *collector) error { return readAnimeLists(r, c.addAnime) }}
	aniDBXML      = listFormat{AniDB, func(r io.Reader, c *collector) error { return readAniDBXML(r, c.addTitle) }}
	aniDBLines    = listFormat{AniDB, func(r io.Reader, c *collector) error { return readAniDBLines(r, c.addTitle) }}
	animeIDs      = listFormat{AnimeIDs, func(r io.Reader, c *collector) error { return readAnimeIDs(r, c.addIDs) }}
	tvExport      = listFormat{TVExport, exportReader(match.TV)}
	filmExport    = listFormat{FilmExport, exportReader(match.Movie)}
)

func exportReader(kind match.Kind) func(io.Reader, *collector) error {
	return func(r io.Reader, c *collector) error { return readExport(r, kind, c.addExport) }
}

// detect returns the format of a list. It looks at the beginning of the content, because file names may be arbitrary,
// and consumes nothing.
func detect(in *bufio.Reader) (listFormat, error) {
	head, err := in.Peek(32 << 10)
	if err != nil && !errors.Is(err, io.EOF) {
		return listFormat{}, err
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	if len(text) == 0 {
		return listFormat{}, lang.Error("it is empty")
	}
	switch first := text[0]; {
	case first == '<':
		return detectXML(text)
	case first == '{':
		return detectExport(text)
	case first == '[' && bytes.Contains(text, []byte(`"anidb_id"`)):
		return animeIDs, nil
	case first == '#' || first >= '0' && first <= '9':
		for _, line := range bytes.Split(text, []byte("\n")) {
			if len(line) > 0 && line[0] != '#' && bytes.Count(line, []byte("|")) >= 3 {
				return aniDBLines, nil
			}
		}
	}
	return listFormat{}, errUnknownFormat
}

var errUnknownFormat = lang.Error("it is not Anime-Lists' XML, AniDB's anime-titles, one of TMDB's id exports or " +
	"a list of anime ids")

func detectXML(text []byte) (listFormat, error) {
	d := xml.NewDecoder(bytes.NewReader(text))
	for {
		tok, err := d.Token()
		if err != nil {
			return listFormat{}, errUnknownFormat
		}
		start, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		switch start.Name.Local {
		case "anime-list":
			return animeListsXML, nil
		case "animetitles":
			return aniDBXML, nil
		}
		return listFormat{}, lang.Error("it is XML with <%.40s>: %w", start.Name.Local, errUnknownFormat)
	}
}

func detectExport(text []byte) (listFormat, error) {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	var l exportLine
	if err := json.Unmarshal(line, &l); err != nil {
		return listFormat{}, lineError(1, lang.Error("it is not JSON as TMDB writes it: %w", err))
	}
	switch kind, _ := l.kind(); kind {
	case match.TV:
		return tvExport, nil
	case match.Movie:
		return filmExport, nil
	}
	return listFormat{}, lang.Error("it is an export, but of neither series nor films: %w", errUnknownFormat)
}

// maxElementSize is the most bytes that an entry may take in the file; real ones take a few KiB. A decoded entry takes
// at most about 16 times as much memory.
const maxElementSize = 1 << 20

var errLargeElement = errors.New("is larger than 1 MiB")

func eachElement[T any](r io.Reader, root, name string, do func(T) error) error {
	in := &limitedReader{r: r, tooLarge: errLargeElement} // the limit applies to each element
	d := xml.NewDecoder(in)
	const before, inside, after = 0, 1, 2
	at := before
	for {
		in.left = maxElementSize
		tok, err := d.Token()
		line, _ := d.InputPos()
		switch {
		case errors.Is(err, io.EOF) && at == after:
			return nil
		case errors.Is(err, io.EOF):
			return lineError(line, errors.New("it ends before <"+root+"> does"))
		case err != nil:
			return elementError(root, line, err)
		}
		switch t := tok.(type) {
		case xml.EndElement:
			at = after
		case xml.StartElement:
			switch {
			case at == inside && t.Name.Local == name:
				var element T
				if err = d.DecodeElement(&element, &t); err == nil {
					if err := do(element); err != nil {
						return err
					}
				}
			case at == inside:
				err = d.Skip()
			case at == before && t.Name.Local == root:
				at = inside
			default:
				err = fmt.Errorf("<%s> where <%s> should be", t.Name.Local, root)
			}
			if err != nil {
				return elementError(t.Name.Local, line, err)
			}
		}
	}
}

func elementError(element string, line int, err error) error {
	if syntax, ok := errors.AsType[*xml.SyntaxError](err); ok {
		return lineError(syntax.Line, errors.New(syntax.Msg))
	}
	if errors.Is(err, errLargeElement) {
		err = fmt.Errorf("<%s> %w", element, err)
	}
	return lineError(line, err)
}

func lineError(line int, err error) error { return &ImportError{Line: line, Err: err} }

const maxLineSize = 1 << 20

// eachLine calls do with every line that is not empty, and adds the line to its error. If reading fails, it returns
// that error and does not call do with the incomplete line.
func eachLine(r io.Reader, do func(text string) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), maxLineSize)
	n := 0
	for lines.Scan() && lines.Err() == nil {
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
			return lineError(n, err)
		}
	}
	err := lines.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = lang.Error("the line is longer than 1 MiB")
	}
	if err != nil {
		return lineError(n+1, err)
	}
	return nil
}

const maxListSize = 2 << 30

var errListTooLarge = lang.Error("it is larger than %d GiB", maxListSize>>30)

type limitedReader struct {
	r        io.Reader
	left     int64
	tooLarge error
}

func (b *limitedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, b.tooLarge
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

func unpack(r io.Reader) (*bufio.Reader, error) {
	const window = 64 << 10
	in := bufio.NewReaderSize(r, window)
	for range 2 {
		head, err := in.Peek(2)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if !bytes.Equal(head, []byte{0x1f, 0x8b}) {
			break
		}
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, err
		}
		in = bufio.NewReaderSize(z, window)
	}
	return bufio.NewReaderSize(&limitedReader{in, maxListSize, errListTooLarge}, window), nil
}
