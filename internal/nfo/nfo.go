// Package nfo writes the small XML files in which media servers look for what a folder or a video is. It is pure:
// values in, bytes out, and the same bytes for the same values.
package nfo

import (
	"bytes"
	"encoding/xml"
	"regexp"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/lazyregexp"
)

// Entry is what is known of a series or film of TMDB's. Empty fields are left out.
type Entry struct {
	Kind          string // "tv" or "movie"
	ID            int    // TMDB's
	Title         string
	OriginalTitle string
	Year          int

	IMDB                      string
	TVDB, AniDB, AniList, MAL int

	Plot      string
	Premiered string // "2023-09-29"
	Runtime   int    // minutes
	Genres    []string
	Studios   []string
	Status    string // of a series
	Poster    string // the path of an image at TMDB
	Fanart    string // the same

	Episodes []Episode // of a series, all that are known
}

// Episode is what is known of an episode.
type Episode struct {
	ID      int // TMDB's, of the episode
	Season  int
	Number  int
	Title   string
	Aired   string // "2023-09-29"
	Runtime int    // minutes
	Plot    string
}

const images = "https://image.tmdb.org/t/p/original"

const page = "https://www.themoviedb.org/"

type work struct {
	XMLName       xml.Name
	Title         string    `xml:"title,omitempty"`
	OriginalTitle string    `xml:"originaltitle,omitempty"`
	Year          int       `xml:"year,omitempty"`
	Plot          string    `xml:"plot,omitempty"`
	Premiered     string    `xml:"premiered,omitempty"`
	Runtime       int       `xml:"runtime,omitempty"`
	Genres        []string  `xml:"genre,omitempty"`
	Studios       []string  `xml:"studio,omitempty"`
	Status        string    `xml:"status,omitempty"`
	IDs           []otherID `xml:"uniqueid"`
	Posters       []thumb   `xml:"thumb"`
	Fanart        *fanart   `xml:"fanart"`
}

type episode struct {
	XMLName xml.Name  `xml:"episodedetails"`
	Title   string    `xml:"title,omitempty"`
	Season  int       `xml:"season"`
	Number  int       `xml:"episode"`
	Aired   string    `xml:"aired,omitempty"`
	Runtime int       `xml:"runtime,omitempty"`
	Plot    string    `xml:"plot,omitempty"`
	IDs     []otherID `xml:"uniqueid"`
}

type otherID struct {
	Type    string `xml:"type,attr"`
	Default bool   `xml:"default,attr,omitempty"`
	ID      string `xml:",chardata"`
}

type thumb struct {
	Aspect  string `xml:"aspect,attr,omitempty"`
	Address string `xml:",chardata"`
}

type fanart struct {
	Thumbs []thumb `xml:"thumb"`
}

// IDs returns the file that says which entry a folder or film is, and no more. Behind it stands the address of TMDB's
// page: Kodi then asks its own scraper for the rest.
func IDs(e *Entry) []byte {
	return append(write(e.named()), page+e.Kind+"/"+strconv.Itoa(e.ID)+"\n"...)
}

// Full returns the file that says all that is known of an entry. Kodi asks nobody then.
func Full(e *Entry) []byte {
	w := e.named()
	w.Plot, w.Premiered, w.Runtime, w.Status = e.Plot, e.Premiered, e.Runtime, e.Status
	w.Genres, w.Studios = e.Genres, e.Studios
	if e.Poster != "" {
		w.Posters = []thumb{{"poster", images + e.Poster}}
	}
	if e.Fanart != "" {
		w.Fanart = &fanart{[]thumb{{"", images + e.Fanart}}}
	}
	return write(w)
}

// Episodes returns the file of a video that holds these episodes of a season, one element each; nil where one of them
// is not known.
func Episodes(e *Entry, season int, numbers []int) []byte {
	var all []any
	for _, number := range numbers {
		for i := range e.Episodes {
			if of := &e.Episodes[i]; of.Season == season && of.Number == number {
				all = append(all, episode{
					Title: of.Title, Season: season, Number: number, Aired: of.Aired, Runtime: of.Runtime, Plot: of.Plot,
					IDs: ownID(of.ID),
				})
				break
			}
		}
	}
	if len(all) < len(numbers) || len(all) == 0 {
		return nil
	}
	return write(all...)
}

func (e *Entry) named() work {
	w := work{Title: e.Title, OriginalTitle: e.OriginalTitle, Year: e.Year, IDs: ownID(e.ID)}
	w.XMLName.Local = rootOf(e.Kind)
	for _, id := range []otherID{
		{Type: "imdb", ID: e.IMDB},
		{Type: "tvdb", ID: digits(e.TVDB)},
		{Type: "anidb", ID: digits(e.AniDB)},
		{Type: "anilist", ID: digits(e.AniList)},
		{Type: "myanimelist", ID: digits(e.MAL)},
	} {
		if id.ID != "" {
			w.IDs = append(w.IDs, id)
		}
	}
	return w
}

func rootOf(kind string) string {
	if kind == "tv" {
		return "tvshow"
	}
	return "movie"
}

func ownID(id int) []otherID {
	if id == 0 {
		return nil
	}
	return []otherID{{"tmdb", true, digits(id)}}
}

func digits(id int) string {
	if id == 0 {
		return ""
	}
	return strconv.Itoa(id)
}

// write returns elements as the text of a file. What XML can't hold is replaced, so it never fails.
func write(elements ...any) []byte {
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n")
	for _, e := range elements {
		text, _ := xml.MarshalIndent(e, "", "  ")
		b.Write(text)
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// Root returns the name of an XML text's root element, "" where it is none.
func Root(text []byte) string {
	s := strings.TrimPrefix(string(text), "\ufeff")
	for {
		s = strings.TrimLeft(s, " \t\r\n")
		var end string
		switch {
		case strings.HasPrefix(s, "<!--"):
			end = "-->"
		case strings.HasPrefix(s, "<?"):
			end = "?>"
		case strings.HasPrefix(s, "<!"):
			end = ">"
		case strings.HasPrefix(s, "<"):
			name := s[1:]
			if i := strings.IndexAny(name, " \t\r\n/>"); i >= 0 {
				return name[:i]
			}
			return ""
		default:
			return ""
		}
		_, rest, found := strings.Cut(s, end)
		if !found {
			return ""
		}
		s = rest
	}
}

// forms are how an NFO names its TMDB id, the surest first: an element of today, that of older servers, an address.
var forms = []func() *regexp.Regexp{
	lazyregexp.New(`(?i)<uniqueid\s[^>]*type=["']tmdb["'][^>]*>\s*(\d{1,9})\s*<`),
	lazyregexp.New(`(?i)<tmdbid>\s*(\d{1,9})\s*<`),
	lazyregexp.New(`(?i)themoviedb\.org/(?:tv|movie)/(\d{1,9})`),
}

// IsAbout reports whether an NFO by anybody is about an entry, and returns the TMDB id that it names, 0 for none. The
// NFO of an episode names the episode's id, which says nothing about the series.
func IsAbout(text []byte, kind string, id int) (about bool, named int) {
	root := Root(text)
	if root == "episodedetails" {
		return kind == "tv", 0
	}
	for _, form := range forms {
		if m := form().FindSubmatch(text); m != nil {
			named, _ = strconv.Atoi(string(m[1]))
			break
		}
	}
	return named == id && (root == "" || root == rootOf(kind)), named
}
