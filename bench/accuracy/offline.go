package main

import "fmt"

// maxShown bounds the rows that are shown where two runs disagree.
const maxShown = 10

// offline checks that a match does not depend on whether an answer comes from the network or the cache.
func (b *bench) offline() error {
	rows, err := b.allRows()
	if err != nil {
		return err
	}
	s, err := b.stand()
	if err != nil {
		return err
	}
	defer s.stop()
	u, err := s.user("")
	if err != nil {
		return err
	}
	fmt.Printf("\n== names that come out differently than online\n")
	var first []record
	for _, run := range []struct {
		label string
		args  []string
	}{{"online", nil}, {"offline", []string{"--offline"}}, {"online again", nil}} {
		records, err := u.match(rows, run.args...)
		if err != nil {
			return err
		}
		requests, err := s.journal()
		if err != nil {
			return err
		}
		if first == nil {
			first = records
		}
		differ := 0
		for i := range records {
			if first[i].outcome() != records[i].outcome() {
				if differ++; differ <= maxShown && !rows[i].unread() {
					fmt.Printf("   %s\n      %s\n      %s\n", rows[i].Input, first[i].outcome(), records[i].outcome())
				}
			}
		}
		fmt.Printf("%-14s %d of %d names differ, %d requests so far\n", run.label, differ, len(rows), len(requests))
	}
	return nil
}
