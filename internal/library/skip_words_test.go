package library

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The words in front of a rule only save time: whatever its pattern matches holds one of them.
func TestWordsOfARuleLoseNothing(t *testing.T) {
	pieces := []string{
		"sample", "Sample", "trailer", "Trailers", "teaser ", "NC", "nc", "OP", "ED", "op", "ed", "creditless", "clean",
		"textless", "non-credit",
		"opening", "menu", "Menus", "BD", "DVD", "Blu-ray", "behindthescenes", "deleted", "deletedscene", "featurette",
		"interview", "extra", "scene", "short", "other", "clip",
		" ", ".", "_", "-", " - ", "[", "]", "(", ")", "1", "02", "v2", "Show", "s01e02",
	}
	rapid.Check(t, func(t *rapid.T) {
		name := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 7).Draw(t, "pieces"), "")
		for _, r := range fileRules {
			if !r.stem().MatchString(name) {
				continue
			}
			found := false
			for _, w := range r.words {
				found = found || strings.Contains(strings.ToLower(name), w)
			}
			if !found {
				t.Fatalf("%q matches %s without one of its words %q", name, r.reason, r.words)
			}
		}
	})
}
