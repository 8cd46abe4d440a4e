package index

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/match"
)

var titleKinds = map[string]titleKind{
	"main": mainTitle, "official": officialTitle, "syn": synonym, "synonym": synonym, "short": shortTitle, "card": synonym,
	"1": mainTitle, "2": synonym, "3": shortTitle, "4": officialTitle,
}

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

func readAniDBXML(r io.Reader, yield func(titleRow) error) error {
	return eachElement(r, "animetitles", "anime", func(e titlesElement) error {
		id := number(e.ID)
		for _, t := range e.Titles {
			row := titleRow{
				anime: id, kind: kindOf(t.Kind), language: strings.TrimSpace(t.Language),
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

// animeElement is an <anime> of Anime-Lists. What is there for TVDB only says nothing about TMDB and is passed over.
type animeElement struct {
	ID       string           `xml:"anidbid,attr"`
	TV       string           `xml:"tmdbtv,attr"`
	Season   string           `xml:"tmdbseason,attr"`
	Offset   string           `xml:"tmdboffset,attr"`
	Movies   string           `xml:"tmdbid,attr"`
	Name     string           `xml:"name"`
	Mappings []mappingElement `xml:"mapping-list>mapping"`
}

type mappingElement struct {
	From   string `xml:"anidbseason,attr"`
	Season string `xml:"tmdbseason,attr"`
	Start  string `xml:"start,attr"`
	End    string `xml:"end,attr"`
	Offset string `xml:"offset,attr"`
	Pairs  string `xml:",chardata"`
}

// readAnimeLists yields every entry that has an AniDB id. Attributes that should be numbers may be words ("unknown",
// "movie"), and then count as absent.
func readAnimeLists(r io.Reader, yield func(anime) error) error {
	return eachElement(r, "anime-list", "anime", func(e animeElement) error {
		a := anime{ID: number(e.ID), Name: strings.TrimSpace(e.Name), TV: number(e.TV), Offset: integer(e.Offset)}
		if a.ID == 0 {
			return nil
		}
		if season := strings.TrimSpace(e.Season); season == "a" {
			a.Absolute = true
		} else if n, ok := seasonNumber(season); ok {
			a.Season = &n
		}
		for id := range strings.SplitSeq(e.Movies, ",") {
			if n := number(id); n > 0 && len(a.Movies) < maxMovies {
				a.Movies = append(a.Movies, n)
			}
		}
		for _, m := range e.Mappings {
			// Only regular episodes are mapped, and only to TMDB.
			if season, ok := seasonNumber(m.Season); ok && strings.TrimSpace(m.From) == "1" {
				a.Ranges = append(a.Ranges, Range{
					Season: season, Start: number(m.Start), End: number(m.End), Offset: integer(m.Offset), Pairs: pairsOf(m.Pairs),
				})
			}
		}
		return yield(a)
	})
}

const (
	maxID     = 1 << 31
	maxNumber = 99999
	maxMovies = 64
	maxPairs  = 5000
)

// pairsOf reads ";1-5;2-6+7;3-0;": an episode of the anime, and its episodes on TMDB, 0 for none. Some lists write
// ";2-6;2-7;" for two.
func pairsOf(s string) map[int]Target {
	var out map[int]Target
	for p := range strings.SplitSeq(s, ";") {
		from, to, ok := strings.Cut(strings.TrimSpace(p), "-")
		n, err := strconv.Atoi(from)
		if !ok || err != nil || n < 1 || n > maxNumber || len(out) >= maxPairs {
			continue
		}
		var t Target
		for e := range strings.SplitSeq(to, "+") {
			if m, err := strconv.Atoi(e); err == nil && m > 0 && m <= maxNumber {
				t = append(t, m)
			}
		}
		if out == nil {
			out = map[int]Target{}
		}
		out[n] = append(out[n], t...)
	}
	return out
}

func number(s string) int { return numberIn(s, 0, maxID) }

func integer(s string) int { return numberIn(s, -maxNumber, maxNumber) }

func numberIn(s string, least, most int) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || n < least || n > most {
		return 0
	}
	return n
}

func seasonNumber(s string) (n int, ok bool) {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	return n, err == nil && n >= 0 && n <= maxNumber
}

// IDs are what other catalogues call an anime; 0 where they are not known to have it.
type IDs struct{ AniDB, AniList, MAL int }

type idNumber int

func (n *idNumber) UnmarshalJSON(text []byte) error {
	*n = idNumber(number(strings.Trim(string(text), `"`)))
	return nil
}

// readAnimeIDs yields every row with AniDB's id and another one: a JSON array of objects, as Fribb's
// anime-list-full.json is. All other fields are passed over.
func readAnimeIDs(r io.Reader, yield func(IDs) error) error {
	in := &bounded{r: r, large: errLargeElement} // each row has a bound of its own
	in.left = maxElement
	d := json.NewDecoder(in)
	if start, err := d.Token(); err != nil || start != json.Delim('[') {
		return errors.Join(errUnknown, err)
	}
	for n := 1; d.More(); n++ {
		in.left = maxElement
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

func (l exportLine) kind() (match.Kind, string, bool) {
	switch {
	case l.OriginalName != nil:
		return match.TV, *l.OriginalName, true
	case l.OriginalTitle != nil:
		return match.Movie, *l.OriginalTitle, true
	}
	return "", "", false
}

func readExport(r io.Reader, want match.Kind, yield func(exportRow) error) error {
	return eachLine(r, func(text string) error {
		var l exportLine
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			return lang.Error("it is not JSON as TMDB writes it: %w", err)
		}
		kind, text, ok := l.kind()
		switch {
		case !ok || kind != want:
			return lang.Error("it is not a row of an export of %s", nouns[want])
		case l.ID <= 0 || l.ID > maxID:
			return lang.Error("it has no id")
		}
		return yield(exportRow{kind: kind, id: l.ID, title: text, popularity: l.Popularity})
	})
}

var nouns = map[match.Kind]string{match.TV: "series", match.Movie: "films"}
