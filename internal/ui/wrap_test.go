package ui

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		in    string
		width int
		want  []string
	}{
		{"", 10, []string{""}},
		{"one two three", 7, []string{"one two", "three"}},
		{"one  two\nthree", 20, []string{"one two three"}},
		{"제목 제목 제목", 9, []string{"제목 제목", "제목"}},
		{"a https://example.org/a/b b", 8, []string{"a", "https://example.org/a/b", "b"}},
	} {
		if diff := cmp.Diff(tt.want, Wrap(tt.in, tt.width)); diff != "" {
			t.Errorf("%q to %d:\n%s", tt.in, tt.width, diff)
		}
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
		{"hint: short\n      then: a line of its own that is long", 30, 6, "hint: short\n      then: a line of its own\n      that is long"},
		{"see https://example.org/a/very/long/address now", 30, 2, "see\n  https://example.org/a/very/long/address\n  now"},
		{"two  blanks", 30, 2, "two  blanks"},
	} {
		if got := Hanging(tt.in, tt.width, tt.indent); got != tt.want {
			t.Errorf("%q:\n%s\nwant:\n%s", tt.in, got, tt.want)
		}
	}
}

func TestWrapKeepsEveryWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "text")
		width := rapid.IntRange(1, 30).Draw(t, "width")
		lines := Wrap(s, width)
		if got, want := strings.Join(strings.Fields(strings.Join(lines, " ")), " "), strings.Join(strings.Fields(s), " "); got != want {
			t.Fatalf("%q became %q", want, got)
		}
		for _, line := range lines {
			if Width(line) > width && len(strings.Fields(line)) > 1 {
				t.Fatalf("%q is wider than %d", line, width)
			}
		}
	})
}
