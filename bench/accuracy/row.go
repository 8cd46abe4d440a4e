package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
)

// row is a name with its truth: what can be read from it, or the entry that it means.
type row struct {
	ID     string   `json:"id"`
	Source string   `json:"source"`
	Class  string   `json:"class"`
	Style  string   `json:"style"`
	Trust  string   `json:"trust"`
	Flags  []string `json:"flags"`
	Input  string   `json:"input"`

	place
	Accept []place `json:"accept"`

	raw []byte
}

// place is an entry, and where the file is in it.
type place struct {
	Kind    string `json:"tmdb_kind"`
	TMDB    int    `json:"tmdb_id"`
	Season  any    `json:"season"`
	Episode any    `json:"episode"` // a number, a list of them, or an object with the first and the last
}

// unread reports whether the row belongs to the third that nobody reads: no rule is written for it, and a failure of
// it is printed nowhere, so its figures tell what unseen names would do.
func (r row) unread() bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(r.ID)) // a hash takes all
	return h.Sum32()%3 == 0
}

// work returns the entry as "tv/1".
func (r row) work() string { return fmt.Sprint(r.Kind, "/", r.TMDB) }

// right reports whether a record has the row's entry, or another that counts as right.
func (r row) right(got record) bool {
	if got.Kind == r.Kind && got.ID == r.TMDB {
		return true
	}
	for _, a := range r.Accept {
		if got.Kind == a.Kind && got.ID == a.TMDB {
			return true
		}
	}
	return false
}

// UnmarshalJSON keeps the text of a row as well.
func (r *row) UnmarshalJSON(text []byte) error {
	type plain row
	if err := json.Unmarshal(text, (*plain)(r)); err != nil {
		return err
	}
	r.raw = bytes.Clone(text)
	return nil
}

func readRows(path string) ([]row, error) {
	var rows []row
	return rows, readLines(path, func(r row) { rows = append(rows, r) })
}

// readLines decodes each line of a file.
func readLines[T any](path string, do func(T)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for n := 1; lines.Scan(); n++ {
		var value T
		if err := json.Unmarshal(lines.Bytes(), &value); err != nil {
			return fmt.Errorf("%s:%d: %w", path, n, err)
		}
		do(value)
	}
	return lines.Err()
}
