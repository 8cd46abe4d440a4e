package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// truth is a name and the entry that it means.
type truth struct {
	Source string `json:"source"`
	Input  string `json:"input"`
	Kind   string `json:"tmdb_kind"`
	ID     int    `json:"tmdb_id"`
	Accept []struct {
		Kind string `json:"tmdb_kind"`
		ID   int    `json:"tmdb_id"`
	} `json:"accept"`

	raw string
}

// work returns the entry as "tv/1".
func (t truth) work() string { return fmt.Sprint(t.Kind, "/", t.ID) }

// right reports whether a record has the truth's entry, or another that counts as right.
func (t truth) right(r record) bool {
	if r.Kind == t.Kind && r.ID == t.ID {
		return true
	}
	for _, a := range t.Accept {
		if r.Kind == a.Kind && r.ID == a.ID {
			return true
		}
	}
	return false
}

func readTruth(path string) ([]truth, error) {
	var rows []truth
	err := eachLine(path, func(line []byte) error {
		t := truth{raw: string(line)}
		if err := json.Unmarshal(line, &t); err != nil {
			return err
		}
		rows = append(rows, t)
		return nil
	})
	return rows, err
}

// eachLine calls do with each line of a file.
func eachLine(path string, do func(line []byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for n := 1; lines.Scan(); n++ {
		if err := do(lines.Bytes()); err != nil {
			return fmt.Errorf("%s:%d: %w", path, n, err)
		}
	}
	return lines.Err()
}
