//go:build !(linux || darwin || windows || dragonfly || freebsd || openbsd)

package core

import "time"

// sinceBoot is unknown here; the wall clock stands in.
func sinceBoot() (time.Duration, bool) { return 0, false }

func bootID() string { return "" }

func rawMachineID() string { return "" }
