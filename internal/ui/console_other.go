//go:build !windows

package ui

import "os"

// enableControlSequences returns true: terminals support control sequences, unless TERM says otherwise.
func enableControlSequences(*os.File) bool { return true }
