package match

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/title"
)

// whole places a file or folder that names no episode: a batch of a season.
func (p *placer) whole() placement {
	if at := p.numberAtEnd(); at.ok {
		return at
	}
	if p.rel.Kind != release.Batch && p.season == 0 {
		return either(either(p.specialTitle(), p.onlySpecial()), placement{why: "the name says no episode"})
	}
	n := p.season
	if n == 0 {
		first := 0
		for _, s := range p.all {
			if first != 0 && s.season != first {
				return placement{why: "the name says no season, and there are several"}
			}
			first = s.season
		}
		n = first
	}
	if _, ok := p.e.season(n); !ok || n == 0 {
		return placement{why: fmt.Sprintf("there is no season %d", n)}
	}
	by := trustWhole
	if p.rel.Extension != "" {
		by = trustAlone
	}
	return placement{ok: true, season: n, way: by, trust: trusted[by], why: "a whole season"}
}

// numberAtEnd takes a number behind the title of a single file for its episode, "Title 2.mkv", where the show has one season,
// without a pause, and nothing of it is called so.
func (p *placer) numberAtEnd() placement {
	if p.rel.Kind != release.Unknown || p.rel.Extension == "" || p.stated() || p.part > 0 || p.severalSeasons() ||
		len(runs(p.all, courGap)) != 1 || len(p.rel.Titles) == 0 || p.specialTitle().ok {
		return placement{}
	}
	norm := title.Normalize(p.rel.Titles[0].Text)
	i := strings.LastIndexByte(norm, ' ')
	n, err := strconv.Atoi(norm[i+1:])
	if i < 0 || err != nil || slices.ContainsFunc(p.titles, func(t named) bool { return t.norm == norm || t.seq.Season == n }) ||
		!slices.ContainsFunc(p.titles, func(t named) bool { return t.norm == norm[:i] }) {
		return placement{}
	}
	return p.found(literal(p.all, []int{n}), trustAtEnd, "the title has the number behind it, and the show no other season")
}
