package index

import (
	"bufio"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/match"
)

// list is a format of a source, and how it is read.
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
