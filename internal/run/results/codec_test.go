package results

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/report"
)

// Every field of a record is either kept or left out on purpose; a new one has to be decided about.
func TestEveryFieldIsDecidedAbout(t *testing.T) {
	fields := func(v any) (names []string) {
		for i := range reflect.TypeOf(v).NumField() {
			names = append(names, reflect.TypeOf(v).Field(i).Name)
		}
		return names
	}
	for _, row := range []struct {
		value any
		want  []string
	}{
		{report.Record{}, []string{
			"_", "Path", "Status", "Confidence", "Kind", "TMDBID", "Title", "OriginalTitle", "Year", "Season", "Episodes", "EpisodeTitles", "Source", "CachedAt",
			"Reason", "Parsed", "Candidates", "Error", "Steps",
		}},
		{report.Candidate{}, []string{"Kind", "TMDBID", "Title", "Year", "Confidence", "Score", "Reasons"}},
		{report.Parsed{}, []string{
			"Title", "Titles", "Seasons", "Season", "Episodes", "Absolute", "Part", "Special", "EpisodeTitle", "Year", "IDs", "Group", "Resolution", "Version", "Checksum", "Kind", "Source", "Video",
			"Audio", "Extension",
		}},
		{report.IDs{}, []string{"TMDB", "IMDB", "TVDB", "AniDB"}},
		{library.File{}, []string{"Path", "Name", "Size", "ModTime", "Skip", "IsDir"}},
	} {
		if diff := cmp.Diff(row.want, fields(row.value)); diff != "" {
			t.Errorf("%T has changed: extend the codec and raise its version\n%s", row.value, diff)
		}
	}
}

func anyTime(t *rapid.T, label string) time.Time {
	if rapid.Bool().Draw(t, label+" is known") {
		return time.Unix(0, rapid.Int64Range(1, 1<<62).Draw(t, label)).UTC()
	}
	return time.Time{}
}

func anyRecord(t *rapid.T) report.Record {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "tv", "same", "\xff"}))
	texts := func(label string) []string {
		if n := rapid.IntRange(0, 4).Draw(t, label); n > 0 {
			return rapid.SliceOfN(text, n, n).Draw(t, label)
		}
		return nil
	}
	ints := func(label string) []int {
		if n := rapid.IntRange(0, 4).Draw(t, label); n > 0 {
			return rapid.SliceOfN(rapid.Int(), n, n).Draw(t, label)
		}
		return nil
	}
	number := func(label string) *int {
		if rapid.Bool().Draw(t, label+" is there") {
			return ptr(rapid.Int().Draw(t, label))
		}
		return nil
	}
	r := report.Record{
		Status: rapid.SampledFrom([]report.Status{report.Matched, report.Ambiguous, report.Unmatched, report.Skipped}).Draw(t, "status"),
		Kind:   text.Draw(t, "kind"), TMDBID: rapid.Int().Draw(t, "id"), Title: text.Draw(t, "title"), OriginalTitle: text.Draw(t, "original"),
		Year: rapid.Int().Draw(t, "year"), Season: number("season"), Episodes: ints("episodes"), EpisodeTitles: texts("episode titles"),
		Source: rapid.SampledFrom([]string{"", "cache", "index", "pin"}).Draw(t, "source"), CachedAt: anyTime(t, "cached at"), Reason: text.Draw(t, "reason"),
	}
	if rapid.Bool().Draw(t, "sure") {
		r.Confidence = ptr(rapid.Float64().Draw(t, "confidence"))
	}
	if rapid.Bool().Draw(t, "parsed") {
		r.Parsed = &report.Parsed{
			Title: text.Draw(t, "parsed title"), Titles: texts("titles"), Seasons: ints("seasons"), Season: number("parsed season"),
			Absolute: rapid.Bool().Draw(t, "absolute"), Part: rapid.Int().Draw(t, "part"), Special: text.Draw(t, "special"), EpisodeTitle: text.Draw(t, "episode title"), Year: rapid.Int().Draw(t, "parsed year"), Group: text.Draw(t, "group"),
			Resolution: text.Draw(t, "resolution"), Version: rapid.Int().Draw(t, "version"), Checksum: text.Draw(t, "checksum"), Kind: text.Draw(t, "parsed kind"),
			Source: text.Draw(t, "parsed source"), Video: text.Draw(t, "video"), Audio: text.Draw(t, "audio"), Extension: text.Draw(t, "extension"),
		}
		if rapid.Bool().Draw(t, "ids") {
			r.Parsed.IDs = &report.IDs{TMDB: rapid.Int().Draw(t, "tmdb"), IMDB: text.Draw(t, "imdb"), TVDB: rapid.Int().Draw(t, "tvdb"), AniDB: rapid.Int().Draw(t, "anidb")}
		}
		if n := rapid.IntRange(0, 3).Draw(t, "numbers"); n > 0 {
			r.Parsed.Episodes = rapid.SliceOfN(rapid.Float64(), n, n).Draw(t, "numbers")
		}
	}
	for range rapid.IntRange(0, 3).Draw(t, "candidates") {
		r.Candidates = append(r.Candidates, report.Candidate{
			Kind: text.Draw(t, "kind"), TMDBID: rapid.Int().Draw(t, "id"), Title: text.Draw(t, "title"),
			Year: rapid.Int().Draw(t, "year"), Confidence: rapid.Float64().Draw(t, "confidence"),
		})
	}
	return r
}

// anyKnown draws a folder of some files in some groups, all of them known.
func anyKnown(t *rapid.T) keeping {
	k := keeping{}
	copy(k.basis[:], rapid.SliceOfN(rapid.Byte(), basisSize, basisSize).Draw(t, "basis"))
	for range rapid.IntRange(1, 3).Draw(t, "groups") {
		k.terms = append(k.terms, Term{anyTime(t, "at"), anyTime(t, "fetched"), anyTime(t, "until")})
	}
	for range rapid.IntRange(0, 6).Draw(t, "files") {
		f := library.File{Name: rapid.String().Draw(t, "name"), Size: rapid.Int64().Draw(t, "size"), ModTime: time.Unix(0, rapid.Int64().Draw(t, "changed")).UTC()}
		group := rapid.IntRange(0, len(k.terms)).Draw(t, "group")
		if group == 0 {
			f.Skip = "left out"
		}
		k.folder.Files, k.groupOf, k.records = append(k.folder.Files, f), append(k.groupOf, group), append(k.records, anyRecord(t))
	}
	return k
}

func TestCodecRoundTrip(t *testing.T) {
	var again Records
	rapid.Check(t, func(t *rapid.T) {
		k := anyKnown(t)
		b := encode(k, now)
		got, err := decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(k.terms, got.terms, cmp.AllowUnexported(Term{})); diff != "" || got.basis != k.basis {
			t.Fatal(diff)
		}
		got.holds = make([]bool, len(got.terms))
		for i := range got.holds {
			got.holds[i] = true
		}
		// The second time with blocks that hold another folder's.
		for range 2 {
			ok := got.All(k.folder.Files, &again)
			if diff := cmp.Diff(k.records, again.List, cmpopts.EquateEmpty()); diff != "" || !ok {
				t.Fatal(ok, diff)
			}
		}
		if cut := rapid.IntRange(0, len(b)-1).Draw(t, "cut"); reads(b[:cut], k.folder.Files) || reads(append(b, 0), k.folder.Files) {
			t.Fatalf("a value cut to %d of %d bytes, or with one more, was read", cut, len(b))
		}
	})
}

func reads(b []byte, files []library.File) bool {
	k, err := decode(b)
	if err != nil {
		return false
	}
	k.holds = make([]bool, len(k.terms))
	return k.All(files, new(Records))
}

// Whatever the store gives is read without harm.
func FuzzDecode(f *testing.F) {
	show := folder(3)
	f.Add(encode(keeping{folder: show, records: decided(show), groupOf: []int{1, 1, 1, 0}, terms: []Term{{now, now, now}}}, now))
	f.Add([]byte{})
	f.Add([]byte{version, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(_ *testing.T, b []byte) {
		k, err := decode(b)
		if err != nil {
			return
		}
		k.judge(now)
		files := make([]library.File, len(k.files))
		group := make([]int, len(k.files))
		for i, was := range k.files {
			files[i] = library.File{Name: was.name, Skip: was.skip, Size: was.size, ModTime: time.Unix(0, was.modTime)}
			group[i] = i
		}
		k.All(files, new(Records))
		k.Group(files, group)
	})
}
