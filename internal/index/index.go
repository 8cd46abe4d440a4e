// Package index is the local title index: which TMDB entry, season and offset a title is, in any script, without
// asking anyone. It is built from lists that the user has fetched (Anime-Lists, AniDB's titles, TMDB's daily exports)
// and answers by exact normalised title only; what is near is the matcher's business.
package index

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/title"
)

// Source is a list that an index is built from.
type Source string

// The sources. Each is replaced whole when it is imported again.
const (
	AnimeLists Source = "anime-lists" // Anime-Lists' XML: AniDB's anime to TMDB's entries
	AniDB      Source = "anidb"       // AniDB's anime-titles
	TVExport   Source = "tmdb-tv"     // TMDB's tv_series_ids
	FilmExport Source = "tmdb-movie"  // TMDB's movie_ids
	AnimeIDs   Source = "anime-ids"   // Fribb's anime-list-full.json: AniDB's anime to those of AniList and MyAnimeList
)

var sources = []Source{AnimeLists, AniDB, TVExport, FilmExport, AnimeIDs}

type anime struct {
	ID       int     `json:"-"` // AniDB's
	Name     string  `json:"name,omitempty"`
	TV       int     `json:"tv,omitempty"`     // TMDB's series, 0 for none
	Season   *int    `json:"season,omitempty"` // nil: not said, or absolute
	Absolute bool    `json:"absolute,omitempty"`
	Offset   int     `json:"offset,omitempty"`
	Movies   []int   `json:"movies,omitempty"`
	Ranges   []Range `json:"ranges,omitempty"`
}

// Range maps some episodes of an anime one by one, for regular ones only. An episode n from Start to End (0: no end)
// is episode n+Offset of Season; Pairs overrule that.
type Range struct {
	Season int            `json:"season"`
	Start  int            `json:"start,omitempty"`
	End    int            `json:"end,omitempty"`
	Offset int            `json:"offset,omitempty"`
	Pairs  map[int]Target `json:"pairs,omitempty"`
}

// Target is the episodes that one episode corresponds to; none where TMDB lacks it.
type Target []int

type titleRow struct {
	anime    int
	kind     titleKind
	language string
	text     string
}

type titleKind byte

const (
	mainTitle titleKind = iota + 1
	officialTitle
	synonym
	shortTitle
)

type exportRow struct {
	kind       match.Kind
	id         int
	title      string
	popularity float64
}

// Candidate is an entry that a title may be. Anime is 0 for an entry that only TMDB's exports have; Original and
// Popularity are known only if these were imported.
type Candidate struct {
	Kind       match.Kind
	ID         int
	Text       string
	Original   string
	Popularity float64
	Anime      int
	Short      bool // an abbreviation that AniDB lists; several works may share it
	Season     *int
	Absolute   bool
	Offset     int
	Ranges     []Range
}

// Place returns the season and TMDB's numbers that the lists give for a regular episode.
func (c Candidate) Place(n int) (season int, episodes []int, ok bool) {
	for _, r := range c.Ranges {
		if t, listed := r.Pairs[n]; listed {
			return r.Season, t, len(t) > 0
		}
	}
	for _, r := range c.Ranges {
		if r.Start > 0 && n >= r.Start && (r.End == 0 || n <= r.End) && n+r.Offset > 0 {
			return r.Season, []int{n + r.Offset}, true
		}
	}
	if c.Season == nil || n+c.Offset < 0 {
		return 0, nil, false
	}
	return *c.Season, []int{n + c.Offset}, true
}

// FileName is the index's file in the data folder. The number is the layout's: another layout has another file, and
// the lists are imported anew.
const FileName = "index-v2.db"

// bucket is one of the file's buckets. Keys of titles are the normalised title, a zero byte and the id.
type bucket byte

const (
	bucketAnime     bucket = iota + 1 // AniDB id -> anime, JSON
	bucketShows                       // TMDB series id, AniDB id -> nothing
	bucketListNames                   // title -> text: the names in Anime-Lists
	bucketTitles                      // title -> kind, language, text: AniDB's
	bucketTV                          // title -> popularity, text: TMDB's series
	bucketTVIDs                       // TMDB id -> popularity, text
	bucketFilms
	bucketFilmIDs
	bucketListLoose // marked title -> as in bucketListNames
	bucketLoose     // marked title -> as in bucketTitles
	bucketMovies    // TMDB film id, AniDB id -> nothing
	bucketIDs       // AniDB id -> AniList's id, MyAnimeList's id
)

func (b bucket) name() []byte { return []byte{'b', byte('0' + b)} }

var metaName = []byte("meta")

var bucketsOf = map[Source][]bucket{
	AnimeLists: {bucketAnime, bucketShows, bucketListNames, bucketListLoose, bucketMovies},
	AniDB:      {bucketTitles, bucketLoose},
	TVExport:   {bucketTV, bucketTVIDs},
	FilmExport: {bucketFilms, bucketFilmIDs},
	AnimeIDs:   {bucketIDs},
}

const maxTitle = 1000

func keysOf(text string) []string {
	if len(text) > maxTitle {
		return nil
	}
	var out []string
	if n := title.Normalize(text); n != "" {
		out = append(out, n)
	}
	if r := title.Romanize(text); r != text {
		if n := title.Normalize(r); n != "" && (len(out) == 0 || n != out[0]) {
			out = append(out, n)
		}
	}
	return out
}

// Marks in front of keys that are looked up only where nothing has exactly the title. No normalised title begins so.
const (
	plainMark = "\x01" // however long vowels, particles and spaces are written
	headMark  = "\x02" // without the subtitle or the year
)

const leastLoose = 8

func looseKeysOf(text string) []string {
	if len(text) > maxTitle {
		return nil
	}
	var out []string
	if plain := title.Plain(title.Normalize(text)); len(plain) >= leastLoose {
		out = append(out, plainMark+plain)
	}
	undated := yearAtEnd.ReplaceAllString(text, "")
	head := title.Normalize(match.TextBefore(undated, match.SubtitleMarks))
	enough := strings.Contains(head, " ") || len(head) != utf8.RuneCountInString(head)
	if head == "" && undated != text {
		head, enough = title.Normalize(undated), true
	}
	if plain := title.Plain(head); len(plain) >= leastLoose && enough {
		out = append(out, headMark+plain)
	}
	return out
}

// yearAtEnd is how AniDB tells namesakes and seasons of one title apart: "Title (2019)".
var yearAtEnd = regexp.MustCompile(`\s*\((19|20)\d\d\)$`)

func idKey(ids ...int) []byte {
	var b []byte
	for _, id := range ids {
		b = binary.BigEndian.AppendUint32(b, uint32(id))
	}
	return b
}

func titleKey(norm string, id int) []byte {
	b := make([]byte, 0, len(norm)+5)
	return binary.BigEndian.AppendUint32(append(append(b, norm...), 0), uint32(id))
}

func idOf(key []byte) int {
	if len(key) < 4 {
		return 0
	}
	return int(binary.BigEndian.Uint32(key[len(key)-4:]))
}

func animeRecords(a anime) ([]record, error) {
	value, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	out := []record{{bucketAnime, idKey(a.ID), value}}
	if a.TV > 0 {
		out = append(out, record{bucketShows, idKey(a.TV, a.ID), nil})
	}
	for _, id := range a.Movies {
		out = append(out, record{bucketMovies, idKey(id, a.ID), nil})
	}
	for _, k := range keysOf(a.Name) {
		out = append(out, record{bucketListNames, titleKey(k, a.ID), []byte(a.Name)})
	}
	for _, k := range looseKeysOf(a.Name) {
		out = append(out, record{bucketListLoose, titleKey(k, a.ID), []byte(a.Name)})
	}
	return out, nil
}

func titleRecords(t titleRow) []record {
	var out []record
	value := append([]byte{byte(t.kind), byte(min(len(t.language), 255))}, t.language[:min(len(t.language), 255)]...)
	value = append(value, t.text...)
	for _, k := range keysOf(t.text) {
		out = append(out, record{bucketTitles, titleKey(k, t.anime), value})
	}
	if t.kind == shortTitle {
		return out
	}
	for _, k := range looseKeysOf(t.text) {
		out = append(out, record{bucketLoose, titleKey(k, t.anime), value})
	}
	return out
}

func readTitle(value []byte) (titleRow, bool) {
	if len(value) < 2 || len(value) < 2+int(value[1]) {
		return titleRow{}, false
	}
	n := 2 + int(value[1])
	return titleRow{kind: titleKind(value[0]), language: string(value[2:n]), text: string(value[n:])}, true
}

func exportRecords(r exportRow) []record {
	titles, ids := bucketTV, bucketTVIDs
	if r.kind == match.Movie {
		titles, ids = bucketFilms, bucketFilmIDs
	}
	text := r.title
	if len(text) > maxTitle {
		text = strings.ToValidUTF8(text[:maxTitle], "")
	}
	value := append(binary.BigEndian.AppendUint32(nil, math.Float32bits(float32(r.popularity))), text...)
	out := []record{{ids, idKey(r.id), value}}
	for _, k := range keysOf(text) {
		out = append(out, record{titles, titleKey(k, r.id), value})
	}
	return out
}

func readExportValue(value []byte) (popularity float64, text string, ok bool) {
	if len(value) < 4 {
		return 0, "", false
	}
	p := float64(math.Float32frombits(binary.BigEndian.Uint32(value)))
	if math.IsNaN(p) || math.IsInf(p, 0) {
		p = 0
	}
	return p, string(value[4:]), true
}
