package catalogfile

import (
	"cmp"
	"strconv"

	"github.com/anivault/anivault/internal/tmdbfake"
)

// nameSpecials names the episodes of season 0 by the title under which their
// series was released, as TMDB does: the English one, else the romanised one, with
// a number where there are several. A series that has only the work's own title
// keeps its placeholders.
func (l *lineWork) nameSpecials(w *tmdbfake.Work) {
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

// titleOf returns the title of a source series: official English, else its romanised main title.
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
