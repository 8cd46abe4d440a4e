package decide

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/anivault/anivault/internal/match"
)

// What was fetched answers for another spelling only where no other work can be meant.
func TestFetchedEntriesAnswerForTheirOtherTitles(t *testing.T) {
	lantern := &match.Entry{
		Kind: match.TV, ID: 1, Title: "Lantern Keepers", OriginalTitle: "灯守の町", Year: 2019,
		Titles: []match.AltTitle{
			{Title: "등불지기의 마을", Language: "ko"},
			{Title: "守灯人之城镇", Language: "zh"},
			{Title: "Toumori no Machi", Region: "JP"},
			{Title: "Keepers", Language: "en"},
			{Title: "Toumorimachi", Region: "JP"},
			{Title: "Lantern Keepers 2021"},
			{Title: "Die Laternenwärter 2", Language: "de"},
		},
	}
	remake := &match.Entry{
		Kind: match.TV, ID: 2, Title: "Night Bureau (2021)", OriginalTitle: "Night Bureau (2021)", Year: 2021,
		Titles: []match.AltTitle{{Title: "Night Bureau"}},
	}
	all := match.Query{Kind: match.TV}
	for _, c := range []struct {
		name, file string
		want       int
	}{
		{"its name", "[G] Lantern Keepers - 03 [1080p].mkv", 1},
		{"its original name", "[G] 灯守の町 - 03 [1080p].mkv", 1},
		{"a translation", "[G] 守灯人之城镇 - 03 [1080p].mkv", 1},
		{"one in Latin letters", "[G] Toumori no Machi - 03 [1080p].mkv", 1},
		{"written otherwise", "[G] Tōmori no Machi - 03 [1080p].mkv", 1},
		{"a later season's year is no namesake's", "[G] Lantern Keepers (2019) - 03 [1080p].mkv", 1},
		{"two readings", "[G] 守灯人之城镇 / Toumori no Machi - 03 [1080p].mkv", 1},
		{"the other reading alone", "[G] Strange Spelling / 守灯人之城镇 - 03 [1080p].mkv", 1},
		{"without the season of a season's own title", "[G] Die Laternenwärter - 03 [1080p].mkv", 1},
		{"a translation in traditional characters", "[G] 守燈人之城鎮 - 03 [1080p].mkv", 1},
		{"a film", "Lantern.Keepers.The.Movie.2019.1080p.mkv", 0},
		{"one word of a translation", "[G] Keepers - 03 [1080p].mkv", 0},
		{"one short word that anybody may have added", "[G] Toumorimachi - 03 [1080p].mkv", 0},
		{"another title", "[G] Lantern Keepers Gaiden - 03 [1080p].mkv", 0},
		{"told from its namesakes by a year", "[G] Night Bureau - 03 [1080p].mkv", 0},
		{"with that year", "[G] Night Bureau (2021) - 03 [1080p].mkv", 2},
	} {
		k := new(knownTitles)
		k.addEntry(lantern)
		k.addEntry(remake)
		k.addHits(
			all,
			[]match.Hit{
				{Kind: match.TV, ID: 1, Title: "Lantern Keepers", Year: 2019},
				{Kind: match.TV, ID: 2, Title: "Night Bureau (2021)", Year: 2021},
			},
		)
		s := seriesOf(c.file)
		got := 0
		if e, ok := k.uniqueEntry(s); ok && e.kind == s.LikelierKind() {
			got = e.id
		}
		if got != c.want {
			t.Errorf("%s: %s is %d, want %d", c.name, c.file, got, c.want)
		}
	}
}

func TestANamesakeThatWasOnlyShownIsEnoughToAsk(t *testing.T) {
	s := seriesOf("[G] Lantern Keepers - 03 [1080p].mkv")
	one := &match.Entry{Kind: match.TV, ID: 1, Title: "Lantern Keepers", OriginalTitle: "灯守の町", Year: 2019}
	row := match.Hit{Kind: match.TV, ID: 1, Title: "Lantern Keepers", Year: 2019}

	k := new(knownTitles)
	k.addHits(match.Query{Kind: match.TV, Year: 2019}, []match.Hit{row})
	k.addEntry(one)
	if _, ok := k.uniqueEntry(s); ok {
		t.Error("a search for one year has not shown the namesakes of others")
	}
	k.addHits(match.Query{Kind: match.TV}, []match.Hit{row})
	if _, ok := k.uniqueEntry(s); !ok {
		t.Error("a search without a year has")
	}
	k.addHits(match.Query{Kind: match.TV}, []match.Hit{{Kind: match.TV, ID: 9, Title: "Lantern Keepers"}})
	if _, ok := k.uniqueEntry(s); ok {
		t.Error("there is a namesake")
	}
}

// catalogue is a source that knows entries by one title each and counts the searches.
type catalogue struct {
	entries  map[string]*match.Entry
	searches int
}

func (l *catalogue) Search(_ context.Context, q match.Query) ([]match.Hit, match.Origin, error) {
	l.searches++
	if e := l.entries[q.Text]; e != nil && q.Kind == e.Kind {
		return []match.Hit{{Kind: e.Kind, ID: e.ID, Title: e.Title, Genres: e.Genres, Year: e.Year}}, match.Origin{}, nil
	}
	return nil, match.Origin{}, nil
}

func (l *catalogue) Entry(_ context.Context, kind match.Kind, id int) (*match.Entry, match.Origin, error) {
	for _, e := range l.entries {
		if e.Kind == kind && e.ID == id {
			return e, match.Origin{}, nil
		}
	}
	return nil, match.Origin{}, match.ErrNoEntry
}

func (l *catalogue) Find(context.Context, string, string) ([]match.Hit, match.Origin, error) {
	return nil, match.Origin{}, match.ErrNoEntry
}

func (l *catalogue) SeasonNames(context.Context, int, string) (map[int]string, match.Origin, error) {
	return nil, match.Origin{}, match.ErrNoEntry
}

func (l *catalogue) Group(context.Context, string) (*match.EpisodeGroup, match.Origin, error) {
	return nil, match.Origin{}, match.ErrNoEntry
}

func TestDoubtIsForTheSearch(t *testing.T) {
	episodes := []match.Episode{{Number: 1}, {Number: 2}, {Number: 3}}
	e := &match.Entry{
		Kind: match.TV, ID: 1, Title: "Lantern Keepers", OriginalTitle: "灯守の町", Year: 2019, EpisodeCount: 3, Genres: []int{
			16,
		},
		Seasons: []match.Season{
			{Number: 1, AirDate: "2019-04-01", Episodes: episodes},
		}, Titles: []match.AltTitle{{Title: "Toumori no Machi"}},
	}
	paused := *e
	paused.ID, paused.Title, paused.OriginalTitle, paused.Titles = 2, "Night Bureau", "夜の局", []match.AltTitle{
		{Title: "Yoru no Kyoku"},
	}
	paused.Seasons = []match.Season{{Number: 1, AirDate: "2019-04-01", Episodes: []match.Episode{
		{Number: 1, AirDate: "2019-04-01"}, {Number: 2, AirDate: "2019-04-08"}, {Number: 3, AirDate: "2020-04-06"},
	}}}
	lib := &catalogue{entries: map[string]*match.Entry{"lantern keepers": e, "night bureau": &paused}}
	m := &Deciders{
		resolver: match.Resolver{Source: lib, Options: match.DefaultOptions()}, known: new(knownTitles),
		pins: choicesOf(t),
	}
	for _, e := range lib.entries {
		m.known.addEntry(e)
		m.known.addHits(match.Query{Kind: match.TV}, []match.Hit{{Kind: match.TV, ID: e.ID, Title: e.Title, Year: 2019}})
	}
	for _, c := range []struct {
		name, file string
		searched   bool
	}{
		{"nothing against it", "[G] Toumori no Machi - 03 [1080p].mkv", false},
		{"a season that it lacks", "[G] Toumori no Machi S2 - 03 [1080p].mkv", true},
		{"a season that is episodes behind a pause", "[G] Yoru no Kyoku S2 - 01 [1080p].mkv", false},
		{"an episode that it lacks", "[G] Toumori no Machi - 14 [1080p].mkv", true},
		{"another year", "[G] Toumori no Machi (2011) - 03 [1080p].mkv", true},
		{"an id", "[G] Toumori no Machi - 03 [tmdbid-77].mkv", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			lib.searches = 0
			res := resolveWith(t, m, seriesOf(c.file))
			if (lib.searches > 0) != c.searched {
				t.Errorf("%d searches, %s", lib.searches, res.Reason)
			}
		})
	}
}

// Where a search costs nothing, and where more is asked for than what convinces, the search tells.
func TestTheSearchDecidesIfItCostsNothing(t *testing.T) {
	e := &match.Entry{
		Kind: match.TV, ID: 1, Title: "Lantern Keepers", Year: 2019, EpisodeCount: 3, Genres: []int{
			16,
		}, Titles: []match.AltTitle{{Title: "Toumori no Machi"}},
		Seasons: []match.Season{
			{Number: 1, AirDate: "2019-04-01", Episodes: []match.Episode{{Number: 1}, {Number: 2}, {Number: 3}}},
		},
	}
	row := []match.Hit{{Kind: match.TV, ID: 1, Title: e.Title, Year: 2019}}
	s := seriesOf("[G] Toumori no Machi - 03 [1080p].mkv")
	for _, c := range []struct {
		name     string
		asked    match.Query
		found    []match.Hit
		atLeast  float64
		searched bool
	}{
		{"another title was searched for", match.Query{Kind: match.TV, Text: "lantern keepers"}, row, 0.8, false},
		{"its own was", match.Query{Kind: match.TV, Text: "toumori no machi"}, row, 0.8, true},
		{"its own was, on another page too", match.Query{Kind: match.TV, Text: "Toumori no Machi", Page: 2}, row, 0.8, true},
		{"its own was, and found nothing", match.Query{Kind: match.TV, Text: "toumori no machi"}, nil, 0.8, false},
		{"much is asked for", match.Query{Kind: match.TV, Text: "lantern keepers"}, row, 0.95, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			lib := &catalogue{entries: map[string]*match.Entry{"lantern keepers": e}}
			options := match.DefaultOptions()
			options.MinConfidence = c.atLeast
			m := &Deciders{
				resolver: match.Resolver{Source: lib, Options: options}, known: new(knownTitles), pins: choicesOf(t),
			}
			m.known.addEntry(e)
			m.known.addHits(match.Query{Kind: match.TV}, row) // by another title
			m.known.addHits(c.asked, c.found)
			resolveWith(t, m, s)
			if (lib.searches > 0) != c.searched {
				t.Errorf("%d searches", lib.searches)
			}
		})
	}
}

// Series that share a title are asked for one after the other, and others at the same time.
func TestSeriesThatShareATitleTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := new(knownTitles)
		first := k.lockTitles(t.Context(), seriesOf("[G] 守灯人之城镇 / Toumori no Machi - 03.mkv"))
		k.lockTitles(t.Context(), seriesOf("[G] Night Bureau - 03.mkv"))()
		second := make(chan func())
		go func() { second <- k.lockTitles(t.Context(), seriesOf("[G] Tōmori no Machi - 04.mkv")) }()
		synctest.Wait()
		select {
		case <-second:
			t.Fatal("two ask at once")
		default:
		}
		first()
		(<-second)()

		ended, cancel := context.WithCancel(t.Context())
		over := k.lockTitles(t.Context(), seriesOf("[G] Night Bureau - 03.mkv"))
		cancel()
		k.lockTitles(ended, seriesOf("[G] Night Bureau - 03.mkv"))()
		over()
	})
}

// resolveWith lets deciders decide a series that nobody has pinned.
func resolveWith(t *testing.T, d *Deciders, s match.Series) match.Resolution {
	t.Helper()
	return d.decide(t.Context(), &series{Series: s}).Resolution
}
