// Package nfo writes NFO files: small XML files that tell media servers what a folder or a video is. It does no I/O,
// and equal values give equal bytes.
package nfo

import (
	"bytes"
	"encoding/xml"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/lazyregexp"
	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/ui"
)

// Entry is a series or film of TMDB. Empty fields are left out of the file.
type Entry struct {
	Kind          string // "tv" or "movie"
	ID            int    // on TMDB
	Title         string
	OriginalTitle string
	Titles        []string // in all languages; no file contains them
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

	Episodes []Episode       // of a series
	Cours    map[int][][]int // the numbers of each season between pauses of its air dates; no file contains them

	Groups []Group // the episode groups of a series, in TMDB's order; no file contains them
	Order  string  // what <displayorder> says; with "tvdb", TVDB's ID is the default one instead; "" for TMDB's order
}

// Group is an episode group: another order of a series' episodes. Type is TMDB's number of its type.
type Group struct {
	ID, Name string
	Type     int
}

// displayOrders are the words of <displayorder> for TMDB's types of episode groups.
var displayOrders = [...]string{1: "originalAirDate", "absolute", "dvd", "digital", "storyArc", "production", "tv"}

// DisplayOrder returns the word of <displayorder> for an order of the series; "" if there is none. For each type, media
// servers use the first group in TMDB's order.
func (e *Entry) DisplayOrder(order string) string {
	if order == orders.Absolute {
		return order
	}
	name, isGroup := strings.CutPrefix(order, orders.GroupPrefix)
	for i, g := range e.Groups {
		first := slices.IndexFunc(e.Groups, func(o Group) bool { return o.Type == g.Type })
		is := isGroup && i == first && (g.ID == name || strings.EqualFold(g.Name, name))
		if is && g.Type < len(displayOrders) {
			return displayOrders[g.Type]
		}
	}
	return ""
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

const imageURL = "https://image.tmdb.org/t/p/original"

const pageURL = "https://www.themoviedb.org/"

const tvdbPageURL = "https://thetvdb.com/dereferrer/series/"

type workXML struct {
	XMLName       xml.Name
	Title         string     `xml:"title,omitempty"`
	OriginalTitle string     `xml:"originaltitle,omitempty"`
	Year          int        `xml:"year,omitempty"`
	Plot          string     `xml:"plot,omitempty"`
	Premiered     string     `xml:"premiered,omitempty"`
	Runtime       int        `xml:"runtime,omitempty"`
	Genres        []string   `xml:"genre,omitempty"`
	Studios       []string   `xml:"studio,omitempty"`
	Status        string     `xml:"status,omitempty"`
	DisplayOrder  string     `xml:"displayorder,omitempty"`
	IDs           []idXML    `xml:"uniqueid"`
	Posters       []thumbXML `xml:"thumb"`
	Fanart        *fanartXML `xml:"fanart"`
}

type episodeXML struct {
	XMLName xml.Name `xml:"episodedetails"`
	Title   string   `xml:"title,omitempty"`
	Season  int      `xml:"season"`
	Number  int      `xml:"episode"`
	Aired   string   `xml:"aired,omitempty"`
	Runtime int      `xml:"runtime,omitempty"`
	Plot    string   `xml:"plot,omitempty"`
	IDs     []idXML  `xml:"uniqueid"`
}

type idXML struct {
	Type    string `xml:"type,attr"`
	Default bool   `xml:"default,attr,omitempty"`
	ID      string `xml:",chardata"`
}

type thumbXML struct {
	Aspect  string `xml:"aspect,attr,omitempty"`
	Address string `xml:",chardata"`
}

type fanartXML struct {
	Thumbs []thumbXML `xml:"thumb"`
}

// IDs returns an NFO with only the titles, year and IDs of an entry. The URL of its page follows the XML; with it
// Kodi's own scraper fetches the rest.
func IDs(e *Entry) []byte {
	page := pageURL + e.Kind + "/" + strconv.Itoa(e.ID)
	if e.Order == orders.TVDB {
		page = tvdbPageURL + strconv.Itoa(e.TVDB)
	}
	return append(encode(e.newWork()), page+"\n"...)
}

// Full returns an NFO with everything known about an entry, so Kodi needs no scraper.
func Full(e *Entry) []byte {
	w := e.newWork()
	w.Plot, w.Premiered, w.Runtime, w.Status = e.Plot, e.Premiered, e.Runtime, e.Status
	w.Genres, w.Studios = e.Genres, e.Studios
	if e.Poster != "" {
		w.Posters = []thumbXML{{"poster", imageURL + e.Poster}}
	}
	if e.Fanart != "" {
		w.Fanart = &fanartXML{[]thumbXML{{"", imageURL + e.Fanart}}}
	}
	return encode(w)
}

// Episodes returns the NFO of a video that contains the episodes at a place, with one XML element per episode. It
// returns nil if the entry lacks one of them. The NFO has the numbers in named, one for each episode.
func Episodes(e *Entry, at, named orders.Place) []byte {
	var all []any
	for n, number := range at.Episodes {
		for i := range e.Episodes {
			if of := &e.Episodes[i]; of.Season == at.Season && of.Number == number {
				all = append(all, episodeXML{
					Title: of.Title, Season: named.Season, Number: named.Episodes[n], Aired: of.Aired, Runtime: of.Runtime,
					Plot: of.Plot,
					IDs:  tmdbID(of.ID),
				})
				break
			}
		}
	}
	if len(all) < len(at.Episodes) || len(all) == 0 {
		return nil
	}
	return encode(all...)
}

func (e *Entry) newWork() workXML {
	w := workXML{Title: e.Title, OriginalTitle: e.OriginalTitle, Year: e.Year, IDs: tmdbID(e.ID)}
	w.XMLName.Local = rootElement(e.Kind)
	if e.Order != orders.TVDB {
		w.DisplayOrder = e.Order
	} else if e.TVDB > 0 {
		w.IDs[0].Default = false
	}
	w.IDs = append(w.IDs,
		idXML{Type: "imdb", ID: e.IMDB},
		idXML{Type: "tvdb", Default: e.Order == orders.TVDB, ID: ui.Number(e.TVDB)},
		idXML{Type: "anidb", ID: ui.Number(e.AniDB)},
		idXML{Type: "anilist", ID: ui.Number(e.AniList)},
		idXML{Type: "myanimelist", ID: ui.Number(e.MAL)},
	)
	w.IDs = slices.DeleteFunc(w.IDs, func(id idXML) bool { return id.ID == "" })
	return w
}

func rootElement(kind string) string {
	if kind == "tv" {
		return "tvshow"
	}
	return "movie"
}

func tmdbID(id int) []idXML {
	if id == 0 {
		return nil
	}
	return []idXML{{"tmdb", true, ui.Number(id)}}
}

// encode encodes elements as XML. It never fails, because xml replaces invalid characters.
func encode(elements ...any) []byte {
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
	d := xml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	d.Strict = false
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // names are ASCII in any encoding
	for {
		token, err := d.RawToken()
		if err != nil {
			return ""
		}
		switch t := token.(type) {
		case xml.StartElement:
			return t.Name.Local
		case xml.CharData:
			if len(bytes.TrimSpace(t)) > 0 {
				return ""
			}
		}
	}
}

// idPatterns match the TMDB ID in an NFO: in <uniqueid>, in the older <tmdbid>, or in a URL.
var idPatterns = []func() *regexp.Regexp{
	lazyregexp.New(`(?i)<uniqueid\s[^>]*type=["']tmdb["'][^>]*>\s*(\d{1,9})\s*<`),
	lazyregexp.New(`(?i)<tmdbid>\s*(\d{1,9})\s*<`),
	lazyregexp.New(`(?i)themoviedb\.org/(?:tv|movie)/(\d{1,9})`),
}

var displayOrderElement = lazyregexp.New(`<displayorder>\s*(\w+)\s*<`)

var tvdbDefault = lazyregexp.New(`<uniqueid\s[^>]*type=["']tvdb["'][^>]*default=["']true`)

// OrderIn returns what an NFO about a series says in <displayorder>, "" for TMDB's order, and whether TVDB's ID is its
// default one.
func OrderIn(text []byte) (displayOrder string, ofTVDB bool) {
	if m := displayOrderElement().FindSubmatch(text); m != nil && string(m[1]) != "aired" {
		displayOrder = string(m[1])
	}
	return displayOrder, tvdbDefault().Match(text)
}

// IsAbout reports whether an NFO, written by any program, is about the entry. named is the TMDB ID in the NFO, or 0. An
// episode's NFO has the episode's ID, so it is accepted for every series.
func IsAbout(text []byte, kind string, id int) (about bool, named int) {
	root := Root(text)
	if root == "episodedetails" {
		return kind == "tv", 0
	}
	for _, form := range idPatterns {
		if m := form().FindSubmatch(text); m != nil {
			named, _ = strconv.Atoi(string(m[1]))
			break
		}
	}
	return named == id && (root == "" || root == rootElement(kind)), named
}
