package report

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/release"
)

// The examples of docs/reference.md, with the dots filled in.
const (
	contractMatch = `{"type":"match","path":"/lib/Show/Show - 03.mkv","status":"matched","confidence":0.97,"kind":"tv",` +
		`"tmdb_id":26209,` +
		`"title":"Show","original_title":"ショー","year":1999,"season":1,"episodes":[3],"episode_confidence":0.95,` +
		`"episode_titles":["Third"],` +
		`"ids":{"imdb":"tt0000001","tvdb":1,"anidb":2,"anilist":3,"mal":4},"source":"network","reason":"because",` +
		`"parsed":{"title":"Show","titles":["Show"],"episodes":[3],"extension":"mkv"},` +
		`"candidates":[{"kind":"tv","tmdb_id":1,"title":"Other","year":1999,"confidence":0.41}]}`
	contractSummary = `{"type":"summary","files":38,"matched":36,"ambiguous":1,"unmatched":1,"pending":0,"skipped":0,` +
		`"errors":0,` +
		`"requests":8,"retries":0,"http_429":0,"cache_hits":30,"cache_misses":8,"elapsed_ms":412,"limiter_state":"Normal"}`
	contractParse = `{"name":"n.mkv","title":"t","titles":["t","u"],"seasons":[1],"season":1,"episodes":[3,12.5],` +
		`"absolute":true,"part":2,"special":"OVA",` +
		`"episode_title":"e","year":2011,"ids":{"tmdb":26209,"imdb":"tt0012"},"group":"g","resolution":"1080p","version":2,` +
		`"checksum":"ABCD1234","kind":"episode","source":"BluRay","video":"H.265","audio":"FLAC","extension":"mkv"}`
)

func TestContractExamplesAreWhatIsWritten(t *testing.T) {
	record := FromDecision("/lib/Show/Show - 03.mkv",
		release.Release{Title: "Show", Titles: []release.Title{{Text: "Show"}}, Episodes: []float64{3}, Extension: "mkv"},
		match.Decision{
			Outcome: match.Outcome{
				Status: match.Matched, Confidence: 0.97, Kind: match.TV, ID: 26209, Title: "Show", OriginalTitle: "ショー", Year: 1999,
				Reason: "because", Candidates: []match.Candidate{{
					Kind: match.TV, ID: 1, Title: "Other", Year: 1999,
					Confidence: 0.41,
				}},
			},
			Season: ptr(1), Episodes: []int{3}, EpisodeTitles: []string{"Third"}, EpisodeConfidence: ptr(0.95),
			IDs: match.IDs{IMDb: "tt0000001", TVDB: 1, AniDB: 2, AniList: 3, MAL: 4},
		}, nil)
	summary := Summary{
		Files: 38, Matched: 36, Ambiguous: 1, Unmatched: 1, Requests: 8, CacheHits: 30, CacheMisses: 8,
		ElapsedMS: 412, LimiterState: "Normal",
	}
	got := string(write(t, FormatNDJSON, Options{}, []Record{record}, summary))
	if diff := cmp.Diff(contractMatch+"\n"+contractSummary+"\n", got); diff != "" {
		t.Error(diff)
	}

	parsed := ParseRecord{"n.mkv", ParsedOf(release.Release{
		Title: "t", Titles: []release.Title{{Text: "t"}, {Text: "u"}}, Seasons: []int{1}, Episodes: []float64{3, 12.5},
		Absolute: true, Part: 2, Special: "OVA", EpisodeTitle: "e", Year: 2011, Group: "g", Resolution: "1080p", Version: 2,
		Checksum: "ABCD1234", Kind: release.Episode,
		Source: "BluRay", Video: "H.265", Audio: "FLAC", Extension: "mkv",
		IDs: []release.ID{
			{Source: "imdb", Value: "tt0012"},
			{Source: "tmdb", Kind: "tv", Value: "26209"},
			{Source: "tmdb", Value: "7"},
			{Source: "tvdb", Value: "99999999999999999999"},
		},
	})}
	line, err := AppendJSON(nil, &parsed)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(contractParse, string(line)); diff != "" {
		t.Error(diff)
	}
}

func TestCodesDecideTheStatus(t *testing.T) {
	pending := []Code{
		CodeBlocked, CodeAcquireTimeout, CodeRequestTimeout, CodeUpstream, CodeNetwork,
		CodeMalformedResponse, CodeBudget,
	}
	failed := []Code{CodeUnauthorized, CodeTLS, CodeNotFound, CodeUnreadable, CodeInternal}
	for _, row := range Codes() {
		want := Pending
		if slices.Contains(failed, row.Code) {
			want = Failed
		} else if !slices.Contains(pending, row.Code) {
			t.Errorf("%s is not in the contract", row.Code)
		}
		cause := errors.New("cause")
		r := FromDecision("p", release.Release{}, match.Decision{Outcome: match.Outcome{Status: match.Pending, Err: cause}},
			func(err error) (Code, lang.Text) {
				if !errors.Is(err, cause) {
					t.Errorf("the error was changed: %v", err)
				}
				return row.Code, "two\nlines"
			})
		if diff := cmp.Diff(Record{Path: "p", Status: want, Parsed: &Parsed{}, Error: &Error{row.Code, "two lines"}},
			r); diff != "" {
			t.Errorf("%s: %s", row.Code, diff)
		}
		if row.Meaning == "" || row.Next == "" {
			t.Errorf("%s: nothing to tell a person", row.Code)
		}
	}
	if len(Codes()) != len(pending)+len(failed) {
		t.Errorf("%d codes, the contract has %d", len(Codes()), len(pending)+len(failed))
	}
	if info := Code("new").Info(); info.Code != "new" || info.Status != Failed {
		t.Errorf("an unknown code is %+v", info)
	}
}

// A person is never sent to a command that does not exist: these are the ones that the tables may name.
func TestNextStepsNameRealCommands(t *testing.T) {
	known := []string{
		"anivault pin", "anivault status", "anivault doctor", "anivault config init",
	}
	var next []string
	for _, s := range Statuses() {
		if s.Meaning == "" || s.Status.Info() != s {
			t.Errorf("%s is not explained", s.Status)
		}
	}
	for _, c := range Codes() {
		next = append(next, c.Next.String())
	}
	for _, text := range next {
		for i, part := range strings.Split(text, "`") {
			if i%2 == 1 && !slices.Contains(known, part) {
				t.Errorf("%q names %q", text, part)
			}
		}
	}
}

// A matched series without an episode is counted, unless it can't have one.
func TestTallyCountsMissingEpisodes(t *testing.T) {
	var tally Tally
	for _, r := range []Record{
		{Path: "a/1", Status: Matched, Kind: "tv", TMDBID: 1, Reason: "it fits nowhere"},
		{Path: "a/2", Status: Matched, Kind: "tv", TMDBID: 1, Season: ptr(1)},
		{Path: "a/3", Status: Matched, Kind: "tv", TMDBID: 1, Season: ptr(0), Episodes: []int{0}},
		{Path: "a/4", Status: Matched, Kind: "tv", TMDBID: 1, Parsed: &Parsed{Kind: "extra"}},
		{Path: "b", Status: Matched, Kind: "movie", TMDBID: 2},
	} {
		tally.Add(r)
	}
	var b strings.Builder
	if err := tally.Write(&b, tally.Counts(), Options{Ending: Ending{Arguments: "a"}}); err != nil {
		t.Fatal(err)
	}
	want := "5 files: 5 matched (2 without an episode)\n0 requests to TMDB, 0.0 s\n\n" +
		"2 matched without an episode: " + matchedWithoutEpisode.Meaning.String() +
		"\n  a (2 files)\n    for example 1: no episode: it fits nowhere\n" +
		"next: anivault pin a/1 tv/1 --season 1 --episode N\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

// A number that can't be an episode's is not put into the suggested command.
func TestASpecialsNumberIsNotSuggestedAsAnEpisode(t *testing.T) {
	for _, c := range []struct {
		parsed Parsed
		trust  *float64
		want   string
	}{
		{Parsed{Season: ptr(2), Episodes: []float64{5}}, ptr(0.15), "--season 2 --episode 5"},
		{Parsed{Episodes: []float64{5.5}}, ptr(0.15), "--season 1 --episode N"},
		{Parsed{Special: "OVA", Episodes: []float64{1}}, nil, "--season 0 --episode N"},
		{Parsed{Special: "SP", Episodes: []float64{1}}, ptr(0.0), "--season 0 --episode N"},
		{Parsed{Special: "OVA", Season: ptr(2)}, nil, "--season 0 --episode N"},
		// TMDB does not have these numbers, so pinning them would change nothing.
		{Parsed{Season: ptr(2), Episodes: []float64{5}}, ptr(0.0), "--season N --episode N"},
		{Parsed{Episodes: []float64{30}}, ptr(0.0), "--season N --episode N"},
		{Parsed{}, ptr(0.0), "--season 1 --episode N"},
	} {
		r := Record{Path: "x.mkv", Kind: "tv", TMDBID: 1, Parsed: &c.parsed, EpisodeConfidence: c.trust}
		if got := pinCommand(&r); got != "anivault pin x.mkv tv/1 "+c.want {
			t.Errorf("%+v: %s", c.parsed, got)
		}
	}
}

// Files that lie where anivault was started have a folder to show and to name in a command; mere names have none.
func TestFilesWithoutFolder(t *testing.T) {
	records := []Record{
		{Path: "a.mkv", Status: Unmatched, Reason: "nothing"},
		{Path: "b.mkv", Status: Unmatched, Reason: "nothing"},
		{Path: "c.mkv", Status: Unmatched, Reason: "nothing"},
	}
	for here, want := range map[string]string{
		".": ".\n  unmatched           a.mkv\n    nothing\n  unmatched           b.mkv  (same)\n" +
			"  unmatched           c.mkv  (same)\n|  . (3 files)\n" +
			"    for example a.mkv: nothing\nnext: anivault match --interactive .\n",
		"": "  unmatched           a.mkv\n    nothing\n  unmatched           b.mkv  (same)\n" +
			"  unmatched           c.mkv  (same)\n|  names without a folder (3)\n" +
			"    for example a.mkv: nothing\nnext: anivault match --interactive .\n",
	} {
		var out, human strings.Builder
		w, err := NewWriter(FormatTable, &out, Options{DefaultFolder: here})
		if err != nil {
			t.Fatal(err)
		}
		var tally Tally
		for _, r := range records {
			tally.Add(r)
			if err := w.Match(r); err != nil {
				t.Fatal(err)
			}
		}
		opts := Options{DefaultFolder: here, Ending: Ending{Arguments: "."}}
		if err := errors.Join(w.Close(tally.Counts()), tally.Write(&human, tally.Counts(), opts)); err != nil {
			t.Fatal(err)
		}
		table, summary, _ := strings.Cut(want, "|")
		if out.String() != table || !strings.Contains(human.String(), summary) {
			t.Errorf("here is %q:\n%s%s", here, out.String(), human.String())
		}
	}
}

func TestFromDecision(t *testing.T) {
	none := &Parsed{}
	for _, c := range []struct {
		name string
		in   match.Decision
		want Record
	}{
		{
			"season 0 and episode 0 are values",
			match.Decision{
				Outcome: match.Outcome{Status: match.Matched, Confidence: 1, Kind: match.TV, ID: 5, Title: "T"}, Season: ptr(0),
				Episodes: []int{0},
			},
			Record{
				Status: Matched, Confidence: ptr(1.0), Kind: "tv", TMDBID: 5, Title: "T", Season: ptr(0), Episodes: []int{0},
				Source: "network", Parsed: none,
			},
		},
		{
			"a pin stands on answers too",
			match.Decision{Outcome: match.Outcome{
				Status: match.Matched, Kind: match.TV, ID: 5, DecidedBy: match.DecidedByPin,
				Origin: match.Origin{Freshness: match.FromCache, FetchedAt: fetched},
			}},
			Record{Status: Matched, Confidence: ptr(0.0), Kind: "tv", TMDBID: 5, Source: "pin", CachedAt: fetched, Parsed: none},
		},
		{
			"an index's decision on an expired answer is stale",
			match.Decision{Outcome: match.Outcome{
				Status: match.Matched, Kind: match.TV, ID: 5, DecidedBy: match.DecidedByIndex,
				Origin: match.Origin{Freshness: match.FromStale, FetchedAt: fetched},
			}},
			Record{
				Status: Matched, Confidence: ptr(0.0), Kind: "tv", TMDBID: 5, Source: "stale", CachedAt: fetched,
				Parsed: none,
			},
		},
		{
			"an ambiguous file names no entry",
			match.Decision{
				Outcome: match.Outcome{
					Status: match.Ambiguous, Confidence: 0.5, Kind: match.TV, ID: 5, Title: "T", Year: 1999,
					Candidates: []match.Candidate{{Kind: match.TV, ID: 5, Confidence: 0.123456, Score: math.Inf(1)}},
					Origin:     match.Origin{Freshness: match.FromStale, FetchedAt: fetched},
				},
				Season: ptr(1),
			},
			Record{
				Status: Ambiguous, Confidence: ptr(0.5), Source: "stale", CachedAt: fetched, Parsed: none,
				Candidates: []Candidate{{Kind: "tv", TMDBID: 5, Confidence: 0.1235}},
			},
		},
		{
			"confidence is never NaN",
			match.Decision{Outcome: match.Outcome{Status: match.Matched, Confidence: math.NaN(), Kind: match.Movie, ID: 1}},
			Record{Status: Matched, Confidence: ptr(0.0), Kind: "movie", TMDBID: 1, Source: "network", Parsed: none},
		},
		{
			"unmatched names its source",
			match.Decision{Outcome: match.Outcome{
				Status: match.Unmatched, Confidence: 0.1, Reason: "a\nb",
				Origin: match.Origin{Freshness: match.FromCache, FetchedAt: fetched},
			}},
			Record{Status: Unmatched, Source: "cache", CachedAt: fetched, Reason: "a b", Parsed: none},
		},
		{
			"a skipped file has no source",
			match.Decision{Outcome: match.Outcome{Status: match.Skipped, Reason: "extra"}},
			Record{Status: Skipped, Reason: "extra", Parsed: none},
		},
		{
			"pending without a cause is a fault of ours",
			match.Decision{Outcome: match.Outcome{Status: match.Pending}},
			Record{Status: Failed, Error: &Error{CodeInternal, "no cause was given"}, Parsed: none},
		},
		{
			"an unknown status is a fault of ours",
			match.Decision{},
			Record{Status: Failed, Error: &Error{CodeInternal, "no decision was made"}, Parsed: none},
		},
		{
			"steps say where answers came from",
			match.Decision{Outcome: match.Outcome{Status: match.Unmatched, Steps: []match.Step{
				{Stage: "query", Detail: "q"}, {
					Stage: "search", Detail: "s",
					Origin: &match.Origin{Freshness: match.FromCache, FetchedAt: fetched},
				},
			}}},
			Record{Status: Unmatched, Source: "network", Parsed: none, Steps: []Step{
				{Stage: "query", Detail: "q"}, {Stage: "search", Detail: "s", Source: "cache", CachedAt: "2026-10-01T08:30:00Z"},
			}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, FromDecision("", release.Release{}, c.in, nil)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPathsThatAreNotUTF8StayAddressable(t *testing.T) {
	const bad = "/lib/\xff\xfea\n\".mkv"
	got := string(write(t, FormatNDJSON, Options{},
		[]Record{{Path: bad, Status: Failed, Error: &Error{CodeUnreadable, "permission denied"}}}, Summary{}))
	const path = `"/lib/` + "\ufffd\ufffd" + `a\u000a\".mkv"`
	line, _, _ := strings.Cut(got, "\n")
	if diff := cmp.Diff(`{"type":"match","path":`+path+`,"path_base64":"L2xpYi///mEKIi5ta3Y=","status":"error",`+
		`"error":{"code":"unreadable","message":"permission denied"}}`, line); diff != "" {
		t.Error(diff)
	}
	parse, err := AppendJSON(nil, &ParseRecord{Name: bad})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"name":`+path+`,"name_base64":"L2xpYi///mEKIi5ta3Y="}`, string(parse)); diff != "" {
		t.Error(diff)
	}
}

func TestTheYearFollowsATitleOnce(t *testing.T) {
	for title, want := range map[string]string{
		"Break Blade": "Break Blade (2014)", "Break Blade (2014)": "Break Blade (2014)",
		"Break Blade (2010)": "Break Blade (2010) (2014)", "": "tv/7",
	} {
		if got := (Record{Kind: "tv", TMDBID: 7, Title: title, Year: 2014}).Entry(); got != want {
			t.Errorf("%q is %q, want %q", title, got, want)
		}
	}
}
