package release

import (
	"testing"

	"github.com/anivault/anivault/internal/wordlist"
)

func TestEveryWordHasOneMeaning(t *testing.T) {
	seen := map[string]string{}
	for _, s := range wordlist.Parse(wordsText) {
		if tagNames[s.Kind] == none && roleNames[s.Kind] == noRole || s.Is("within") || s.Is("alone") {
			continue
		}
		for _, w := range s.Words {
			if first := seen[w]; first != "" {
				t.Errorf("%q stands in [%s] and in [%s %s]", w, first, s.Kind, s.Value)
			}
			if w != lower(w) || len(w) > maxWord {
				t.Errorf("%q is never looked up: it is not in small letters, or longer than %d bytes", w, maxWord)
			}
			seen[w] = s.Kind + " " + s.Value
		}
	}
}

func TestEveryKindOfWordIsKnown(t *testing.T) {
	lists() // a kind that is missing panics
	folderLists()
}
