package organize

import (
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

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// foldKey is the key of a name in a target: two with one key are one name to some file system.
type foldKey struct {
	target int
	name   string
}

func fold(target int, name string) foldKey { return foldKey{target, FoldName(name)} }
