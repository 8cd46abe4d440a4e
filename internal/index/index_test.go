package index

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An index of an earlier layout goes once there is one of today's; what else lies there stays.
func TestAnImportRemovesIndexesOfEarlierLayouts(t *testing.T) {
	dir := t.TempDir()
	stay := []string{"index-v2.db.bak", "index-v4.db", "pins.txt"}
	for _, name := range append(stay, "index-v1.db", "index-v2.db", "index-v2.db.lock", "index-v2.db.update.lock") {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Import(context.Background(), dir, write(t, "wrong", "<anime-list>")); err == nil {
		t.Fatal("a list without an end is imported")
	}
	if _, err := os.Stat(filepath.Join(dir, "index-v2.db")); err != nil {
		t.Error("gone after an import that failed")
	}
	importAll(t, dir, write(t, "a", animeListSample))
	var names []string
	left, _ := os.ReadDir(dir)
	for _, item := range left {
		names = append(names, item.Name())
	}
	want := []string{"index-v2.db.bak", FileName, FileName + ".lock", "index-v4.db", "pins.txt"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

// The samples have the form of the real lists, with invented works.
const (
	animeListSample = `<?xml version="1.0" encoding="utf-8"?>
<!-- made for tests -->
<anime-list>
  <anime anidbid="101" tvdbid="5001" defaulttvdbseason="1" episodeoffset="" ` +
		`tmdbtv="9001" tmdbseason="1" tmdboffset="" tmdbid="" imdbid="">
    <name>Garasu no Kidou</name>
    <mapping-list>
      <mapping anidbseason="0" tvdbseason="0">;1-2;</mapping>
      <mapping anidbseason="1" tvdbseason="2" start="13" end="24" offset="-12"/>
    </mapping-list>
    <supplemental-info><studio>Nobody</studio></supplemental-info>
  </anime>
  <anime anidbid="102" tvdbid="5001" defaulttvdbseason="1" episodeoffset="12" ` +
		`tmdbtv="9001" tmdbseason="1" tmdboffset="12"><name>Garasu no Kidou (2021)</name></anime>
  <anime anidbid="103" tvdbid="5001" defaulttvdbseason="0" tmdbtv="9001" tmdbseason="0" tmdboffset="3">` +
		`<name>Garasu no Kidou OVA</name></anime>
  <anime anidbid="104" tvdbid="5002" defaulttvdbseason="a" tmdbtv="9002" tmdbseason="a" tmdboffset="">` +
		`<name>Nagai Tabi</name></anime>
  <anime anidbid="105" tvdbid="movie" tmdbid="801, 802" imdbid="tt1,tt2"><name>Fuyu no Eiga</name></anime>
  <anime anidbid="106" tvdbid="5003" tmdbtv="9003" tmdbseason="1">
    <name>Wakareta Machi</name>
    <mapping-list>` +
		`<mapping anidbseason="1" tmdbseason="2" start="14" end="26" offset="-13">;1-5;2-6+7;3-0;9-8;9-9;</mapping>` +
		`</mapping-list>
  </anime>
  <anime anidbid="107" tvdbid="unknown" tmdbtv="unknown" tmdbid="?"><name>Nothing Known &amp; Nowhere</name></anime>
  <anime anidbid="" tvdbid=""><name></name></anime>
</anime-list>
`
	animeTitlesSample = `<?xml version="1.0" encoding="UTF-8"?>
<animetitles>
  <anime aid="101">
    <title xml:lang="x-jat" type="main">Garasu no Kidou</title>
    <title xml:lang="ja" type="official">硝子の軌道</title>
    <title xml:lang="en" type="official">Glass Orbit</title>
    <title xml:lang="x-jat" type="short">GnK</title>
  </anime>
  <anime aid="102"><title type="main" xml:lang="x-jat">Garasu no Kidou (2021)</title>` +
		`<title type="syn" xml:lang="en">Glass Orbit 2nd Season</title></anime>
  <anime aid="105"><title type="main" xml:lang="x-jat">Fuyu no Eiga</title>` +
		`<title type="official" xml:lang="ko">겨울의 영화</title></anime>
</animetitles>
`
	animeLinesSample = "# created: Sat Nov 21 03:00:02 2026\n# <aid>|<type>|<language>|<title>\n101|1|x-jat|Garasu no " +
		"Kidou\n101|4|ja|硝子の軌道\n101|3|x-jat|GnK\n102|2|en|Glass Orbit 2nd Season\n" +
		"105|1|x-jat|Fuyu no Eiga | Part One\n"
	tvSample = `{"id":9001,"original_name":"硝子の軌道","popularity":23.5}` + "\n" +
		`{"id":9100,"original_name":"Glass Orbit","popularity":1.25}` + "\n" +
		`{"id":9101,"original_name":"カタカナ","popularity":0.6}` + "\n"
	movieSample = `{"adult":false,"id":801,"original_title":"冬の映画","popularity":7.5,"video":false}` + "\n\n" +
		`{"adult":true,"id":803,"original_title":"Glass Orbit","popularity":2,"video":true}` + "\n"
)

func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func zipped(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(s))
	_ = w.Close()
	return b.String()
}

// lookUp shows the candidates of a title, one a line.
func lookUp(t *testing.T, dir, text string) string {
	t.Helper()
	x, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	found, err := x.Lookup(text)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range found {
		out = append(out, show(c))
	}
	return strings.Join(out, "\n")
}

func show(c Candidate) string {
	s := string(c.Kind) + "/" + itoa(c.ID) + " " + c.Text
	if c.Season != nil {
		s += " s" + itoa(*c.Season)
	}
	if c.Absolute {
		s += " absolute"
	}
	if c.Offset != 0 {
		s += " +" + itoa(c.Offset)
	}
	if c.Abbreviation {
		s += " short"
	}
	if c.Original != "" {
		s += " (" + c.Original + ")"
	}
	return s
}

func importAll(t *testing.T, dir string, files ...string) []SourceInfo {
	t.Helper()
	infos, err := Import(context.Background(), dir, files...)
	if err != nil {
		t.Fatal(err)
	}
	return infos
}

func TestListsAreJoinedByTitle(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	infos := importAll(t, dir, write(t, "some name", animeListSample), write(t, "b", zipped(animeTitlesSample)),
		write(t, "c.json.gz", zipped(zipped(tvSample))), write(t, "d", movieSample))
	var got []string
	for _, i := range infos {
		got = append(got, string(i.Source)+" "+itoa(i.Rows)+" "+itoa(i.Titles))
	}
	if diff := cmp.Diff([]string{"anime-lists 7 7", "anidb 3 10", "tmdb-tv 3 5", "tmdb-movie 2 3"}, got); diff != "" {
		t.Error(diff)
	}
	for text, want := range map[string]string{
		"garasu NO kidou!": "tv/9001 Garasu no Kidou s1 (硝子の軌道)",
		"硝子の軌道":            "tv/9001 硝子の軌道 s1 (硝子の軌道)",
		"Glass Orbit": "tv/9001 Glass Orbit s1 (硝子の軌道)\nmovie/803 Glass Orbit (Glass Orbit)\ntv/9100 Glass " +
			"Orbit (Glass Orbit)",
		"glass orbit 2nd season":  "tv/9001 Glass Orbit 2nd Season s1 +12 (硝子の軌道)",
		"Garasu no Kidou OVA":     "tv/9001 Garasu no Kidou OVA s0 +3 (硝子の軌道)",
		"gnk":                     "tv/9001 GnK s1 short (硝子の軌道)",
		"Nagai Tabi":              "tv/9002 Nagai Tabi absolute",
		"Fuyu no Eiga":            "movie/801 Fuyu no Eiga (冬の映画)\nmovie/802 Fuyu no Eiga",
		"겨울의 영화":                  "movie/801 겨울의 영화 (冬の映画)\nmovie/802 겨울의 영화",
		"gyeourui yeonghwa":       "movie/801 겨울의 영화 (冬の映画)\nmovie/802 겨울의 영화",
		"katakana":                "tv/9101 カタカナ (カタカナ)",
		"Nothing Known & Nowhere": "",
		"no such title":           "",
		"!":                       "",
	} {
		if diff := cmp.Diff(want, lookUp(t, dir, text)); diff != "" {
			t.Errorf("%q:\n%s", text, diff)
		}
	}
	if runtime.GOOS != "windows" {
		if info, err := os.Stat(filepath.Join(dir, FileName)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestEpisodesAreMapped(t *testing.T) {
	dir := t.TempDir()
	importAll(t, dir, write(t, "a", animeListSample))
	x, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for _, c := range []struct {
		title    string
		n        int
		season   int
		episodes []int
	}{
		{"Garasu no Kidou", 13, 1, []int{13}}, // the range is TVDB's
		{"Garasu no Kidou (2021)", 3, 1, []int{15}},
		{"Garasu no Kidou OVA", 1, 0, []int{4}},
		{"Wakareta Machi", 1, 2, []int{5}},
		{"Wakareta Machi", 2, 2, []int{6, 7}},
		{"Wakareta Machi", 9, 2, []int{8, 9}},
		{"Wakareta Machi", 3, 0, nil},
		{"Wakareta Machi", 4, 1, []int{4}},
		{"Wakareta Machi", 14, 2, []int{1}},
		{"Wakareta Machi", 27, 1, []int{27}},
		{"Nagai Tabi", 5, 0, nil},
	} {
		found, err := x.Lookup(c.title)
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: %v, %v", c.title, found, err)
		}
		season, episodes, ok := found[0].EpisodePlace(c.n)
		if ok != (c.episodes != nil) || ok && (season != c.season || !cmp.Equal(episodes, c.episodes)) {
			t.Errorf("%s %d is season %d, %v (%v), want %d, %v", c.title, c.n, season, episodes, ok, c.season, c.episodes)
		}
	}
	siblings, err := x.Siblings(9001)
	if err != nil || len(siblings) != 3 {
		t.Errorf("siblings: %v, %v", siblings, err)
	}
}

func TestBothFormsOfAniDBSayTheSame(t *testing.T) {
	collect := func(read func(yield func(titleRow) error) error) map[titleRow]bool {
		out := map[titleRow]bool{}
		if err := read(func(r titleRow) error { out[r] = true; return nil }); err != nil {
			t.Fatal(err)
		}
		return out
	}
	lines := collect(func(y func(titleRow) error) error { return readAniDBLines(strings.NewReader(animeLinesSample), y) })
	for _, want := range []titleRow{
		{101, mainTitle, "x-jat", "Garasu no Kidou"},
		{101, officialTitle, "ja", "硝子の軌道"},
		{101, shortTitle, "x-jat", "GnK"},
		{102, synonym, "en", "Glass Orbit 2nd Season"},
		{105, mainTitle, "x-jat", "Fuyu no Eiga | Part One"},
	} {
		if !lines[want] {
			t.Errorf("the lines lack %v: %v", want, lines)
		}
	}
	inXML := collect(func(y func(titleRow) error) error { return readAniDBXML(strings.NewReader(animeTitlesSample), y) })
	for _, want := range []titleRow{
		{101, mainTitle, "x-jat", "Garasu no Kidou"},
		{101, shortTitle, "x-jat", "GnK"},
		{102, synonym, "en", "Glass Orbit 2nd Season"},
	} {
		if !inXML[want] {
			t.Errorf("the XML lacks %v: %v", want, inXML)
		}
	}
}

// A list that can't be read whole leaves the index as it was, and the error says where.
func TestDamagedListsChangeNothing(t *testing.T) {
	dir := t.TempDir()
	good := write(t, "good", animeListSample)
	importAll(t, dir, good, write(t, "titles", animeTitlesSample))
	before := lookUp(t, dir, "Glass Orbit")
	for name, c := range map[string]struct {
		content, says string
		line          int
	}{
		"cut XML":            {animeListSample[:strings.Index(animeListSample, "</anime-list>")], "", 22},
		"cut in a tag":       {animeListSample[:300], "", 7},
		"crossed tags":       {"<anime-list>\n<anime anidbid=\"1\"></name></anime></anime-list>", "", 2},
		"two roots":          {"<anime-list><anime anidbid=\"1\"/></anime-list>\n<anime-list/>", "should be", 2},
		"no entry":           {"<anime-list></anime-list>", "no entry", 0},
		"another XML":        {"<html><body>log in</body></html>", "<html>", 0},
		"a title without id": {animeLinesSample + "x|1|en|Title\n", "not an id of an anime", 8},
		"a short line":       {animeLinesSample + "105|1\n", "aid|type|language|title", 8},
		"cut JSON":           {tvSample + `{"id":1,"original_na`, "not JSON", 4},
		"films among series": {tvSample + movieSample, "export of series", 4},
		"a row without id":   {tvSample + `{"original_name":"x"}`, "no id", 4},
		"people": {
			`{"adult":false,"id":1,"name":"Someone","popularity":1}`,
			"neither series nor films", 0,
		},
		"nothing":        {"", "empty", 0},
		"blank":          {" \n ", "empty", 0},
		"something else": {"PK\x03\x04zip", "it is not", 0},
		"text":           {"1 this is prose", "it is not", 0},
		"cut gzip":       {zipped(animeTitlesSample)[:100], "unexpected EOF", 0},
		"a huge element": {"<anime-list>\n<anime anidbid=\"1\"><name>" + strings.Repeat("x", 3<<20) +
			"</name></anime></anime-list>", "<anime> is larger than", 2},
		"a huge title, cut by comments": {
			"<animetitles>\n<anime aid=\"1\"><title>" +
				strings.Repeat(strings.Repeat("x", 1000)+"<!-- -->", 3000) + "</title></anime></animetitles>",
			"<anime> is larger than", 2,
		},
		"a huge text between elements": {
			"<anime-list>" + strings.Repeat(" ", 3<<20) + "</anime-list>",
			"<anime-list> is larger than", 1,
		},
		"a huge element of another kind": {
			"<anime-list><x>" + strings.Repeat("<y></y>", 1<<20) + "</x></anime-list>",
			"<x> is larger than", 1,
		},
		"a huge line": {animeLinesSample + strings.Repeat("x", 2<<20), "longer than", 8},
		"deep":        {"<anime-list>" + strings.Repeat("<x>", 100), "", 1},
	} {
		path := write(t, "bad", c.content)
		_, err := Import(context.Background(), dir, write(t, "fine", movieSample), path)
		var fault *ImportError
		if !errors.As(err, &fault) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if fault.File != path || !strings.Contains(err.Error(), c.says) || c.line != 0 && fault.Line != c.line {
			t.Errorf("%s: line %d of %s: %v", name, fault.Line, fault.File, err)
		}
		if got := lookUp(t, dir, "Glass Orbit"); got != before {
			t.Errorf("%s: the index changed:\n%s", name, cmp.Diff(before, got))
		}
	}
	if _, err := Import(context.Background(), dir, good, good); err == nil || !strings.Contains(err.Error(), "same kind") {
		t.Errorf("one list twice: %v", err)
	}
	if _, err := Import(context.Background(), dir, filepath.Join(dir, "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Import(ctx, dir, good); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// interrupted is an input whose reader is interrupted behind its text.
type interrupted struct{ text *strings.Reader }

func (i interrupted) Read(p []byte) (int, error) {
	if n, err := i.text.Read(p); err == nil {
		return n, nil
	}
	return 0, context.Canceled
}

// An interruption in the middle of a line or an element is one, and no fault of the list.
func TestAnInterruptedImportIsNotTheListsFault(t *testing.T) {
	for name, content := range map[string]string{
		"lines": animeLinesSample + "101|1|x-j", "export": tvSample + `{"id":1,"orig`, "XML": animeListSample[:500],
		"titles": animeTitlesSample[:200],
	} {
		t.Run(name, func(t *testing.T) {
			in := bufio.NewReaderSize(interrupted{strings.NewReader(content)}, 16)
			whole, err := unpack(strings.NewReader(content))
			if err != nil {
				t.Fatal(err)
			}
			l, err := detect(whole)
			if err != nil {
				t.Fatal(err)
			}
			err = importError("list", l.read(in, &collector{records: &records{}, seenAnime: map[int]bool{}}))
			if !errors.Is(err, context.Canceled) || errors.As(err, new(*ImportError)) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestANewListReplacesTheOldAndKeepsTheOthers(t *testing.T) {
	dir := t.TempDir()
	none := Digest(dir)
	importAll(t, dir, write(t, "a", animeListSample), write(t, "b", animeTitlesSample))
	first := Digest(dir)
	importAll(t, dir, write(t, "c", strings.ReplaceAll(animeListSample, "9001", "9009")))
	if got := lookUp(t, dir, "Glass Orbit"); got != "tv/9009 Glass Orbit s1" {
		t.Errorf("found %q", got)
	}
	if second := Digest(dir); none != "" || first == "" || first == second {
		t.Errorf("digests %q %q %q", none, first, second)
	}
	x, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	infos, size, err := x.Stats()
	if err != nil || size <= 0 || len(infos) != 2 || infos[0].File != "c" || infos[1].File != "b" ||
		infos[0].Imported.IsZero() {
		t.Errorf("stats %v, %d, %v", infos, size, err)
	}
}

// A damaged index is an error of the look-up and is mended by another import.
func TestADamagedIndexIsNoCrash(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(dir); !errors.Is(err, ErrNoIndex) {
		t.Fatalf("opened nothing: %v", err)
	}
	list := write(t, "a", animeListSample)
	importAll(t, dir, list)
	path := filepath.Join(dir, FileName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, damaged := range [][]byte{
		{},
		[]byte("rubbish"), whole[:len(whole)/2],
		append(append([]byte{}, whole[:8192]...), bytes.Repeat([]byte{0xff}, len(whole)-8192)...),
	} {
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if x, err := Open(dir); err == nil {
			if found, err := x.Lookup("Garasu no Kidou"); err == nil && len(found) != 1 {
				t.Logf("%d bytes: found nothing", len(damaged))
			}
			_ = x.Close()
		}
		importAll(t, dir, list)
		if got := lookUp(t, dir, "Garasu no Kidou"); got != "tv/9001 Garasu no Kidou s1" {
			t.Errorf("after %d damaged bytes and another import: %q", len(damaged), got)
		}
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

// Sequels whose titles differ in signs alone have one normalised title: the one that is written as asked comes first.
func TestSignsDistinguishSequels(t *testing.T) {
	dir := t.TempDir()
	lists := write(t, "list.xml", `<anime-list>
		<anime anidbid="1" tmdbtv="7" tmdbseason="1"><name>Iron Lantern</name></anime>
		<anime anidbid="2" tmdbtv="7" tmdbseason="2"><name>Iron Lantern+!</name></anime></anime-list>`)
	if _, err := Import(context.Background(), dir, lists); err != nil {
		t.Fatal(err)
	}
	x, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = x.Close() }()
	for text, want := range map[string]int{"Iron Lantern": 1, "iron lantern +！": 2, "Iron Lantern!": 1} {
		found, err := x.Lookup(text)
		if err != nil || len(found) != 2 || found[0].AniDBID != want {
			t.Errorf("%q finds %+v, %v; want anime %d first", text, found, err, want)
		}
	}
}
