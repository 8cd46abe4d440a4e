package decide

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/anivault/anivault/internal/index"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/release"
)

// addOtherCatalogues returns a function that adds to a decision the IDs of the work in other catalogues, and the
// numbers of the episodes in their orders.
func (t *titleIndex) addOtherCatalogues(res match.Resolution) func(*match.Decision) {
	e := cmp.Or(res.Entry, &match.Entry{Kind: res.Kind, ID: res.ID}) // a search result can be enough to match a film
	var anime animeOfEntry
	known := map[int]index.IDs{}
	if res.Entry != nil || res.Kind == match.Movie {
		t.withIndex(func(x *index.Index) (err error) {
			if anime, err = findAnimeOfEntry(x, e); err != nil {
				return err
			}
			for _, c := range anime.siblings {
				if known[c.AniDBID], err = x.IDsOf(c.AniDBID); err != nil {
					return err
				}
			}
			return nil
		})
	}
	count := sync.OnceValue(func() *orders.Series { return ordersOf(e, anime.siblings) })
	return func(d *match.Decision) {
		d.IDs = e.IDs
		if d.Season != nil && len(d.Episodes) > 0 {
			d.Orders = count().Orders(orders.Place{Season: *d.Season, Episodes: d.Episodes})
		}
		if one := known[anime.forDecision(*d, count)]; one.AniDB != 0 {
			d.IDs.AniDB, d.IDs.AniList, d.IDs.MAL = one.AniDB, one.AniList, one.MAL
		}
	}
}

// ordersOf returns the orders of an entry. If the episodes of a season are not known, TMDB's order is the only one.
func ordersOf(e *match.Entry, siblings []index.Candidate) *orders.Series {
	var seasons []orders.Place
	for _, s := range e.Seasons {
		if s.Episodes == nil {
			return orders.NewSeries(nil, 0, nil)
		}
		for _, part := range s.Parts() {
			seasons = append(seasons, orders.Place{Season: s.Number, Episodes: part})
		}
	}
	var anime []orders.Anime
	for _, c := range siblings {
		anime = append(anime, orders.Anime{ID: c.AniDBID, TMDB: c.Numbering, TVDBID: c.TVDBID, TVDB: c.TVDB})
	}
	return orders.NewSeries(seasons, e.IDs.TVDB, anime)
}

// PinnedOrder returns the order that a pin has for a series, "" for none. The last pin in the file counts.
func (d *Deciders) PinnedOrder(tv int) (order string) {
	d.pins.mu.RLock()
	defer d.pins.mu.RUnlock()
	for _, p := range d.pins.ordered {
		if p.ID == tv {
			order = p.Order
		}
	}
	return order
}

// NoGroupError says that a series does not have exactly one episode group of a name, and which it has.
type NoGroupError lang.Text

func (e NoGroupError) Error() string { return e.Text().String() }

// Text returns the message, which can be translated.
func (e NoGroupError) Text() lang.Text { return lang.Text(e) }

// groupNames returns the orders of a series' episode groups, with their ids instead of names that several have.
func groupNames(e *match.Entry) (list []string) {
	for _, g := range e.Groups {
		name := g.Name
		if slices.ContainsFunc(e.Groups, func(o match.GroupRef) bool {
			return o.ID != g.ID && strings.EqualFold(o.Name, g.Name)
		}) {
			name = g.ID
		}
		list = append(list, orders.GroupPrefix+name)
	}
	return list
}

// Group returns the order of a series' episode group with the name or id, or a NoGroupError.
func (d *Deciders) Group(ctx context.Context, tv int, name string) (*orders.Group, error) {
	key := fmt.Sprintf("order/%d/%s", tv, name)
	out, _, err := memoized(&d.source.memo, key, func() (*orders.Group, match.Origin, error) {
		g, err := d.readGroup(ctx, tv, name)
		return g, match.Origin{}, err
	})
	return out, err
}

func (d *Deciders) readGroup(ctx context.Context, tv int, name string) (*orders.Group, error) {
	e, _, err := d.Entry(ctx, match.TV, tv)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, ref := range e.Groups {
		if ref.ID == name || strings.EqualFold(ref.Name, strings.TrimSpace(name)) {
			ids = append(ids, ref.ID)
		}
	}
	list := groupNames(e)
	if most := 6; len(list) > most {
		list = append(list[:most], "...")
	}
	names := strings.Join(list, ", ")
	switch {
	case names == "":
		return nil, NoGroupError(lang.Textf("tv/%d has no episode groups: choose another order", tv))
	case len(ids) == 0:
		return nil, NoGroupError(lang.Textf("tv/%d has no episode group %s: choose one of %s", tv, name, names))
	case len(ids) > 1:
		return nil, NoGroupError(lang.Textf("tv/%d has several episode groups called %s: choose one of %s", tv, name, names))
	}
	group, _, err := d.source.Group(ctx, ids[0])
	if err != nil {
		return nil, err
	}
	out := new(orders.Group)
	for _, part := range group.Groups {
		for _, at := range part.Episodes {
			out.Add(at.Season, at.Number, part.Order, at.Order+1)
		}
	}
	return out, nil
}

// Seasons returns the seasons of a series in an order, without the episodes that are not known in it. In AniDB's order
// they are TMDB's, because AniDB has no seasons.
func (d *Deciders) Seasons(ctx context.Context, tv int, order string) ([]match.Season, error) {
	e, _, err := d.Entry(ctx, match.TV, tv)
	if err != nil {
		return nil, err
	}
	if order == orders.TMDB || order == orders.AniDB {
		return e.Seasons, nil
	}
	series := d.ordersOfSeries(e)
	place := func(p orders.Place) *orders.Place { return series.Orders(p).In(order) }
	if name, ok := strings.CutPrefix(order, orders.GroupPrefix); ok {
		group, err := d.Group(ctx, tv, name)
		if err != nil {
			return nil, err
		}
		place = group.Place
	}
	var out []match.Season
	for _, s := range e.Seasons {
		for _, episode := range s.Episodes {
			to := place(orders.Place{Season: s.Number, Episodes: []int{episode.Number}})
			if to == nil || len(to.Episodes) != 1 {
				continue
			}
			i := slices.IndexFunc(out, func(s match.Season) bool { return s.Number == to.Season })
			if i < 0 {
				i, out = len(out), append(out, match.Season{Number: to.Season})
			}
			episode.Number = to.Episodes[0]
			out[i].Episodes = append(out[i].Episodes, episode)
		}
	}
	for _, s := range out {
		slices.SortFunc(s.Episodes, func(a, b match.Episode) int { return a.Number - b.Number })
	}
	slices.SortFunc(out, func(a, b match.Season) int { return a.Number - b.Number })
	return out, nil
}

// ordersOfSeries returns the orders of a series, using what the title index has about the series.
func (d *Deciders) ordersOfSeries(e *match.Entry) *orders.Series {
	var anime animeOfEntry
	d.index.withIndex(func(x *index.Index) (err error) {
		anime, err = findAnimeOfEntry(x, e)
		return err
	})
	return ordersOf(e, anime.siblings)
}

// Order is an order that a series has.
type Order struct {
	_        struct{} `constant:"type=order" doc:"always \"order\""`
	Name     string   `json:"name" doc:"its name for --order"`
	Type     int      `json:"group_type,omitempty" doc:"of a group: TMDB's number for its type, such as 2 for absolute"`
	Parts    int      `json:"groups" doc:"how many seasons or parts it has; for AniDB, how many anime"`
	Episodes int      `json:"episodes" doc:"how many episodes of the series are known in it"`
}

// Orders returns the orders that a series has. A group that shares its name with another one has its id as its name.
func (d *Deciders) Orders(ctx context.Context, tv int) ([]Order, error) {
	e, _, err := d.Entry(ctx, match.TV, tv)
	if err != nil {
		return nil, err
	}
	series := d.ordersOfSeries(e)
	var out []Order
	for _, name := range []string{orders.TMDB, orders.Absolute, orders.TVDB, orders.AniDB} {
		o, parts := Order{Name: name}, map[int]bool{}
		for _, s := range e.Seasons {
			for _, episode := range s.Episodes {
				all := series.Orders(orders.Place{Season: s.Number, Episodes: []int{episode.Number}})
				if at := all.In(name); at != nil && name == orders.AniDB {
					parts[all.AniDB.ID], o.Episodes = true, o.Episodes+1
				} else if at != nil {
					parts[at.Season], o.Episodes = true, o.Episodes+1
				}
			}
		}
		if o.Parts = len(parts); o.Parts > 0 {
			out = append(out, o)
		}
	}
	for i, name := range groupNames(e) {
		g := e.Groups[i]
		out = append(out, Order{Name: name, Type: g.Type, Parts: g.Parts, Episodes: g.Episodes})
	}
	return out, nil
}

// byAniDB decides a series whose path has an AniDB ID and no other ID. It needs the imported lists to map that ID to
// exactly one entry.
func (d *Deciders) byAniDB(ctx context.Context, s *series) (resolution, bool) {
	order, anime := orderOfNames(s)
	if order != orders.AniDB || d.index == nil {
		return resolution{}, false
	}
	var found []index.Candidate
	d.index.withIndex(func(x *index.Index) (err error) {
		found, err = x.EntriesOfAnime(anime)
		return err
	})
	if len(found) != 1 {
		return resolution{}, false
	}
	res := d.resolver.ResolveID(ctx, s.Series, found[0].Kind, found[0].ID)
	res.DecidedBy = match.DecidedByIndex
	res.Steps = slices.Insert(res.Steps, 0, match.Step{
		Stage: "index", Detail: lang.Textf("anidb id %d is %s/%d", anime, string(res.Kind), res.ID),
	})
	return resolution{Resolution: res}, true
}

// orderOfNames returns the order in which the file names of a series count episodes. An ID of TVDB or AniDB in the path
// means the order of that catalogue. Without such an ID, or with an ID of TMDB, it returns "". anime is the AniDB ID if
// the order is AniDB's.
func orderOfNames(s *series) (order string, anime int) {
	ids := map[string]string{}
	for _, id := range s.IDs {
		ids[id.Source] = id.Value
	}
	anime, err := strconv.Atoi(ids[orders.AniDB])
	switch {
	case ids[orders.TMDB] != "":
	case ids[orders.TVDB] != "":
		return orders.TVDB, 0
	case err == nil && anime > 0 && ids["imdb"] == "":
		return orders.AniDB, anime
	}
	return "", 0
}

// readInOrder handles file names that count episodes in another order than TMDB's. It converts their numbers to TMDB's,
// if the conversion is known, and makes the result the first reading. The order comes from a pin of the folder, or else
// from the ID in the path.
func (d *Deciders) readInOrder(ctx context.Context, s *series, res *resolution) {
	order, anime := orderOfNames(s)
	if s.pin != nil && s.pin.Path != "" {
		order = cmp.Or(s.pin.Order, order)
	}
	if order == "" || order == orders.TMDB || res.Status != match.Matched || res.Kind != match.TV || res.Entry == nil ||
		s.pin != nil && (s.pin.Season != nil || s.pin.Offset != 0) {
		return
	}
	count, others := d.ordersOfSeries(res.Entry), res.readings
	toTMDB := func(p orders.Place) *orders.Place { return count.ToTMDB(order, anime, p) }
	if name, ok := strings.CutPrefix(order, orders.GroupPrefix); ok {
		group, err := d.Group(ctx, res.ID, name)
		if err != nil {
			return // the record gets this error when it is put into the order
		}
		toTMDB = group.ToTMDB
	}
	res.readings = func(r release.Release) []release.Release {
		out := []release.Release{r}
		if others != nil {
			out = others(r)
		}
		if named, ok := placeInName(order, r); ok {
			if at := toTMDB(named); at != nil {
				own := withEpisodes(r, at.Season, at.Episodes)
				own.Kind, own.Special, own.EpisodeTitle = release.Episode, "", ""
				out = slices.Insert(out, 0, own)
			}
		}
		return out
	}
	several := slices.ContainsFunc(res.Entry.Seasons, func(s match.Season) bool { return s.Number > 1 })
	res.doubt = func(r release.Release) lang.Text {
		at, ok := placeInName(order, r)
		if !ok || order != orders.AniDB || at.Season > 1 || at.Season == 1 && !several || toTMDB(at) != nil {
			return ""
		}
		return "the number is AniDB's, and no title index converts it: anivault index update"
	}
}

func placeInName(order string, r release.Release) (at orders.Place, ok bool) {
	season, stated := r.Season()
	if (order == orders.AniDB || order == orders.Absolute) && len(r.Seasons) == 0 && !isSpecial(r) {
		season, stated = 1, true // they have no seasons
	}
	numbers, whole := wholeNumbers(r.Episodes)
	return orders.Place{Season: season, Episodes: numbers}, stated && whole && r.Kind != release.Extra
}
