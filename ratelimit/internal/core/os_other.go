//go:build !(linux || darwin || windows)

package core

import "time"

// sinceBoot returns false: the time since boot is unknown on other systems.
func sinceBoot() (time.Duration, bool) { return 0, false }

func bootID() string { return "" }

func rawMachineID() string { return "" }
