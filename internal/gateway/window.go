package gateway

import "time"

// window counts requests in a sliding span of time by two cells: the present one, and what is left of the one before,
// as if its requests had been spread evenly. Pure.
type window struct {
	limit     int // 0: none
	span      time.Duration
	began     time.Time // of the present cell
	now, last int
}

// allow counts a request if there is room for it, else it returns how long until there is. What is refused does not
// count.
func (w *window) allow(at time.Time) (wait time.Duration, ok bool) {
	if w.limit <= 0 {
		return 0, true
	}
	w.slide(at)
	if w.weight(at) < float64(w.limit) {
		w.now++
		return 0, true
	}
	end := w.began.Add(w.span)
	if w.now >= w.limit {
		// In the next cell this one counts in full at first, and falls below the limit with the first moment.
		over := float64(w.now-w.limit)/float64(w.now)*float64(w.span) + 1
		return end.Sub(at) + time.Duration(over), false
	}
	// Here the cell before has to fade until what is left of it is below the room.
	faded := float64(w.last-(w.limit-w.now))/float64(w.last)*float64(w.span) + 1
	return w.began.Add(time.Duration(faded)).Sub(at), false
}

// undo takes back a request that came to nothing.
func (w *window) undo() { w.now = max(w.now-1, 0) }

// slide begins the cell that a moment lies in.
func (w *window) slide(at time.Time) {
	switch gone := at.Sub(w.began); {
	case gone >= 2*w.span || gone < 0:
		w.began, w.now, w.last = at, 0, 0
	case gone >= w.span:
		w.began, w.now, w.last = w.began.Add(w.span), 0, w.now
	}
}

// weight is how many requests lie within the span before a moment.
func (w *window) weight(at time.Time) float64 {
	left := 1 - float64(at.Sub(w.began))/float64(w.span)
	return float64(w.now) + float64(w.last)*left
}
