package match

import "slices"

// numberings are the strategies by which all files of a folder have a place, by who released them and what their names say of
// season and part.
type numberings map[numbered]numbering

type numbered struct {
	group        string
	season, part int
}

// numbering is a strategy, -1 where none places all files, and the greatest number of them.
type numbering struct{ strategy, last int }

// of returns the numbering of the files that say the same of season and part as the placer's.
func (n numberings) of(files []File, p *placer) numbering {
	key := numbered{p.rel.Group, p.season, p.part}
	if of, known := n[key]; known {
		return of
	}
	all := *p
	all.eps, all.together = nil, true
	if folderOf(p.rel) == "" {
		files = nil // a list of names, which are from anywhere
	}
	for _, f := range files {
		o := placer{rel: f.Release}
		o.season, o.part = p.says(f.Release)
		if (numbered{f.Release.Group, o.season, o.part}) == key && !f.extra() && o.regular() {
			all.eps = append(all.eps, whole(f.Release.Episodes)...)
		}
	}
	slices.Sort(all.eps)
	all.eps = slices.Compact(all.eps)
	out := numbering{strategy: -1}
	if len(all.eps) > 0 {
		out.last = slices.Max(all.eps)
		all.last = out.last
	}
	if len(all.eps) > 1 && len(files) > 1 && len(p.all) > 0 {
		out.strategy, _ = all.try(-1)
	}
	n[key] = out
	return out
}

// doubtTwins doubts the places of a folder's files where two numbers have the same one.
func doubtTwins(files []File, places []placement) {
	type place struct {
		group           string
		season, episode int
	}
	taken := map[place]float64{}
	twins := map[string]bool{}
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
			places[i].trust *= trustTwins
		}
	}
}
