package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func TestCellWidth(t *testing.T) {
	for s, want := range map[string]int{
		"": 0, "abc": 3, "비밀의 숲": 9, norm.NFD.String("비밀의 숲"): 9, "カウボーイ": 10, norm.NFD.String("ガギグ"): 6, "ｶﾞ": 2, "Ａ": 2,
		"e\u0301": 1, "👨‍👩‍👧": 2, "…": 1, "·": 1, "×": 1, "\x1b[31mred\x1b[0m": 3,
	} {
		if got := cellWidth(s); got != want {
			t.Errorf("%q takes %d cells, want %d", s, got, want)
		}
	}
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain 名前.mkv": "plain 名前.mkv", `back\slash "quote"`: `back\slash "quote"`, "": "",
		"a\nb": `"a\nb"`, "\x1b[2J": `"\x1b[2J"`, "a\u202eb": `"a\u202eb"`, "\xff": `"\xff"`, "\u0085": `"\u0085"`, "a\u2028": `"a\u2028"`,
	} {
		if got := Visible(in); got != want {
			t.Errorf("Visible(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestCutting(t *testing.T) {
	for _, c := range []struct {
		s           string
		width       int
		right, left string
	}{
		{"abcdef", 6, "abcdef", "abcdef"},
		{"abcdef", 4, "abc…", "…def"},
		{"abcdef", 0, "abcdef", "abcdef"},
		{"비밀의숲", 5, "비밀…", "…의숲"},
		{"비밀의숲", 4, "비…", "…숲"}, // no half character
		{"/lib/Show", 6, "/lib/…", "…/Show"},
	} {
		if got := cut(c.s, c.width); got != c.right {
			t.Errorf("cut(%q, %d) = %q, want %q", c.s, c.width, got, c.right)
		}
		if got := cutLeft(c.s, c.width); got != c.left {
			t.Errorf("cutLeft(%q, %d) = %q, want %q", c.s, c.width, got, c.left)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		s     string
		width int
		want  []string
	}{
		{"one two three", 0, []string{"one two three"}},
		{"one two three", 7, []string{"one two", "three"}},
		{"abcdefgh ij", 3, []string{"abc", "def", "gh", "ij"}},
		{"비밀의숲 시즌", 4, []string{"비밀", "의숲", "시즌"}},
		{"", 5, []string{""}},
		{"Aःः", 2, []string{"Aः", "ः"}}, // one character of three cells
	} {
		if diff := cmp.Diff(c.want, wrap(c.s, c.width)); diff != "" {
			t.Errorf("wrap(%q, %d): %s", c.s, c.width, diff)
		}
	}
}

func TestWrappingAndCuttingHoldTheirWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, width := rapid.String().Draw(t, "s"), rapid.IntRange(2, 40).Draw(t, "width")
		s = strings.Map(func(r rune) rune { // what gets here has been made visible
			if unsafeRune(r) {
				return -1
			}
			return r
		}, s)
		for _, line := range append(wrap(s, width), cut(s, width), cutLeft(s, width)) {
			if n := cellWidth(line); n > width {
				t.Fatalf("%q takes %d of %d cells", line, n, width)
			}
		}
		if got, want := strings.Join(wrap(s, width), ""), s; strings.Join(strings.Fields(got), "") != strings.Join(strings.Fields(want), "") {
			t.Fatalf("wrapping lost something: %q of %q", got, want)
		}
	})
}

func TestPlace(t *testing.T) {
	for _, c := range []struct {
		r    Record
		want string
	}{
		{Record{Kind: "tv", Season: ptr(1), Episodes: []int{3}}, "S01E03"},
		{Record{Kind: "tv", Season: ptr(0), Episodes: []int{0}}, "S00E00"},
		{Record{Kind: "tv", Season: ptr(21), Episodes: []int{1064, 1065, 1070}}, "S21E1064-E1065,E1070"},
		{Record{Kind: "tv", Season: ptr(1)}, "S01"},
		{Record{Kind: "tv"}, ""},
		{Record{Kind: "movie", Season: ptr(1)}, "movie"},
	} {
		if got := c.r.Place(); got != c.want {
			t.Errorf("%+v is at %q, want %q", c.r, got, c.want)
		}
	}
}

func TestPercentNeverRoundsUp(t *testing.T) {
	for c, want := range map[float64]string{0: "0%", 0.799: "79%", 0.8: "80%", 0.29: "29%", 0.57: "57%", 0.9999: "99%", 1: "100%"} {
		if got := Percent(c); got != want {
			t.Errorf("%v is %s, want %s", c, got, want)
		}
	}
}
