package decide

import (
	"cmp"
	"context"
	"strings"

	"github.com/anivault/anivault/internal/match"
)

// languages are those in which titles are to be shown, such as "ko-KR", best first; the first is that in which TMDB is
// asked.
type languages []string

// first returns the language in which TMDB is asked, "" to leave it to TMDB.
func (l languages) first() string {
	if len(l) == 0 {
		return ""
	}
	return l[0]
}

// named gives an entry the title in the first of the languages that TMDB has, and returns it. TMDB itself knows one
// language, and answers with the original title where it has none in that.
func (l languages) named(e *match.Entry) *match.Entry {
	for i, tag := range l {
		if len(l) == 1 {
			break // TMDB has chosen already
		}
		language, region, _ := strings.Cut(tag, "-")
		if i == 0 && e.Title != e.OriginalTitle {
			break
		}
		if language == e.OriginalLanguage {
			e.Title = e.OriginalTitle
			break
		}
		if text := translationOf(e, language, region); text != "" {
			e.Title = text
			break
		}
	}
	return e
}

// translationOf returns the title of an entry in a language, that of the region before others, "" for none.
func translationOf(e *match.Entry, language, region string) string {
	other := ""
	for _, t := range e.Titles {
		switch {
		case t.Language != language:
		case t.Region == region:
			return t.Text
		default:
			other = cmp.Or(other, t.Text)
		}
	}
	return other
}

// untitled reports whether a row may show the original title for want of one in the first language.
func (l languages) untitled(res *match.Resolution) bool {
	return len(l) > 1 && res.Status == match.Matched && res.Entry == nil && res.ID != 0 && res.Title == res.OriginalTitle
}

// name gives what was found by a row of a search alone the title in the first of the languages that TMDB has, which
// needs the details. Where they can't be had it keeps the title that it has.
func (d *Deciders) name(ctx context.Context, res *match.Resolution) {
	if !d.shown.untitled(res) {
		return
	}
	e, origin, err := d.Entry(ctx, res.Kind, res.ID)
	if err != nil {
		return
	}
	res.Title, res.Origin = e.Title, res.Origin.With(origin)
}
