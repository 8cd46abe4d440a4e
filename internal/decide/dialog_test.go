package decide

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/release"
)

func filesOf(names ...string) (files []match.File) {
	for i, n := range names {
		files = append(files, match.File{Index: i, Release: release.Parse(n)})
	}
	return files
}

// One question is about all files that one answer can settle, and about no others.
func TestWhatIsAskedAbout(t *testing.T) {
	entry := &match.Entry{Kind: match.TV, ID: 1}
	guess := func(season, episode int) match.Decision {
		d := match.Decision{Guess: &match.Guess{Season: season, Episodes: []match.Episode{{Number: episode}}}}
		d.Status, d.Kind = match.Matched, match.TV
		return d
	}
	of := func(s match.Status, k match.Kind) match.Decision {
		return match.Decision{Outcome: match.Outcome{Status: s, Kind: k}}
	}
	placed := of(match.Matched, match.TV)
	placed.Season, placed.Confidence = new(1), 0.95
	film := of(match.Matched, match.Movie)
	film.Confidence = 0.95
	doubtful, doubtfulFilm := placed, film
	doubtful.Confidence, doubtfulFilm.Confidence = 0.85, 0.85
	for name, c := range map[string]struct {
		names   []string
		decided []match.Decision
		want    string
	}{
		"nothing": {
			[]string{"a/T - 01.mkv", "a/T.mkv", "a/T - 02.mkv", "a/T - 03.mkv"},
			[]match.Decision{placed, film, of(match.Pending, ""), of(match.Skipped, "")},
			"",
		},
		"the entry, once": {
			[]string{"a/T - 01.mkv", "a/T - 02.mkv"},
			[]match.Decision{of(match.Unmatched, ""), doubtful},
			"entry:0,1",
		},
		"a film that is not sure enough": {[]string{"a/T 2.mkv"}, []match.Decision{doubtfulFilm}, "entry:0"},
		"each file without a title": {
			[]string{"....mkv", "video.mp4"},
			[]match.Decision{of(match.Unmatched, ""), of(match.Unmatched, "")},
			"entry:0 entry:1",
		},
		"the episodes, once, where they are as far from their numbers": {
			[]string{"a/T - 01.mkv", "a/T - 02.mkv", "a/T - 27.mkv", "a/T - 28.mkv", "a/T - 99.mkv"},
			[]match.Decision{guess(1, 1), guess(1, 2), guess(2, 2), guess(2, 3), of(match.Matched, match.TV)},
			"episode:0,1 episode:2,3 episode:4",
		},
		"each file without a number": {
			[]string{"a/T one.mkv", "a/T two.mkv", "a/T - 12.5.mkv"},
			[]match.Decision{of(match.Matched, match.TV), of(match.Matched, match.TV), of(match.Matched, match.TV)},
			"episode:0 episode:1 episode:2",
		},
	} {
		var got []string
		s := series{Series: match.Series{Files: filesOf(c.names...)}}
		s.Titles = s.Files[0].Release.Titles
		for _, q := range questionsAbout(s, entry, maps.Collect(slices.All(c.decided)), 0.9) {
			text := "entry:"
			if q.Entry != nil {
				text = "episode:"
			}
			for i, f := range q.series.Files {
				if i > 0 {
					text += ","
				}
				text += fmt.Sprint(f.Index)
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// A series that is less certain than its best candidate does not look more certain in the question.
func TestNoCandidateLooksSurerThanTheDecision(t *testing.T) {
	s := series{Series: match.Series{Files: filesOf("a/T - 01.mkv")}}
	d := match.Decision{Outcome: match.Outcome{Status: match.Matched, Kind: match.TV, Confidence: 0.85}}
	d.Season, d.Candidates = new(1), []match.Candidate{{ID: 1, Confidence: 0.99}, {ID: 2, Confidence: 0.3}}
	got := questionsAbout(s, nil, map[int]match.Decision{0: d}, 0.9)[0].Candidates
	if diff := cmp.Diff([]match.Candidate{{ID: 1, Confidence: 0.85}, {ID: 2, Confidence: 0.3}}, got); diff != "" {
		t.Error(diff)
	}
}

// An answer about one file without a number is suggested for that file; others may have its title by chance.
func TestTheScopeThatIsSuggested(t *testing.T) {
	for want, names := range map[Scope][]string{
		ByTitle: {"lib/T - 01.mkv"}, ByFiles: {"lib/my holiday.mkv"},
	} {
		s := match.Group(filesOf(names...))[0]
		if got := defaultScope(s, Answer{Kind: match.TV}, false); got != want {
			t.Errorf("%q: %s, want %s", names, got, want)
		}
		if got := defaultScope(s, Answer{Kind: match.TV}, true); got != ByFiles {
			t.Errorf("%q, which has namesakes: %s", names, got)
		}
	}
}

// Where the first file goes, the others follow by their numbers: a title or a folder by an offset, files by episodes.
func TestWhatAnAnswerPins(t *testing.T) {
	two := []string{"lib/T - 03.mkv", "lib/T - 05.mkv"}
	for name, c := range map[string]struct {
		names []string
		place *Place
		scope Scope
		want  string
	}{
		"an entry of a title": {two, nil, ByTitle, "tv/1 title T"},
		"an entry of files":   {two, nil, ByFiles, "tv/1 path 3.mkv, tv/1 path 5.mkv"},
		"a place of a title":  {two, &Place{2, []int{1}}, ByTitle, "tv/1 season=2 offset=-2 title T"},
		"a place of a folder": {two, &Place{2, []int{13}}, ByFolder, "tv/1 season=2 offset=10 path lib"},
		"places of files": {
			two, &Place{2, []int{1}}, ByFiles,
			"tv/1 season=2 episode=1 path 3.mkv, tv/1 season=2 episode=3 path 5.mkv",
		},
		"two episodes of one": {
			two, &Place{1, []int{3, 4}}, ByFiles, "tv/1 season=1 episode=3,4 path 3.mkv, tv/1 path 5.mkv",
		},
		"a file without numbers": {[]string{"lib/T.mkv"}, &Place{0, []int{2}}, ByFiles, "tv/1 season=0 episode=2 path T.mkv"},
	} {
		s := match.Group(filesOf(c.names...))[0]
		var got []string
		for _, p := range pinsFor(s, Answer{Kind: match.TV, ID: 1}, ChoiceOptions{c.place, c.scope}, "") {
			if err := p.Validate(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			text := strings.ReplaceAll(p.String(), absolute(t, "lib/T - 0"), "")
			text = strings.ReplaceAll(text, absolute(t, "lib/T"), "T")
			got = append(got, strings.ReplaceAll(text, absolute(t, "lib"), "lib"))
		}
		if diff := cmp.Diff(c.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// The questions come in the order of the files, those that nothing is offered for last.
func TestQuestionsComeInOrder(t *testing.T) {
	one := func(path string, candidates ...match.Candidate) question {
		return question{Question: Question{Files: []string{path}, Candidates: candidates}}
	}
	likely := match.Candidate{Confidence: 0.4}
	g := dialog{open: map[string][]question{
		"1": {one("1")}, "2": {one("2", likely), {Question: Question{Files: []string{"5"}, Entry: &match.Entry{}}}},
		"3": {one("3")}, "4": {one("4", likely)},
	}}
	got := ""
	for _, q := range g.take(func(path string) int { return int(path[0]) }) {
		got += q.Files[0]
	}
	if got != "24513" {
		t.Errorf("asked in the order %s", got)
	}
}
