package index

import (
	"encoding/json"
	"io"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/match"
)

// exportLine is a line of TMDB's daily exports of ids: series have original_name, films original_title.
type exportLine struct {
	ID            int     `json:"id"`
	OriginalName  *string `json:"original_name"`
	OriginalTitle *string `json:"original_title"`
	Popularity    float64 `json:"popularity"`
	Video         bool    `json:"video"`
}

// kind returns the kind and the title of a line.
func (l exportLine) kind() (match.Kind, string, bool) {
	switch {
	case l.OriginalName != nil:
		return match.TV, *l.OriginalName, true
	case l.OriginalTitle != nil:
		return match.Movie, *l.OriginalTitle, true
	}
	return "", "", false
}

// readExport yields every row of an export of the given kind.
func readExport(r io.Reader, want match.Kind, yield func(exportRow) error) error {
	return eachLine(r, func(text string) error {
		var l exportLine
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			return lang.Error("it is not JSON as TMDB writes it: %w", err)
		}
		kind, text, ok := l.kind()
		switch {
		case !ok || kind != want:
			return lang.Error("it is not a row of an export of %s", nouns[want])
		case l.ID <= 0 || l.ID > maxID:
			return lang.Error("it has no id")
		}
		return yield(exportRow{kind: kind, id: l.ID, title: text, popularity: l.Popularity})
	})
}

var nouns = map[match.Kind]string{match.TV: "series", match.Movie: "films"}
