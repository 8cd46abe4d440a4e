package app

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/match"
)

// drawer is a bucket in memory.
type drawer struct {
	items map[string]cache.Item
	err   error
}

func (d *drawer) Get(_ context.Context, key string) (cache.Item, bool, error) {
	item, ok := d.items[key]
	return item, ok, d.err
}

func (d *drawer) Put(_ context.Context, items ...cache.Item) error {
	for _, i := range items {
		i.FetchedAt = time.Now()
		d.items[i.Key] = i
	}
	return d.err
}

// silent is a source whose searches can't be asked.
type silent struct{ *catalogue }

func (s silent) Search(context.Context, match.Query) ([]match.Hit, match.Origin, error) {
	s.searches++
	return nil, match.Origin{}, errors.New("nobody there")
}

func TestALaterRunSparesTheSameSearches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &match.Entry{
			Kind: match.TV, ID: 1, Title: "Lantern Keepers", OriginalTitle: "灯守の町", Year: 2019, EpisodeCount: 3, Genres: []int{16},
			Seasons: []match.Season{{Number: 1, AirDate: "2019-04-01", Count: 3, Episodes: []match.Episode{{Number: 1}, {Number: 2}, {Number: 3}}}},
			Titles:  []match.AltTitle{{Text: "Toumori no Machi"}},
		}
		s := seriesOf("[G] Toumori no Machi - 03 [1080p].mkv")
		lib := &catalogue{entries: map[string]*match.Entry{"lantern keepers": e}}
		kept := &drawer{items: map[string]cache.Item{}}
		var warned []error
		run := func(source match.Source, known *knownTitles) match.Resolution {
			lib.searches = 0
			m := &matching{
				resolver: match.Resolver{Source: source, Options: match.DefaultOptions()}, known: known,
				spared: &spared{store: kept, scope: "here", warn: func(err error) { warned = append(warned, err) }},
			}
			return m.resolve(t.Context(), s)
		}
		met := new(knownTitles)
		met.learn(e)
		met.show(match.Query{Kind: match.TV}, []match.Hit{{Kind: match.TV, ID: 1, Title: e.Title, Year: 2019}})
		first := run(lib, met)
		if first.Status != match.Matched || lib.searches != 0 || len(kept.items) != 1 {
			t.Fatalf("%s with %d searches, %d kept", first.Status, lib.searches, len(kept.items))
		}
		for _, c := range []struct {
			when     string
			pass     time.Duration
			source   match.Source
			searched bool
			want     match.Status
		}{
			{"in the next run", time.Hour, lib, false, match.Matched},
			{"a day later it is searched", 24 * time.Hour, lib, true, match.Unmatched}, // by a title that this search does not know
			{"unless that can't be", 0, silent{lib}, true, match.Matched},
		} {
			time.Sleep(c.pass)
			res := run(c.source, new(knownTitles))
			if res.Status != c.want || (lib.searches > 0) != c.searched {
				t.Errorf("%s: %s with %d searches", c.when, res.Status, lib.searches)
			}
			if res.Status == match.Matched && (res.Entry.ID != 1 || res.Confidence != first.Confidence) {
				t.Errorf("%s: %d at %v", c.when, res.Entry.ID, res.Confidence)
			}
		}
		kept.err = cache.ErrLocked
		if run(lib, new(knownTitles)); len(warned) > 0 {
			t.Errorf("warned of %v, which the cache does itself", warned)
		}
		kept.err = errors.New("input/output error")
		if run(lib, new(knownTitles)); len(warned) == 0 {
			t.Error("nobody heard of the error")
		}
		clear(lib.entries)
		if res := run(silent{lib}, new(knownTitles)); res.Status != match.Pending {
			t.Errorf("%s: an entry that is no longer there", res.Status)
		}
	})
}

func TestSparedSearchesAreToldApart(t *testing.T) {
	p := &spared{scope: "here"}
	seen := map[string]string{}
	for _, name := range []string{
		"[G] Lantern Keepers - 03.mkv", "[G] Lantern Keepers - 04.mkv", "[G] Lantern Keepers S2 - 03.mkv", "[G] Lantern Keepers (2019) - 03.mkv",
		"Lantern Keepers.mkv", "[G] Night Bureau - 03.mkv",
	} {
		key := p.key(seriesOf(name))
		if other, ok := seen[key]; ok {
			t.Errorf("%q is kept as %q", name, other)
		}
		seen[key] = name
	}
	if s := seriesOf("[G] Night Bureau - 03.mkv"); p.key(s) == (&spared{scope: "elsewhere"}).key(s) {
		t.Error("another language or upstream finds the same")
	}
}

func TestSparedValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := knownEntry{rapid.SampledFrom([]match.Kind{match.TV, match.Movie}).Draw(t, "kind"), rapid.IntRange(1, 1<<31-1).Draw(t, "id")}
		if got, ok := decodeSpared(encodeSpared(e)); !ok || got != e {
			t.Fatalf("%v became %v, %v", e, got, ok)
		}
		raw := rapid.SliceOfN(rapid.Byte(), 0, 16).Draw(t, "raw")
		if got, ok := decodeSpared(raw); ok && !bytes.Equal(encodeSpared(got), raw) && raw[0] != sparedVersion {
			t.Fatalf("%x was taken for %v", raw, got)
		}
	})
}
