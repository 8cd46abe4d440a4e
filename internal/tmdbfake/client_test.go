package tmdbfake

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/anivault/anivault/tmdb"

	"github.com/anivault/anivault/internal/upstream"
)

// TestTheClientReadsTheWholeCatalogue asks for everything the authored
// catalogue holds through the client that will ask TMDB.
func TestTheClientReadsTheWholeCatalogue(t *testing.T) {
	f := newFake(t, Config{StrictAppend: true})
	s := start(t, f)
	c, err := tmdb.New(tmdb.Options{BaseURL: s.URL(), Token: token, HTTPClient: clientOf(t, s)})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for _, w := range f.Catalogue().Works(TV) {
		extras := []string{
			tmdb.AppendAlternativeTitles, tmdb.AppendTranslations, tmdb.AppendEpisodeGroups,
			tmdb.AppendExternalIDs,
		}
		d, _, err := c.TVComplete(ctx, w.ID, tmdb.DetailOptions{Append: extras})
		if err != nil {
			t.Errorf("tv %d: %v", w.ID, err)
			continue
		}
		if d.OriginalName != w.Original || len(d.AppendedSeasons) != len(w.Seasons) || d.AlternativeTitles == nil ||
			d.Translations == nil || d.EpisodeGroups == nil || d.ExternalIDs == nil {
			t.Errorf("tv %d: %+v", w.ID, d)
		}
		for i := range w.Seasons {
			have := w.Seasons[i].Episodes()
			got := d.AppendedSeasons[w.Seasons[i].Number]
			if got == nil || len(got.Episodes) != len(have) ||
				got.Episodes[len(have)-1].EpisodeNumber != have[len(have)-1].Number {
				t.Errorf("tv %d season %d: %+v", w.ID, w.Seasons[i].Number, got)
			}
		}
		for _, g := range w.Groups {
			if _, _, err := c.EpisodeGroup(ctx, g.ID, tmdb.DetailOptions{}); err != nil {
				t.Errorf("group %s: %v", g.ID, err)
			}
		}
		page, _, err := c.SearchTV(ctx, tmdb.SearchTVOptions{Query: w.Original, IncludeAdult: true})
		if err != nil || !hasID(page.Results, w.ID, func(r tmdb.TVRow) int { return r.ID }) {
			t.Errorf("tv %d is not found by %q: %v", w.ID, w.Original, err)
		}
	}
	for _, w := range f.Catalogue().Works(Movie) {
		if d, _, err := c.Movie(ctx, w.ID, tmdb.DetailOptions{Append: []string{tmdb.AppendAlternativeTitles}}); err != nil ||
			d.OriginalTitle != w.Original {
			t.Errorf("movie %d: %+v, %v", w.ID, d, err)
		}
		page, _, err := c.SearchMovie(ctx, tmdb.SearchMovieOptions{Query: w.Original})
		if err != nil || !hasID(page.Results, w.ID, func(r tmdb.MovieRow) int { return r.ID }) {
			t.Errorf("movie %d is not found by %q: %v", w.ID, w.Original, err)
		}
	}
	for _, call := range []func(context.Context) error{
		func(ctx context.Context) error { _, _, err := c.Configuration(ctx); return err },
		func(ctx context.Context) error { _, _, err := c.Find(ctx, "81189", tmdb.SourceTVDB, ""); return err },
	} {
		if err := call(ctx); err != nil {
			t.Error(err)
		}
	}
}

func hasID[T any](list []T, id int, of func(T) int) bool {
	for _, v := range list {
		if of(v) == id {
			return true
		}
	}
	return false
}

// TestTheClientKnowsTheRefusals gets the client's typed errors for the
// stand-in's answers.
func TestTheClientKnowsTheRefusals(t *testing.T) {
	for _, row := range []struct {
		name  string
		do    upstream.Action
		check func(error) bool
	}{
		{"maintenance", upstream.Action{Kind: "status", Status: 503, Code: 46}, func(err error) bool {
			var e *tmdb.Error
			return errors.As(err, &e) && e.HTTPStatus == http.StatusServiceUnavailable && e.Code == 46
		}},
		{"poison", upstream.Action{Kind: "status", Status: 200, Body: "captive"}, func(err error) bool {
			var e *tmdb.DecodeError
			return errors.As(err, &e)
		}},
		{
			"gzip without header is mended",
			upstream.Action{Kind: "gzip_headerless"},
			func(err error) bool { return err == nil },
		},
		{
			"redirect elsewhere",
			upstream.Action{Kind: "redirect", Location: "http://elsewhere.invalid/"},
			func(err error) bool {
				var e *tmdb.ConfigError
				return errors.As(err, &e)
			},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := start(t, newFake(t, Config{Scenario: only(row.do)}))
			tr := s.Transport()
			t.Cleanup(tr.CloseIdleConnections)
			c, err := tmdb.New(tmdb.Options{
				BaseURL: s.URL(), Token: token,
				HTTPClient: &http.Client{Transport: tmdb.NewWire(tr)},
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := c.TV(t.Context(), 9_000_004, tmdb.DetailOptions{}); !row.check(err) {
				t.Errorf("%T: %v", err, err)
			}
		})
	}
}
