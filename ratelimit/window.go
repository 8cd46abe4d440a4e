package ratelimit

import "time"

// record is one answer. It has milliseconds only, which keeps a full window small.
type record struct {
	at      int64 // shared time in ms
	outcome Outcome
}

// window holds the newest answers, oldest first.
type window struct {
	records []record
}

// Counts are the answers in a window by kind. Client errors are not among
// them: they say nothing about the upstream.
type Counts struct {
	OK        int // 2xx, 304
	Throttled int // 429
	Server    int // 5xx, 408, answers that the client's own check refuses
	Network   int // no answer
}

// Total returns the number of answers.
func (c Counts) Total() int { return c.OK + c.Throttled + c.Server + c.Network }

// Errors returns the number of answers that are errors.
func (c Counts) Errors() int { return c.Throttled + c.Server + c.Network }

// Ratio returns errors over total, 0 when there is no answer.
func (c Counts) Ratio() float64 {
	if c.Total() == 0 {
		return 0
	}
	return float64(c.Errors()) / float64(c.Total())
}

func millis(at Stamp) int64 { return int64(at) / int64(time.Millisecond) }

// add appends an answer and forgets those that neither the tuning nor the
// defaults still look at. The defaults keep their share so that a process with
// a short memory does not take the others' evidence away.
func (w *window) add(now Stamp, o Outcome, t *Tuning) {
	d := &defaults
	age, size := max(t.Window, d.Window), max(t.WindowRecords, d.WindowRecords)
	oldest := millis(now) - age.Milliseconds()
	drop := max(len(w.records)+1-size, 0)
	for drop < len(w.records) && w.records[drop].at <= oldest {
		drop++
	}
	w.records = append(w.records[drop:], record{millis(now), o})
}

// counts counts the answers that are both younger than Tuning.Window and among
// the newest Tuning.WindowRecords.
func (w *window) counts(now Stamp, t *Tuning) Counts {
	return w.newest(now, t, t.WindowRecords)
}

// newest counts the same, of the newest most at most.
func (w *window) newest(now Stamp, t *Tuning, most int) Counts {
	oldest := millis(now) - t.Window.Milliseconds()
	first := max(len(w.records)-min(most, t.WindowRecords), 0)
	good, bad := 0, [len(outcomeNames)]int{}
	for i := len(w.records) - 1; i >= first && w.records[i].at > oldest; i-- {
		if o := w.records[i].outcome; o == OK {
			good++
		} else {
			bad[o]++
		}
	}
	return Counts{OK: good, Throttled: bad[Throttled], Server: bad[Server], Network: bad[Network]}
}

// good returns how many answers a second were good since from, and the time that it was measured over: a gap of
// minPause and more is a pause, in which nothing was allowed.
func (w *window) good(from Stamp) (rate float64, over time.Duration) {
	n, busy := 0, int64(0)
	for i := len(w.records) - 1; i > 0 && w.records[i].at >= millis(from); i-- {
		if w.records[i].outcome == OK {
			n++
		}
		if gap := w.records[i].at - w.records[i-1].at; gap < minPause.Milliseconds() {
			busy += gap
		}
	}
	over = time.Duration(busy) * time.Millisecond
	return float64(n) / max(over, time.Millisecond).Seconds(), over
}

func (w *window) clear() { w.records = w.records[:0] }
