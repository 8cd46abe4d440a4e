package decide

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/slicesx"
	"github.com/anivault/anivault/tmdb"
)

type source struct {
	client         *tmdb.Client
	titleLanguages languages
	includeAdult   bool
	memo           memo
	known          *knownTitles // receives the titles of fetched entries and search results
}

func (s *source) Search(ctx context.Context, q match.Query) ([]match.Hit, match.Origin, error) {
	number := max(q.Page, 1)
	q.Text = strings.ToLower(q.Text) // case makes no difference to TMDB, but would to the cache
	key := "search/" + string(q.Kind) + "/" + strconv.Itoa(q.Year) + "/" + strconv.Itoa(number) + "/" + q.Text
	return memoized(&s.memo, key, func() ([]match.Hit, match.Origin, error) {
		var hits []match.Hit
		var origin match.Origin
		if q.Kind == match.Movie {
			page, resp, err := s.client.SearchMovie(ctx, tmdb.SearchMovieOptions{
				Query: q.Text, Year: q.Year, Page: number, Language: s.titleLanguages.primary(), IncludeAdult: s.includeAdult,
			})
			if err != nil {
				return nil, origin, err
			}
			hits, origin = movieHits(page.Results), originOf(resp)
		} else {
			page, resp, err := s.client.SearchTV(ctx, tmdb.SearchTVOptions{
				Query: q.Text, Year: q.Year, Page: number, Language: s.titleLanguages.primary(), IncludeAdult: s.includeAdult,
			})
			if err != nil {
				return nil, origin, err
			}
			hits, origin = tvHits(page.Results), originOf(resp)
		}
		s.known.addHits(q, hits)
		return hits, origin, nil
	})
}

func (s *source) Entry(ctx context.Context, kind match.Kind, id int) (*match.Entry, match.Origin, error) {
	key := "entry/" + string(kind) + "/" + strconv.Itoa(id)
	return memoized(&s.memo, key, func() (*match.Entry, match.Origin, error) {
		var e *match.Entry
		var origin match.Origin
		if kind == match.Movie {
			d, resp, err := s.movieDetails(ctx, id)
			if err != nil {
				return nil, origin, err
			}
			e, origin = movieEntry(d), originOf(resp)
		} else {
			d, responses, err := s.seriesDetails(ctx, id)
			if err != nil {
				return nil, origin, err
			}
			e = tvEntry(d)
			for _, r := range responses {
				origin = origin.CombinedWith(originOf(r))
			}
		}
		s.known.addEntry(s.titleLanguages.localize(e))
		return e, origin, nil
	})
}

func (s *source) movieDetails(ctx context.Context, id int) (*tmdb.MovieDetails, *tmdb.Response, error) {
	d, resp, err := s.client.Movie(ctx, id, tmdb.DetailOptions{
		Language: s.titleLanguages.primary(),
		Append:   []string{tmdb.AppendAlternativeTitles, tmdb.AppendTranslations, tmdb.AppendExternalIDs},
	})
	return d, resp, wrapNotFound(err)
}

func (s *source) seriesDetails(ctx context.Context, id int) (*tmdb.TVDetails, []*tmdb.Response, error) {
	d, responses, err := s.client.TVComplete(ctx, id, tmdb.DetailOptions{
		Language: s.titleLanguages.primary(),
		Append: []string{
			tmdb.AppendAlternativeTitles, tmdb.AppendTranslations, tmdb.AppendEpisodeGroups, tmdb.AppendExternalIDs,
		},
	})
	return d, responses, wrapNotFound(err)
}

var externalSources = map[string]tmdb.Source{"imdb": tmdb.SourceIMDb, "tvdb": tmdb.SourceTVDB}

func (s *source) Find(ctx context.Context, site, id string) ([]match.Hit, match.Origin, error) {
	return memoized(&s.memo, "find/"+site+"/"+id, func() ([]match.Hit, match.Origin, error) {
		found, resp, err := s.client.Find(ctx, id, externalSources[site], s.titleLanguages.primary())
		if err != nil {
			return nil, match.Origin{}, wrapNotFound(err)
		}
		return append(tvHits(found.TV), movieHits(found.Movies)...), originOf(resp), nil
	})
}

func (s *source) SeasonNames(ctx context.Context, id int, language string) (map[int]string, match.Origin, error) {
	return memoized(&s.memo, "seasons/"+strconv.Itoa(id)+"/"+language, func() (map[int]string, match.Origin, error) {
		d, resp, err := s.client.TV(ctx, id, tmdb.DetailOptions{Language: language})
		if err != nil {
			return nil, match.Origin{}, wrapNotFound(err)
		}
		names := map[int]string{}
		for _, season := range d.Seasons {
			names[season.SeasonNumber] = season.Name
		}
		return names, originOf(resp), nil
	})
}

func wrapNotFound(err error) error {
	if errors.Is(err, tmdb.ErrNotFound) {
		return fmt.Errorf("%w: %w", match.ErrNoEntry, err)
	}
	return err
}

func (s *source) Group(ctx context.Context, id string) (*match.EpisodeGroup, match.Origin, error) {
	return memoized(&s.memo, "group/"+id, func() (*match.EpisodeGroup, match.Origin, error) {
		g, resp, err := s.client.EpisodeGroup(ctx, id, tmdb.DetailOptions{Language: s.titleLanguages.primary()})
		if err != nil {
			return nil, match.Origin{}, wrapNotFound(err)
		}
		out := &match.EpisodeGroup{Name: g.Name}
		for _, part := range g.Groups {
			p := match.GroupPart{Name: part.Name, Order: part.Order}
			for _, e := range part.Episodes {
				p.Episodes = append(p.Episodes, match.GroupEpisode{Season: e.SeasonNumber, Number: e.EpisodeNumber, Order: e.Order})
			}
			slices.SortStableFunc(p.Episodes, func(a, b match.GroupEpisode) int { return cmp.Compare(a.Order, b.Order) })
			out.Groups = append(out.Groups, p)
		}
		slices.SortStableFunc(out.Groups, func(a, b match.GroupPart) int { return cmp.Compare(a.Order, b.Order) })
		return out, originOf(resp), nil
	})
}

func originOf(resp *tmdb.Response) match.Origin {
	o := match.Origin{ReadAt: time.Now()}
	if resp == nil || resp.Response == nil {
		return o
	}
	switch info, _ := cache.InfoFrom(resp.Response); info.Source {
	case cache.Fresh:
		o.Freshness, o.FetchedAt = match.FromCache, info.FetchedAt
	case cache.Stale:
		o.Freshness, o.FetchedAt = match.FromStale, info.FetchedAt
	default:
		if resp.Header.Get("Age") != "0" { // the answer came from a gateway's cache
			o.FetchedAt = info.FetchedAt
		}
	}
	return o
}

func tvHits(rows []tmdb.TVRow) []match.Hit {
	return slicesx.Map(rows, func(r tmdb.TVRow) match.Hit {
		return match.Hit{
			Kind: match.TV, ID: r.ID, Title: r.Name, OriginalTitle: r.OriginalName, OriginalLanguage: r.OriginalLanguage,
			Year: match.YearOf(r.FirstAirDate), Genres: r.GenreIDs, Popularity: r.Popularity,
		}
	})
}

func movieHits(rows []tmdb.MovieRow) []match.Hit {
	return slicesx.Map(rows, func(r tmdb.MovieRow) match.Hit {
		return match.Hit{
			Kind: match.Movie, ID: r.ID, Title: r.Title, OriginalTitle: r.OriginalTitle, OriginalLanguage: r.OriginalLanguage,
			Year: match.YearOf(r.ReleaseDate), Genres: r.GenreIDs, Popularity: r.Popularity,
		}
	})
}

func tvEntry(d *tmdb.TVDetails) *match.Entry {
	e := &match.Entry{
		Kind: match.TV, ID: d.ID, Title: d.Name, OriginalTitle: d.OriginalName, OriginalLanguage: d.OriginalLanguage,
		Year: match.YearOf(d.FirstAirDate), EpisodeCount: d.NumberOfEpisodes, Popularity: d.Popularity,
		Titles: titlesOf(d.AlternativeTitles, d.Translations), Genres: genresOf(d.Genres), IDs: externalIDs(d.ExternalIDs),
	}
	listed := map[int]bool{}
	for _, s := range d.Seasons {
		listed[s.SeasonNumber] = true
		season := match.Season{Number: s.SeasonNumber, Name: s.Name, AirDate: s.AirDate}
		if full := d.AppendedSeasons[s.SeasonNumber]; full != nil {
			season = seasonOf(full)
		}
		e.Seasons = append(e.Seasons, season)
	}
	for n, full := range d.AppendedSeasons {
		if full != nil && !listed[n] {
			e.Seasons = append(e.Seasons, seasonOf(full))
		}
	}
	slices.SortFunc(e.Seasons, func(a, b match.Season) int { return a.Number - b.Number })
	for _, g := range cmp.Or(d.EpisodeGroups, new(tmdb.EpisodeGroups)).Results {
		e.Groups = append(e.Groups, match.GroupRef{
			ID: g.ID, Name: strings.TrimSpace(g.Name), Type: g.Type, Parts: g.GroupCount, Episodes: g.EpisodeCount,
		})
	}
	return e
}

func seasonOf(s *tmdb.Season) match.Season {
	out := match.Season{Number: s.SeasonNumber, Name: s.Name, AirDate: s.AirDate, Episodes: []match.Episode{}}
	for _, e := range s.Episodes {
		out.Episodes = append(out.Episodes, match.Episode{
			Number: e.EpisodeNumber, Name: e.Name, AirDate: e.AirDate, Finale: e.EpisodeType == "finale",
		})
	}
	return out
}

func movieEntry(d *tmdb.MovieDetails) *match.Entry {
	return &match.Entry{
		Kind: match.Movie, ID: d.ID, Title: d.Title, OriginalTitle: d.OriginalTitle, OriginalLanguage: d.OriginalLanguage,
		Year: match.YearOf(d.ReleaseDate), Popularity: d.Popularity,
		Titles: titlesOf(d.AlternativeTitles, d.Translations), Genres: genresOf(d.Genres), IDs: externalIDs(d.ExternalIDs),
	}
}

func externalIDs(ids *tmdb.ExternalIDs) match.IDs {
	ids = cmp.Or(ids, new(tmdb.ExternalIDs))
	return match.IDs{IMDb: ids.IMDbID, TVDB: ids.TVDBID}
}

// titlesOf returns the titles of an entry in all languages, translations first. Without them, decisions would depend on
// the language of the requests.
func titlesOf(alternative *tmdb.AlternativeTitles, translated *tmdb.Translations) []match.AltTitle {
	var out []match.AltTitle
	for _, t := range cmp.Or(translated, new(tmdb.Translations)).Translations {
		if label := t.Data.Label(); label != "" {
			out = append(out, match.AltTitle{Title: label, Language: t.Language, Region: t.Country})
		}
	}
	for _, t := range cmp.Or(alternative, new(tmdb.AlternativeTitles)).Results {
		if t.Title != "" {
			out = append(out, match.AltTitle{Title: t.Title, Region: t.Country})
		}
	}
	return out
}

func genresOf(genres []tmdb.Genre) []int {
	return slicesx.Map(genres, func(g tmdb.Genre) int { return g.ID })
}

// memo keeps decoded answers during a run. It is emptied when it holds memoSize of them; the cache still has them.
type memo struct {
	mu      sync.Mutex
	answers map[string]memoizedAnswer
}

type memoizedAnswer struct {
	value  any
	origin match.Origin
}

const memoSize = 1024

func memoized[T any](m *memo, key string, ask func() (T, match.Origin, error)) (T, match.Origin, error) {
	m.mu.Lock()
	d, ok := m.answers[key]
	m.mu.Unlock()
	if ok {
		return d.value.(T), d.origin, nil
	}
	value, origin, err := ask()
	if err != nil {
		return value, origin, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.answers == nil || len(m.answers) >= memoSize {
		m.answers = map[string]memoizedAnswer{}
	}
	m.answers[key] = memoizedAnswer{value, origin}
	return value, origin, nil
}
