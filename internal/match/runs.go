package match

import (
	"slices"
	"strconv"
	"time"
)

// Gaps between two air dates that end a run: a season usually pauses for two cours or more, a split season for one.
const (
	seasonGap = 140 * 24 * time.Hour
	courGap   = 45 * 24 * time.Hour
)

// slot is one regular episode in airing order.
type slot struct {
	season  int
	episode Episode
	aired   time.Time // zero when unknown
}

// layout is an entry's episodes, prepared once for all files of a series.
type layout struct {
	all      []slot        // the regular episodes in order
	specials []slot        // those of season 0
	titles   []named       // of the entry
	names    []specialName // the specials' titles; empty where TMDB has only a placeholder
}

func layoutOf(e *Entry) *layout {
	l := &layout{all: regular(e), titles: entryTitles(e)}
	if zero, ok := e.season(0); ok {
		l.specials = slots(zero)
	}
	for _, s := range l.specials {
		l.names = append(l.names, specialNameOf(s.episode.Name))
	}
	return l
}

// regular lists the episodes of all seasons from 1 on, by season and number.
func regular(e *Entry) []slot {
	var out []slot
	for _, s := range sortedSeasons(e) {
		if s.Number < 1 {
			continue
		}
		out = append(out, slots(s)...)
	}
	return out
}

// slots lists the episodes of one season by number.
func slots(s Season) []slot {
	out := make([]slot, 0, len(s.Episodes))
	for _, ep := range s.Episodes {
		out = append(out, slot{season: s.Number, episode: ep, aired: parseDate(ep.AirDate)})
	}
	slices.SortStableFunc(out, func(a, b slot) int { return a.episode.Number - b.episode.Number })
	return out
}

func sortedSeasons(e *Entry) []Season {
	out := slices.Clone(e.Seasons)
	slices.SortStableFunc(out, func(a, b Season) int { return a.Number - b.Number })
	return out
}

// season finds a season by its number.
func (e *Entry) season(n int) (Season, bool) {
	i := slices.IndexFunc(e.Seasons, func(s Season) bool { return s.Number == n })
	if i < 0 {
		return Season{}, false
	}
	return e.Seasons[i], true
}

// HasSeason reports whether TMDB has a season of that number.
func (e *Entry) HasSeason(n int) bool {
	_, ok := e.season(n)
	return ok
}

// runs cuts a list of slots where the season changes and where more than gap lies between two
// known air dates, either way. One episode with a date of its own among others (an error, a late broadcast) cuts nothing.
func runs(list []slot, gap time.Duration) [][]slot {
	var out [][]slot
	start := 0
	last := -1 // the last episode with a date that fits in
	for i, s := range list {
		if i > start && s.season != list[i-1].season {
			out = append(out, list[start:i])
			start, last = i, -1
		}
		if s.aired.IsZero() {
			continue
		}
		if last >= 0 && apart(list[last], s) > gap {
			if next := nextDated(list, i); next >= 0 && apart(list[last], list[next]) <= gap {
				continue // the outlier
			}
			out = append(out, list[start:i])
			start = i
		}
		last = i
	}
	if start < len(list) {
		out = append(out, list[start:])
	}
	return out
}

// nextDated returns the first episode after i of the same season with a date, -1 for none.
func nextDated(list []slot, i int) int {
	for k := i + 1; k < len(list) && list[k].season == list[i].season; k++ {
		if !list[k].aired.IsZero() {
			return k
		}
	}
	return -1
}

func apart(a, b slot) time.Duration { return b.aired.Sub(a.aired).Abs() }

// firstYear returns the year of the first episode with a date, 0 for none.
func firstYear(list []slot) int {
	for _, s := range list {
		if !s.aired.IsZero() {
			return s.aired.Year()
		}
	}
	return 0
}

// airedIn reports whether an episode of the list aired in the year.
func airedIn(list []slot, year int) bool {
	return slices.ContainsFunc(list, func(s slot) bool { return !s.aired.IsZero() && s.aired.Year() == year })
}

func parseDate(s string) time.Time {
	t, _ := time.Parse(time.DateOnly, s) // the zero time with an error
	return t
}

// YearOf returns the year of a date that begins with one, as TMDB's do; 0 for any other text.
func YearOf(date string) int {
	if len(date) < 4 {
		return 0
	}
	y, err := strconv.Atoi(date[:4])
	if err != nil {
		return 0
	}
	return y
}
