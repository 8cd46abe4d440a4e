package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
)

// folds is the number of parts of the works. Of each part's names the truth is hidden, while that of the others is there
// to be mistaken for it.
const folds = 8

// bins are the lower bounds of the reliability table.
var bins = [...]float64{0, 0.5, 0.8, 0.9, 0.95, 0.99, 0.995}

type bin struct {
	tally
	confidence float64 // the sum
}

// calibration checks confidences: of all names with one, that share should be right. The id's is looked at twice: with the
// whole catalogue, and with every name's truth removed, when nothing can be right.
func (b *bench) calibration(rank string) error {
	var rows []row
	for _, list := range matchLists {
		more, err := readRows(filepath.Join(b.eval, list.file))
		if err != nil {
			return err
		}
		rows = append(rows, more...)
	}
	s, err := b.stand(filepath.Join(b.eval, "catalog_dev.jsonl"), rank)
	if err != nil {
		return err
	}
	records, err := s.match(rows, b.everything...)
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

	hidden := &verdict{}
	for fold := range folds {
		part, found, err := b.withoutTruth(rank, rows, fold)
		if err != nil {
			return err
		}
		hidden.rows, hidden.records = append(hidden.rows, part...), append(hidden.records, found...)
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

// withoutTruth matches the names of one fold against a catalogue that lacks the fold's works.
func (b *bench) withoutTruth(rank string, rows []row, fold int) ([]row, []record, error) {
	var part []row
	gone := map[string]bool{}
	for _, r := range rows {
		if foldOf(r.work()) == fold {
			part = append(part, r)
			gone[r.work()] = true
			for _, a := range r.Accept {
				gone[fmt.Sprint(a.Kind, "/", a.TMDB)] = true
			}
		}
	}
	works, err := readRows(filepath.Join(b.eval, "catalog_dev.jsonl"))
	if err != nil {
		return nil, nil, err
	}
	var kept bytes.Buffer
	for _, w := range works {
		if w.Kind = w.Entry; !gone[w.work()] {
			kept.Write(append(w.raw, '\n'))
		}
	}
	path := filepath.Join(b.tmp, fmt.Sprintf("catalogue-%d.jsonl", fold))
	if err := os.WriteFile(path, kept.Bytes(), 0o600); err != nil {
		return nil, nil, err
	}
	s, err := b.stand(path, rank)
	if err != nil {
		return nil, nil, err
	}
	defer s.stop()
	records, err := s.match(part, b.everything...)
	return part, records, err
}

func foldOf(work string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(work))
	return int(h.Sum32() % folds)
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
