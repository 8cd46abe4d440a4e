//go:build !(linux || darwin || windows || dragonfly || freebsd || netbsd || openbsd)

package ratelimit

import "time"

// sinceBoot is not to be had here; the wall clock stands in.
func sinceBoot() (time.Duration, bool) { return 0, false }

// bootID is unknown here.
func bootID() string { return "" }
