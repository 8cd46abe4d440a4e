package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/title"
)

// works returns the catalogue's works of a kind by id.
func (b *bench) works(kind string) (map[int]listedWork, error) {
	works := map[int]listedWork{}
	return works, readLines(b.catalogue(), func(w listedWork) {
		if w.Kind == kind {
			works[w.ID] = w
		}
	})
}

// undecided returns, by row, why no catalogue tells the place: TMDB lacks the episode, or several specials have its
// number because the lists do not say which of them it is. A row with another accepted place is decided by that.
func (b *bench) undecided(rows []row) (map[int]string, error) {
	works, err := b.works("tv")
	out := map[int]string{}
	for i, r := range rows {
		why := ""
		for _, p := range append([]place{r.place}, r.Accept...) {
			if p.Kind != "tv" || p.Episode == nil {
				why = ""
				break
			}
			if why = works[p.TMDB].undecided(p); why == "" {
				break
			}
		}
		if why != "" {
			out[i] = why
		}
	}
	return out, err
}

func (w listedWork) undecided(p place) string {
	number, _ := p.Season.(float64)
	first, last := bounds(p.Episode)
	for _, s := range w.Seasons {
		if s.Number != int(number) {
			continue
		}
		begin := max(s.First, 1)
		if first < begin || last >= begin+s.Count {
			return "the season has no such episode"
		}
		if s.Number == 0 && len(w.claims(first)) > 1 {
			return "several specials have the number"
		}
		return ""
	}
	return "there is no such season"
}

// nameAlone returns the rows whose season nothing but its name tells: what the name is read as has no season, part or
// year, the longest title of the work in it is one of a later season without a number, and another later season is long
// enough. Where TMDB's seasons have no names, the titles of these two seasons could be exchanged and TMDB would say the
// same, so whoever places such a row guesses.
func (b *bench) nameAlone(rows []row, records []record) (map[int]bool, error) {
	works, err := b.works("tv")
	out := map[int]bool{}
	for i, r := range rows {
		var read struct {
			Parsed struct {
				Seasons    []int
				Part, Year int
			}
		}
		if r.Kind != "tv" || r.Episode == nil {
			continue
		}
		if err := json.Unmarshal(records[i].raw, &read); err != nil {
			return nil, err
		}
		said := read.Parsed
		if len(said.Seasons) == 0 && said.Part == 0 && said.Year == 0 && works[r.TMDB].hasRivalSeason(r) {
			out[i] = true
		}
	}
	return out, err
}

// countedRE matches what numbers a season at the end of a title, as title.Compact writes it.
var countedRE = regexp.MustCompile(`[0-9]|^(?:ii|iii|iv|v|vi|vii|viii|ix|x|zoku)$|第.[季期部章]|[기쿨]$|` +
	`second|third|fourth|fifth|final|last|ichi|shichi|hachi|ni$|san$|shi$|go$|roku`)

func (w listedWork) hasRivalSeason(r row) bool {
	season, _ := r.Season.(float64)
	_, last := bounds(r.Episode)
	first, later := int(season), 0
	for _, s := range w.Seasons {
		if s.Number > 0 && !s.Stale {
			first = min(first, s.Number)
		}
	}
	for _, s := range w.Seasons {
		if s.Number > first && !s.Stale && (s.Count == 0 || s.Count >= last) {
			later++
		}
	}
	name, longest, of := title.Compact(r.Input), "", 0.0
	for _, t := range w.Titles {
		text := title.Compact(t.Text)
		if n, ok := t.Season.(float64); ok && len(text) > len(longest) && strings.Contains(name, text) {
			longest, of = text, n
		}
	}
	rest := longest
	for _, t := range w.Titles {
		after, ok := strings.CutPrefix(longest, title.Compact(t.Text))
		if ok && t.Season == float64(first) && len(after) < len(rest) {
			rest = after
		}
	}
	return int(season) > first && later > 1 && of == season && rest != "" && !countedRE.MatchString(rest)
}

// claims returns the anime of the lists that have an episode of season 0.
func (w listedWork) claims(episode int) (anime []int) {
	for _, s := range w.Seasons {
		for _, c := range s.Cours {
			if s.Number == 0 && episode > c.Offset && episode <= c.Offset+max(c.Count, 1) {
				anime = append(anime, c.Anime)
			}
		}
	}
	return anime
}

// has reports whether an anime of the lists is the work, or a part of it.
func (w listedWork) has(anime int) bool {
	for _, t := range w.Titles {
		if t.Anime == anime {
			return true
		}
	}
	return false
}

// bounds returns the first and the last number of a truth's episodes.
func bounds(episodes any) (first, last int) {
	switch e := episodes.(type) {
	case float64:
		return int(e), int(e)
	case []any:
		if len(e) > 0 {
			first, _ = bounds(e[0])
			last, _ = bounds(e[len(e)-1])
		}
	case map[string]any:
		first, _ = bounds(e["from"])
		last, _ = bounds(e["to"])
	}
	return first, last
}

// specialsOfOne returns the rows whose special exactly one anime of the lists claims: no other anime has its number,
// and what else counts as right for the name is the same anime. The others can't be told apart by anybody.
func (b *bench) specialsOfOne(rows []row) (map[int]bool, error) {
	series, err := b.works("tv")
	films, failed := b.works("movie")
	out := map[int]bool{}
	for i, r := range rows {
		season, known := r.Season.(float64)
		first, _ := bounds(r.Episode)
		anime := series[r.TMDB].claims(first)
		if r.Kind != "tv" || !known || season != 0 || len(anime) != 1 {
			continue
		}
		out[i] = !slices.ContainsFunc(r.Accept, func(p place) bool {
			switch {
			case p.Kind == "movie":
				return !films[p.TMDB].has(anime[0])
			case p.Season == nil:
				return !series[p.TMDB].has(anime[0])
			}
			return p.TMDB != r.TMDB || p.Season != r.Season
		})
	}
	return out, errors.Join(err, failed)
}

// printSpecials prints how specials come out that exactly one anime of the lists claims.
func (b *bench) printSpecials(v *verdict) error {
	claimed, err := b.specialsOfOne(v.rows)
	if len(claimed) == 0 {
		return err
	}
	fmt.Printf("\nspecials that one entry alone claims\n")
	printPartsHead("percent")
	right := func(i int) bool { _, failed := v.failed[i]; return !failed }
	for _, m := range []struct {
		label string
		of    func(i int) (bool, bool)
	}{
		{"placed", func(i int) (bool, bool) { return claimed[i], v.records[i].placed() }},
		{"right", func(i int) (bool, bool) { return claimed[i], right(i) }},
		{"right of placed", func(i int) (bool, bool) { return claimed[i] && v.records[i].placed(), right(i) }},
		{"sure and wrong, of the sure", func(i int) (bool, bool) { return claimed[i] && v.records[i].sure(), v.wrong(i) }},
		{"sure and wrong, of all", func(i int) (bool, bool) { return claimed[i], v.records[i].sure() && v.wrong(i) }},
	} {
		read, unread := v.count(anything, m.of)
		printParts(m.label, read, unread)
	}
	return err
}
