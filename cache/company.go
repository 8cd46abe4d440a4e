package cache

// Who else is there: how often a process merges, and whether it merges at its
// end, depends on whether others will.

import "time"

const (
	companyQuiet = 10 * time.Second // who has not written for so long does not count
	companyEvery = time.Second      // how often it is looked at, where it may be old
)

// company is how many other live processes have written lately. s.mu is held.
func (s *Store) company() int {
	owners := map[string]bool{}
	for _, j := range s.peers {
		owner := j.name.owner
		if !owners[owner] && time.Since(j.grown) < companyQuiet && s.alive(owner) {
			owners[owner] = true
		}
	}
	return len(owners)
}

// recentCompany is company as of the last second. s.mu is held.
func (s *Store) recentCompany(now time.Time) int {
	if now.Sub(s.counted) >= companyEvery {
		s.counted, s.others = now, s.company()
	}
	return s.others
}
