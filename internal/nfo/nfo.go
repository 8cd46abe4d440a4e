// Package nfo writes NFO files: small XML files that tell media servers what a folder or a video is. It does no I/O,
// and equal values give equal bytes.
package nfo

import (
	"bytes"
	"encoding/xml"
	"regexp"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/lazyregexp"
)

// Entry is a series or film of TMDB. Empty fields are left out of the file.
type Entry struct {
	Kind          string // "tv" or "movie"
	ID            int    // on TMDB
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
	Poster    string // path of the image on TMDB
	Fanart    string // path of the image on TMDB

	Episodes []Episode // of a series
}

// Episode is an episode of a series.
type Episode struct {
	ID      int // the episode's ID on TMDB
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

// IDs returns an NFO with only the IDs of an entry. The address of its TMDB page follows the XML, which makes Kodi get
// the rest with its own scraper.
func IDs(e *Entry) []byte {
	return append(write(e.named()), page+e.Kind+"/"+strconv.Itoa(e.ID)+"\n"...)
}

// Full returns an NFO with everything known about an entry. With it, Kodi asks no scraper.
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

// Episodes returns the NFO of a video that holds these episodes of a season, one XML element per episode. It returns
// nil if an episode is unknown.
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

// write encodes elements as XML. It never fails, because xml replaces invalid characters.
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

// Root returns the name of an XML text's root element, or "" if there is none.
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

// forms match the TMDB ID in an NFO, the most reliable first: the current element, the one of older servers, an
// address.
var forms = []func() *regexp.Regexp{
	lazyregexp.New(`(?i)<uniqueid\s[^>]*type=["']tmdb["'][^>]*>\s*(\d{1,9})\s*<`),
	lazyregexp.New(`(?i)<tmdbid>\s*(\d{1,9})\s*<`),
	lazyregexp.New(`(?i)themoviedb\.org/(?:tv|movie)/(\d{1,9})`),
}

// IsAbout reports whether any program's NFO is about the entry, and returns the TMDB ID in it, or 0. An episode's NFO
// has the episode's ID, so IsAbout accepts it for every series.
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
