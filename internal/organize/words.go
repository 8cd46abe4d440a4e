package organize

import (
	"github.com/anivault/anivault/internal/lang"
)

// ParseStamp is the inverse of Stamp.String.
func ParseStamp(word string) (Stamp, error) {
	s, ok := parseStamp(word)
	if !ok {
		return Stamp{}, lang.Error("%q is no time in seconds", word)
	}
	return s, nil
}

// ParseRoot reads a root as Root.String writes it.
func ParseRoot(text string) (Root, error) {
	p := parser{plan: &Plan{}}
	var roots []Root
	p.readRoot(&roots, "1 "+text)
	if len(p.problems) > 0 {
		return Root{}, &PlanError{Problems: p.problems}
	}
	return roots[0], nil
}

// String returns the root as plans have it: "ext4 262145 1700000101.5 /srv/library".
func (r Root) String() string {
	return r.Type + " " + inode(r.Inode) + " " + birth(r.Birth) + " " + Quote(r.Path)
}
