package match

import "github.com/anivault/anivault/internal/title"

// simPart is the likeness of a reading that is a title of the entry followed by the name of one of its seasons or specials,
// or is such a name by itself.
const simPart = 0.98

// compareParts finds readings that name a season or a special besides the entry: "Title Second Arc".
func compareParts(readings []reading, e *Entry, titles []named, best likeness) likeness {
	if best.sim >= simPart {
		return best
	}
	best = compareDoubles(readings, titles, best)
	var parts []named
	for _, s := range e.Seasons {
		if n := name(s.Name, AltTitle{}); s.Number > 0 && n.norm != "" && !placeholderSeason(n.norm) {
			parts = append(parts, n)
		}
		for _, ep := range s.Episodes {
			if n := name(ep.Name, AltTitle{}); s.Number == 0 && n.norm != "" && !placeholderEpisode(n.norm) {
				parts = append(parts, n)
			}
		}
	}
	if len(parts) == 0 {
		return best
	}
	for _, r := range readings {
		rest := afterPlain(r.norm, titles)
		for _, p := range parts {
			sim := title.Similarity(r.norm, p.norm)
			if own := afterPlain(p.norm, titles); rest != r.norm {
				sim = max(sim, title.Similarity(rest, own), title.Similarity(withoutArcWord(rest), withoutArcWord(own)))
			}
			if sim = sim * simPart * r.weight; sim > best.sim {
				best.sim, best.read, best.title, best.file = sim, r, p, Sequel{}
			}
		}
	}
	return best
}

// compareDoubles finds readings that are two titles of the entry one after the other: "Gin no Michi Silver Rail".
func compareDoubles(readings []reading, titles []named, best likeness) likeness {
	for _, r := range readings {
		rest := afterPlain(r.norm, titles)
		if rest == r.norm {
			continue
		}
		for _, t := range titles {
			if sim := simPart * r.weight; t.norm == rest && sim > best.sim {
				best.sim, best.read, best.title, best.file = sim, r, t, Sequel{}
			}
		}
	}
	return best
}
