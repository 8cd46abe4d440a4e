package index

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/orders"
)

// titleKinds lists the kinds that are not synonyms, as AniDB's XML and its lines write them.
var titleKinds = map[string]titleKind{
	"main": mainTitle, "1": mainTitle, "official": officialTitle, "4": officialTitle, "short": shortTitle, "3": shortTitle,
}

func titleKindOf(s string) titleKind { return cmp.Or(titleKinds[strings.TrimSpace(s)], synonym) }

type aniDBElement struct {
	ID     string `xml:"aid,attr"`
	Titles []struct {
		Language string `xml:"lang,attr"`
		Kind     string `xml:"type,attr"`
		Text     string `xml:",chardata"`
	} `xml:"title"`
}

func readAniDBXML(r io.Reader, yield func(titleRow) error) error {
	return eachElement(r, "animetitles", "anime", func(e aniDBElement) error {
		id := parseID(e.ID)
		for _, t := range e.Titles {
			row := titleRow{
				anime: id, kind: titleKindOf(t.Kind), language: strings.TrimSpace(t.Language),
				text: strings.TrimSpace(t.Text),
			}
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

// readAniDBLines yields every title of AniDB's text format, with lines "aid|type|language|title". Lines that begin with
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
		row := titleRow{anime: id, kind: titleKindOf(parts[1]), language: parts[2], text: strings.TrimSpace(parts[3])}
		if row.text == "" {
			return nil
		}
		return yield(row)
	})
}

// animeElement is an <anime> of Anime-Lists, with the attributes in the order of that list.
type animeElement struct {
	ID         string           `xml:"anidbid,attr"`
	TVDBID     string           `xml:"tvdbid,attr"`
	TVDBSeason string           `xml:"defaulttvdbseason,attr"`
	TVDBOffset string           `xml:"episodeoffset,attr"`
	TVID       string           `xml:"tmdbtv,attr"`
	Season     string           `xml:"tmdbseason,attr"`
	Offset     string           `xml:"tmdboffset,attr"`
	MovieIDs   string           `xml:"tmdbid,attr"`
	Name       string           `xml:"name"`
	Mappings   []mappingElement `xml:"mapping-list>mapping"`
}

type mappingElement struct {
	AniDBSeason string `xml:"anidbseason,attr"`
	TVDBSeason  string `xml:"tvdbseason,attr,omitempty"`
	Season      string `xml:"tmdbseason,attr,omitempty"`
	Start       string `xml:"start,attr,omitempty"`
	End         string `xml:"end,attr,omitempty"`
	Offset      string `xml:"offset,attr,omitempty"`
	Pairs       string `xml:",chardata"`
}

// readAnimeLists yields every entry with an AniDB id. Where a number is expected there may be a word ("unknown",
// "movie"), which counts as absent.
func readAnimeLists(r io.Reader, yield func(anime) error) error {
	return eachElement(r, "anime-list", "anime", func(e animeElement) error {
		a := anime{
			ID: parseID(e.ID), Name: strings.TrimSpace(e.Name), TVID: parseID(e.TVID), TVDBID: parseID(e.TVDBID),
			Numbering: numberingOf(e.Season, e.Offset), TVDB: numberingOf(e.TVDBSeason, e.TVDBOffset),
		}
		if a.ID == 0 {
			return nil
		}
		for id := range strings.SplitSeq(e.MovieIDs, ",") {
			if n := parseID(id); n > 0 && len(a.MovieIDs) < maxMovies {
				a.MovieIDs = append(a.MovieIDs, n)
			}
		}
		for _, m := range e.Mappings {
			m.addTo(&a.Numbering, m.Season)
			m.addTo(&a.TVDB, m.TVDBSeason)
		}
		return yield(a)
	})
}

func numberingOf(season, offset string) orders.Numbering {
	x := orders.Numbering{Absolute: strings.TrimSpace(season) == "a", Offset: parseOffset(offset)}
	if n, ok := parseSeason(season); ok {
		x.Season = &n
	}
	return x
}

// addTo adds a mapping to a season of a catalogue, unless it has none there.
func (m *mappingElement) addTo(x *orders.Numbering, season string) {
	n, ok := parseSeason(season)
	if !ok {
		return
	}
	r := orders.Range{
		Season: n, Start: parseID(m.Start), End: parseID(m.End), Offset: parseOffset(m.Offset), Pairs: parsePairs(m.Pairs),
	}
	switch strings.TrimSpace(m.AniDBSeason) {
	case "1":
		x.Ranges = append(x.Ranges, r)
	case "0":
		x.Specials = append(x.Specials, r)
	}
}

const (
	maxID     = 1 << 31
	maxNumber = 99999
	maxMovies = 64
	maxPairs  = 5000
)

// parsePairs reads ";1-5;2-6+7;3-0;": an episode of the anime, and its episodes on TMDB, 0 for none. In some lists an
// episode with two is written ";2-6;2-7;".
func parsePairs(s string) map[int][]int {
	var out map[int][]int
	for p := range strings.SplitSeq(s, ";") {
		from, to, ok := strings.Cut(strings.TrimSpace(p), "-")
		n, err := strconv.Atoi(from)
		if !ok || err != nil || n < 1 || n > maxNumber || len(out) >= maxPairs {
			continue
		}
		var t []int
		for e := range strings.SplitSeq(to, "+") {
			if m, err := strconv.Atoi(e); err == nil && m > 0 && m <= maxNumber {
				t = append(t, m)
			}
		}
		if out == nil {
			out = map[int][]int{}
		}
		out[n] = append(out[n], t...)
	}
	return out
}

func parseID(s string) int { return parseNumber(s, 0, maxID) }

func parseOffset(s string) int { return parseNumber(s, -maxNumber, maxNumber) }

func parseNumber(s string, least, most int) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || n < least || n > most {
		return 0
	}
	return n
}

func parseSeason(s string) (n int, ok bool) {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	return n, err == nil && n >= 0 && n <= maxNumber
}

// IDs are an anime's ids in other catalogues; 0 if unknown.
type IDs struct{ AniDB, AniList, MAL int }

type idNumber int

func (n *idNumber) UnmarshalJSON(text []byte) error {
	*n = idNumber(parseID(strings.Trim(string(text), `"`)))
	return nil
}

// readAnimeIDs yields every row that has AniDB's id and another one. The input is a JSON array of objects, as in
// Fribb's anime-list-full.json; other fields are ignored.
func readAnimeIDs(r io.Reader, yield func(IDs) error) error {
	in := &limitedReader{r, maxElementSize, errLargeElement} // the limit applies to each row
	d := json.NewDecoder(in)
	if start, err := d.Token(); err != nil || start != json.Delim('[') {
		return errors.Join(errUnknownFormat, err)
	}
	for n := 1; d.More(); n++ {
		in.left = maxElementSize
		var row struct {
			AniDB   idNumber `json:"anidb_id"`
			AniList idNumber `json:"anilist_id"`
			MAL     idNumber `json:"mal_id"`
		}
		if err := d.Decode(&row); err != nil {
			return fmt.Errorf("row %d: %w", n, err)
		}
		if row.AniDB == 0 || row.AniList == 0 && row.MAL == 0 {
			continue
		}
		if err := yield(IDs{int(row.AniDB), int(row.AniList), int(row.MAL)}); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return lang.Error("it ends before its list does: %w", err)
	}
	return nil
}

type exportLine struct {
	ID            int     `json:"id"`
	OriginalName  *string `json:"original_name"`
	OriginalTitle *string `json:"original_title"`
	Popularity    float64 `json:"popularity"`
	Video         bool    `json:"video"`
}

func (l exportLine) kind() (kind match.Kind, title string) {
	switch {
	case l.OriginalName != nil:
		return match.TV, *l.OriginalName
	case l.OriginalTitle != nil:
		return match.Movie, *l.OriginalTitle
	}
	return "", ""
}

func readExport(r io.Reader, want match.Kind, yield func(exportRow) error) error {
	return eachLine(r, func(text string) error {
		var l exportLine
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			return lang.Error("it is not JSON as TMDB writes it: %w", err)
		}
		kind, text := l.kind()
		switch {
		case kind != want:
			return lang.Error("it is not a row of an export of %s", kindNouns[want])
		case l.ID <= 0 || l.ID > maxID:
			return lang.Error("it has no id")
		}
		return yield(exportRow{kind: kind, id: l.ID, title: text, popularity: l.Popularity})
	})
}

var kindNouns = map[match.Kind]string{match.TV: "series", match.Movie: "films"}
