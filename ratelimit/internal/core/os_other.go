//go:build !(linux || darwin || windows || dragonfly || freebsd || openbsd)

package core

import "time"

// sinceBoot is unknown here; the wall clock stands in.
func sinceBoot() (time.Duration, bool) { return 0, false }

// bootID is unknown here.
func bootID() string { return "" }

// systemID is unknown here.
func systemID() string { return "" }
