// Package wordlist reads the data files of the program: tables in JSON, and lists of words, to which people can add a
// word without knowing Go:
//
//	# a comment
//	[source Dolby Digital | weak]
//	ac3 ddp dolby_digital
//
// The header of a section holds its kind, an optional value and, after a bar, flags for its words. Spaces separate
// words; an underscore inside a word means a space.
package wordlist

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Table returns a function that returns the rows of a table, a list in JSON. It reads them when it is first called, and
// panics if they have a mistake.
func Table[Row any](text []byte) func() []Row {
	return sync.OnceValue(func() (rows []Row) {
		if err := json.Unmarshal(text, &rows); err != nil {
			panic(err)
		}
		return rows
	})
}

// Section is a section of a file: words with the same kind, value and flags.
type Section struct {
	Kind, Value string
	Flags       []string
	Words       []string
}

// HasFlag reports whether the section has a flag, such as "weak".
func (s Section) HasFlag(flag string) bool { return slices.Contains(s.Flags, flag) }

// List holds the sections of a file in order. Its methods panic if a file has a mistake, such as a missing kind,
// because the files are part of the program.
type List []Section

// Parse reads a word list. It panics if words come before the first section.
func Parse(text string) List {
	var list List
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if head, ok := strings.CutPrefix(line, "["); ok {
			head, how, _ := strings.Cut(strings.TrimSuffix(head, "]"), "|")
			kind, value, _ := strings.Cut(strings.TrimSpace(head), " ")
			list = append(list, Section{Kind: kind, Value: value, Flags: strings.Fields(how)})
			continue
		}
		if line == "" || line[0] == '#' {
			continue
		}
		last := &list[len(list)-1]
		for _, w := range strings.Fields(line) {
			last.Words = append(last.Words, strings.ReplaceAll(w, "_", " "))
		}
	}
	return list
}

// Words returns the words of all sections of a kind, in order.
func (l List) Words(kind string) []string {
	var words []string
	for _, s := range l {
		if s.Kind == kind {
			words = append(words, s.Words...)
		}
	}
	if words == nil {
		panic("no words of the kind " + kind)
	}
	return words
}

// Set returns the words of a kind as a set.
func (l List) Set(kind string) map[string]bool {
	set := map[string]bool{}
	for _, w := range l.Words(kind) {
		set[w] = true
	}
	return set
}

// Numbers maps each word of a kind to the number in the header of its section: 3 for the words below "[ordinal 3]".
func (l List) Numbers(kind string) map[string]int {
	numbers := map[string]int{}
	for _, s := range l {
		if s.Kind != kind {
			continue
		}
		n, err := strconv.Atoi(s.Value)
		if err != nil {
			panic(err)
		}
		for _, w := range s.Words {
			numbers[w] = n
		}
	}
	return numbers
}

// Sets returns a function that returns the words of a list as a set for each kind.
func Sets(text string) func() map[string]map[string]bool {
	return sync.OnceValue(func() map[string]map[string]bool {
		list, sets := Parse(text), map[string]map[string]bool{}
		for _, section := range list {
			if sets[section.Kind] == nil {
				sets[section.Kind] = list.Set(section.Kind)
			}
		}
		return sets
	})
}
