// This file decides which episodes a catalogue file's seasons hold, where it is
// silent or contradicts itself.
//
// A season's numbers are those of its series (offset and length) and of its
// ranges; where both speak of one series, its ranges are right, because they
// say what lies in other seasons. An unknown length is guessed: a season is
// never empty. Gaps below a known season are filled, because TMDB numbers
// seasons from 1.

package tmdbfake

import (
	"cmp"
	"slices"
	"time"
)

// Guesses for what a file does not know.
const (
	guessModern = 12 // a season since 2005
	guessOld    = 26 // and before
	modernFrom  = 2005
)

// work makes a Work of a line.
func (l *lineWork) work() Work {
	w := Work{
		Kind: l.Kind, ID: l.ID, Date: l.day(l.Year, l.ID), Genres: []int{16}, Runtime: 24,
		Popularity: popularity(l.Kind, l.ID), Type: "Scripted",
	}
	w.Votes = int(w.Popularity * 23)
	w.name(l)
	if l.Kind == Movie {
		w.Status, w.Runtime = "Released", 60+int(chance(1, "runtime", l.ID)*60)
		w.Genres = append(w.Genres, []int{14, 28, 878, 18}[l.ID%4])
		return w
	}
	w.Genres = append(w.Genres, []int{10759, 35, 10765, 18}[l.ID%4])
	w.Seasons = l.seasons()
	w.nameSeasons(l)
	w.nameSpecials(l)
	first := NoDay
	for i := range w.Seasons {
		if d := w.Seasons[i].Date(); w.Seasons[i].Number > 0 && d != NoDay && (first == NoDay || d < first) {
			first = d
		}
	}
	if first != NoDay && (w.Date == NoDay || first.Year() <= w.Date.Year()) {
		w.Date = first
	}
	w.Status = "Ended"
	if w.last().Year() >= asOf.Year()-1 {
		w.Status = "Returning Series"
	}
	if l.Absolute {
		w.Groups = append(w.Groups, absoluteGroup(&w))
	}
	return w
}

// popularity gives a plausible popularity: most works have little.
func popularity(kind Kind, id int) float64 {
	x := chance(1, "popularity", kind, id)
	return float64(int(1000*(0.6+80*x*x*x*x*x))) / 1000
}

// day gives a day in a year on which a season might begin; NoDay for year 0.
func (l *lineWork) day(year, about int) Day {
	if year == 0 {
		return NoDay
	}
	months := []time.Month{time.January, time.April, time.July}
	return MakeDay(year, months[hash(1, "month", l.ID, about)%3], 2+int(hash(1, "day", l.ID, about)%7)) //nolint:gosec // below 7
}

// last gives the day of the last dated episode.
func (w *Work) last() Day {
	last := NoDay
	for i := range w.Seasons {
		for _, r := range w.Seasons[i].Runs {
			last = max(last, r.date(r.Last))
		}
	}
	return last
}

func (l *lineWork) seasons() []Season {
	ranged := map[int]bool{} // series of which ranges speak
	for _, s := range l.Seasons {
		for _, r := range s.Ranges {
			if r.Source != 0 {
				ranged[r.Source] = true
			}
		}
	}
	var out []Season
	highest := 0
	for _, s := range l.Seasons {
		if at := slices.IndexFunc(out, func(o Season) bool { return o.Number == s.Number }); at >= 0 {
			continue // a file that names a season twice: the first counts
		}
		out = append(out, Season{Number: s.Number, Runs: l.runs(s, ranged)})
		highest = max(highest, s.Number)
	}
	for n := 1; n <= max(1, highest); n++ {
		if season(out, n) == nil {
			out = append(out, Season{Number: n, Runs: []Run{{First: 1, Last: l.guess(0), Start: l.unless(n > 1, l.day(l.Year, n))}}})
		}
	}
	slices.SortFunc(out, func(a, b Season) int { return cmp.Compare(a.Number, b.Number) })
	return out
}

// unless gives d, or NoDay if not.
func (l *lineWork) unless(not bool, d Day) Day {
	if not {
		return NoDay
	}
	return d
}

// guess gives a season's length for one that began in a year.
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

// runs gives the episodes of one season.
func (l *lineWork) runs(s lineSeason, ranged map[int]bool) []Run {
	cours := slices.Clone(s.Cours)
	slices.SortStableFunc(cours, func(a, b lineCour) int { return cmp.Compare(a.Offset, b.Offset) })
	var out []Run
	top := 0 // the highest number so far
	add := func(first, last, year, about int) {
		if first < 1 || last < first {
			return
		}
		out = append(out, Run{First: first, Last: last, Start: l.day(year, about)})
		top = max(top, last)
	}
	if s.First == 0 {
		for _, c := range cours {
			if c.Episodes > 0 {
				add(c.Offset+1, c.Offset+c.Episodes, c.Year, c.Source)
			}
		}
		if s.Episodes > top {
			add(top+1, s.Episodes, 0, 0)
		}
	} else {
		for _, c := range cours {
			if c.Episodes > 0 && !ranged[c.Source] {
				add(c.Offset+1, c.Offset+c.Episodes, c.Year, c.Source)
			}
		}
		for _, r := range s.Ranges {
			year := 0
			for _, c := range cours {
				if c.Source == r.Source {
					year = c.Year
				}
			}
			add(min(r.To[0], r.To[1]), max(r.To[0], r.To[1]), year, r.Source)
		}
	}
	// What has a year has aired, even where nobody wrote down how long it was.
	for _, c := range cours {
		if c.Episodes > 0 || c.Year == 0 && top > 0 {
			continue
		}
		n := l.guess(c.Year)
		if s.Number == 0 {
			n = 1
		}
		if c.Offset < top { // it ends where the next one begins
			n = next(out, c.Offset) - 1 - c.Offset
		}
		add(c.Offset+1, c.Offset+n, c.Year, c.Source)
	}
	if len(out) == 0 {
		n := l.guess(0)
		if s.Number == 0 {
			n = 1
		}
		add(1, n, 0, 0)
	}
	if s.Number > 0 {
		setApart(out)
	}
	if top > 0 && s.First == 0 && s.Number > 0 {
		out = append(out, gaps(out)...)
	}
	return out
}

// coursPause is how long a season rests between two series that are told apart although they began in one year.
const coursPause = 91

// setApart moves the runs of one year apart: series of one season that have numbers of their own were never aired on end, so the
// first of them begins in winter and each later one after a pause.
func setApart(runs []Run) {
	slices.SortStableFunc(runs, func(a, b Run) int { return cmp.Compare(a.First, b.First) })
	for i := 1; i < len(runs); i++ {
		prev, run := &runs[i-1], &runs[i]
		if prev.Start == NoDay || run.Start == NoDay || prev.Start.Year() != run.Start.Year() {
			continue
		}
		if i == 1 || runs[i-2].Start == NoDay || runs[i-2].Start.Year() != prev.Start.Year() {
			prev.Start = min(prev.Start, MakeDay(prev.Start.Year(), time.January, 5))
		}
		run.Start = max(run.Start, prev.date(prev.Last)+coursPause)
	}
}

// next gives the lowest number above after that a run holds.
func next(runs []Run, after int) int {
	low := maxEpisodes * 2
	for _, r := range runs {
		if r.Last > after {
			low = min(low, max(r.First, after+1))
		}
	}
	return low
}

// gaps gives runs without dates for the numbers from 1 that no run holds.
func gaps(runs []Run) []Run {
	sorted := slices.Clone(runs)
	slices.SortFunc(sorted, func(a, b Run) int { return cmp.Compare(a.First, b.First) })
	var out []Run
	want := 1
	for _, r := range sorted {
		if r.First > want {
			out = append(out, Run{First: want, Last: r.First - 1, Start: NoDay})
		}
		want = max(want, r.Last+1)
	}
	return out
}

// absoluteGroup makes the group that counts all regular episodes through.
func absoluteGroup(w *Work) Group {
	g := Group{ID: hexID(24, "absolute", w.ID), Name: "Absolute Order", Type: 2}
	part := GroupPart{Name: "Absolute", Order: 1}
	for i := range w.Seasons {
		s := &w.Seasons[i]
		if s.Number == 0 {
			continue
		}
		for _, e := range s.Episodes() {
			part.Episodes = append(part.Episodes, EpisodeRef{Season: s.Number, Number: e.Number})
		}
	}
	g.Parts = []GroupPart{part}
	return g
}
