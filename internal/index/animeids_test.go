package index

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAnimeIDs(t *testing.T) {
	for _, row := range []struct {
		name, text string
		want       []IDs
		fault      string
	}{
		{
			"all of them", `[{"anidb_id":1,"anilist_id":2,"mal_id":3,"imdb_id":["tt1"],"season":{"tvdb":1}}]`,
			[]IDs{{1, 2, 3}},
			"",
		},
		{
			"some are missing, or text",
			`[{"anidb_id":1,"mal_id":"3"},{"anidb_id":4,"anilist_id":null,"mal_id":"unknown"},{"anilist_id":5,"mal_id":6}]`,
			[]IDs{{1, 0, 3}},
			"",
		},
		{"no rows", `[]`, nil, ""},
		{"not a list", `{"anidb_id":1}`, nil, errUnknownFormat.Error()},
		{"a damaged row", `[{"anidb_id":1,"mal_id":2},{"anidb_id":]`, []IDs{{1, 0, 2}}, "row 2: "},
		{"cut", `[{"anidb_id":1,"mal_id":2}`, []IDs{{1, 0, 2}}, "it ends before"},
		{"a row without end", `[{"anidb_id":1,"title":"` + strings.Repeat("x", 2*maxElementSize), nil, "larger than 1 MiB"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var got []IDs
			err := readAnimeIDs(strings.NewReader(row.text), func(ids IDs) error {
				got = append(got, ids)
				return nil
			})
			if d := cmp.Diff(row.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if (err == nil) != (row.fault == "") || err != nil && !strings.Contains(err.Error(), row.fault) {
				t.Errorf("error %v, want one with %q", err, row.fault)
			}
		})
	}
}

// Ids and films are found again, and a list that is imported later leaves them alone.
func TestIDsAreFoundByAnime(t *testing.T) {
	dir := t.TempDir()
	lists := write(t, "list.xml", `<anime-list><anime anidbid="5" tmdbid="129,130"><name>Sen</name></anime><anime `+
		`anidbid="6" tmdbid="130"><name>Kidou</name></anime></anime-list>`)
	ids := write(t, "ids.json", `[{"anidb_id":5,"anilist_id":51,"mal_id":52}]`)
	for _, files := range [][]string{{ids}, {lists}} {
		if _, err := Import(context.Background(), dir, files...); err != nil {
			t.Fatal(err)
		}
	}
	x, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = x.Close() }()
	got := map[string]any{}
	one, err1 := x.AnimeOfFilm(129)
	two, err2 := x.AnimeOfFilm(130)
	none, err3 := x.AnimeOfFilm(131)
	known, err4 := x.IDsOf(5)
	unknown, err5 := x.IDsOf(6)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		t.Fatal(err)
	}
	got["film of one"], got["film of two"], got["film of none"], got["known"], got["unknown"] = one, two, none, known,
		unknown
	want := map[string]any{
		"film of one": []int{5}, "film of two": []int{5, 6}, "film of none": []int(nil),
		"known": IDs{5, 51, 52}, "unknown": IDs{AniDB: 6},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
