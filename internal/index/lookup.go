package index

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/text/unicode/norm"

	"github.com/anivault/anivault/internal/boltfile"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/title"
)

// ErrNoIndex means that no list was imported yet.
var ErrNoIndex = lang.Error("there is no title index")

// Index is an open index. It does not block imports. If the file is damaged, look-ups return an error and never crash.
type Index struct {
	db  *boltfile.DB
	own Mappings // take precedence over the lists
}

// Open opens the index of a data folder for reading. The caller should close it soon. It returns ErrNoIndex if no list
// was imported.
func Open(dir string) (*Index, error) {
	path := filepath.Join(dir, FileName)
	db, err := boltfile.Open(path, bolt.Options{ReadOnly: true, Timeout: time.Second}, boltfile.CheckTree)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrNoIndex
	case err != nil:
		return nil, lang.Error("open the title index %s: %w", path, err)
	}
	own, _, _ := LoadMappings(dir) // its errors are shown by others
	return &Index{db, own}, nil
}

// Close closes the file.
func (x *Index) Close() error { return x.db.Close() }

// maxHits is the most entries that a look-up reads per title: hundreds are called "Home".
const maxHits = 200

// Lookup returns the entries with a title that is equal when normalised: first those in AniDB's lists, then by
// popularity. Of an entry's titles, one with the same signs comes first: "Title+!" may be the second season of "Title".
func (x *Index) Lookup(text string) ([]Candidate, error) {
	key := title.Normalize(text)
	if key == "" {
		return nil, nil
	}
	out, err := view(x, func(tx *bolt.Tx) (out []Candidate) {
		for _, hit := range animeByTitle(tx, key, bucketAniDBTitles, bucketListTitles) {
			out = append(out, x.candidatesOf(tx, hit)...)
		}
		for kind, b := range map[match.Kind]bucket{match.TV: bucketTVTitles, match.Movie: bucketFilmTitles} {
			eachWithTitle(tx, b, key, func(id int, value []byte) {
				popularity, text, ok := readExportValue(value)
				if !ok || slices.ContainsFunc(out, func(c Candidate) bool { return c.Kind == kind && c.ID == id }) {
					return
				}
				out = append(out, Candidate{Kind: kind, ID: id, Text: text, Original: text, Popularity: popularity})
			})
		}
		return out
	})
	slices.SortStableFunc(out, func(a, b Candidate) int {
		return cmp.Or(
			cmp.Compare(min(b.AniDBID, 1), min(a.AniDBID, 1)), cmp.Compare(b.Popularity, a.Popularity),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID), differentSigns(a.Text, text)-differentSigns(b.Text, text),
		)
	})
	return out, err
}

func differentSigns(a, b string) int {
	signs := func(text string) string {
		return strings.Map(func(r rune) rune {
			if strings.ContainsRune("!?+'°√*☆★♪", r) {
				return r
			}
			return -1
		}, norm.NFKC.String(text))
	}
	if signs(a) == signs(b) {
		return 0
	}
	return 1
}

// LookupLoosely returns AniDB's entries whose title differs only in how long vowels, particles and spaces are written.
// If there is none, it returns those whose title has an additional subtitle or year.
func (x *Index) LookupLoosely(text string) ([]Candidate, error) {
	plain := title.SpellingKey(title.Normalize(text))
	if len(plain) < minLooseKey {
		return nil, nil
	}
	return view(x, func(tx *bolt.Tx) (out []Candidate) {
		for _, mark := range []string{spellingMark, mainTitleMark} {
			for _, hit := range animeByTitle(tx, mark+plain, bucketAniDBLooseTitles, bucketListLooseTitles) {
				out = append(out, x.candidatesOf(tx, hit)...)
			}
			if len(out) > 0 {
				break
			}
		}
		return out
	})
}

func view[T any](x *Index, read func(*bolt.Tx) T) (out T, err error) {
	err = x.db.View(func(tx *bolt.Tx) error {
		out = read(tx)
		return nil
	})
	return out, err
}

// get returns the value of a key; nil if the bucket or the key is missing.
func get(tx *bolt.Tx, b bucket, key []byte) []byte {
	if from := tx.Bucket(b.name()); from != nil {
		return from.Get(key)
	}
	return nil
}

// eachID calls do for the records whose key is the prefix and an id.
func eachID(tx *bolt.Tx, b bucket, prefix []byte, do func(id int, value []byte)) {
	from := tx.Bucket(b.name())
	if from == nil {
		return
	}
	c := from.Cursor()
	k, v := c.Seek(prefix)
	for n := 0; n < maxHits && bytes.HasPrefix(k, prefix); n++ {
		if len(k) == len(prefix)+4 {
			do(idOf(k), v)
		}
		k, v = c.Next()
	}
}

func eachWithTitle(tx *bolt.Tx, b bucket, norm string, do func(id int, value []byte)) {
	eachID(tx, b, append([]byte(norm), 0), do)
}

func animeByTitle(tx *bolt.Tx, key string, titles, names bucket) []titleRow {
	var hits []titleRow
	eachWithTitle(tx, titles, key, func(id int, value []byte) {
		if t, ok := readTitle(value); ok {
			t.anime = id
			hits = append(hits, t)
		}
	})
	eachWithTitle(tx, names, key, func(id int, value []byte) {
		if !slices.ContainsFunc(hits, func(t titleRow) bool { return t.anime == id }) {
			hits = append(hits, titleRow{anime: id, kind: mainTitle, text: string(value)})
		}
	})
	return hits
}

func (x *Index) candidatesOf(tx *bolt.Tx, hit titleRow) []Candidate {
	a, ok := x.animeOfID(tx, hit.anime)
	if !ok {
		return nil
	}
	var out []Candidate
	add := func(c Candidate) {
		c.Text, c.AniDBID, c.Abbreviation = hit.text, hit.anime, hit.kind == shortTitle
		b := bucketTVIDs
		if c.Kind == match.Movie {
			b = bucketFilmIDs
		}
		if p, text, ok := readExportValue(get(tx, b, idKey(c.ID))); ok {
			c.Popularity, c.Original = p, text
		}
		out = append(out, c)
	}
	if a.TVID > 0 {
		add(a.seriesCandidate())
	}
	for _, id := range a.MovieIDs {
		add(Candidate{Kind: match.Movie, ID: id})
	}
	return out
}

func (x *Index) animeOfID(tx *bolt.Tx, id int) (a anime, ok bool) {
	ok = json.Unmarshal(get(tx, bucketAnime, idKey(id)), &a) == nil
	if own, is := x.own[id]; is {
		a.TVID, a.Numbering, a.MovieIDs, ok = own.TVID, own.Numbering, own.MovieIDs, true
	}
	a.ID = id
	return a, ok
}

// eachAnime calls do for each anime of the TMDB entry with the id; b is the lists' bucket of entries of its kind.
func (x *Index) eachAnime(tx *bolt.Tx, b bucket, id int, do func(anime)) {
	eachID(tx, b, idKey(id), func(id int, _ []byte) {
		if a, ok := x.animeOfID(tx, id); ok && x.own[id].ID == 0 {
			do(a)
		}
	})
	for _, n := range slices.Sorted(maps.Keys(x.own)) {
		a, _ := x.animeOfID(tx, n)
		if b == bucketAnimeOfSeries && a.TVID == id || b == bucketAnimeOfFilm && slices.Contains(a.MovieIDs, id) {
			do(a)
		}
	}
}

func (a anime) seriesCandidate() Candidate {
	return Candidate{
		Kind: match.TV, ID: a.TVID, AniDBID: a.ID, Text: a.Name, Numbering: a.Numbering, TVDBID: a.TVDBID, TVDB: a.TVDB,
	}
}

// Siblings returns the lists' mapping of each anime that is part of a TMDB series, as candidates whose Text is the
// anime's name.
func (x *Index) Siblings(tv int) ([]Candidate, error) {
	return view(x, func(tx *bolt.Tx) (out []Candidate) {
		x.eachAnime(tx, bucketAnimeOfSeries, tv, func(a anime) { out = append(out, a.seriesCandidate()) })
		return out
	})
}

// EntriesOfAnime returns the TMDB entries that the lists map an AniDB id to.
func (x *Index) EntriesOfAnime(anime int) ([]Candidate, error) {
	return view(x, func(tx *bolt.Tx) []Candidate { return x.candidatesOf(tx, titleRow{anime: anime}) })
}

// AnimeOfFilm returns the AniDB ids that the lists map to a TMDB film.
func (x *Index) AnimeOfFilm(film int) ([]int, error) {
	return view(x, func(tx *bolt.Tx) (out []int) {
		x.eachAnime(tx, bucketAnimeOfFilm, film, func(a anime) { out = append(out, a.ID) })
		return out
	})
}

// IDsOf returns the other catalogues' ids of an AniDB id. An unknown id is 0.
func (x *Index) IDsOf(anime int) (IDs, error) {
	return view(x, func(tx *bolt.Tx) IDs {
		ids := IDs{AniDB: anime}
		if v := get(tx, bucketOtherIDs, idKey(anime)); len(v) == 8 {
			ids.AniList, ids.MAL = idOf(v[:4]), idOf(v)
		}
		return ids
	})
}

// Stats returns what was imported, in the order of sources, and the file's size in bytes.
func (x *Index) Stats() (infos []SourceInfo, size int64, err error) {
	err = x.db.View(func(tx *bolt.Tx) error {
		size = tx.Size()
		for _, s := range sources {
			var info SourceInfo
			if b := tx.Bucket(metaName); b != nil && json.Unmarshal(b.Get([]byte(s)), &info) == nil {
				infos = append(infos, info)
			}
		}
		return nil
	})
	return infos, size, err
}
