package cache

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// exported makes an export of two answers and two values.
func exported(t testing.TB, clk *clock) (text string, entries []*Entry, items []Item) {
	t.Helper()
	s := open(t, t.TempDir(), Options{Now: clk.Now})
	now := clk.Now()
	entries = []*Entry{
		{
			Key: "GET http://h:80/3/movie/1?q=%E9%AC%BC", Status: 404, Body: []byte("{\"a\":\"\u2028<&>鬼\"}\n"),
			FetchedAt: now.Add(-time.Hour), ExpiresAt: now,
		},
		{
			Key: tvKey("1"), Status: 200, ETag: `W/"x"`, Body: []byte(`{"bytes":"` + "\xff" + `"}`), FetchedAt: now,
			ExpiresAt: now.Add(day),
		},
	}
	for _, e := range entries {
		if err := s.Put(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	items = []Item{
		{Key: "/lib/a.mkv", Value: []byte{0, 1, 2}, FetchedAt: now, ExpiresAt: now.Add(day)},
		{Key: "/lib/\xff.mkv", Value: []byte("v"), FetchedAt: now},
	}
	b, err := s.Bucket("results")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Put(t.Context(), items...); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if n, err := s.Export(t.Context(), &out); err != nil || n != 4 {
		t.Fatalf("exported %d: %v", n, err)
	}
	return out.String(), entries, items
}

func TestExportComesBackAsItWas(t *testing.T) {
	clk := newClock()
	text, entries, items := exported(t, clk)
	s := open(t, t.TempDir(), Options{Now: clk.Now})
	for i, want := range []ImportResult{{Imported: 4}, {Older: 4}} {
		got, err := s.Import(t.Context(), strings.NewReader(text), nil)
		if err != nil || got != want {
			t.Errorf("import %d: %+v %v", i, got, err)
		}
	}
	var got []*Entry
	err := s.Range(t.Context(), func(e *Entry) error { got = append(got, e); return nil })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(entries, got); diff != "" {
		t.Error(diff)
	}
	b, err := s.Bucket("results")
	if err != nil {
		t.Fatal(err)
	}
	var values []Item
	err = b.Range(t.Context(), func(it Item) error { values = append(values, it); return nil })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(items, values); diff != "" {
		t.Error(diff)
	}
}

func TestImportKeepsWhatIsNewer(t *testing.T) {
	clk := newClock()
	text, _, _ := exported(t, clk)
	clk.advance(time.Hour)
	s := open(t, t.TempDir(), Options{Now: clk.Now})
	putAnswer(t, s, tvKey("1"), clk.Now(), day, 10)
	got, err := s.Import(t.Context(), strings.NewReader(text), nil)
	if err != nil || got != (ImportResult{Imported: 3, Older: 1}) {
		t.Errorf("%+v %v", got, err)
	}
	clk.advance(180*day - time.Hour)
	late := open(t, t.TempDir(), Options{Now: clk.Now})
	if got, err := late.Import(
		t.Context(), strings.NewReader(text), nil,
	); err != nil || got != (ImportResult{Expired: 4}) {
		t.Errorf("after 180 days: %+v %v", got, err)
	}
}

func TestImportLeavesOutWhatTheClientRefuses(t *testing.T) {
	clk := newClock()
	text, _, _ := exported(t, clk)
	s := open(t, t.TempDir(), Options{Now: clk.Now})
	var asked []string
	got, err := s.Import(t.Context(), strings.NewReader(text), func(
		req *http.Request, resp *http.Response, _ []byte,
	) error {
		asked = append(asked, fmt.Sprint(resp.StatusCode, " ", req.URL))
		if resp.StatusCode == http.StatusOK {
			return errDown
		}
		return nil
	})
	if err != nil || got != (ImportResult{Imported: 3, Refused: 1}) {
		t.Errorf("%+v %v", got, err)
	}
	want := []string{"404 http://h:80/3/movie/1?q=%E9%AC%BC", "200 http://h:80/3/tv/1"}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
}

func TestImportHoldsNoElementThatIsTooLong(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	text := strings.NewReader(
		"{\"format\":\"" + exportFormat + "\",\"version\":1}\n{\"value\":\"" + strings.Repeat("A", maxLineBytes),
	)
	if _, err := s.Import(t.Context(), text, nil); !errors.Is(err, ErrImport) || !strings.Contains(
		err.Error(), "line 2: ",
	) {
		t.Error(err)
	}
}

func TestImportRefusesWhatIsWrong(t *testing.T) {
	clk := newClock()
	text, _, _ := exported(t, clk)
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	secret := exportLine{
		Bucket: exportAnswers, Key: "GET http://h:80/3/tv/1?api_key=SECRET", Status: 200, Body: endedBody,
		FetchedAt: timeOrNil(clk.Now()),
	}
	rows := map[string]struct {
		text     string
		imported int
		where    string
	}{
		"nothing":           {"", 0, "it is empty"},
		"another file":      {"<html>\n", 0, "line 1"},
		"another format":    {`{"format":"x"}` + "\n", 0, "line 1"},
		"a newer version":   {strings.Replace(text, `"version":1`, `"version":2`, 1), 0, "line 1"},
		"cut after two":     {strings.Join(lines[:3], ""), 2, "cut off after line 3"},
		"cut inside a line": {strings.Join(lines[:3], "") + lines[3][:20], 2, "line 4"},
		"a changed byte":    {strings.Replace(text, "W/", "V/", 1), 1, "line 3"},
		"a line is missing": {strings.Join(slices.Concat(lines[:2], lines[3:]), ""), 3, "line 5"},
		"something follows": {text + lines[1], 4, "line 7"},
		"HTML as a body": {
			lines[0] + line(
				exportLine{Bucket: exportAnswers, Key: tvKey("1"), Status: 200, Body: "<html>", FetchedAt: timeOrNil(clk.Now())},
			),
			0, "line 2",
		},
		"a status never kept": {
			lines[0] + line(
				exportLine{Bucket: exportAnswers, Key: tvKey("1"), Status: 500, Body: endedBody, FetchedAt: timeOrNil(clk.Now())},
			),
			0, "line 2",
		},
		"a key with a secret": {lines[0] + line(secret), 0, "line 2"},
		"a bucket of its own": {
			lines[0] + line(exportLine{Bucket: "meta", Key: "cache", FetchedAt: timeOrNil(clk.Now())}), 0, "line 2",
		},
		"no key": {
			lines[0] + line(exportLine{Bucket: "results", FetchedAt: timeOrNil(clk.Now())}), 0, "line 2",
		},
		"never fetched at all": {lines[0] + line(exportLine{Bucket: "results", Key: "k"}), 0, "line 2"},
	}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir(), Options{Now: clk.Now})
			got, err := s.Import(t.Context(), strings.NewReader(r.text), nil)
			if !errors.Is(err, ErrImport) || got.Imported != r.imported || !strings.Contains(
				err.Error(), r.where,
			) || strings.Contains(err.Error(), "SECRET") {
				t.Errorf("%+v %v", got, err)
			}
		})
	}
}

// line is a record's line with the right checksum.
func line(l exportLine) string {
	l.Sum = l.digest()
	var out strings.Builder
	enc := newLineEncoder(&out)
	if err := enc.Encode(l); err != nil {
		panic(err)
	}
	return out.String()
}

func FuzzImport(f *testing.F) {
	clk := newClock()
	text, _, _ := exported(f, clk)
	f.Add(text)
	f.Add(strings.Replace(text, `"status":200`, `"status":201`, 1))
	f.Add("{}\n[]\n\n{\"end\":true}")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := openStore(t.TempDir(), Options{Now: clk.Now, testOptions: noSync})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		res, err := s.Import(t.Context(), strings.NewReader(text), nil)
		if err != nil && !errors.Is(err, ErrImport) {
			t.Logf("%v", err) // a line that is too long, at most
		}
		n := 0
		err = s.Range(t.Context(), func(e *Entry) error {
			n++
			if key, ok := ParseKey(e.Key); !ok || key != e.Key {
				t.Errorf("key %q came in", e.Key)
			}
			return checkBody(e.Body)
		})
		if err != nil || n > res.Imported {
			t.Errorf("%d answers of %d: %v", n, res.Imported, err)
		}
	})
}
