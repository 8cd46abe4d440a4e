package results

import (
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/report"
)

// Every field of a record is either kept or left out on purpose; a new one has to be decided about.
func TestEveryFieldIsDecidedAbout(t *testing.T) {
	fields := func(v any) (names []string) {
		for i := range reflect.TypeOf(v).NumField() {
			if name := reflect.TypeOf(v).Field(i).Name; name != "_" {
				names = append(names, name)
			}
		}
		return names
	}
	for _, row := range []struct {
		value any
		want  []string
	}{
		{report.Record{}, []string{
			"Path", "Status", "Confidence", "Kind", "TMDBID", "Title", "OriginalTitle", "Year", "Season", "Episodes",
			"Order", "EpisodeConfidence", "EpisodeTitles", "AirDate", "Subtitles", "IDs", "Orders", "Source", "CachedAt",
			"Reason", "Parsed", "Candidates", "Error", "Steps",
		}},
		{report.Candidate{}, []string{"Kind", "TMDBID", "Title", "Year", "Confidence", "Score", "Reasons"}},
		{report.Parsed{}, []string{
			"Title", "Titles", "Seasons", "Season", "Episodes", "Absolute", "Part", "Special", "EpisodeTitle", "Year", "IDs",
			"Group", "Resolution", "Version", "Checksum", "Kind", "Source", "Video", "Audio", "Edition", "Extension",
		}},
		{report.IDs{}, []string{"TMDB", "IMDB", "TVDB", "AniDB"}},
		{report.WorkIDs{}, []string{"IMDB", "TVDB", "AniDB", "AniList", "MAL"}},
		{orders.Orders{}, []string{"TMDB", "Absolute", "TVDB", "AniDB"}},
		{orders.Place{}, []string{"Season", "Episodes"}},
		{orders.AniDBPlace{}, []string{"ID", "Special", "Episodes"}},
		{library.File{}, []string{"Path", "Name", "Size", "ModTime", "Skip", "IsDir", "Subtitles"}},
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
		Status: rapid.SampledFrom([]report.Status{report.Matched, report.Ambiguous, report.Unmatched, report.Skipped}).Draw(t,
			"status"),
		Kind: text.Draw(t, "kind"), TMDBID: rapid.Int().Draw(t, "id"), Title: text.Draw(t, "title"),
		OriginalTitle: text.Draw(t, "original"), Year: rapid.Int().Draw(t, "year"), Season: number("season"),
		Episodes: ints("episodes"), EpisodeTitles: texts("episode titles"),
		Source: rapid.SampledFrom([]string{"", "cache", "index", "pin"}).Draw(t, "source"), CachedAt: anyTime(t, "cached at"),
		Reason: lang.Text(text.Draw(t, "reason")),
	}
	if rapid.Bool().Draw(t, "sure") {
		r.Confidence = ptr(rapid.Float64().Draw(t, "confidence"))
	}
	if rapid.Bool().Draw(t, "placed") {
		r.EpisodeConfidence = ptr(rapid.Float64().Draw(t, "episode confidence"))
	}
	if rapid.Bool().Draw(t, "elsewhere") {
		r.IDs = &report.WorkIDs{
			IMDB: text.Draw(t, "work's imdb"), TVDB: rapid.Int().Draw(t, "work's tvdb"),
			AniDB: rapid.Int().Draw(t, "work's anidb"), AniList: rapid.Int().Draw(t, "anilist"), MAL: rapid.Int().Draw(t, "mal"),
		}
	}
	if rapid.Bool().Draw(t, "counted") && r.Season != nil {
		r.Orders = &orders.Orders{
			TMDB: &orders.Place{Season: *r.Season, Episodes: r.Episodes}, Absolute: ints("absolute"),
			TVDB:  &orders.Place{Season: rapid.Int().Draw(t, "tvdb season"), Episodes: ints("tvdb")},
			AniDB: &orders.AniDBPlace{ID: rapid.Int().Draw(t, "anime"), Special: rapid.Bool().Draw(t, "special")},
		}
	}
	if rapid.Bool().Draw(t, "parsed") {
		r.Parsed = &report.Parsed{
			Title: text.Draw(t, "parsed title"), Titles: texts("titles"), Seasons: ints("seasons"),
			Season: number("parsed season"), Absolute: rapid.Bool().Draw(t, "absolute"), Part: rapid.Int().Draw(t, "part"),
			Special: text.Draw(t, "special"), EpisodeTitle: text.Draw(t, "episode title"),
			Year: rapid.Int().Draw(t, "parsed year"), Group: text.Draw(t, "group"),
			Resolution: text.Draw(t, "resolution"), Version: rapid.Int().Draw(t, "version"), Checksum: text.Draw(t, "checksum"),
			Kind: text.Draw(t, "parsed kind"), Source: text.Draw(t, "parsed source"), Video: text.Draw(t, "video"),
			Audio: text.Draw(t, "audio"), Edition: text.Draw(t, "edition"), Extension: text.Draw(t, "extension"),
		}
		if rapid.Bool().Draw(t, "ids") {
			r.Parsed.IDs = &report.IDs{
				TMDB: rapid.Int().Draw(t, "tmdb"), IMDB: text.Draw(t, "imdb"),
				TVDB: rapid.Int().Draw(t, "tvdb"), AniDB: rapid.Int().Draw(t, "anidb"),
			}
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

// anyDecided draws a series of some files.
func anyDecided(t *rapid.T) *DecidedSeries {
	var d DecidedSeries
	for range rapid.IntRange(0, 4).Draw(t, "entries") {
		d.UsedEntries = append(d.UsedEntries, match.UsedEntry{
			Kind: rapid.SampledFrom([]match.Kind{match.TV, match.Movie}).Draw(t, "kind"), ID: rapid.Int().Draw(t, "id"),
			ReadAt: anyTime(t, "read at"),
		})
	}
	for range rapid.IntRange(1, 6).Draw(t, "files") {
		r := anyRecord(t)
		if n := len(d.Records); n > 0 && rapid.Bool().Draw(t, "only the episode differs") {
			r = anotherEpisode(d.Records[n-1], r)
		}
		d.Records = append(d.Records, r)
	}
	return &d
}

// anotherEpisode returns a record that differs from r only in its episode, which is that of from.
func anotherEpisode(r, from report.Record) report.Record {
	r.Episodes, r.EpisodeTitles, r.AirDate, r.Orders = from.Episodes, from.EpisodeTitles, from.AirDate, nil
	r.Reason = from.Reason
	if from.Orders != nil && r.Season != nil {
		o := *from.Orders
		o.TMDB = &orders.Place{Season: *r.Season, Episodes: r.Episodes}
		r.Orders = &o
	}
	if r.Parsed != nil && from.Parsed != nil {
		p := *r.Parsed
		p.Episodes, p.EpisodeTitle, p.Checksum = from.Parsed.Episodes, from.Parsed.EpisodeTitle, from.Parsed.Checksum
		r.Parsed = &p
	}
	return r
}

func TestWhatOnlyAnEpisodeChangesIsStoredAlone(t *testing.T) {
	show := folder(20)
	one := len(encodeSeries(&DecidedSeries{Records: decided(show)[:1]}, now, now.Add(time.Hour)))
	records := decided(show)
	for i := range records {
		records[i].Reason = []lang.Text{"it has the number", "counted over all seasons"}[i%2]
	}
	all := len(encodeSeries(&DecidedSeries{Records: records}, now, now.Add(time.Hour)))
	if each := (all - one) / 19; each > 60 {
		t.Errorf("each of 19 more episodes takes %d bytes, and the first %d", each, one)
	}
}

// filesOf are as many files as a series has records, and which of them are the series.
func filesOf(d *DecidedSeries) (files []library.File, series []int) {
	for i := range d.Records {
		files, series = append(files, library.File{}), append(series, i)
	}
	return files, series
}

func TestCodecRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := anyDecided(t)
		want := make([]report.Record, len(d.Records))
		for i, r := range d.Records {
			if r.Source != "" && r.CachedAt.IsZero() {
				r.CachedAt = now // it is an answer of the cache from now on
			}
			want[i] = r
		}
		files, series := filesOf(d)
		b := encodeSeries(d, now, now.Add(time.Hour))
		k := decodeSeries(b, now)
		if k == nil {
			t.Fatal("what was written is not read")
		}
		if diff := cmp.Diff(d.UsedEntries, k.usedEntries, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
		again := make([]report.Record, len(files))
		ok := k.ReadRecords(again, files, series)
		if diff := cmp.Diff(want, again, cmpopts.EquateEmpty()); diff != "" || !ok {
			t.Fatal(ok, diff)
		}
		if cut := rapid.IntRange(0, len(b)-1).Draw(t, "cut"); reads(b[:cut], files, series) ||
			reads(append(b, 0), files, series) {
			t.Fatalf("a value cut to %d of %d bytes, or with one more, was read", cut, len(b))
		}
	})
}

func reads(b []byte, files []library.File, series []int) bool {
	k := decodeSeries(b, now)
	return k != nil && k.ReadRecords(make([]report.Record, len(files)), files, series)
}

// Whatever the store holds is read without harm.
func FuzzDecode(f *testing.F) {
	show := folder(3)
	m := New(&shelf{}, nothingNewer, scope)
	d := DecidedSeries{Records: decided(show), UsedEntries: []match.UsedEntry{{Kind: match.TV, ID: 26209, ReadAt: now}}}
	files, series := filesOf(&d)
	f.Add(encodeSeries(&d, now, now.Add(time.Hour)))
	f.Add(m.folderItem(&show, listOf(m, show, series), now).Value)
	f.Add([]byte{})
	f.Add([]byte{2, 2, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		reads(b, files, series)
		if l := m.decodeList(b, &show); l != nil {
			for _, files := range l.Files {
				if len(files) == 0 {
					t.Error("a series without files")
				}
			}
		}
	})
}

// What is remembered is being printed at the same time: the race detector sees a writer that touches it.
func TestWritingLeavesTheValuesAlone(t *testing.T) {
	season, confidence := 2, 0.97
	d := DecidedSeries{
		Records: []report.Record{{
			Status: report.Matched, Season: &season, Episodes: []int{3}, Confidence: &confidence, EpisodeTitles: []string{"Oil"},
			Candidates: []report.Candidate{{Kind: "tv", TMDBID: 1, Year: 2019}},
			Parsed:     &report.Parsed{Title: "Lantern Keepers", Absolute: true, Part: 2, IDs: &report.IDs{TMDB: 1}},
		}},
		UsedEntries: []match.UsedEntry{{Kind: match.TV, ID: 1, ReadAt: now}},
	}
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() { encodeSeries(&d, now, now.Add(time.Hour)) })
	}
	all.Wait()
}
