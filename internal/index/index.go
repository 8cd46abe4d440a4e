// Package index is the local title index. It knows which TMDB entry, season and episode offset a title stands for, in
// any script, without a request. It is built from lists that the user has downloaded (Anime-Lists, AniDB's titles,
// TMDB's daily exports). It finds titles that are equal when normalised; similar titles are the matcher's job.
package index

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	bolt "go.etcd.io/bbolt"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/title"
)

// Source names a list that the index is built from.
type Source string

// The sources. Importing one replaces all that was imported from it before.
const (
	AnimeLists Source = "anime-lists" // Anime-Lists' XML: maps AniDB's anime to TMDB's entries
	AniDB      Source = "anidb"       // AniDB's list of anime titles
	TVExport   Source = "tmdb-tv"     // TMDB's daily export tv_series_ids
	FilmExport Source = "tmdb-movie"  // TMDB's daily export movie_ids
	AnimeIDs   Source = "anime-ids"   // Fribb's anime-list-full.json: maps AniDB's ids to those of AniList and MyAnimeList
)

var sources = []Source{AnimeLists, AniDB, TVExport, FilmExport, AnimeIDs}

type anime struct {
	ID   int    `json:"-"` // AniDB's id
	Name string `json:"name,omitempty"`
	TVID int    `json:"tv,omitempty"` // TMDB's id of the series, 0 for none
	orders.Numbering
	TVDBID   int              `json:"tvdb_id,omitempty"` // TVDB's id of the series, 0 for none
	TVDB     orders.Numbering `json:"tvdb,omitzero"`
	MovieIDs []int            `json:"movies,omitempty"`
}

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

// Candidate is an entry that a title may stand for. AniDBID is 0 if only TMDB's exports have the entry; Original and
// Popularity are set only if these exports were imported.
type Candidate struct {
	Kind         match.Kind
	ID           int
	Text         string
	Original     string
	Popularity   float64
	AniDBID      int
	Abbreviation bool // the title is an abbreviation in AniDB's list; several works may share it
	orders.Numbering
	TVDBID int // TVDB's id of the series, and how it numbers the anime's episodes
	TVDB   orders.Numbering
}

// FileName is the name of the index's file in the data folder. It contains the layout's version: a new layout uses a
// new file, and the lists must be imported again.
const FileName = "index-v3.db"

// oldFileNames are those of earlier layouts, which an import removes.
var oldFileNames = []string{"index-v1.db", "index-v2.db"}

// bucket is one of the file's buckets. In buckets of titles, a key is the normalised title, a zero byte and the id.
type bucket byte

const (
	bucketAnime         bucket = iota + 1 // AniDB id -> anime as JSON
	bucketAnimeOfSeries                   // TMDB series id, AniDB id -> nothing
	bucketListTitles                      // title -> text, for Anime-Lists
	bucketAniDBTitles                     // title -> kind, language, text, for AniDB's titles
	bucketTVTitles                        // title -> popularity, text, for TMDB's series
	bucketTVIDs                           // TMDB id -> popularity, text
	bucketFilmTitles
	bucketFilmIDs
	bucketListLooseTitles  // loose key -> as in bucketListTitles
	bucketAniDBLooseTitles // loose key -> as in bucketAniDBTitles
	bucketAnimeOfFilm      // TMDB film id, AniDB id -> nothing
	bucketOtherIDs         // AniDB id -> AniList's id, MyAnimeList's id
)

func (b bucket) name() []byte { return []byte{'b', byte('0' + b)} }

var metaName = []byte("meta")

var bucketsOf = map[Source][]bucket{
	AnimeLists: {bucketAnime, bucketAnimeOfSeries, bucketListTitles, bucketListLooseTitles, bucketAnimeOfFilm},
	AniDB:      {bucketAniDBTitles, bucketAniDBLooseTitles},
	TVExport:   {bucketTVTitles, bucketTVIDs},
	FilmExport: {bucketFilmTitles, bucketFilmIDs},
	AnimeIDs:   {bucketOtherIDs},
}

const maxTitle = 1000

func exactKeys(text string) []string {
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

// The first byte of a loose key. Loose keys are looked up only if no title is exactly equal. No normalised title begins
// with these bytes.
const (
	spellingMark  = "\x01" // for titles that differ only in how long vowels, particles and spaces are written
	mainTitleMark = "\x02" // for titles without their subtitle or year
)

const minLooseKey = 8

func looseKeys(text string) []string {
	if len(text) > maxTitle {
		return nil
	}
	var out []string
	if plain := title.SpellingKey(title.Normalize(text)); len(plain) >= minLooseKey {
		out = append(out, spellingMark+plain)
	}
	undated := yearAtEnd.ReplaceAllString(text, "")
	head := title.Normalize(match.TextBefore(undated, match.SubtitleMarks))
	enough := strings.Contains(head, " ") || len(head) != utf8.RuneCountInString(head)
	if head == "" && undated != text {
		head, enough = title.Normalize(undated), true
	}
	if plain := title.SpellingKey(head); len(plain) >= minLooseKey && enough {
		out = append(out, mainTitleMark+plain)
	}
	return out
}

// yearAtEnd matches the year by which AniDB distinguishes works with the same title: "Title (2019)".
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

func animeRecords(a anime) []record {
	value, _ := json.Marshal(a) // it can't fail for an anime
	out := []record{{bucketAnime, idKey(a.ID), value}}
	if a.TVID > 0 {
		out = append(out, record{bucketAnimeOfSeries, idKey(a.TVID, a.ID), nil})
	}
	for _, id := range a.MovieIDs {
		out = append(out, record{bucketAnimeOfFilm, idKey(id, a.ID), nil})
	}
	out = appendTitles(out, bucketListTitles, exactKeys(a.Name), a.ID, []byte(a.Name))
	return appendTitles(out, bucketListLooseTitles, looseKeys(a.Name), a.ID, []byte(a.Name))
}

func appendTitles(out []record, b bucket, titles []string, id int, value []byte) []record {
	for _, t := range titles {
		out = append(out, record{b, titleKey(t, id), value})
	}
	return out
}

func titleRecords(t titleRow) []record {
	value := append([]byte{byte(t.kind), byte(min(len(t.language), 255))}, t.language[:min(len(t.language), 255)]...)
	value = append(value, t.text...)
	out := appendTitles(nil, bucketAniDBTitles, exactKeys(t.text), t.anime, value)
	if t.kind == shortTitle {
		return out
	}
	return appendTitles(out, bucketAniDBLooseTitles, looseKeys(t.text), t.anime, value)
}

func readTitle(value []byte) (titleRow, bool) {
	if len(value) < 2 || len(value) < 2+int(value[1]) {
		return titleRow{}, false
	}
	n := 2 + int(value[1])
	return titleRow{kind: titleKind(value[0]), language: string(value[2:n]), text: string(value[n:])}, true
}

func exportRecords(r exportRow) []record {
	titles, ids := bucketTVTitles, bucketTVIDs
	if r.kind == match.Movie {
		titles, ids = bucketFilmTitles, bucketFilmIDs
	}
	text := r.title
	if len(text) > maxTitle {
		text = strings.ToValidUTF8(text[:maxTitle], "")
	}
	value := append(binary.BigEndian.AppendUint32(nil, math.Float32bits(float32(r.popularity))), text...)
	out := []record{{ids, idKey(r.id), value}}
	return appendTitles(out, titles, exactKeys(text), r.id, value)
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

type record struct {
	bucket     bucket
	key, value []byte
}

const (
	// maxRecordBytes limits the memory of an import. All of TMDB's series and films take about a sixth of it.
	maxRecordBytes = 1 << 30
	maxKeyLength   = 1<<15 - 1 // bbolt's limit is one more
	batchSize      = 20000     // records per transaction
)

// records are all records of an index. Each is encoded in one string: the bucket, the key, the value, and the key's
// length in two bytes. A slice of structs would take twice the memory.
type records struct {
	encoded []string
	size    int
	buffer  []byte
}

// storeError is an error of the index's own files or limits, not of an imported file.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }
func (e *storeError) Unwrap() error { return e.err }

// add adds a copy of a record. It ignores records with a key that is too long for the file: no look-up asks for such
// titles.
func (s *records) add(r record) error {
	if s.size += len(r.key) + len(r.value); s.size > maxRecordBytes {
		return &storeError{lang.Error("the lists hold more than %d MiB of titles", maxRecordBytes>>20)}
	}
	n := len(r.key)
	if n > maxKeyLength {
		return nil
	}
	s.buffer = append(append(append(s.buffer[:0], byte(r.bucket)), r.key...), r.value...)
	s.encoded = append(s.encoded, string(append(s.buffer, byte(n>>8), byte(n))))
	return nil
}

func bucketAndKey(record string) string {
	n := len(record)
	return record[:1+int(record[n-2])<<8+int(record[n-1])]
}

// sort sorts the records in the order of the file, so that the B+tree is built densely. Of records with the same key it
// keeps the first.
func (s *records) sort() {
	slices.SortFunc(s.encoded, func(a, b string) int {
		return cmp.Or(strings.Compare(bucketAndKey(a), bucketAndKey(b)), strings.Compare(a[:len(a)-2], b[:len(b)-2]))
	})
	s.encoded = slices.CompactFunc(s.encoded, func(a, b string) bool { return bucketAndKey(a) == bucketAndKey(b) })
}

// addKeptSources adds the records of the current index whose sources are not being imported. A source that is damaged
// is left out and must be imported again.
func (s *records) addKeptSources(dir string, replaced []SourceInfo) (kept []SourceInfo, err error) {
	old, err := Open(dir)
	if err != nil {
		return nil, nil
	}
	defer func() { _ = old.Close() }()
	infos, _, _ := old.Stats()
	for _, info := range infos {
		if slices.ContainsFunc(replaced, func(r SourceInfo) bool { return r.Source == info.Source }) {
			continue
		}
		before := len(s.encoded)
		err := old.db.View(func(tx *bolt.Tx) error {
			for _, b := range bucketsOf[info.Source] {
				from := tx.Bucket(b.name())
				if from == nil {
					continue
				}
				if err := from.ForEach(func(k, v []byte) error { return s.add(record{b, k, v}) }); err != nil {
					return err
				}
			}
			return nil
		})
		switch {
		case errors.As(err, new(*storeError)):
			return nil, err
		case err != nil:
			s.encoded = s.encoded[:before]
		default:
			kept = append(kept, info)
		}
	}
	return kept, nil
}

// write writes the sorted records to a new file and replaces the current one with it.
func (s *records) write(ctx context.Context, dir, scratch string, infos []SourceInfo) error {
	db, err := bolt.Open(scratch, 0o600, &bolt.Options{NoSync: true, NoFreelistSync: true, Timeout: time.Second})
	if err != nil {
		return lang.Error("make the index: %w", err)
	}
	err = db.Update(func(tx *bolt.Tx) error { return putMeta(tx, infos) })
	for batch := range slices.Chunk(s.encoded, batchSize) {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			break
		}
		err = db.Update(func(tx *bolt.Tx) error { return putBatch(tx, batch) })
	}
	if err == nil {
		err = db.Sync()
	}
	if err = errors.Join(err, db.Close()); err != nil {
		return lang.Error("write the index: %w", err)
	}
	if err := os.Rename(scratch, filepath.Join(dir, FileName)); err != nil {
		return lang.Error("put the index in place: %w", err)
	}
	return nil
}

func putBatch(tx *bolt.Tx, batch []string) (err error) {
	var b *bolt.Bucket
	for i, r := range batch {
		at := bucketAndKey(r)
		if i == 0 || at[0] != batch[i-1][0] {
			if b, err = tx.CreateBucketIfNotExists(bucket(at[0]).name()); err != nil {
				return err
			}
			b.FillPercent = 0.95 // keys are added in order
		}
		if err := b.Put([]byte(at[1:]), []byte(r[len(at):len(r)-2])); err != nil {
			return err
		}
	}
	return nil
}

func putMeta(tx *bolt.Tx, infos []SourceInfo) error {
	b, err := tx.CreateBucketIfNotExists(metaName)
	if err != nil {
		return err
	}
	for _, info := range infos {
		value, _ := json.Marshal(info) // it always has a JSON form
		if err := b.Put([]byte(info.Source), value); err != nil {
			return err
		}
	}
	return nil
}
