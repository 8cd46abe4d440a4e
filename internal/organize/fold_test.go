package organize

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A set finds of each place exactly the names that have one key.
func TestASetFindsTheNamesThatAreOne(t *testing.T) {
	name := rapid.StringMatching(`[aAbkK\x{212a}éÉ가\x{200d}sſ]{0,3}|e\x{301}|ß|SS|\x{1100}\x{1161}`)
	rapid.Check(t, func(t *rapid.T) {
		set := newFoldSet(0)
		names := rapid.SliceOfN(name, 0, 40).Draw(t, "names")
		for i, n := range names {
			if set.add(int32(i%2), n) != i {
				t.Fatal("names are not numbered in order")
			}
		}
		asked := name.Draw(t, "asked")
		for place := range 2 {
			var want []int
			for i, n := range names {
				if i%2 == place && FoldName(n) == FoldName(asked) {
					want = append(want, i)
				}
			}
			slices.Reverse(want)
			if got := slices.Collect(set.alike(int32(place), asked)); !slices.Equal(got, want) {
				t.Fatalf("%q in place %d: %v, not %v", asked, place, got, want)
			}
		}
	})
}
