//go:build !windows

package ui

import "os"

// sequences reports that a terminal takes control sequences. System looks at TERM.
func sequences(*os.File) bool { return true }
