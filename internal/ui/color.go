package ui

import "fmt"

// Color decides whether one stream gets colour. mode is the value of --color, which wins: always or never. With auto
// colour needs a terminal that is not dumb, and no NO_COLOR that is set to something (https://no-color.org). getenv
// returns "" for a variable that is not set.
func Color(mode string, tty bool, getenv func(string) string) (bool, error) {
	switch mode {
	case "always":
		return true, nil
	case "never":
		return false, nil
	case "auto":
		return tty && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb", nil
	}
	return false, fmt.Errorf("%q is not a colour mode: auto, always or never", mode)
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
