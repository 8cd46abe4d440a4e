package match

import (
	"slices"
	"strconv"
	"time"

	"github.com/anivault/anivault/internal/slicesx"
)

// The gaps between air dates that end a run of episodes. Between two seasons, there are usually two or more cours
// without episodes; within a split season, only one.
const (
	seasonPause = 140 * 24 * time.Hour
	courPause   = 45 * 24 * time.Hour
)

const threeCours, longestOVA = 39, 6 // episodes

// slot is an episode with its season and parsed air date.
type slot struct {
	season  int
	episode Episode
	aired   time.Time // zero if unknown
}

// preparedEntry holds sorted episodes and normalised titles of an entry.
type preparedEntry struct {
	episodes     []slot        // all episodes except those of season 0, in order
	specials     []slot        // the episodes of season 0
	titles       []entryTitle  // the titles of the show
	specialNames []specialName // parallel to specials; empty for placeholder names
}

func prepareEntry(e *Entry) *preparedEntry {
	l := &preparedEntry{episodes: regularSlots(e), titles: entryTitles(e)}
	if zero, ok := e.season(0); ok {
		l.specials = slotsOf(zero)
	}
	for _, s := range l.specials {
		l.specialNames = append(l.specialNames, parseSpecialName(s.episode.Name))
	}
	return l
}

// Parts returns the numbers of the season's episodes. A part ends with a finale, or where nothing aired for most of a
// cour, unless it is so short that its episodes may be released singly.
func (s Season) Parts() (parts [][]int) {
	const pause, shortest = 80 * 24 * time.Hour, 4
	begins, previous := true, 0
	for _, run := range splitRuns(slotsOf(s), pause) {
		begins = begins || previous >= shortest
		for _, at := range run {
			if begins {
				parts = append(parts, nil)
			}
			last := &parts[len(parts)-1]
			*last = append(*last, at.episode.Number)
			begins = at.episode.Finale
		}
		previous = len(run)
	}
	return parts
}

// Cours returns the episodes of each regular season, split where the parts of a season are.
func (e *Entry) Cours() map[int][][]int {
	cours := map[int][][]int{}
	for _, run := range splitRuns(regularSlots(e), courPause) {
		numbers := slicesx.Map(run, func(at slot) int { return at.episode.Number })
		cours[run[0].season] = append(cours[run[0].season], numbers)
	}
	return cours
}

func regularSlots(e *Entry) []slot {
	var out []slot
	byNumber := func(a, b Season) int { return a.Number - b.Number }
	for _, s := range slices.SortedStableFunc(slices.Values(e.Seasons), byNumber) {
		if s.Number > 0 {
			out = append(out, slotsOf(s)...)
		}
	}
	return out
}

func slotsOf(s Season) []slot {
	out := make([]slot, 0, len(s.Episodes))
	for _, ep := range s.Episodes {
		aired, _ := time.Parse(time.DateOnly, ep.AirDate) // the zero time if it cannot be parsed
		out = append(out, slot{season: s.Number, episode: ep, aired: aired})
	}
	slices.SortStableFunc(out, func(a, b slot) int { return a.episode.Number - b.episode.Number })
	return out
}

func (e *Entry) season(n int) (Season, bool) {
	if i := slices.IndexFunc(e.Seasons, func(s Season) bool { return s.Number == n }); i >= 0 {
		return e.Seasons[i], true
	}
	return Season{}, false
}

// HasSeason reports whether the series has a season with that number.
func (e *Entry) HasSeason(n int) bool {
	_, ok := e.season(n)
	return ok
}

// FindEpisodes returns the season's episodes that have one of these numbers.
func (e *Entry) FindEpisodes(season int, numbers []int) (found []Episode) {
	s, _ := e.season(season)
	for _, n := range numbers {
		if i := slices.IndexFunc(s.Episodes, func(ep Episode) bool { return ep.Number == n }); i >= 0 {
			found = append(found, s.Episodes[i])
		}
	}
	return found
}

// splitRuns splits a list at each new season and wherever two air dates are more than gap apart. It ignores a single
// date that does not fit its neighbours (an error or a late broadcast).
func splitRuns(list []slot, gap time.Duration) [][]slot {
	var out [][]slot
	start := 0
	last := -1 // the last episode with a date that fits its neighbours
	for i, s := range list {
		if i > start && s.season != list[i-1].season {
			out = append(out, list[start:i])
			start, last = i, -1
		}
		if s.aired.IsZero() {
			continue
		}
		if last >= 0 && timeBetween(list[last], s) > gap {
			if next := nextWithDate(list, i); next >= 0 && timeBetween(list[last], list[next]) <= gap {
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

func nextWithDate(list []slot, i int) int {
	for k := i + 1; k < len(list) && list[k].season == list[i].season; k++ {
		if !list[k].aired.IsZero() {
			return k
		}
	}
	return -1
}

func timeBetween(a, b slot) time.Duration { return b.aired.Sub(a.aired).Abs() }

func firstAirYear(list []slot) int {
	if i := slices.IndexFunc(list, func(s slot) bool { return !s.aired.IsZero() }); i >= 0 {
		return list[i].aired.Year()
	}
	return 0
}

func airedInYear(list []slot, year int) bool {
	return slices.ContainsFunc(list, func(s slot) bool { return !s.aired.IsZero() && s.aired.Year() == year })
}

// YearOf returns the year of a date such as "2019-04-01", 0 for other text.
func YearOf(date string) int {
	if len(date) < 4 {
		return 0
	}
	y, _ := strconv.Atoi(date[:4]) // 0 if it cannot be parsed
	return y
}
