package tmdbfake

import (
	"cmp"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// query is one request after authentication.
type query struct {
	values  url.Values
	raw     string
	ids     []string // the path's variable parts, in order
	now     time.Time
	changed bool // the catalogue's renumbering has happened
}

// route is one endpoint. In a pattern * is an integer and ? any one segment.
type route struct {
	pattern string
	serve   func(f *Fake, q query) answer
}

var routes = []route{
	{"search/tv", func(f *Fake, q query) answer { return f.search(q, TV) }},
	{"search/movie", func(f *Fake, q query) answer { return f.search(q, Movie) }},
	{"search/multi", (*Fake).searchMulti},
	{"tv/episode_group/?", (*Fake).episodeGroup},
	{"tv/changes", func(f *Fake, q query) answer { return f.changes(q, TV) }},
	{"movie/changes", func(f *Fake, q query) answer { return f.changes(q, Movie) }},
	{"tv/*", func(f *Fake, q query) answer { return f.details(q, TV) }},
	{"tv/*/season/*", (*Fake).season},
	{"tv/*/season/*/episode/*", (*Fake).episode},
	{"tv/*/?", func(f *Fake, q query) answer { return f.part(q, TV) }},
	{"movie/*", func(f *Fake, q query) answer { return f.details(q, Movie) }},
	{"movie/*/?", func(f *Fake, q query) answer { return f.part(q, Movie) }},
	{"find/?", (*Fake).find},
	{"genre/tv/list", func(*Fake, query) answer {
		return answer{200, object{"genres": tables().TVGenres}, classStatic}
	}},
	{"genre/movie/list", func(*Fake, query) answer {
		return answer{200, object{"genres": tables().MovieGenres}, classStatic}
	}},
	{"discover/tv", (*Fake).discover},
	{"configuration", func(*Fake, query) answer { return answer{200, tables().Configuration, classStatic} }},
	{"configuration/languages", func(*Fake, query) answer {
		return answer{200, tables().ConfigurationLanguages, classStatic}
	}},
}

// findRoute returns the route of a decoded path. Its dots are resolved first, as
// TMDB's CDN does.
func findRoute(decoded string) (r route, ids []string, ok bool) {
	p := strings.Trim(path.Clean("/"+decoded), "/")
	rest, found := strings.CutPrefix(p, "3/")
	if !found {
		return route{}, nil, false
	}
	parts := strings.Split(rest, "/")
	for _, r := range routes {
		if ids, ok := match(strings.Split(r.pattern, "/"), parts); ok {
			return r, ids, true
		}
	}
	return route{}, nil, false
}

func match(pattern, parts []string) (ids []string, ok bool) {
	if len(pattern) != len(parts) {
		return nil, false
	}
	for i, p := range pattern {
		switch p {
		case "*":
			if n, err := strconv.Atoi(parts[i]); err != nil || n < 0 {
				return nil, false
			}
			ids = append(ids, parts[i])
		case "?":
			ids = append(ids, parts[i])
		default:
			if p != parts[i] {
				return nil, false
			}
		}
	}
	return ids, true
}

func (q query) locale() string { return cmp.Or(q.values.Get("language"), "en-US") }

// id returns the i-th variable part, an integer by the pattern.
func (q query) id(i int) int {
	n, err := strconv.Atoi(q.ids[i])
	if err != nil {
		return -1
	}
	return n
}

func (f *Fake) view(q query) view {
	v := view{renumbered: q.changed, plainSeasons: f.model.PlainSeasons, plainSpecials: f.model.PlainSpecials}
	v.language, v.country = SplitLocale(q.locale())
	return v
}

func (f *Fake) search(q query, kind Kind) answer {
	text := q.values.Get("query")
	if text == "" {
		return invalid("query must be provided")
	}
	n, ok := page(q.values)
	if !ok {
		return refuse(22)
	}
	flt := Filter{Year: year(q.values, "year"), Adult: q.values.Get("include_adult") == "true"}
	if kind == TV {
		flt.FirstYear = year(q.values, "first_air_date_year")
	} else {
		flt.FirstYear = year(q.values, "primary_release_year")
	}
	flt.Finds, flt.Language = f.model.Finds, q.locale()
	v := f.view(q)
	found := f.catalogue.Search(kind, text, flt, f.model.Rank, f.seed)
	if most := f.model.MaxRows; most > 0 {
		found = found[:min(most, len(found))]
	}
	return answer{200, paged(found, n, pageSize, func(w *Work) object { return w.row(v, false) }), classSearch}
}

func (f *Fake) searchMulti(q query) answer {
	text := q.values.Get("query")
	if text == "" {
		return invalid("query must be provided")
	}
	n, ok := page(q.values)
	if !ok {
		return refuse(22)
	}
	v := f.view(q)
	found := f.catalogue.searchBoth(text, Filter{Adult: q.values.Get("include_adult") == "true"}, f.model.Rank, f.seed)
	return answer{200, paged(found, n, pageSize, func(w *Work) object { return w.row(v, true) }), classSearch}
}

func (f *Fake) details(q query, kind Kind) answer {
	w := f.catalogue.work(kind, q.id(0), f.model.Rank)
	if w == nil {
		return refuse(34)
	}
	v := f.view(q)
	var o object
	if kind == TV {
		o = w.tvDetails(v)
	} else {
		o = w.movieDetails(v)
	}
	return f.withAppends(q, o, func(item string) (object, bool) { return w.appended(item, v, q.values) })
}

// withAppends adds the parts of append_to_response. Unknown names and missing
// seasons are left out.
func (f *Fake) withAppends(q query, o object, part func(string) (object, bool)) answer {
	items := appends(q.raw, f.strictAppend)
	if len(items) > maxAppend {
		return refuse(27)
	}
	for _, item := range items {
		if sub, ok := part(item); ok {
			o[item] = sub
		}
	}
	return answer{200, o, classDetails}
}

// appended returns one appended part of a work's details, without the id that the
// details already have.
func (w *Work) appended(item string, v view, params url.Values) (object, bool) {
	if rest, ok := strings.CutPrefix(item, "season/"); ok && w.Kind == TV {
		n, err := strconv.Atoi(rest)
		if err != nil {
			return nil, false
		}
		s := season(w.seasonMap(v.renumbered), n)
		if s == nil {
			return nil, false
		}
		return w.seasonDetails(s, v), true
	}
	o, ok := w.part(item, params)
	if ok {
		delete(o, "id")
	}
	return o, ok
}

func (w *Work) part(name string, params url.Values) (object, bool) {
	switch name {
	case "alternative_titles":
		country := ""
		if w.Kind == Movie {
			country = params.Get("country")
		}
		return w.alternativeTitles(country), true
	case "translations":
		return w.translations(), true
	case "external_ids":
		return w.externalIDs(), true
	}
	if w.Kind == TV {
		switch name {
		case "episode_groups":
			return w.episodeGroups(), true
		case "content_ratings":
			return w.contentRatings(), true
		}
	} else if name == "release_dates" {
		return w.releaseDates(), true
	}
	return nil, false
}

func (f *Fake) part(q query, kind Kind) answer {
	w := f.catalogue.work(kind, q.id(0), f.model.Rank)
	if w == nil {
		return refuse(34)
	}
	o, ok := w.part(q.ids[1], q.values)
	if !ok {
		return refuse(34)
	}
	return answer{200, o, classDetails}
}

func (f *Fake) season(q query) answer {
	w := f.catalogue.work(TV, q.id(0), f.model.Rank)
	if w == nil {
		return refuse(34)
	}
	v := f.view(q)
	s := season(w.seasonMap(v.renumbered), q.id(1))
	if s == nil {
		return refuse(34)
	}
	return f.withAppends(q, w.seasonDetails(s, v), func(item string) (object, bool) { return seasonPart(item) })
}

// seasonPart returns what can be appended to a season or an episode.
func seasonPart(item string) (object, bool) {
	switch item {
	case "external_ids":
		return object{"tvdb_id": nil, "wikidata_id": nil, "freebase_id": nil, "freebase_mid": nil, "tvrage_id": nil}, true
	case "translations":
		return object{"translations": []any{}}, true
	}
	return nil, false
}

func (f *Fake) episode(q query) answer {
	w := f.catalogue.work(TV, q.id(0), f.model.Rank)
	if w == nil {
		return refuse(34)
	}
	v := f.view(q)
	s := season(w.seasonMap(v.renumbered), q.id(1))
	if s == nil {
		return refuse(34)
	}
	for _, e := range s.Episodes() {
		if e.Number == q.id(2) {
			return f.withAppends(q, w.episode(e, v, true), func(item string) (object, bool) { return seasonPart(item) })
		}
	}
	return refuse(34)
}

func (f *Fake) episodeGroup(q query) answer {
	at, ok := f.catalogue.groups[q.ids[0]]
	if !ok {
		return refuse(34)
	}
	return answer{200, at.work.groupDetails(at.group.ID, f.view(q)), classDetails}
}

const (
	pageSize   = 20
	maxPage    = 500
	maxAppend  = 20
	changeRows = 100
	maxDays    = 14
)

// page reads the page parameter; ok is false outside 1..500.
func page(q url.Values) (n int, ok bool) {
	s := q.Get("page")
	if s == "" {
		return 1, true
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 1 && n <= maxPage
}

// year reads a year; anything but 1000..9999 does not filter.
func year(q url.Values, name string) int {
	n, err := strconv.Atoi(q.Get(name))
	if err != nil || n < 1000 || n > 9999 {
		return 0
	}
	return n
}

// paged returns one page of works with the totals; a page beyond the last is
// empty and keeps them, and no row at all is still one page.
func paged(found []*Work, n, size int, row func(*Work) object) object {
	pages := max(1, (len(found)+size-1)/size)
	from := min(len(found), (n-1)*size)
	to := min(len(found), from+size)
	rows := make([]object, 0, to-from)
	for _, w := range found[from:to] {
		rows = append(rows, row(w))
	}
	return object{"page": n, "results": rows, "total_pages": pages, "total_results": len(found)}
}

// appends reads append_to_response from the raw query. With strict set, an
// item that contains %2F is dropped, as TMDB does by one report.
func appends(rawQuery string, strict bool) []string {
	for part := range strings.SplitSeq(rawQuery, "&") {
		name, raw, _ := strings.Cut(part, "=")
		if name != "append_to_response" {
			continue
		}
		raw = strings.NewReplacer("%2C", ",", "%2c", ",").Replace(raw)
		var out []string
		for item := range strings.SplitSeq(raw, ",") {
			if strict && strings.Contains(strings.ToUpper(item), "%2F") {
				continue
			}
			if s, err := url.QueryUnescape(item); err == nil && s != "" && !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

// dateRange reads start_date and end_date of the changes lists. A trailing
// time is tolerated. Code 0 is a good range.
func dateRange(q url.Values, today Day) (from, to Day, code int) {
	to, ok := dateParam(q.Get("end_date"), today)
	if !ok {
		return 0, 0, 23
	}
	from, ok = dateParam(q.Get("start_date"), to-1)
	if !ok {
		return 0, 0, 23
	}
	if from > to || to-from > maxDays {
		return 0, 0, 20
	}
	return from, to, 0
}

func dateParam(s string, otherwise Day) (Day, bool) {
	if s == "" {
		return otherwise, true
	}
	s, _, _ = strings.Cut(strings.ReplaceAll(s, " ", "T"), "T")
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return 0, false
	}
	return Day(t.Unix() / 86400), true
}
