package ratelimit

// Candidate is an account that may take a request, as [Choose] sees it.
type Candidate struct {
	Usable         bool // enabled, not out, not blocked, within its quota, with a free slot
	Ready          bool // its own rate allows a request now
	Priority       int  // smaller first
	Running, Limit int  // requests under way, and how many there may be: at least 1
	Last           Stamp
}

// Choose returns which account takes a request, -1 where none can: of the usable ones those with the smallest priority
// number; among them one that is ready before one that is not; then the one with the smallest share of its limit in
// use; then the one whose last request left longest ago. So a group that is full spills over at once, and only then: one
// whose rate allows nothing for the moment is waited for. Where the chosen one isn't ready, none of its group is.
func Choose(list []Candidate) int {
	best := -1
	for i := range list {
		if list[i].Usable && (best < 0 || list[i].before(&list[best])) {
			best = i
		}
	}
	return best
}

func (c *Candidate) before(o *Candidate) bool {
	mine, theirs := c.Running*max(o.Limit, 1), o.Running*max(c.Limit, 1)
	switch {
	case c.Priority != o.Priority:
		return c.Priority < o.Priority
	case c.Ready != o.Ready:
		return c.Ready
	case mine != theirs:
		return mine < theirs
	}
	return c.Last < o.Last
}

// Why says why a request went through its account.
type Why uint8

// The reasons of a choice.
const (
	ByPriority Why = iota // the first group that counts
	BySpill               // those before it could take none
	BySticky              // its session's
	ByTest                // an operator tests the key
)

var whyNames = [...]string{ByPriority: "priority", BySpill: "spill", BySticky: "sticky", ByTest: "test"}

// String returns the word of logs and metrics.
func (w Why) String() string { return nameOf(w, whyNames[:], "Why") }

// spilled reports whether an enabled account that is in, with a smaller number, was passed by.
func spilled(list []Candidate, chosen int, in []bool) Why {
	for i := range list {
		if in[i] && list[i].Priority < list[chosen].Priority {
			return BySpill
		}
	}
	return ByPriority
}
