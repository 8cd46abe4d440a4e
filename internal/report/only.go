package report

import (
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/lang"
)

// NoEpisode is the word for matched files of which the episode is not known.
const NoEpisode = "no-episode"

// Only is a choice of records by the words of OnlyWords; the empty one is all of them.
type Only []string

// OnlyWords are the words of a choice: the statuses, and no-episode for matched files without their episode.
func OnlyWords() []string {
	var words []string
	for _, s := range statuses {
		words = append(words, string(s.Status))
	}
	return append(words, NoEpisode)
}

// ParseOnly reads words with commas between them.
func ParseOnly(text string) (Only, error) {
	var o Only
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		if !slices.Contains(OnlyWords(), word) {
			return nil, lang.Error("%q is not a status", word)
		}
		o = append(o, word)
	}
	return o, nil
}

// Has reports whether the record is chosen.
func (o Only) Has(r *Record) bool {
	return len(o) == 0 || o.names(string(r.Status)) || o.names(NoEpisode) && r.LacksEpisode()
}

// tells reports whether the summary tells of the files of a status one by one, those matched without an episode among them. What
// running again mends is always told.
func (o Only) tells(s Status) bool {
	return len(o) == 0 || o.names(string(s)) || s == Matched && o.names(NoEpisode) || s == Pending || s == Failed
}

func (o Only) names(word string) bool { return slices.Contains(o, word) }
