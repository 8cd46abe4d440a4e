package ui

import "fmt"

// ColorMode is the value of --color.
type ColorMode uint8

// The modes. ColorAuto is the zero value.
const (
	ColorAuto ColorMode = iota
	ColorAlways
	ColorNever
)

// String returns the word that ParseColorMode takes.
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

// Enabled decides for one stream. The command line wins; otherwise colour needs a terminal that is not dumb, and no
// NO_COLOR that is set to something (https://no-color.org). getenv returns "" for a variable that is not set.
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

// ANSI attributes for Style.
const (
	Bold   = "1"
	Dim    = "2"
	Red    = "31"
	Green  = "32"
	Yellow = "33"
	Cyan   = "36"
)

// Style wraps s in an ANSI attribute, or returns it unchanged where colour is off.
func Style(on bool, attribute, s string) string {
	if !on || attribute == "" || s == "" {
		return s
	}
	return "\x1b[" + attribute + "m" + s + "\x1b[0m"
}
