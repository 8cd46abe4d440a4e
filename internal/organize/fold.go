package organize

import (
	"hash/maphash"
	"iter"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// FoldName returns the key under which names are compared: two with one key are one name to some file system, in case, in
// normal form or in characters that are not seen.
func FoldName(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	s = norm.NFD.String(cases.Fold().String(norm.NFD.String(s)))
	return strings.Map(func(r rune) rune {
		if r == zwj || r == zwnj {
			return -1
		}
		return r
	}, s)
}

// isAlike reports whether FoldName makes one key of two names.
func isAlike(a, b string) bool {
	return a == b || isASCII(a) && isASCII(b) && strings.EqualFold(a, b) || FoldName(a) == FoldName(b)
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// foldSet finds names of one place that some file system takes for one. It has them by hashes: a map of folded names would hold a
// copy of each.
type foldSet struct {
	seed    maphash.Seed
	entries []foldEntry
	last    map[uint64]int32 // hash → the newest entry that has it
	folded  []byte
}

// foldEntry is a name in a place; what a place is, the user of the set decides.
type foldEntry struct {
	name   string
	place  int32
	before int32 // the entry before it that has its hash; -1: none
}

func newFoldSet(size int) *foldSet {
	return &foldSet{seed: maphash.MakeSeed(), entries: make([]foldEntry, 0, size), last: make(map[uint64]int32, size)}
}

// add adds a name, whether or not it is there, and returns its number: that of names added before it.
func (s *foldSet) add(place int32, name string) int {
	n, key := len(s.entries), s.hash(place, name)
	before, there := s.last[key]
	if !there {
		before = -1
	}
	s.entries = append(s.entries, foldEntry{name, place, before})
	s.last[key] = int32(n)
	return n
}

// alike yields the numbers of a place's names that are one with a name, the newest first.
func (s *foldSet) alike(place int32, name string) iter.Seq[int] {
	return func(yield func(int) bool) {
		at, there := s.last[s.hash(place, name)]
		for there && at >= 0 {
			e := &s.entries[at]
			if e.place == place && isAlike(e.name, name) && !yield(int(at)) {
				return
			}
			at = e.before
		}
	}
}

// first returns the number of the newest such name, -1 for none.
func (s *foldSet) first(place int32, name string) int {
	for i := range s.alike(place, name) {
		return i
	}
	return -1
}

func (s *foldSet) hash(place int32, name string) uint64 {
	b := append(s.folded[:0], byte(place), byte(place>>8), byte(place>>16), byte(place>>24))
	if isASCII(name) {
		b = append(b, name...)
		for i := 4; i < len(b); i++ {
			if c := b[i]; c >= 'A' && c <= 'Z' {
				b[i] = c | 0x20
			}
		}
	} else {
		b = append(b, FoldName(name)...)
	}
	s.folded = b
	return maphash.Bytes(s.seed, b)
}
