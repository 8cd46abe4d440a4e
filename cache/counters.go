package cache

import "sync/atomic"

// counters count what this Store has done since it was opened.
type counters struct {
	fresh, revalidated, stale, network atomic.Uint64 // answers by source
	refused                            atomic.Uint64 // answers that were not fit to be stored
	waits                              atomic.Uint64 // waits for another process's answer
	written, merges, damaged           atomic.Uint64
}
