package match_test

// The stand-in's catalogue as a Source, without the wire: what TMDB would answer, in any of its rank modes.

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/tmdbfake"
)

type fake struct {
	cat  *tmdbfake.Catalogue
	rank tmdbfake.Rank

	mu    sync.Mutex
	rows  map[string]*tmdbfake.Work // what searches have shown: decoys exist nowhere else
	asked map[string]bool           // distinct requests, as a cache would let them through
}

func newFake(cat *tmdbfake.Catalogue, rank tmdbfake.Rank) *fake {
	return &fake{cat: cat, rank: rank, rows: map[string]*tmdbfake.Work{}, asked: map[string]bool{}}
}

func (f *fake) requests() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.asked)
}

func (f *fake) note(key string) { f.asked[key] = true }

const rowsPerPage = 20

func (f *fake) Search(_ context.Context, q match.Query) ([]match.Hit, match.Origin, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note(fmt.Sprintf("search %s %s %d %d", q.Kind, strings.ToLower(q.Text), q.Year, q.Page))
	works := f.cat.Search(tmdbfake.Kind(q.Kind), q.Text, tmdbfake.Filter{Year: q.Year}, f.rank, 7)
	var out []match.Hit
	from := min(len(works), rowsPerPage*max(q.Page-1, 0))
	for _, w := range works[from:min(len(works), from+rowsPerPage)] {
		f.rows[fmt.Sprint(w.Kind, w.ID)] = w
		out = append(out, rowOf(w))
	}
	return out, match.Origin{}, nil
}

func (f *fake) Entry(_ context.Context, kind match.Kind, id int) (*match.Entry, match.Origin, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note(fmt.Sprint("entry ", kind, id))
	w := f.cat.Get(tmdbfake.Kind(kind), id)
	if w == nil {
		w = f.rows[fmt.Sprint(kind, id)]
	}
	if w == nil {
		return nil, match.Origin{}, match.ErrNoEntry
	}
	return entryOf(w), match.Origin{}, nil
}

func (f *fake) Group(_ context.Context, id string) (*match.EpisodeGroup, match.Origin, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note("group " + id)
	for _, w := range f.cat.Works(tmdbfake.TV) {
		for _, g := range w.Groups {
			if g.ID == id {
				return groupOf(g), match.Origin{}, nil
			}
		}
	}
	return nil, match.Origin{}, match.ErrNoEntry
}

func (f *fake) Find(context.Context, string, string) ([]match.Hit, match.Origin, error) {
	return nil, match.Origin{}, match.ErrNoEntry
}

func (f *fake) SeasonNames(_ context.Context, id int, language string) (map[int]string, match.Origin, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note(fmt.Sprint("seasons ", id, language))
	w := f.cat.Get(tmdbfake.TV, id)
	if w == nil {
		return nil, match.Origin{}, match.ErrNoEntry
	}
	lang, _, _ := strings.Cut(language, "-")
	names := map[int]string{}
	for _, s := range w.Seasons {
		if n := s.Names[lang]; n != "" {
			names[s.Number] = n
		} else {
			names[s.Number] = s.Name
		}
	}
	return names, match.Origin{}, nil
}

func englishName(w *tmdbfake.Work) string {
	if w.Name == "" {
		return w.Original
	}
	return w.Name
}

func rowOf(w *tmdbfake.Work) match.Hit {
	return match.Hit{
		Kind: match.Kind(w.Kind), ID: w.ID, Title: englishName(w), OriginalTitle: w.Original, OriginalLanguage: w.Language,
		Year: w.Date.Year(), Genres: w.Genres, Popularity: w.Popularity,
	}
}

func entryOf(w *tmdbfake.Work) *match.Entry {
	row := rowOf(w)
	e := &match.Entry{
		Kind: row.Kind, ID: row.ID, Title: row.Title, OriginalTitle: row.OriginalTitle,
		OriginalLanguage: row.OriginalLanguage,
		Year:             row.Year, Genres: row.Genres, Popularity: row.Popularity,
	}
	for _, t := range w.Alt {
		e.Titles = append(e.Titles, match.AltTitle{Title: t.Title, Region: t.Country})
	}
	for _, t := range w.Trans {
		if t.Name != "" {
			e.Titles = append(e.Titles, match.AltTitle{Title: t.Name, Language: t.Language, Region: t.Country})
		}
	}
	for i := range w.Seasons {
		e.Seasons = append(e.Seasons, seasonOf(&w.Seasons[i]))
		if w.Seasons[i].Number > 0 {
			e.EpisodeCount += w.Seasons[i].Count()
		}
	}
	for _, g := range w.Groups {
		ref := match.GroupRef{ID: g.ID, Name: g.Name, Type: g.Type}
		for _, p := range g.Parts {
			ref.Episodes += len(p.Episodes)
		}
		e.Groups = append(e.Groups, ref)
	}
	return e
}

func seasonOf(w *tmdbfake.Season) match.Season {
	s := match.Season{Number: w.Number, Name: w.Name, AirDate: w.Date().String()}
	if s.Name == "" {
		s.Name = fmt.Sprintf("Season %d", w.Number)
		if w.Number == 0 {
			s.Name = "Specials"
		}
	}
	for _, ep := range w.Episodes() {
		name := ep.Title
		if name == "" {
			name = fmt.Sprintf("Episode %d", ep.Number)
		}
		s.Episodes = append(s.Episodes, match.Episode{Number: ep.Number, Name: name, AirDate: ep.Date.String()})
	}
	return s
}

func groupOf(g tmdbfake.Group) *match.EpisodeGroup {
	out := &match.EpisodeGroup{Name: g.Name}
	for _, p := range g.Parts {
		part := match.GroupPart{Name: p.Name, Order: p.Order}
		for _, r := range p.Episodes {
			for n := r.First; n <= r.Last; n++ {
				e := match.GroupEpisode{Season: r.Season, Number: n, Order: len(part.Episodes)}
				part.Episodes = append(part.Episodes, e)
			}
		}
		out.Groups = append(out.Groups, part)
	}
	return out
}
