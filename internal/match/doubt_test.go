package match

import (
	"strings"
	"testing"
)

// Two contenders are called equal only where both may be right: of two that are most unlikely none is near.
func TestDoubtNamesWhatItIs(t *testing.T) {
	contenderOf := func(title string, score, sim float64) scored {
		c := scored{score: score}
		c.hit.Title, c.like.title.text, c.like.sim = title, title, sim
		return c
	}
	for _, row := range []struct {
		name     string
		contends []scored
		want     string
	}{
		{"two that are right by title", []scored{contenderOf("Home", 1.05, 1), contenderOf("Home 2", 1.05, 1)}, "fit about equally"},
		{"two that are not", []scored{contenderOf("Road to Ninja", 0.5, 0.5), contenderOf("The Lost Tower", 0.5, 0.5)}, `"Road to Ninja", which is not near enough`},
		{"one far ahead of another", []scored{contenderOf("Home", 1.05, 1), contenderOf("Home 2", 0.8, 0.9)}, "not near enough"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := doubt(choose(row.contends)); !strings.Contains(got, row.want) {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}
