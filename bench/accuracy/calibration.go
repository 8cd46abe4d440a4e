package main

import (
	"encoding/json"
	"fmt"
)

// bins are the lower bounds of the reliability table.
var bins = [...]float64{0, 0.5, 0.8, 0.9, 0.95, 0.99, 0.995}

type bin struct {
	tally
	confidence float64 // the sum
}

// calibration checks confidences: of all names with one, that share should be right. The id's is looked at twice: with the
// whole catalogue, and with every name's truth removed, when nothing can be right.
func (b *bench) calibration() error {
	rows, err := b.allRows()
	if err != nil {
		return err
	}
	s, err := b.stand()
	if err != nil {
		return err
	}
	u, err := s.user("")
	var records []record
	if err == nil {
		records, err = u.match(rows, b.everything...)
	}
	s.stop()
	if err != nil {
		return err
	}
	v, err := b.judge(rows, records)
	if err != nil {
		return err
	}
	fmt.Printf("\n== reliability of the id's confidence: %d names with --min-confidence 0\n", len(rows))
	printBins(binned(v, func(i int) (float64, bool, bool) {
		return v.records[i].Confidence, v.records[i].matched(), v.rows[i].right(v.records[i])
	}))
	fmt.Printf("\n== reliability of the episode's confidence: names of known place whose id is right\n")
	printBins(binned(v, func(i int) (float64, bool, bool) {
		r := v.records[i]
		if r.EpisodeConfidence == nil {
			return 0, false, false
		}
		_, failed := v.failed[i]
		return *r.EpisodeConfidence, r.placed() && v.rows[i].Episode != nil && v.rows[i].right(r), !failed
	}))

	hidden, err := b.withoutTruth(false, b.everything...)
	if err != nil {
		return err
	}
	fmt.Printf("\n== hidden truth: the same names, each while its entry is not in the catalogue\n")
	ids := func(i int) (float64, bool, bool) {
		return hidden.records[i].Confidence, hidden.records[i].matched(), hidden.rows[i].right(hidden.records[i])
	}
	printBins(binned(hidden, ids))
	status := map[string]int{}
	for _, r := range hidden.records {
		switch {
		case r.matched() && r.Confidence < 0.8:
			status["ambiguous"]++ // what the default makes of it
		default:
			status[r.Status]++
		}
	}
	fmt.Printf("with the default --min-confidence: %d matched, %d ambiguous, %d unmatched, %d skipped\n",
		status["matched"], status["ambiguous"], status["unmatched"], status["skipped"])
	return b.noteSure("hidden", hidden)
}

// noteSure notes the names that were matched to another entry with a high confidence.
func (b *bench) noteSure(run string, v *verdict) error {
	failed := map[int][]byte{}
	for i, r := range v.records {
		if r.sure() && !v.rows[i].right(r) {
			what, err := json.Marshal(map[string]any{"input": v.rows[i].Input, "want": v.rows[i].work(), "got": json.RawMessage(r.raw)})
			if err != nil {
				return err
			}
			failed[i] = what
		}
	}
	return b.note(run, v.rows, failed)
}

// binned sorts records by a confidence. look returns it, whether the record counts, and whether it is right.
func binned(v *verdict, look func(i int) (confidence float64, counts, right bool)) [len(bins)]bin {
	var out [len(bins)]bin
	for i := range v.records {
		confidence, counts, right := look(i)
		if !counts {
			continue
		}
		at := 0
		for k, low := range bins {
			if confidence >= low {
				at = k
			}
		}
		out[at].all++
		out[at].confidence += confidence
		if right {
			out[at].right++
		}
	}
	return out
}

func printBins(table [len(bins)]bin) {
	fmt.Printf("%-16s %7s %10s %7s\n", "confidence", "names", "predicted", "right")
	var sure tally
	for k, b := range table {
		label := fmt.Sprintf("from %.3g", bins[k])
		if b.all == 0 {
			fmt.Printf("%-16s %7d %10s %7s\n", label, 0, "-", "-")
			continue
		}
		fmt.Printf("%-16s %7d %10.3f %7.3f\n", label, b.all, b.confidence/float64(b.all), b.share())
		if bins[k] >= sureFrom {
			sure = sure.plus(b.tally)
		}
	}
	fmt.Printf("at %.1f and above: %d names, %d of them wrong\n", sureFrom, sure.all, sure.all-sure.right)
}
