package core

import "time"

type record struct {
	at      int64 // shared time in milliseconds
	outcome Outcome
}

// window holds the newest answers, from which error ratios are computed.
type window struct {
	records []record
}

// Counts are the numbers of answers in a window by kind. Client errors are not in the window, because they say nothing
// about the upstream.
type Counts struct {
	OK        int // 2xx, 304
	Throttled int // 429
	Server    int // 5xx, 408, answers that the client's own check rejects
	Network   int // no answer
}

// Total returns the number of answers.
func (c Counts) Total() int { return c.OK + c.Throttled + c.Server + c.Network }

// Errors returns the number of answers that are errors.
func (c Counts) Errors() int { return c.Throttled + c.Server + c.Network }

// Ratio returns the share of errors among all answers; 0 if there are no answers.
func (c Counts) Ratio() float64 {
	if c.Total() == 0 {
		return 0
	}
	return float64(c.Errors()) / float64(c.Total())
}

func millis(at Stamp) int64 { return int64(at) / int64(time.Millisecond) }

// add appends an answer and drops old ones. It keeps at least what the defaults keep, so that a process with a short
// window does not drop the evidence of other processes.
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

// count counts the answers that are both younger than Tuning.Window and among the newest Tuning.WindowRecords.
func (w *window) count(now Stamp, t *Tuning) Counts {
	return w.countNewest(now, t, t.WindowRecords)
}

// countNewest counts answers like count, but only the newest ones, at most limit.
func (w *window) countNewest(now Stamp, t *Tuning, limit int) Counts {
	oldest := millis(now) - t.Window.Milliseconds()
	first := max(len(w.records)-min(limit, t.WindowRecords), 0)
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
