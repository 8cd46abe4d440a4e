package match

import (
	"cmp"
	"errors"
	"slices"
)

// numberings caches the numbering of a folder's files by release group, season and part.
type numberings map[numberingKey]numbering

type numberingKey struct {
	group        string
	season, part int
}

// numbering holds the index of the strategy that places all files of a group (-1 for none), their greatest episode
// number, and whether their numbers restart in each hundred.
type numbering struct {
	strategy, lastNumber int
	restarts             bool
}

func (n numberings) forFile(files []File, p *placer) numbering {
	key := numberingKey{p.rel.Group, p.season, p.part}
	if of, known := n[key]; known {
		return of
	}
	all := *p
	all.numbers, all.isWholeGroup = nil, true
	if folderOf(p.rel) == "" {
		files = nil // names without a folder may be unrelated
	}
	for _, f := range files {
		o := placer{rel: f.Release, entry: p.entry}
		o.season, o.part = p.seasonAndPart(f.Release)
		if (numberingKey{f.Release.Group, o.season, o.part}) == key && !f.isExtra() && o.isRegular() {
			all.numbers = append(all.numbers, toInts(f.Release.Episodes)...)
		}
	}
	slices.Sort(all.numbers)
	all.numbers = slices.Compact(all.numbers)
	all.restarts = p.season == 0 && p.part == 0 && restartsInHundreds(all.numbers)
	all.folderLast = slices.Max(append([]int{0}, all.numbers...))
	out := numbering{strategy: -1, lastNumber: all.folderLast, restarts: all.restarts}
	if len(all.numbers) > 1 && len(files) > 1 && len(p.episodes) > 0 {
		out.strategy, _ = all.tryStrategies(-1)
	}
	n[key] = out
	return out
}

// restartsInHundreds reports whether sorted numbers begin with 101, and again with 201 long before a hundred is full.
func restartsInHundreds(numbers []int) bool {
	const longestSeason = 70
	for i, n := range numbers {
		if n >= 1000 || n%100 > longestSeason || n%100 != 1 && (i == 0 || n/100 > numbers[i-1]/100) {
			return false
		}
	}
	return len(numbers) > 0 && numbers[0] == 101 && numbers[len(numbers)-1] > 200
}

// doubtDuplicatePlaces lowers the trust in the places of a release group's files if two of its episode numbers have the
// same place.
func doubtDuplicatePlaces(files []File, places []placement) {
	type place struct {
		group           string
		season, episode int
	}
	taken, twins := map[place]float64{}, map[string]bool{}
	for i, at := range places {
		r := files[i].Release
		if len(at.slots) != len(r.Episodes) || folderOf(r) == "" {
			continue
		}
		for k, s := range at.slots {
			key := place{r.Group, at.season, s.episode.Number}
			if had, ok := taken[key]; ok && had != r.Episodes[k] {
				twins[r.Group] = true
			}
			taken[key] = r.Episodes[k]
		}
	}
	for i := range places {
		if twins[files[i].Release.Group] {
			places[i].trust *= trustFactorDuplicates
		}
	}
}

const groupTypeAbsolute, groupTypeProduction = 2, 6 // GroupRef has the list

func placeByEpisodeGroup(p *placer) placement {
	kind := groupTypeProduction
	if p.season == 0 {
		kind = groupTypeAbsolute
		if p.part > 0 || slotsByNumber(seasonSlots(p.episodes, 1), p.numbers) != nil {
			return placement{}
		}
	}
	g := p.fetchEpisodeGroup(kind)
	if g == nil {
		return placement{}
	}
	var list []GroupEpisode
	for _, part := range g.Groups {
		ofAll := kind == groupTypeAbsolute && (part.Order != 0 || len(g.Groups) == 1) // 0: the specials
		if ofAll || kind == groupTypeProduction && part.Order == p.season {
			list = append(list, part.Episodes...)
		}
	}
	return p.placementAt(p.groupSlots(list), viaEpisodeGroup, "by the episode group %q", g.Name)
}

func (p *placer) groupSlots(list []GroupEpisode) []slot {
	return pickSlots(p.episodes, p.numbers, func(n int) int {
		if n < 1 || n > len(list) {
			return -1
		}
		return slices.IndexFunc(p.episodes, func(s slot) bool {
			return s.season == list[n-1].Season && s.episode.Number == list[n-1].Number
		})
	})
}

// fetchEpisodeGroup fetches the episode group of a type whose number of episodes is nearest to the show's. It ignores
// much smaller groups, which are outdated.
func (p *placer) fetchEpisodeGroup(kind int) *EpisodeGroup {
	var refs []GroupRef
	for _, g := range p.entry.Groups {
		if g.Type == kind && g.Episodes*10 >= len(p.episodes)*9 {
			refs = append(refs, g)
		}
	}
	if len(refs) == 0 {
		return nil
	}
	size := len(p.episodes)
	slices.SortStableFunc(refs, func(a, b GroupRef) int {
		return cmp.Or(cmp.Compare(absDiff(a.Episodes, size), absDiff(b.Episodes, size)), cmp.Compare(a.ID, b.ID))
	})
	g, o, err := p.source.Group(p.ctx, refs[0].ID)
	if err != nil {
		if !errors.Is(err, ErrNoEntry) {
			p.err = err
		}
		return nil
	}
	p.origin = p.origin.CombinedWith(o)
	return g
}

func absDiff(a, b int) int { return max(a-b, b-a) }
