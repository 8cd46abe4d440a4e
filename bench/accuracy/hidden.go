package main

import (
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
	names, right int
	confidence   float64
}

// calibration checks confidences: of all names with one, that share should be right. It runs twice: with the whole
// catalogue, and with every name's truth removed, when nothing can be right.
func (b *bench) calibration(rank string) error {
	var rows []truth
	for _, file := range files {
		more, err := readTruth(filepath.Join(b.eval, file))
		if err != nil {
			return err
		}
		rows = append(rows, more...)
	}
	s, err := b.stand(filepath.Join(b.eval, "catalog_dev.jsonl"), rank)
	if err != nil {
		return err
	}
	records, err := s.match(rows, "--min-confidence", "0")
	s.stop()
	if err != nil {
		return err
	}
	fmt.Printf("\n== reliability: %d names with --min-confidence 0\n%-16s %7s %10s %7s\n", len(rows), "confidence", "names", "predicted", "right")
	printBins(tally(rows, records))

	var hidden []truth
	var found []record
	for fold := range folds {
		part, records, err := b.withoutTruth(rank, rows, fold)
		if err != nil {
			return err
		}
		hidden, found = append(hidden, part...), append(found, records...)
	}
	fmt.Printf("\n== hidden truth: the same names, each while its entry is not in the catalogue\n%-16s %7s %10s %7s\n", "confidence", "names", "predicted", "right")
	printBins(tally(hidden, found))
	if err := b.note("known", rows, records); err != nil {
		return err
	}
	if err := b.note("hidden", hidden, found); err != nil {
		return err
	}
	status := map[string]int{}
	for _, r := range found {
		switch {
		case r.Status == "matched" && r.Confidence < 0.8:
			status["ambiguous"]++ // what the default makes of it
		default:
			status[r.Status]++
		}
	}
	fmt.Printf("with the default --min-confidence: %d matched, %d ambiguous, %d unmatched, %d skipped\n",
		status["matched"], status["ambiguous"], status["unmatched"], status["skipped"])
	return nil
}

// withoutTruth matches the names of one fold against a catalogue that lacks the fold's works.
func (b *bench) withoutTruth(rank string, rows []truth, fold int) ([]truth, []record, error) {
	var part []truth
	gone := map[string]bool{}
	for _, r := range rows {
		if foldOf(r.work()) == fold {
			part = append(part, r)
			gone[r.work()] = true
			for _, a := range r.Accept {
				gone[fmt.Sprint(a.Kind, "/", a.ID)] = true
			}
		}
	}
	path := filepath.Join(b.tmp, fmt.Sprintf("catalogue-%d.jsonl", fold))
	f, err := os.Create(path)
	if err != nil {
		return nil, nil, err
	}
	err = eachLine(filepath.Join(b.eval, "catalog_dev.jsonl"), func(line []byte) error {
		var w struct {
			Kind string `json:"kind"`
			ID   int    `json:"tmdb_id"`
		}
		if err := json.Unmarshal(line, &w); err != nil || gone[fmt.Sprint(w.Kind, "/", w.ID)] {
			return err
		}
		_, err := fmt.Fprintf(f, "%s\n", line)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if err := f.Close(); err != nil {
		return nil, nil, err
	}
	s, err := b.stand(path, rank)
	if err != nil {
		return nil, nil, err
	}
	defer s.stop()
	records, err := s.match(part, "--min-confidence", "0")
	return part, records, err
}

// note appends the names that were matched wrongly with confidence 0.9 or more to the file that was asked for.
func (b *bench) note(run string, rows []truth, records []record) error {
	if b.errors == "" {
		return nil
	}
	f, err := os.OpenFile(b.errors, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	out := json.NewEncoder(f)
	for i, r := range records {
		if r.Status == "matched" && r.Confidence >= 0.9 && !rows[i].right(r) {
			if err := out.Encode(map[string]any{"run": run, "input": rows[i].Input, "want": rows[i].work(), "got": fmt.Sprint(r.Kind, "/", r.ID), "title": r.Title, "confidence": r.Confidence, "reason": r.Reason}); err != nil {
				return err
			}
		}
	}
	return f.Close()
}

func foldOf(work string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(work))
	return int(h.Sum32() % folds)
}

func tally(rows []truth, records []record) [len(bins)]bin {
	var out [len(bins)]bin
	for i, r := range records {
		if r.Status != "matched" {
			continue
		}
		at := 0
		for k, low := range bins {
			if r.Confidence >= low {
				at = k
			}
		}
		out[at].names++
		out[at].confidence += r.Confidence
		if rows[i].right(r) {
			out[at].right++
		}
	}
	return out
}

func printBins(table [len(bins)]bin) {
	sure := bin{}
	for k, b := range table {
		label := fmt.Sprintf("from %.3g", bins[k])
		if b.names == 0 {
			fmt.Printf("%-16s %7d %10s %7s\n", label, 0, "-", "-")
			continue
		}
		n := float64(b.names)
		fmt.Printf("%-16s %7d %10.3f %7.3f\n", label, b.names, b.confidence/n, float64(b.right)/n)
		if bins[k] >= 0.9 {
			sure.names, sure.right = sure.names+b.names, sure.right+b.right
		}
	}
	fmt.Printf("at 0.9 and above: %d names, %d of them wrong\n", sure.names, sure.names-sure.right)
}
