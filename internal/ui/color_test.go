package ui

import (
	"os"
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
		got, err := Color(tt.mode, tt.tty, func(name string) string { return tt.env[name] })
		if got != tt.color || err != nil {
			t.Errorf("%s, tty %v, %v: %v, %v", tt.mode, tt.tty, tt.env, got, err)
		}
	}
	if _, err := Color("sometimes", true, os.Getenv); err == nil || !strings.Contains(err.Error(), "always") {
		t.Errorf("got %v", err)
	}
}
