package ui

import (
	"strings"
	"testing"
)

func TestColor(t *testing.T) {
	tests := []struct {
		mode  string
		tty   bool
		env   map[string]string
		color bool
	}{
		{"auto", true, nil, true},
		{"auto", false, nil, false},
		{"auto", true, map[string]string{"NO_COLOR": "1"}, false},
		{"auto", true, map[string]string{"NO_COLOR": ""}, true},
		{"auto", true, map[string]string{"TERM": "dumb"}, false},
		{"auto", true, map[string]string{"TERM": "xterm"}, true},
		{"always", false, map[string]string{"NO_COLOR": "1", "TERM": "dumb"}, true},
		{"never", true, nil, false},
	}
	for _, tt := range tests {
		mode, err := ParseColorMode(tt.mode)
		if err != nil {
			t.Fatal(err)
		}
		if got := mode.Enabled(tt.tty, func(name string) string { return tt.env[name] }); got != tt.color {
			t.Errorf("%s, tty %v, %v: %v", tt.mode, tt.tty, tt.env, got)
		}
	}
	if _, err := ParseColorMode("sometimes"); err == nil || !strings.Contains(err.Error(), "always") {
		t.Errorf("got %v", err)
	}
	if ColorMode(9).String() != "unknown" {
		t.Error("an unknown mode has a name")
	}
}
