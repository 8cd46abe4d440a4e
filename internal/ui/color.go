package ui

// Whether output gets colour.

import "fmt"

// ColorMode is what --color says.
type ColorMode uint8

// The modes. ColorAuto is the zero value.
const (
	ColorAuto ColorMode = iota
	ColorAlways
	ColorNever
)

// String gives the word that ParseColorMode takes.
func (m ColorMode) String() string {
	switch m {
	case ColorAuto:
		return "auto"
	case ColorAlways:
		return "always"
	case ColorNever:
		return "never"
	}
	return "unknown"
}

// ParseColorMode reads auto, always or never.
func ParseColorMode(s string) (ColorMode, error) {
	for _, m := range []ColorMode{ColorAuto, ColorAlways, ColorNever} {
		if s == m.String() {
			return m, nil
		}
	}
	return ColorAuto, fmt.Errorf("%q is not a colour mode: auto, always or never", s)
}

// Enabled decides for one stream. A person's word on the command line wins;
// otherwise colour needs a terminal that is not dumb, and no NO_COLOR that is
// set to something (https://no-color.org). getenv gives "" for what is unset.
func (m ColorMode) Enabled(tty bool, getenv func(string) string) bool {
	switch m {
	case ColorAlways:
		return true
	case ColorNever:
		return false
	case ColorAuto:
	}
	return tty && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
}
