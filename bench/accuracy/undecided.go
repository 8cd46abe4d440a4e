package main

// undecided returns, by row, why no catalogue tells the place: TMDB lacks the episode, or several specials have its
// number because the lists do not say which of them it is. A row with another accepted place is decided by that.
func (b *bench) undecided(rows []row) (map[int]string, error) {
	works := map[int]listedWork{}
	err := readLines(b.catalogue(), func(w listedWork) {
		if w.Kind == "tv" {
			works[w.ID] = w
		}
	})
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
		claims := 0
		for _, c := range s.Cours {
			if s.Number == 0 && first > c.Offset && first <= c.Offset+max(c.Count, 1) {
				claims++
			}
		}
		if claims > 1 {
			return "several specials have the number"
		}
		return ""
	}
	return "there is no such season"
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
