//go:build race

package release

// raceEnabled: the race detector allocates too.
const raceEnabled = true
