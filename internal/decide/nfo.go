package decide

import (
	"cmp"
	"context"
	"strings"

	"github.com/anivault/anivault/internal/index"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/nfo"
	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/slicesx"
	"github.com/anivault/anivault/tmdb"
)

// NFO returns the NFO data of an entry. It has an AniDB id only if one anime covers the whole entry.
func (d *Deciders) NFO(ctx context.Context, kind match.Kind, id int) (*nfo.Entry, error) {
	if kind == match.Movie {
		film, _, err := d.source.movieDetails(ctx, id)
		if err != nil {
			return nil, err
		}
		return d.addTitleAndIDs(movieNFO(film), movieEntry(film)), nil
	}
	series, _, err := d.source.seriesDetails(ctx, id)
	if err != nil {
		return nil, err
	}
	return d.addTitleAndIDs(seriesNFO(series), tvEntry(series)), nil
}

// NFOFromSearchRow returns the NFO data of a film from its search result alone.
func (d *Deciders) NFOFromSearchRow(r *tmdb.MovieRow) *nfo.Entry {
	film := &tmdb.MovieDetails{
		ID: r.ID, Title: r.Title, OriginalTitle: r.OriginalTitle, Overview: r.Overview, ReleaseDate: r.ReleaseDate,
		PosterPath: r.PosterPath, BackdropPath: r.BackdropPath,
	}
	return d.addTitleAndIDs(movieNFO(film), movieEntry(film))
}

func (d *Deciders) addTitleAndIDs(n *nfo.Entry, e *match.Entry) *nfo.Entry {
	n.Title, n.Year, n.IMDB, n.TVDB = d.source.titleLanguages.localize(e).Title, e.Year, e.IDs.IMDb, e.IDs.TVDB
	n.Cours = e.Cours()
	n.Titles = slicesx.Map(e.Titles, func(t match.AltTitle) string { return t.Title })
	for _, g := range e.Groups {
		n.Groups = append(n.Groups, nfo.Group{ID: g.ID, Name: g.Name, Type: g.Type})
	}
	d.index.withIndex(func(x *index.Index) error {
		anime, err := findAnimeOfEntry(x, e)
		if err != nil || anime.onlyAnime() == 0 {
			return err
		}
		ids, err := x.IDsOf(anime.onlyAnime())
		n.AniDB, n.AniList, n.MAL = anime.onlyAnime(), ids.AniList, ids.MAL
		return err
	})
	return n
}

func (h animeOfEntry) onlyAnime() int {
	if len(h.siblings) != 1 {
		return 0
	}
	only := h.siblings[0]
	if h.entry == nil || h.entry.Kind == match.Movie || only.Absolute {
		return only.AniDBID
	}
	for _, s := range h.entry.Seasons {
		if s.Number > 0 && (only.Season == nil || *only.Season != s.Number || only.Offset != 0 || len(only.Ranges) > 0) {
			return 0
		}
	}
	return only.AniDBID
}

func movieNFO(d *tmdb.MovieDetails) *nfo.Entry {
	return &nfo.Entry{
		Kind: string(match.Movie), ID: d.ID, OriginalTitle: d.OriginalTitle, Plot: d.Overview, Premiered: d.ReleaseDate,
		Runtime: d.Runtime, Genres: namesOf(d.Genres), Studios: namesOf(d.ProductionCompanies), Status: d.Status,
		Poster: stringOrEmpty(d.PosterPath), Fanart: stringOrEmpty(d.BackdropPath),
	}
}

func seriesNFO(d *tmdb.TVDetails) *nfo.Entry {
	n := &nfo.Entry{
		Kind: string(match.TV), ID: d.ID, OriginalTitle: d.OriginalName, Plot: d.Overview, Premiered: d.FirstAirDate,
		Genres: namesOf(d.Genres), Studios: namesOf(d.ProductionCompanies), Status: d.Status,
		Poster: stringOrEmpty(d.PosterPath), Fanart: stringOrEmpty(d.BackdropPath),
	}
	if len(d.EpisodeRunTime) > 0 {
		n.Runtime = d.EpisodeRunTime[0]
	}
	for number, season := range d.AppendedSeasons {
		for _, e := range season.Episodes {
			n.Episodes = append(n.Episodes, nfo.Episode{
				ID: e.ID, Season: number, Number: e.EpisodeNumber, Title: e.Name, Aired: e.AirDate,
				Runtime: e.Runtime, Plot: e.Overview,
			})
		}
	}
	return n
}

func namesOf(list []tmdb.Named) []string {
	var out []string
	for _, v := range list {
		if v.Name != "" {
			out = append(out, v.Name)
		}
	}
	return out
}

func stringOrEmpty(p *string) string { return *cmp.Or(p, new(string)) }

// languages are the preferred languages of titles, such as "ko-KR", best first. Requests to TMDB use the first.
type languages []string

func (l languages) primary() string {
	if len(l) == 0 {
		return ""
	}
	return l[0]
}

// localize gives an entry its title in the first preferred language that has one. TMDB answers in one language only,
// and falls back to the original title.
func (l languages) localize(e *match.Entry) *match.Entry {
	if len(l) < 2 || e.Title != e.OriginalTitle {
		return e // TMDB has already chosen the title
	}
	for _, tag := range l {
		language, region, _ := strings.Cut(tag, "-")
		if language == e.OriginalLanguage {
			return e
		}
		if text := translationOf(e, language, region); text != "" {
			e.Title = text
			return e
		}
	}
	return e
}

func translationOf(e *match.Entry, language, region string) string {
	other := ""
	for _, t := range e.Titles {
		switch {
		case t.Language != language:
		case t.Region == region:
			return t.Title
		default:
			other = cmp.Or(other, t.Title)
		}
	}
	return other
}

// translateTitle fetches the translated title of an entry whose search result may have only the original title.
func (d *Deciders) translateTitle(ctx context.Context, res *match.Resolution) {
	if len(d.config.Languages) < 2 || res.Status != match.Matched || res.Entry != nil || res.ID == 0 ||
		res.Title != res.OriginalTitle {
		return
	}
	e, origin, err := d.Entry(ctx, res.Kind, res.ID)
	if err != nil {
		return
	}
	res.Title, res.Origin = e.Title, res.Origin.CombinedWith(origin)
}

type animeOfEntry struct {
	indexMapping // only its entry is set
	siblings     []index.Candidate
}

func findAnimeOfEntry(x *index.Index, e *match.Entry) (animeOfEntry, error) {
	h := animeOfEntry{indexMapping: indexMapping{entry: e}}
	if e.Kind == match.TV {
		var err error
		h.siblings, err = x.Siblings(e.ID)
		return h, err
	}
	films, err := x.AnimeOfFilm(e.ID)
	for _, id := range films {
		h.siblings = append(h.siblings, index.Candidate{Kind: match.Movie, AniDBID: id})
	}
	return h, err
}

func (h animeOfEntry) forDecision(d match.Decision, series func() *orders.Series) int {
	switch {
	case h.entry == nil:
		return 0
	case h.entry.Kind == match.Movie:
		if len(h.siblings) == 1 {
			return h.siblings[0].AniDBID
		}
		return 0
	case d.Season == nil:
		return 0
	}
	p := orders.Place{Season: *d.Season, Episodes: d.Episodes}
	if len(p.Episodes) == 0 { // all of the season
		p.Episodes = h.episodeNumbers(p.Season)
	}
	return series().Anime(p)
}
