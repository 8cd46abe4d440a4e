package organize

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const ellipsis = "…"

// shorten returns s in at most limit bytes, cut between characters, between words where that costs less than half of it, with "…"
// where something went; "" where not one character has room.
func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	budget := limit - len(ellipsis)
	if budget <= 0 {
		return ""
	}
	cut := s[:boundary(s, budget)]
	if space := strings.LastIndexFunc(cut, unicode.IsSpace); space > len(cut)/2 && !startsWithSpace(s[len(cut):]) {
		cut = cut[:space]
	}
	cut = strings.TrimRightFunc(cut, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(".,:;-–—(['", r) })
	if cut == "" {
		return ""
	}
	return cut + ellipsis
}

func startsWithSpace(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsSpace(r)
}

// boundary returns the last place up to limit at which s can be cut without parting a character from its marks, or what joiners
// hold together.
func boundary(s string, limit int) int {
	best := 0
	joined := false
	for i, r := range s {
		if i > limit {
			break
		}
		if !joined && !clings(r) && norm.NFC.PropertiesString(s[i:]).BoundaryBefore() {
			best = i
		}
		joined = r == zwj
	}
	return best
}

// clings reports whether r belongs to the character before it.
func clings(r rune) bool {
	return r == zwj || r == zwnj || unicode.In(r, unicode.M, unicode.Variation_Selector) || r >= 0x1f3fb && r <= 0x1f3ff
}

// namer makes names for one file system.
type namer struct {
	max     int               // most bytes of a component; servers write names beside it that are longer
	longest int               // most bytes of the path below the root
	replace *strings.Replacer // what a person wants replaced before the rules; nil: nothing
}

// text returns a piece of a name. Braces would read as an id's.
func (n *namer) text(s string) string {
	if n.replace != nil {
		s = n.replace.Replace(s)
	}
	return cleanText(braces.Replace(s))
}

var braces = strings.NewReplacer("{", "(", "}", ")")

// shortened are the fields that may be cut, in this order: never numbers, ids and what tells files apart.
var shortened = []field{fieldEpisodeTitle, fieldOriginalTitle, fieldTitle}

// path renders a template and makes each component storable. tail is how many bytes the last one needs besides: labels, and the
// longest of what follows the stem in the unit. The code is "" where that worked out.
func (n *namer) path(t Template, v *values, tail int) (string, Code) {
	path, excess := n.render(t, v, tail)
	if excess > 0 {
		less := *v
		for _, f := range shortened {
			if excess <= 0 || !t.has(f) || less[f] == "" {
				continue
			}
			cut := shorten(less[f], max(len(less[f])-excess, 0))
			if f == fieldTitle && cut == "" {
				break
			}
			less[f] = cut
			path, excess = n.render(t, &less, tail)
		}
	}
	switch {
	case path == "":
		return "", BadName
	case excess > 0 || len(path)+tail > n.longest:
		return "", NameTooLong
	}
	return path, ""
}

// render returns the path, "" where a component is empty, and by how many bytes the longest component is too long.
func (n *namer) render(t Template, v *values, tail int) (path string, excess int) {
	components := strings.Split(t.render(v), "/")
	for i, c := range components {
		if components[i] = CleanName(c); components[i] == "" {
			return "", 0
		}
		size := len(components[i])
		if i == len(components)-1 {
			size += tail
		}
		excess = max(excess, size-n.max)
	}
	return strings.Join(components, "/"), excess
}
