//go:build !windows

package ui

import "os"

// sequences holds for every terminal that is not called dumb.
func sequences(*os.File) bool { return true }
