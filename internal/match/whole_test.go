package match

import "testing"

// What a piece of a name says is not what the name says.
func TestWholeNames(t *testing.T) {
	lantern := &Entry{Kind: TV, ID: 1, Title: "Lantern Keepers", OriginalTitle: "灯守の町", Titles: []AltTitle{{Text: "Toumori no Machi"}, {Text: "Lantern Keepers 2nd Season"}}}
	for _, c := range []struct {
		what, name string
		also       []string
		want       bool
	}{
		{"the title", "Lantern Keepers", nil, true},
		{"in another script", "灯守の町", nil, true},
		{"with a sequel's number", "Lantern Keepers II", nil, true},
		{"spelt otherwise", "Tōmori no Machi", nil, true},
		{"with a remark", "Lantern Keepers (Uncut)", nil, true},
		{"two of its titles", "Toumori no Machi Lantern Keepers", []string{"Lantern Keepers"}, true},
		{"two readings, one of them known", "Strange Spelling", []string{"灯守の町"}, true},
		{"a piece of the name", "Lantern Keepers Gaiden", []string{"Lantern Keepers"}, false},
		{"a piece in another script", "Lantern Keepers -灯守の町- 疾風", []string{"灯守の町- 疾風", "Lantern Keepers"}, false},
		{"something else", "Night Bureau", nil, false},
	} {
		r := rel(c.name)
		for _, a := range c.also {
			also(a)(&r)
		}
		if got := Whole(Group([]File{{Release: r}})[0], lantern); got != c.want {
			t.Errorf("%s: %q is %v", c.what, c.name, got)
		}
	}
}
