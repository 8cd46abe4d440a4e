package main

import (
	"bufio"
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

	Kind    string `json:"tmdb_kind"`
	TMDB    int    `json:"tmdb_id"`
	Episode any    `json:"episode"`
	Accept  []struct {
		Kind string `json:"tmdb_kind"`
		TMDB int    `json:"tmdb_id"`
	} `json:"accept"`

	Entry string `json:"kind"` // of a row of the catalogue

	raw []byte
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

func readRows(path string) ([]row, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var rows []row
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		r := row{raw: append([]byte(nil), lines.Bytes()...)}
		if err := json.Unmarshal(r.raw, &r); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, len(rows)+1, err)
		}
		rows = append(rows, r)
	}
	return rows, lines.Err()
}
