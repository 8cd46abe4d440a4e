package main

import (
	"fmt"
	"path/filepath"
)

// maxShown bounds the rows that are shown where two runs disagree.
const maxShown = 10

// agreement checks that a match depends neither on the order of search rows nor on whether an answer comes from the
// network or the cache.
func (b *bench) agreement(ranks []string) error {
	for _, list := range matchLists {
		rows, err := readRows(filepath.Join(b.eval, list.file))
		if err != nil {
			return err
		}
		fmt.Printf("\n== %s: names that come out differently than online in the search order %s\n", list.file, ranks[0])
		var first []record
		for i, rank := range ranks {
			s, err := b.stand(filepath.Join(b.eval, "catalog_dev.jsonl"), rank)
			if err != nil {
				return err
			}
			records, err := s.match(rows)
			if err == nil && i == 0 {
				first = records
				err = b.offline(s, rows, records)
			} else if err == nil {
				report("order "+rank, rows, first, records)
			}
			s.stop()
			if err != nil {
				return fmt.Errorf("%s: %w", rank, err)
			}
		}
	}
	return nil
}

// offline matches the names again, without the network.
func (b *bench) offline(s *stand, rows []row, online []record) error {
	asked, err := s.requests()
	if err != nil {
		return err
	}
	records, err := s.match(rows, "--offline")
	if err != nil {
		return err
	}
	report("offline", rows, online, records)
	records, err = s.match(rows)
	if err != nil {
		return err
	}
	report("online again", rows, online, records)
	again, err := s.requests()
	if err != nil {
		return err
	}
	fmt.Printf("%-18s %d requests, and %d more in both\n", "", asked, again-asked)
	return nil
}

func report(label string, rows []row, want, got []record) {
	differ := 0
	for i := range got {
		if want[i].outcome() != got[i].outcome() {
			if differ++; differ <= maxShown && !rows[i].unread() {
				fmt.Printf("   %s\n      %s\n      %s\n", rows[i].Input, want[i].outcome(), got[i].outcome())
			}
		}
	}
	fmt.Printf("%-18s %d of %d names differ\n", label, differ, len(rows))
}
