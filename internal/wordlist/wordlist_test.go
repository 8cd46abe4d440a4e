package wordlist

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTextIsReadAsSections(t *testing.T) {
	list := Parse("# words\n\n[audio Dolby Digital | weak common]\nac3 ddp\n  dolby_digital\n[ordinal 2]\nsecond " +
		"zweite\n[ordinal 3]\nthird\n")
	want := List{
		{
			Kind: "audio", Value: "Dolby Digital", Flags: []string{"weak", "common"},
			Words: []string{"ac3", "ddp", "dolby digital"},
		},
		{Kind: "ordinal", Value: "2", Flags: []string{}, Words: []string{"second", "zweite"}},
		{Kind: "ordinal", Value: "3", Flags: []string{}, Words: []string{"third"}},
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("sections (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"second": 2, "zweite": 2, "third": 3}, list.Numbers("ordinal")); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]bool{"ac3": true, "ddp": true, "dolby digital": true}, list.Set("audio")); diff != "" {
		t.Errorf("set (-want +got):\n%s", diff)
	}
	if !list[0].HasFlag("weak") || list[1].HasFlag("weak") {
		t.Error("how words are meant is wrong")
	}
}

func TestAMissingKindPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Parse("[a]\nb").Words("c")
}
