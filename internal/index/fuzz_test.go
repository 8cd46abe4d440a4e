package index

import (
	"errors"
	"strings"
	"testing"

	"github.com/anivault/anivault/internal/match"
)

// Whatever comes as a list, reading it ends without a panic, with rows that make sense or an error that names a line.

func checkFault(t *testing.T, err error) {
	t.Helper()
	var at *ImportError
	if err != nil && (!errors.As(err, &at) || at.Line < 1) {
		t.Errorf("an error without a line: %v", err)
	}
}

func FuzzAnimeLists(f *testing.F) {
	f.Add(animeListSample)
	f.Add("<anime-list><anime anidbid='1' tmdbseason='-1' tmdbid=',,1,'><mapping anidbseason='1' " +
		"tmdbseason='1'>;1-;-1;9999999-1;</mapping></anime></anime-list>")
	f.Fuzz(func(t *testing.T, in string) {
		checkFault(t, readAnimeLists(strings.NewReader(in), func(a anime) error {
			if a.ID <= 0 || a.TVID < 0 || a.Season != nil && *a.Season < 0 || len(a.MovieIDs) > maxMovies {
				t.Errorf("%+v", a)
			}
			animeRecords(a)
			return nil
		}))
	})
}

func FuzzAniDBXML(f *testing.F) {
	f.Add(animeTitlesSample)
	f.Fuzz(func(t *testing.T, in string) {
		checkFault(t, readAniDBXML(strings.NewReader(in), func(r titleRow) error { return checkTitle(t, r) }))
	})
}

func FuzzAniDBLines(f *testing.F) {
	f.Add(animeLinesSample)
	f.Fuzz(func(t *testing.T, in string) {
		checkFault(t, readAniDBLines(strings.NewReader(in), func(r titleRow) error { return checkTitle(t, r) }))
	})
}

func checkTitle(t *testing.T, r titleRow) error {
	if r.anime <= 0 || r.text == "" {
		t.Errorf("%+v", r)
	}
	for _, rec := range titleRecords(r) {
		back, ok := readTitle(rec.value)
		if back.anime = idOf(rec.key); !ok || back.text != r.text || back.kind != r.kind || back.anime != r.anime {
			t.Errorf("%+v is read as %+v", r, back)
		}
	}
	return nil
}

func FuzzExport(f *testing.F) {
	f.Add(tvSample, true)
	f.Add(movieSample, false)
	f.Fuzz(func(t *testing.T, in string, tv bool) {
		kind := match.Movie
		if tv {
			kind = match.TV
		}
		checkFault(t, readExport(strings.NewReader(in), kind, func(r exportRow) error {
			if r.id <= 0 || r.kind != kind {
				t.Errorf("%+v", r)
			}
			for _, rec := range exportRecords(r) {
				if _, _, ok := readExportValue(rec.value); !ok {
					t.Errorf("%+v can't be read back", r)
				}
			}
			return nil
		}))
	})
}

func FuzzDetect(f *testing.F) {
	for _, s := range []string{
		animeListSample, animeTitlesSample, animeLinesSample, tvSample, movieSample,
		zipped(tvSample), "<", "{", "1|",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		content, err := unpack(strings.NewReader(in))
		if err != nil {
			return
		}
		before, _ := content.Peek(16)
		kept := string(before)
		what, err := detect(content)
		if (err == nil) != (what.source != "") {
			t.Errorf("%v with %v", what, err)
		}
		if after, _ := content.Peek(16); string(after) != kept {
			t.Error("something was consumed")
		}
	})
}

// What is damaged in a value is not read, whatever the bytes.
func FuzzValues(f *testing.F) {
	f.Add([]byte{1, 2, 'e', 'n', 'x'})
	f.Add([]byte{1, 255})
	f.Fuzz(func(_ *testing.T, in []byte) {
		readTitle(in)
		readExportValue(in)
		idOf(in)
	})
}
