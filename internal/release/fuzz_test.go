package release

import (
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// seeds are names of every kind for the fuzzer to start from.
var seeds = []string{
	"[Quiet] Silver Rail - 07v2 [1080p][ABCD1234].mkv",
	"Silver.Rail.2019.S02E05E06.1080p.WEB.H264-QUIET.mkv",
	"【静字幕组】★10月新番★[银色铁道/Silver Rail][01-12完][1080p]",
	"은빛 철도 2기 07화.mp4",
	`D:\Anime\Silver Rail\Season 2\05.mkv`,
	"Silver Rail - 1x02x03 - 2003.11.23 (Part II) {tmdb-12} [imdb-tt0000001]",
	"Серебряный путь / Сезон: 2 / Серии: 1-5 из 12 [2019]",
	"[[((】】[第第07話話]]--..__  S01E01-E999 S1-S40 01-02-03+04&05",
	"50E50S.liaR.revliS",
}

// holds fails the test when r breaks what every Release promises.
func holds(t interface{ Fatalf(string, ...any) }, in string, r Release) {
	if r.Path != in {
		t.Fatalf("Path %q for input %q", r.Path, in)
	}
	if len(r.Titles) > 0 && r.Title != r.Titles[0].Text {
		t.Fatalf("%q: Title %q is not the first of %q", in, r.Title, r.Titles)
	}
	if len(r.Titles) == 0 && r.Title != "" {
		t.Fatalf("%q: Title %q without Titles", in, r.Title)
	}
	for i, a := range r.Titles {
		if a.Text == "" || !utf8.ValidString(a.Text) {
			t.Fatalf("%q: title %q", in, a.Text)
		}
		for _, b := range r.Titles[:i] {
			if a.Text == b.Text {
				t.Fatalf("%q: title %q twice", in, a.Text)
			}
		}
	}
	if !slices.IsSorted(r.Seasons) || !slices.IsSorted(r.Episodes) {
		t.Fatalf("%q: unsorted %v %v", in, r.Seasons, r.Episodes)
	}
	if len(r.Episodes) > 4000 || len(r.Seasons) > 4000 {
		t.Fatalf("%q: %d episodes, %d seasons", in, len(r.Episodes), len(r.Seasons))
	}
	for _, e := range r.Episodes {
		if e < 0 || math.IsNaN(e) || e > 99999.9 {
			t.Fatalf("%q: episode %v", in, e)
		}
	}
	if r.Year != 0 && (r.Year < firstYear || r.Year > 2099) {
		t.Fatalf("%q: year %d", in, r.Year)
	}
	if r.Absolute && (len(r.Episodes) == 0 || len(r.Seasons) > 0) {
		t.Fatalf("%q: absolute with seasons %v episodes %v", in, r.Seasons, r.Episodes)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		holds(t, in, Parse(in))
		if len(in) > 4096 {
			return
		}
		one, two := work(in), work(in+in)
		if two > 3*one+64 {
			t.Fatalf("%q: %d steps once, %d steps doubled", in, one, two)
		}
	})
}

// work returns the steps that reading s takes.
func work(s string) int {
	return new(stages).read(normalizeName(s), false).w.steps
}

func TestPromisesHoldForNamesOfAllKinds(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"Silver", "Rail", "01", "07v2", "S01E02", "-", " - ", "[", "]", "(", ")", "【", "】", ".", "_", " ", "/", " / ", `\`,
		"1080p", "x264", "2019", "第07話", "2기", "第二季", "~", "+", "&", "Season", "2", "NCOP", "OVA", "12.5", "END", "Part",
		"II", "aka", "www", ".com", "★", "1/2", "銀", "完", "E03", "x02", "3x3", "-GRP", ".mkv", "\xff", "'", "#", "1-13",
	})
	rapid.Check(t, func(t *rapid.T) {
		name := strings.Join(rapid.SliceOfN(piece, 0, 24).Draw(t, "pieces"), "")
		holds(t, name, Parse(name))
	})
}

func TestWorkGrowsWithTheLengthOnly(t *testing.T) {
	for _, unit := range []string{
		"a ", "01 ", "[", "]", "[a]", "(((", "第1話", "S01E01", "S01", "1-2-3", "E1-", "Season 1 ", "/", "aka ", "2019 ", "銀",
		"_-_", "x264 ", "01-02 ", "DieS01E06 ", "Part 1 ", "1x02x03",
	} {
		t.Run(unit, func(t *testing.T) {
			for _, n := range []int{40, 120, 1000} {
				one, two := work(strings.Repeat(unit, n)), work(strings.Repeat(unit, 2*n))
				if two > 5*one/2+64 {
					t.Errorf("%d steps for %d, %d for twice as many", one, n, two)
				}
			}
		})
	}
}

func TestParsersKeepNothing(t *testing.T) {
	first := Parse(seeds[0])
	for _, s := range seeds {
		Parse(s)
	}
	again := Parse(seeds[0])
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("read a second time (-first +again):\n%s", diff)
	}
}

func TestReadingAllocatesLittle(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates too")
	}
	const name = "[Quiet] Silver Rail - 07v2 [1080p][ABCD1234].mkv"
	Parse(name)
	if n := testing.AllocsPerRun(200, func() { Parse(name) }); n > 8 {
		t.Errorf("%v allocations for %s", n, name)
	}
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		Parse(seeds[i%len(seeds)])
	}
}
