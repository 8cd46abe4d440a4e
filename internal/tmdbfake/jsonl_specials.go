// This file decides what the specials of a catalogue file are called: on TMDB an episode of season 0 carries the
// title under which it was released, where a regular one without a translation carries a placeholder.

package tmdbfake

import (
	"cmp"
	"strconv"
)

// nameSpecials gives the episodes of season 0 the titles of the series they come from: the English one, else the
// romanised one, with a number where there are several. A series that is known by nothing but the work's own title
// keeps its placeholders.
func (w *Work) nameSpecials(l *lineWork) {
	for i := range w.Seasons {
		s := &w.Seasons[i]
		if s.Number != 0 {
			continue
		}
		base := map[string]bool{coll(w.Name): true, coll(w.Original): true}
		for _, cours := range l.Seasons {
			if cours.Number != 0 {
				continue
			}
			for _, c := range cours.Cours {
				title := l.titleOf(c.Source)
				if title == "" || base[coll(title)] {
					continue
				}
				for n := 1; n <= max(1, c.Episodes); n++ {
					name := title
					if c.Episodes > 1 {
						name += " " + strconv.Itoa(n)
					}
					if s.Titles == nil {
						s.Titles = map[int]string{}
					}
					s.Titles[c.Offset+n] = cmp.Or(s.Titles[c.Offset+n], name)
				}
			}
		}
	}
}

// titleOf gives the title of a source series: official English, else its romanised main title.
func (l *lineWork) titleOf(source int) string {
	if source == 0 {
		return ""
	}
	english, main := "", ""
	for _, t := range l.Titles {
		if t.Source != source {
			continue
		}
		switch language, _, _ := tag(t.Lang); {
		case language == "en" && weight(t.Type) == 0:
			english = cmp.Or(english, t.Title)
		case t.Type == "main":
			main = cmp.Or(main, t.Title)
		}
	}
	return cmp.Or(english, main)
}
