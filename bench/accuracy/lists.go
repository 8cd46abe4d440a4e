package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/tmdbfake"
	"github.com/anivault/anivault/internal/tmdbfake/catalogfile"
)

// The evaluation has no lists of its own. Those that index update fetches are written from its catalogue, in the forms
// of Anime-Lists, AniDB and TMDB's exports: the same anime, under the same titles, where Anime-Lists puts them, and the
// works' original names. So figures with the index say what perfect lists would do.

// listedWork is what the catalogue says of a work.
type listedWork struct {
	Kind   string `json:"kind"`
	ID     int    `json:"tmdb_id"`
	Titles []struct {
		Language string `json:"lang"`
		Kind     string `json:"type"`
		Text     string `json:"title"`
		Anime    int    `json:"anidb"`
		Season   any    `json:"season"` // "a": counted over all seasons
	} `json:"titles"`
	Seasons []struct {
		Number int  `json:"season"`
		First  int  `json:"first"`
		Count  int  `json:"episodes"`
		Stale  bool `json:"stale"`
		Cours  []struct {
			Anime  int `json:"anidb"`
			Offset int `json:"offset"`
			Count  int `json:"episodes"`
		} `json:"cours"`
		Ranges []struct {
			Anime int    `json:"anidb"`
			From  [2]int `json:"ad"`
			To    [2]int `json:"tmdb"`
		} `json:"ranges"`
	} `json:"seasons"`
}

// listedAnime is an entry of Anime-Lists.
type listedAnime struct {
	XMLName  xml.Name        `xml:"anime"`
	ID       int             `xml:"anidbid,attr"`
	TV       int             `xml:"tmdbtv,attr,omitempty"`
	Season   string          `xml:"tmdbseason,attr,omitempty"`
	Offset   int             `xml:"tmdboffset,attr,omitempty"`
	Movies   string          `xml:"tmdbid,attr,omitempty"`
	Name     string          `xml:"name"`
	Mappings []listedMapping `xml:"mapping-list>mapping"`
}

type listedMapping struct {
	From   int `xml:"anidbseason,attr"`
	Season int `xml:"tmdbseason,attr"`
	Start  int `xml:"start,attr"`
	End    int `xml:"end,attr"`
	Offset int `xml:"offset,attr"`
}

// titleTypes are AniDB's numbers of the types of titles that are AniDB's.
var titleTypes = map[string]int{"main": 1, "synonym": 2, "short": 3, "official": 4}

// index imports the lists of the catalogue and returns the data folder of somebody who has done so.
func (b *bench) index() (string, error) {
	dir := filepath.Join(b.tmp, "data")
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	var works []listedWork
	if err := readLines(b.catalogue(), func(w listedWork) { works = append(works, w) }); err != nil {
		return "", err
	}
	anime := map[int]*listedAnime{}
	var order []int
	var titles bytes.Buffer
	for _, w := range works {
		for _, t := range w.Titles {
			kind, ok := titleTypes[t.Kind]
			if t.Anime == 0 || !ok {
				continue
			}
			if anime[t.Anime] == nil {
				anime[t.Anime] = &listedAnime{ID: t.Anime}
				order = append(order, t.Anime)
			}
			if fmt.Fprintf(&titles, "%d|%d|%s|%s\n", t.Anime, kind, t.Language, t.Text); t.Kind == "main" {
				anime[t.Anime].Name = t.Text
			}
			if t.Season == "a" {
				anime[t.Anime].TV, anime[t.Anime].Season = w.ID, "a"
			}
		}
		w.list(anime)
	}
	slices.Sort(order)
	list := struct {
		XMLName xml.Name `xml:"anime-list"`
		Anime   []*listedAnime
	}{}
	for _, id := range slices.Compact(order) {
		list.Anime = append(list.Anime, anime[id])
	}
	text, err := xml.Marshal(list)
	if err != nil {
		return "", err
	}
	lists, names := filepath.Join(b.tmp, "anime-list.xml"), filepath.Join(b.tmp, "anime-titles.dat")
	series, films, err := b.exports()
	if err != nil {
		return "", err
	}
	tv, movies := filepath.Join(b.tmp, "tv_series_ids.json"), filepath.Join(b.tmp, "movie_ids.json")
	for name, content := range map[string][]byte{lists: text, names: titles.Bytes(), tv: series, movies: films} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			return "", err
		}
	}
	cmd := exec.Command(b.anivault, "index", "import", "--quiet", lists, names, tv, movies)
	cmd.Env = append(os.Environ(), "ANIVAULT_DATA_DIR="+dir, "HOME="+b.tmp)
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("import the lists: %w: %s", err, text)
	}
	return dir, nil
}

// exports returns TMDB's exports of the ids of series and films.
func (b *bench) exports() (series, films []byte, err error) {
	f, err := os.Open(b.catalogue())
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	c, err := catalogfile.Read(f)
	if err != nil {
		return nil, nil, err
	}
	export := func(kind tmdbfake.Kind, field string) []byte {
		var out bytes.Buffer
		for _, w := range c.Works(kind) {
			fmt.Fprintf(&out, "{\"id\":%d,%q:%s,\"popularity\":%g}\n", w.ID, field, strconv.Quote(w.Original), w.Popularity)
		}
		return out.Bytes()
	}
	return export(tmdbfake.TV, "original_name"), export(tmdbfake.Movie, "original_title"), nil
}

// list puts the places of a work's anime into the entries.
func (w *listedWork) list(anime map[int]*listedAnime) {
	if w.Kind == "movie" {
		for _, t := range w.Titles {
			a, id := anime[t.Anime], fmt.Sprint(w.ID)
			if a != nil && !slices.Contains(strings.Split(a.Movies, ","), id) {
				a.Movies = strings.TrimPrefix(a.Movies+","+id, ",")
			}
		}
		return
	}
	folded := map[int]bool{} // Anime-Lists still has them in a season of their own
	for _, s := range w.Seasons {
		for _, c := range s.Cours {
			if a := anime[c.Anime]; a != nil && a.TV == 0 {
				a.TV, a.Season, a.Offset = w.ID, fmt.Sprint(s.Number), c.Offset
			}
			folded[c.Anime] = folded[c.Anime] || s.Stale
		}
	}
	seasons := map[int]int{} // of an anime with ranges, how many it lies in
	for _, s := range w.Seasons {
		for _, r := range s.Ranges {
			seasons[r.Anime]++
		}
	}
	for _, s := range w.Seasons {
		for _, r := range s.Ranges {
			a := anime[r.Anime]
			if a == nil || folded[r.Anime] || a.TV == w.ID && a.Season == fmt.Sprint(s.Number) && seasons[r.Anime] < 2 {
				continue // its season and offset say the same
			}
			a.TV, a.Season, a.Offset = w.ID, "a", 0
			to := r.To[0] // Anime-Lists counts inside the season, also where TMDB's numbers go on
			if s.First > 1 {
				to -= s.First - 1
			}
			a.Mappings = append(a.Mappings,
				listedMapping{From: 1, Season: s.Number, Start: r.From[0], End: r.From[1], Offset: to - r.From[0]})
		}
	}
}
