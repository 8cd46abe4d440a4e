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

type list struct {
	source Source
	read   func(io.Reader, *collector) error
}

var (
	animeListsXML = list{AnimeLists, func(r io.Reader, c *collector) error { return readAnimeLists(r, c.anime) }}
	aniDBXML      = list{AniDB, func(r io.Reader, c *collector) error { return readAniDBXML(r, c.title) }}
	aniDBLines    = list{AniDB, func(r io.Reader, c *collector) error { return readAniDBLines(r, c.title) }}
	tvExport      = list{TVExport, func(r io.Reader, c *collector) error { return readExport(r, match.TV, c.export) }}
	animeIDs      = list{AnimeIDs, func(r io.Reader, c *collector) error { return readAnimeIDs(r, c.ids) }}
	filmExport    = list{FilmExport, func(r io.Reader, c *collector) error { return readExport(r, match.Movie, c.export) }}
)

// detect returns the format of the content, judged by its beginning: names are what people make of them. Nothing is
// consumed.
func detect(in *bufio.Reader) (list, error) {
	head, err := in.Peek(32 << 10)
	if err != nil && !errors.Is(err, io.EOF) {
		return list{}, err
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	if len(text) == 0 {
		return list{}, lang.Error("it is empty")
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
	return list{}, errUnknown
}

var errUnknown = lang.Error("it is neither Anime-Lists' XML, nor AniDB's anime-titles, nor an export of ids by " +
	"TMDB, nor a list of anime ids")

func detectXML(text []byte) (list, error) {
	d := xml.NewDecoder(bytes.NewReader(text))
	for {
		tok, err := d.Token()
		if err != nil {
			return list{}, errUnknown
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
		return list{}, lang.Error("it is XML with <%.40s>: %w", start.Name.Local, errUnknown)
	}
}

func detectExport(text []byte) (list, error) {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	var l exportLine
	if err := json.Unmarshal(line, &l); err != nil {
		return list{}, &lineError{1, lang.Error("it is not JSON as TMDB writes it: %w", err)}
	}
	switch kind, _, _ := l.kind(); kind {
	case match.TV:
		return tvExport, nil
	case match.Movie:
		return filmExport, nil
	}
	return list{}, lang.Error("it is an export, but of neither series nor films: %w", errUnknown)
}

// maxElement bounds one entry of a list as it stands in the file; real ones have a few KiB. Decoded it takes at most
// about 16 times as much memory.
const maxElement = 1 << 20

var errLargeElement = errors.New("is larger than 1 MiB")

func eachElement[T any](r io.Reader, root, name string, do func(T) error) error {
	in := &bounded{r: r, large: errLargeElement} // each element has a bound of its own
	d := xml.NewDecoder(in)
	const before, inside, after = 0, 1, 2
	at := before
	for {
		in.left = maxElement
		tok, err := d.Token()
		line, _ := d.InputPos()
		switch {
		case errors.Is(err, io.EOF) && at == after:
			return nil
		case errors.Is(err, io.EOF):
			return &lineError{line, errors.New("it ends before <" + root + "> does")}
		case err != nil:
			return faultOf(root, line, err)
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
				return faultOf(t.Name.Local, line, err)
			}
		}
	}
}

func faultOf(element string, line int, err error) *lineError {
	if syntax, ok := errors.AsType[*xml.SyntaxError](err); ok {
		return &lineError{syntax.Line, errors.New(syntax.Msg)}
	}
	if errors.Is(err, errLargeElement) {
		err = fmt.Errorf("<%s> %w", element, err)
	}
	return &lineError{line, err}
}

type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }
func (e *lineError) Unwrap() error { return e.err }

const maxLine = 1 << 20

// eachLine calls do for every line that is not empty, and makes its error a *lineError. An error of the input comes
// first: the line that it cut is not judged.
func eachLine(r io.Reader, do func(text string) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), maxLine)
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
			return &lineError{n, err}
		}
	}
	err := lines.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = lang.Error("the line is longer than 1 MiB")
	}
	if err != nil {
		return &lineError{n + 1, err}
	}
	return nil
}

const maxInput = 2 << 30

var errLarge = lang.Error("it is larger than %d GiB", maxInput>>30)

type bounded struct {
	r     io.Reader
	left  int64
	large error
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, b.large
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
	return bufio.NewReaderSize(&bounded{in, maxInput, errLarge}, window), nil
}
