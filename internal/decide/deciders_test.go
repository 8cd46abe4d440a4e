package decide

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/pins"
)

// answers is a person who gives answers in turn, and then quits.
type answers struct {
	list  []Answer
	asked []string
	reach ChoiceOptions // what they say of the first choice that is shown, where it has a scope
	shown []string      // what the choices led to
}

func (a *answers) Ask(_ context.Context, q Question) (Answer, error) {
	a.asked = append(a.asked, fmt.Sprintf("%s (%d files)", q.Title, len(q.Files)))
	if len(a.list) == 0 {
		return Answer{Action: Quit}, nil
	}
	next := a.list[0]
	a.list = a.list[1:]
	return next, nil
}

// Confirm keeps a choice once it has the wanted scope and place.
func (a *answers) Confirm(_ context.Context, c Choice) (Verdict, error) {
	want := ChoiceOptions{Scope: a.reach.Scope, Place: a.reach.Place}
	if want.Scope == "" {
		want.Scope = c.Scope
	}
	if c.Scope != want.Scope || c.Place == nil && want.Place != nil {
		return Verdict{Options: want}, nil
	}
	var leads []string
	for _, l := range c.Preview {
		leads = append(leads, fmt.Sprintf("%s %d", l.Decision.Status, l.Decision.Episodes))
	}
	a.shown = append(a.shown, fmt.Sprintf("%s %s", c.Scope, leads))
	return Verdict{Keep: true, Options: c.ChoiceOptions}, nil
}

func (a *answers) ShowSavedPins(Choice) {}

// Pins come before everything, then what the run has fetched, then the search, and a person is asked about the rest
// alone.
func TestTheFirstDeciderThatAnswersDecides(t *testing.T) {
	seasons := []match.Season{{Number: 1, Episodes: []match.Episode{{Number: 1}, {Number: 2}, {Number: 3}}}}
	keepers := &match.Entry{
		Kind: match.TV, ID: 1, Title: "Lantern Keepers", Genres: []int{16}, Seasons: seasons,
		Titles: []match.AltTitle{{Title: "Toumori no Machi"}},
	}
	bureau := &match.Entry{Kind: match.TV, ID: 2, Title: "Night Bureau", Genres: []int{16}, Seasons: seasons}
	files := func(title string) []string {
		return []string{"lib/[G] " + title + " - 01 [1080p].mkv", "lib/[G] " + title + " - 02 [1080p].mkv"}
	}
	bureauIs := Answer{Action: Choose, Kind: match.TV, ID: 2}
	for _, c := range []struct {
		name    string
		files   []string
		pins    []pins.Pin
		fetched *match.Entry
		answers []Answer
		want    []string // by file
		asked   []string
		search  bool
		reach   ChoiceOptions
		shown   []string
	}{
		{"the search", files("Night Bureau"), nil, nil, nil, []string{"tv/2 E1", "tv/2 E2"}, nil, true, ChoiceOptions{}, nil},
		{
			"a pin before the search", files("Night Bureau"),
			[]pins.Pin{{Title: "night bureau", Kind: match.TV, ID: 1}},
			nil,
			nil,
			[]string{"tv/1 E1 pin", "tv/1 E2 pin"},
			nil, false,
			ChoiceOptions{},
			nil,
		},
		{
			"what the run has fetched", files("Toumori no Machi"), nil, keepers, nil,
			[]string{"tv/1 E1", "tv/1 E2"},
			nil, false,
			ChoiceOptions{},
			nil,
		},
		{
			"a person, who quits", files("Salt Harbor"), nil, nil,
			[]Answer{},
			[]string{"unmatched", "unmatched"},
			[]string{"Salt Harbor (2 files)"},
			true,
			ChoiceOptions{},
			nil,
		},
		{
			"a person, who skips", files("Salt Harbor"), nil, nil,
			[]Answer{{Action: Skip}},
			[]string{"unmatched", "unmatched"},
			[]string{"Salt Harbor (2 files)"},
			true,
			ChoiceOptions{},
			nil,
		},
		{
			"a person, who knows", files("Salt Harbor"), nil, nil,
			[]Answer{bureauIs},
			[]string{"tv/2 E1 pin", "tv/2 E2 pin"},
			[]string{"Salt Harbor (2 files)"},
			true,
			ChoiceOptions{},
			[]string{"title [matched [1] matched [2]]"},
		},
		{
			"a person, who knows the offset", files("Salt Harbor"), nil, nil,
			[]Answer{bureauIs},
			[]string{"tv/2 E2 pin", "tv/2 E3 pin"},
			[]string{"Salt Harbor (2 files)"},
			true,
			ChoiceOptions{Scope: ByFiles, Place: &Place{1, []int{2}}},
			[]string{"file [matched [2] matched [3]]"},
		},
		{
			"a person, who says an episode of the files and presses Enter", files("Salt Harbor"), nil, nil,
			[]Answer{bureauIs},
			[]string{"tv/2 E2 pin", "tv/2 E3 pin"},
			[]string{"Salt Harbor (2 files)"},
			true,
			ChoiceOptions{Place: &Place{1, []int{2}}},
			[]string{"file [matched [2] matched [3]]"},
		},
		{
			"a person, who is wrong", files("Salt Harbor"), nil, nil,
			[]Answer{{Action: Choose, Kind: match.TV, ID: 99}, bureauIs},
			[]string{"tv/2 E1 pin", "tv/2 E2 pin"},
			[]string{"Salt Harbor (2 files)", "Salt Harbor (2 files)"},
			true,
			ChoiceOptions{},
			[]string{"title [matched [1] matched [2]]"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			lib := &catalogue{entries: map[string]*match.Entry{"Lantern Keepers": keepers, "Night Bureau": bureau}}
			d := &Deciders{
				resolver: match.Resolver{
					Source: lib, Options: match.DefaultOptions(),
				}, known: new(knownTitles), pins: choicesOf(t, c.pins...),
				config: Config{Reserve: func(ctx context.Context) (context.Context, func()) { return ctx, func() {} }},
			}
			if c.fetched != nil {
				d.known.addEntry(c.fetched)
				d.known.addHits(match.Query{}, []match.Hit{{Kind: match.TV, ID: c.fetched.ID, Title: c.fetched.Title}})
			}
			who := &answers{list: c.answers, reach: c.reach}
			if c.answers != nil {
				d.dialog = &dialog{asker: who, open: map[string][]question{}}
			}
			got := make([]string, len(c.files))
			decided := func(f match.File, x match.Decision) {
				got[f.Index] = string(x.Status)
				if x.Status == match.Matched {
					got[f.Index] = fmt.Sprintf("%s/%d E%d", x.Kind, x.ID, slices.Max(append([]int{0}, x.Episodes...)))
				}
				if x.DecidedBy != "" {
					got[f.Index] += " " + string(x.DecidedBy)
				}
			}
			d.Decide(t.Context(), seriesOf(c.files...), decided)
			if d.dialog != nil {
				d.AskAll(t.Context(), func(string) int { return 0 }, decided)
			}
			if diff := cmp.Diff(c.want, got) + cmp.Diff(
				c.asked, who.asked,
			) + cmp.Diff(c.shown, who.shown); diff != "" || (lib.searches > 0) != c.search {
				t.Errorf("%d searches\n%s", lib.searches, diff)
			}
		})
	}
}
