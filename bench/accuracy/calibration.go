package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// idBins and placeBins are the lower bounds of the reliability tables.
var (
	idBins    = []float64{0, 0.5, 0.8, 0.9, 0.95, 0.99, 0.995}
	placeBins = []float64{0, 0.3, 0.7, 0.9, 0.95, 0.98}
)

// placeModels are the models in which confidences of season and episode are looked at: with and without names of
// seasons.
var placeModels = []string{"kind", "plain"}

type bin struct {
	tally
	confidence float64 // the sum
}

// calibration checks confidences: of all names with one, that share should be right. The id's is looked at twice: with
// the whole catalogue, and with every name's truth removed, when nothing can be right.
func (b *bench) calibration() error {
	v, err := b.inModel("kind")
	if err != nil {
		return err
	}
	fmt.Printf("\n== reliability of the id's confidence: %d names with --min-confidence 0\n", len(v.rows))
	printBins(idBins, binned(v, idBins, func(i int) (float64, bool, bool) {
		return v.records[i].Confidence, v.records[i].matched(), v.rows[i].right(v.records[i])
	}))
	for _, name := range placeModels {
		if v, err = b.inModel(name); err != nil {
			return err
		}
		printPlaces(name, v)
	}

	hidden, err := b.withoutTruth(false, b.everything...)
	if err != nil {
		return err
	}
	fmt.Printf("\n== hidden truth: the same names, each while its entry is not in the catalogue\n")
	ids := func(i int) (float64, bool, bool) {
		return hidden.records[i].Confidence, hidden.records[i].matched(), hidden.rows[i].right(hidden.records[i])
	}
	printBins(idBins, binned(hidden, idBins, ids))
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

// inModel matches both lists in a model of TMDB, with nothing held back.
func (b *bench) inModel(name string) (*verdict, error) {
	rows, err := b.allRows()
	if err != nil {
		return nil, err
	}
	m, _ := modelNamed(name)
	s, err := b.stand(strings.Fields(m.args)...)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	u, err := s.user("")
	if err != nil {
		return nil, err
	}
	records, err := u.match(rows, b.everything...)
	if err != nil {
		return nil, err
	}
	return b.judge(rows, records)
}

// printPlaces prints how often places are right by their confidence, apart for the rows that are read and those that
// are not: its factors were chosen by the former.
func printPlaces(model string, v *verdict) {
	for _, unread := range []bool{false, true} {
		none := 0
		of := binned(v, placeBins, func(i int) (float64, bool, bool) {
			r := v.records[i]
			known := v.rows[i].unread() == unread && r.matched() && v.rows[i].Episode != nil && v.rows[i].right(r)
			if known && !r.placed() {
				none++
			}
			if !known || !r.placed() || r.EpisodeConfidence == nil {
				return 0, false, false
			}
			_, failed := v.failed[i]
			return *r.EpisodeConfidence, true, !failed
		})
		part := map[bool]string{false: "read", true: "unread"}[unread]
		fmt.Printf("\n== reliability of the episode's confidence, model %s: %s names of known place whose id is right\n",
			model, part)
		fmt.Printf("%-16s %7d\n", "no place", none)
		printBins(placeBins, of)
	}
}

// noteSure notes the names that were matched to another entry with a high confidence.
func (b *bench) noteSure(run string, v *verdict) error {
	failed := map[int][]byte{}
	for i, r := range v.records {
		if r.sure() && !v.rows[i].right(r) {
			what, err := json.Marshal(map[string]any{
				"input": v.rows[i].Input, "want": v.rows[i].work(),
				"got": json.RawMessage(r.raw),
			})
			if err != nil {
				return err
			}
			failed[i] = what
		}
	}
	return b.note(run, v.rows, failed)
}

// binned sorts records by a confidence. look returns it, whether the record counts, and whether it is right.
func binned(v *verdict, bins []float64, look func(i int) (confidence float64, counts, right bool)) []bin {
	out := make([]bin, len(bins))
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

func printBins(bins []float64, table []bin) {
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
