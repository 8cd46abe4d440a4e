package catalogfile

import (
	"cmp"
	"slices"
	"time"

	"github.com/anivault/anivault/internal/tmdbfake"
	"github.com/anivault/anivault/internal/upstream"
)

// Guessed lengths of seasons.
const (
	guessModern = 12 // a season since 2005
	guessOld    = 26 // and before
	modernFrom  = 2005
)

func (l *lineWork) work() tmdbfake.Work {
	w := tmdbfake.Work{
		Kind: l.Kind, ID: l.ID, Date: l.day(l.Year, l.ID), Genres: []int{16}, Runtime: 24,
		Popularity: popularity(l.Kind, l.ID), Type: "Scripted",
	}
	w.Votes = int(w.Popularity * 23)
	l.name(&w)
	if l.Kind == tmdbfake.Movie {
		w.Status, w.Runtime = "Released", 60+int(upstream.Chance(1, "runtime", l.ID)*60)
		w.Genres = append(w.Genres, []int{14, 28, 878, 18}[l.ID%4])
		return w
	}
	w.Genres = append(w.Genres, []int{10759, 35, 10765, 18}[l.ID%4])
	w.Seasons = l.seasons()
	l.nameSeasons(&w)
	l.nameSpecials(&w)
	first := tmdbfake.NoDay
	for i := range w.Seasons {
		if d := w.Seasons[i].Date(); w.Seasons[i].Number > 0 && d != tmdbfake.NoDay &&
			(first == tmdbfake.NoDay || d < first) {
			first = d
		}
	}
	if first != tmdbfake.NoDay && (w.Date == tmdbfake.NoDay || first.Year() <= w.Date.Year()) {
		w.Date = first
	}
	w.Status = "Ended"
	if last(&w).Year() >= tmdbfake.AsOf.Year()-1 {
		w.Status = "Returning Series"
	}
	if l.Absolute {
		w.Groups = append(w.Groups, tmdbfake.AbsoluteGroup(&w))
	}
	return w
}

// popularity returns a plausible popularity: that of most works is low.
func popularity(kind tmdbfake.Kind, id int) float64 {
	x := upstream.Chance(1, "popularity", kind, id)
	return float64(int(1000*(0.6+80*x*x*x*x*x))) / 1000
}

// day returns a day in a year on which a season might begin; NoDay for year 0.
func (l *lineWork) day(year, about int) tmdbfake.Day {
	if year == 0 {
		return tmdbfake.NoDay
	}
	month := []time.Month{time.January, time.April, time.July}[upstream.Hash(1, "month", l.ID, about)%3]
	return tmdbfake.MakeDay(year, month, 2+int(upstream.Hash(1, "day", l.ID, about)%7)) //nolint:gosec // below 7
}

// last returns the day of the last dated episode.
func last(w *tmdbfake.Work) tmdbfake.Day {
	last := tmdbfake.NoDay
	for i := range w.Seasons {
		for _, r := range w.Seasons[i].Runs {
			last = max(last, r.Date(r.Last))
		}
	}
	return last
}

func (l *lineWork) seasons() []tmdbfake.Season {
	ranged := map[int]bool{} // series that have ranges
	for _, s := range l.Seasons {
		for _, r := range s.Ranges {
			if r.Source != 0 {
				ranged[r.Source] = true
			}
		}
	}
	var out []tmdbfake.Season
	highest := 0
	stale := map[int]bool{}
	for _, s := range l.Seasons {
		if s.Stale {
			stale[s.Number] = true
		}
		if s.Stale || hasSeason(out, s.Number) {
			continue // of a season that is there twice the first counts
		}
		out = append(out, tmdbfake.Season{Number: s.Number, Runs: l.runs(s, ranged)})
		highest = max(highest, s.Number)
	}
	for n := 1; n <= max(1, highest); n++ {
		if hasSeason(out, n) || stale[n] && len(out) > 0 {
			continue
		}
		start := tmdbfake.NoDay
		if n == 1 {
			start = l.day(l.Year, n)
		}
		out = append(out, tmdbfake.Season{Number: n, Runs: []tmdbfake.Run{{First: 1, Last: l.guess(0), Start: start}}})
	}
	slices.SortFunc(out, func(a, b tmdbfake.Season) int { return cmp.Compare(a.Number, b.Number) })
	return out
}

func hasSeason(seasons []tmdbfake.Season, number int) bool {
	return slices.ContainsFunc(seasons, func(s tmdbfake.Season) bool { return s.Number == number })
}

// guess returns a season's length for one that began in a year.
func (l *lineWork) guess(year int) int {
	switch y := cmp.Or(year, l.Year); {
	case l.Absolute:
		return 2 * guessOld
	case y != 0 && y < modernFrom:
		return guessOld
	default:
		return guessModern
	}
}

// runs returns the episodes of one season. Its numbers are those of its series
// (offset and length) and of its ranges. Where both speak of one series, its
// ranges count, because they say what lies in other seasons. An unknown length is
// guessed, so that no season is empty. Gaps below a known season are filled,
// because TMDB numbers seasons from 1.
func (l *lineWork) runs(s lineSeason, ranged map[int]bool) []tmdbfake.Run {
	b := runBuilder{line: l, season: s, cours: slices.Clone(s.Cours)}
	slices.SortStableFunc(b.cours, func(a, c lineCour) int { return cmp.Compare(a.Offset, c.Offset) })
	if s.First == 0 {
		b.addCours(nil)
		b.addFolded()
		if s.Episodes > b.top {
			b.add(b.top+1, s.Episodes, 0, 0)
		}
	} else {
		b.addCours(ranged)
		b.addRanges()
	}
	b.addUnknown()
	if s.Number > 0 {
		setApart(b.out)
		if b.top > 0 && s.First == 0 {
			b.out = append(b.out, gaps(b.out)...)
		}
	}
	return b.out
}

// runBuilder collects the runs of one season.
type runBuilder struct {
	line   *lineWork
	season lineSeason
	cours  []lineCour // by offset
	out    []tmdbfake.Run
	top    int // the highest number so far
}

func (b *runBuilder) add(first, last, year, about int) {
	if first < 1 || last < first {
		return
	}
	b.out = append(b.out, tmdbfake.Run{First: first, Last: last, Start: b.line.day(year, about)})
	b.top = max(b.top, last)
}

func (b *runBuilder) addCours(skip map[int]bool) {
	for _, c := range b.cours {
		if c.Episodes > 0 && !skip[c.Source] {
			b.add(c.Offset+1, c.Offset+c.Episodes, c.Year, c.Source)
		}
	}
}

func (b *runBuilder) addRanges() {
	for _, r := range b.season.Ranges {
		b.add(min(r.To[0], r.To[1]), max(r.To[0], r.To[1]), b.line.yearOf(r.Source), r.Source)
	}
}

// addFolded adds the ranges of series that lists put into another season: those that
// lie where no other series does.
func (b *runBuilder) addFolded() {
	for _, r := range b.season.Ranges {
		first, last := min(r.To[0], r.To[1]), max(r.To[0], r.To[1])
		if !slices.ContainsFunc(b.out, func(o tmdbfake.Run) bool { return o.First <= last && o.Last >= first }) {
			b.add(first, last, b.line.yearOf(r.Source), r.Source)
		}
	}
}

// yearOf returns the year of a source series, wherever the lists put it; 0 if it is
// unknown.
func (l *lineWork) yearOf(source int) int {
	for _, s := range l.Seasons {
		for _, c := range s.Cours {
			if c.Source == source && c.Year != 0 {
				return c.Year
			}
		}
	}
	return 0
}

// addUnknown adds the series of unknown length. One that has a year has aired.
func (b *runBuilder) addUnknown() {
	guess := func(year int) int {
		if b.season.Number == 0 {
			return 1
		}
		return b.line.guess(year)
	}
	for _, c := range b.cours {
		if c.Episodes > 0 || c.Year == 0 && b.top > 0 {
			continue
		}
		n := guess(c.Year)
		if c.Offset < b.top { // it ends where the next one begins
			n = next(b.out, c.Offset) - 1 - c.Offset
		}
		b.add(c.Offset+1, c.Offset+n, c.Year, c.Source)
	}
	if len(b.out) == 0 {
		b.add(1, guess(0), 0, 0)
	}
}

// coursPause is the least number of days between two series of one season.
const coursPause = 91

// setApart puts a pause between the runs, from which the series of one season can be
// told: of two in one year the first begins in winter, each other after a pause.
func setApart(runs []tmdbfake.Run) {
	slices.SortStableFunc(runs, func(a, b tmdbfake.Run) int { return cmp.Compare(a.First, b.First) })
	sameYear := func(a, b tmdbfake.Run) bool { return a.Start.Year() == b.Start.Year() }
	for i := 1; i < len(runs); i++ {
		prev, run := &runs[i-1], &runs[i]
		if prev.Start == tmdbfake.NoDay || run.Start == tmdbfake.NoDay || run.Start < prev.Start && !sameYear(*prev, *run) {
			continue
		}
		if sameYear(*prev, *run) && (i == 1 || !sameYear(runs[i-2], *prev)) {
			prev.Start = min(prev.Start, tmdbfake.MakeDay(prev.Start.Year(), time.January, 5))
			if i > 1 && runs[i-2].Start != tmdbfake.NoDay {
				prev.Start = max(prev.Start, runs[i-2].Date(runs[i-2].Last)+coursPause)
			}
		}
		run.Start = max(run.Start, prev.Date(prev.Last)+coursPause)
	}
}

// next returns the lowest number above after that a run holds.
func next(runs []tmdbfake.Run, after int) int {
	low := maxEpisodes * 2
	for _, r := range runs {
		if r.Last > after {
			low = min(low, max(r.First, after+1))
		}
	}
	return low
}

// gaps returns runs without dates for the numbers from 1 that no run holds.
func gaps(runs []tmdbfake.Run) []tmdbfake.Run {
	sorted := slices.Clone(runs)
	slices.SortFunc(sorted, func(a, b tmdbfake.Run) int { return cmp.Compare(a.First, b.First) })
	var out []tmdbfake.Run
	want := 1
	for _, r := range sorted {
		if r.First > want {
			out = append(out, tmdbfake.Run{First: want, Last: r.First - 1, Start: tmdbfake.NoDay})
		}
		want = max(want, r.Last+1)
	}
	return out
}
