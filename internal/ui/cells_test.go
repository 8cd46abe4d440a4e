package ui

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func TestWidth(t *testing.T) {
	for s, want := range map[string]int{
		"": 0, "abc": 3, "비밀의 숲": 9, norm.NFD.String("비밀의 숲"): 9, "カウボーイ": 10, norm.NFD.String("ガギグ"): 6, "ｶﾞ": 2, "Ａ": 2,
		"e\u0301": 1, "👨‍👩‍👧": 2, "…": 1, "·": 1, "×": 1, "Ω±°": 3, "\x1b[31mred\x1b[0m": 3,
	} {
		t.Run(s, func(t *testing.T) {
			if got := Width(s); got != want {
				t.Errorf("%q takes %d cells, want %d", s, got, want)
			}
		})
	}
}

func TestCuttingAndPadding(t *testing.T) {
	for _, tt := range []struct {
		s                string
		width            int
		right, left, pad string
	}{
		{"abcdef", 6, "abcdef", "abcdef", "abcdef"},
		{"abcdef", 4, "abc…", "…def", "abcdef"},
		{"abcdef", 1, "…", "…", "abcdef"},
		{"abcdef", 0, "abcdef", "abcdef", "abcdef"},
		{"abc", 5, "abc", "abc", "abc  "},
		{"비밀의숲", 5, "비밀…", "…의숲", "비밀의숲"},
		{"비밀의숲", 4, "비…", "…숲", "비밀의숲"}, // no half character
		{"/lib/Show", 6, "/lib/…", "…/Show", "/lib/Show"},
		{"e\u0301", 2, "e\u0301", "e\u0301", "e\u0301 "},
		{"", 2, "", "", "  "},
	} {
		t.Run(tt.right, func(t *testing.T) {
			if got := Cut(tt.s, tt.width); got != tt.right {
				t.Errorf("Cut(%q, %d) is %q, want %q", tt.s, tt.width, got, tt.right)
			}
			if got := CutLeft(tt.s, tt.width); got != tt.left {
				t.Errorf("CutLeft(%q, %d) is %q, want %q", tt.s, tt.width, got, tt.left)
			}
			if got := Pad(tt.s, tt.width); got != tt.pad {
				t.Errorf("Pad(%q, %d) is %q, want %q", tt.s, tt.width, got, tt.pad)
			}
		})
	}
}

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		s     string
		width int
		want  []string
	}{
		{"", 10, []string{""}},
		{"one two three", 0, []string{"one two three"}},
		{"one two three", 7, []string{"one two", "three"}},
		{"one  two\nthree", 20, []string{"one two three"}},
		{"제목 제목 제목", 9, []string{"제목 제목", "제목"}},
		{"abcdefgh ij", 3, []string{"abc", "def", "gh", "ij"}},
		{"비밀의숲 시즌", 4, []string{"비밀", "의숲", "시즌"}},
		{"Aःः", 2, []string{"Aः", "ः"}}, // one character of three cells
		{"a https://example.org/a/b b", 8, []string{"a", "https://example.org/a/b", "b"}},
	} {
		t.Run(tt.s, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Wrap(tt.s, tt.width)); diff != "" {
				t.Errorf("Wrap(%q, %d):\n%s", tt.s, tt.width, diff)
			}
		})
	}
}

func TestHanging(t *testing.T) {
	for _, tt := range []struct {
		in            string
		width, indent int
		want          string
	}{
		{"hint: one two three four five six seven", 0, 6, "hint: one two three four five six seven"},
		{"hint: one two three four five six seven", 30, 6, "hint: one two three four\n      five six seven"},
		{
			"hint: short\n      then: a line of its own that is long", 30, 6,
			"hint: short\n      then: a line of its own\n      that is long",
		},
		{"see https://example.org/a/very/long/address now", 30, 2, "see\n  https://example.org/a/very/long/address\n  now"},
		{"two  blanks", 30, 2, "two  blanks"},
	} {
		t.Run(tt.want, func(t *testing.T) {
			if got := WrapHanging(tt.in, tt.width, tt.indent); got != tt.want {
				t.Errorf("%q:\n%s\nwant:\n%s", tt.in, got, tt.want)
			}
		})
	}
}

func TestTextStaysInItsCells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, width := Escaped(rapid.String().Draw(t, "s")), rapid.IntRange(2, 40).Draw(t, "width")
		for _, line := range append(Wrap(s, width), Cut(s, width), CutLeft(s, width)) {
			if n := Width(line); n > width && !strings.Contains(line, "://") {
				t.Fatalf("%q takes %d of %d cells", line, n, width)
			}
		}
		if got := strings.Join(Wrap(s, width), ""); strings.Join(strings.Fields(got), "") != strings.Join(strings.Fields(s),
			"") {
			t.Fatalf("wrapping lost something: %q of %q", got, s)
		}
		if padded := Pad(s, width); Width(padded) < width || !strings.HasPrefix(padded, s) {
			t.Fatalf("%q padded to %q", s, padded)
		}
	})
}
