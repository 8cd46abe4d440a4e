package slicesx

import (
	"slices"
	"strconv"
	"testing"
)

func TestMapKeepsTheOrderAndHasNothingForNothing(t *testing.T) {
	if got := Map([]int{3, 1, 2}, strconv.Itoa); !slices.Equal(got, []string{"3", "1", "2"}) {
		t.Errorf("got %q", got)
	}
	if got := Map([]int{}, strconv.Itoa); got != nil {
		t.Errorf("of nothing: %#v, want nil", got)
	}
}

func TestCount(t *testing.T) {
	if got := Count([]int{3, 1, 2}, func(n int) bool { return n > 1 }); got != 2 {
		t.Errorf("got %d, want 2", got)
	}
}
