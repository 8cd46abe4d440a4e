// Package wordlist reads lists of words from text files, so that anybody who knows a language can add a word without
// knowing Go:
//
//	# a comment
//	[source Dolby Digital | weak]
//	ac3 ddp dolby_digital
//
// A section begins with its kind, perhaps a value, and behind a bar how its words are meant. Words stand between
// spaces; a "_" inside a word is a space of it.
package wordlist

import (
	"slices"
	"strconv"
	"strings"
)

// Section is the words of one kind and value.
type Section struct {
	Kind, Value string
	How         []string
	Words       []string
}

// Is reports whether the words are meant so.
func (s Section) Is(how string) bool { return slices.Contains(s.How, how) }

// List is the sections of a text in their order. Its methods panic where a kind is missing or a value is no number: the
// text is part of the program.
type List []Section

// Parse reads a text; a line before the first section panics.
func Parse(text string) List {
	var list List
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if head, ok := strings.CutPrefix(line, "["); ok {
			head, how, _ := strings.Cut(strings.TrimSuffix(head, "]"), "|")
			kind, value, _ := strings.Cut(strings.TrimSpace(head), " ")
			list = append(list, Section{Kind: kind, Value: value, How: strings.Fields(how)})
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

// Words returns the words of all sections of a kind, in their order.
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

// Set returns the words of a kind.
func (l List) Set(kind string) map[string]bool {
	set := map[string]bool{}
	for _, w := range l.Words(kind) {
		set[w] = true
	}
	return set
}

// Numbers returns the words of a kind whose sections have numbers for values, with these: "[ordinal 3]".
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
