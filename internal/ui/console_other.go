//go:build !windows

package ui

import "os"

// sequences reports whether the terminal takes control sequences: all do, except those whose TERM is dumb.
func sequences(*os.File) bool { return true }
