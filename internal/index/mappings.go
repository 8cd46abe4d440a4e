package index

import (
	"bufio"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	bolt "go.etcd.io/bbolt"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lockfile"
	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/ui"
)

// MappingsFile is the name of the file of the user's own mappings in the data folder. Its lines are such as
//
//	anidb 18886 = tv/209867 S01 +28      # AniDB's 1 is TMDB's 29 of that season
//	anidb 69 1-61 = tv/37854 S01         # these episodes alone; 62- has no end
//	anidb 4563 = tv/1 absolute           # counted over all regular seasons
//	anidb 5 = movie/129
const MappingsFile = "mappings.txt"

// Mappings are the user's own mappings, by AniDB's id. They replace what the lists say of that anime at TMDB.
type Mappings map[int]anime

// LoadMappings reads the mappings of a data folder. Lines that can't be understood have no effect; wrong has an error
// for each.
func LoadMappings(dir string) (own Mappings, wrong []error, err error) {
	f, err := lockfile.Open(filepath.Join(dir, MappingsFile), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, lang.Error("read mappings: %w", err)
	}
	defer f.Close()
	own = Mappings{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "\ufeff"), "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		if err := own.add(text); err != nil {
			wrong = append(wrong, &ImportError{MappingsFile, n, err})
		}
	}
	return own, wrong, lines.Err()
}

var mappingLine = regexp.MustCompile(
	`^anidb\s+(\d+)(?:\s+(\d+)(-?)(\d*))?\s*=\s*(tv|movie)/(\d+)(?:\s+(?:S(\d+)|(absolute)))?(?:\s+([+-]\d+))?$`)

func (m Mappings) add(text string) error {
	part := mappingLine.FindStringSubmatch(text)
	if part == nil {
		return lang.Error("it is not of the form anidb ID = tv/ID S01 +12, and %q can't be understood", text)
	}
	id, entry, offset := parseID(part[1]), parseID(part[6]), parseOffset(part[9])
	season, stated := parseSeason(part[7])
	a, absolute, ranged := m[id], part[8] != "", part[2] != ""
	a.ID = id
	r := orders.Range{Season: season, Start: parseID(part[2]), End: parseID(part[4]), Offset: offset}
	first := r.Start
	if part[3] == "" {
		r = orders.Range{Season: season, Pairs: map[int][]int{first: {first + offset}}}
	}
	switch isFilm := part[5] == "movie"; {
	case id == 0 || entry == 0:
		return lang.Error("it has no id of AniDB or of TMDB")
	case isFilm && (stated || absolute || ranged || offset != 0):
		return lang.Error("a film has no season and no episodes")
	case isFilm:
		a.MovieIDs = append(a.MovieIDs, entry)
	case !stated && !absolute || ranged && absolute:
		return lang.Error("give the season, such as S01")
	case offset == 0 && strings.Trim(part[9], "+-0") != "", ranged && !isRange(first, part[4], offset):
		return lang.Error("its numbers are out of range")
	case a.TVID != 0 && a.TVID != entry, ranged && slices.ContainsFunc(a.Ranges, r.Overlaps),
		!ranged && (a.Season != nil || a.Absolute):
		return lang.Error("another line maps anidb %d to tv/%d", id, a.TVID)
	case ranged:
		a.TVID, a.Ranges = entry, append(a.Ranges, r)
	default:
		a.TVID, a.Absolute, a.Offset = entry, absolute, offset
		if stated {
			a.Season = &season
		}
	}
	m[id] = a
	return nil
}

func isRange(first int, end string, offset int) bool {
	return first > 0 && first+offset > 0 && (end == "" || parseID(end) >= first)
}

// MappingsXML returns the user's own mappings as rows of Anime-Lists, with what the lists know of these anime besides.
func (x *Index) MappingsXML() ([]byte, error) {
	var list struct {
		XMLName xml.Name       `xml:"anime-list"`
		Rows    []animeElement `xml:"anime"`
	}
	err := x.db.View(func(tx *bolt.Tx) error {
		for _, id := range slices.Sorted(maps.Keys(x.own)) {
			a, _ := x.animeOfID(tx, id)
			list.Rows = append(list.Rows, a.element())
		}
		return nil
	})
	text, _ := xml.MarshalIndent(list, "", "  ") // it always has an XML form
	return append(text, '\n'), err
}

func (a anime) element() animeElement {
	e := animeElement{
		ID: strconv.Itoa(a.ID), Name: a.Name, TVID: ui.Number(a.TVID), TVDBID: ui.Number(a.TVDBID),
		Offset: ui.Number(a.Offset), TVDBOffset: ui.Number(a.TVDB.Offset),
		MovieIDs: ui.Numbers(a.MovieIDs, ","), Season: seasonText(a.Numbering), TVDBSeason: seasonText(a.TVDB),
	}
	for season, lists := range [][2][]orders.Range{{a.TVDB.Specials, a.Specials}, {a.TVDB.Ranges, a.Ranges}} {
		for i, r := range slices.Concat(lists[:]...) {
			m := mappingElement{
				AniDBSeason: strconv.Itoa(season), Start: ui.Number(r.Start), End: ui.Number(r.End),
				Offset: ui.Number(r.Offset), Pairs: pairsText(r.Pairs),
			}
			if m.TVDBSeason = strconv.Itoa(r.Season); i >= len(lists[0]) {
				m.TVDBSeason, m.Season = "", m.TVDBSeason
			}
			e.Mappings = append(e.Mappings, m)
		}
	}
	return e
}

func seasonText(x orders.Numbering) string {
	switch {
	case x.Absolute:
		return "a"
	case x.Season != nil:
		return strconv.Itoa(*x.Season)
	}
	return ""
}

func pairsText(pairs map[int][]int) string {
	if len(pairs) == 0 {
		return ""
	}
	text := ";"
	for _, n := range slices.Sorted(maps.Keys(pairs)) {
		text += fmt.Sprintf("%d-%s;", n, cmp.Or(ui.Numbers(pairs[n], "+"), "0"))
	}
	return text
}
