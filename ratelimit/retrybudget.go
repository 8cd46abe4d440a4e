package ratelimit

import "time"

// This file decides how many retries all requests together may make: in a
// brown-out, retries on top of first tries are what keeps a service down.

const (
	retryWindow  = 30          // seconds that are looked back on
	retryMinimum = 10          // retries that are always allowed in that time
	retryCell    = time.Second // resolution of the count
)

type tries struct{ first, retry uint32 }

// retryCounts counts first tries and retries of the last 30 seconds by the second.
type retryCounts struct {
	second int64 // of the newest cell
	cells  [retryWindow]tries
}

func (r *retryCounts) cell(second int64) *tries {
	return &r.cells[((second%retryWindow)+retryWindow)%retryWindow]
}

// move makes now's cell the newest and forgets those that have grown too old.
func (r *retryCounts) move(now Stamp) *tries {
	second := int64(now) / int64(retryCell)
	for s := max(r.second+1, second-retryWindow+1); s <= second; s++ {
		*r.cell(s) = tries{}
	}
	r.second = max(r.second, second)
	return r.cell(r.second)
}

// first counts a first try.
func (r *retryCounts) first(now Stamp) { r.move(now).first++ }

// retry counts a retry if one is allowed, else it returns how long until an
// old one is forgotten.
func (r *retryCounts) retry(now Stamp, share float64) (wait time.Duration) {
	cell := r.move(now)
	firsts, retries := r.sums()
	if float64(retries) < max(retryMinimum, share*float64(firsts)) {
		cell.retry++
		return 0
	}
	for s := r.second - retryWindow + 1; s <= r.second; s++ {
		if r.cell(s).retry > 0 {
			return Stamp((s + retryWindow) * int64(retryCell)).sub(now)
		}
	}
	return retryCell
}

func (r *retryCounts) sums() (firsts, retries int) {
	for _, c := range r.cells {
		firsts += int(c.first)
		retries += int(c.retry)
	}
	return firsts, retries
}
