package main

import (
	"os"
	"path/filepath"
	"testing"
)

// What is right without an index stays right with one, in the model that is nearest to TMDB.
func TestAnIndexMakesNoMatchWrong(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of names, four times")
	}
	t.Chdir("..")
	eval := filepath.Join("..", "..", "shared", "eval")
	if _, err := os.Stat(eval); err != nil {
		t.Skip("no evaluation data beside the repository")
	}
	b, err := prepare(eval, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(b.tmp) })
	if err := b.runModels(models[:1]); err != nil {
		t.Fatal(err)
	}
	for _, list := range matchLists {
		without := b.results[runKey{models[0].name, false, list.label}]
		with := b.results[runKey{models[0].name, true, list.label}]
		if len(with.rows) == 0 || len(with.rows) != len(without.rows) {
			t.Fatalf("%s: %d and %d rows", list.label, len(with.rows), len(without.rows))
		}
		for i, failure := range lost(without, with) {
			if !with.rows[i].unread() {
				t.Errorf("%s: %s", list.label, failure)
			}
		}
	}
}
