package organize

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/anivault/anivault/internal/lazyregexp"
	"github.com/anivault/anivault/internal/ui"
)

// CleanName turns a path component into a name that every system can store. It normalizes to NFC, and removes or
// replaces separators, forbidden characters, control and zero-width characters, and dots and spaces at both ends. It
// returns "" if nothing remains. The result is the same on every system, and cleaning it again changes nothing.
func CleanName(s string) string { return escapeReserved(cleanText(s)) }

func cleanText(s string) string {
	if s == "" || isPlain(s) {
		return s
	}
	// Removing a character can make a combining character follow another one, so repeat until nothing changes.
	for next := cleanOnce(s); next != s; next = cleanOnce(s) {
		s = next
	}
	return s
}

// isPlain reports whether s is ASCII that needs no cleaning, as most names, apart from reserved names.
func isPlain(s string) bool {
	if s == "" || s[0] == '.' || s[0] == ' ' || s[len(s)-1] == '.' || s[len(s)-1] == ' ' {
		return false
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; !isPlainByte[c] || c == ' ' && s[i-1] == ' ' {
			return false
		}
	}
	return true
}

var isPlainByte = func() (table [256]bool) {
	for c := ' '; c < 0x7f; c++ {
		table[c] = !strings.ContainsRune(`/\|:"?*<>`, c)
	}
	return table
}()

func cleanOnce(s string) string {
	s = norm.NFC.String(strings.ToValidUTF8(s, string(utf8.RuneError)))
	s = strings.ReplaceAll(s, ": ", " - ")
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		switch r {
		case '/', '\\', '|', ':':
			b.WriteByte('-')
		case '"':
			b.WriteByte('\'')
		case '?', '*', '<', '>':
		case zwnj, zwj:
			b.WriteRune(r)
		default:
			if !ui.Dangerous(r) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) {
				b.WriteRune(r)
			}
		}
	}
	return strings.TrimFunc(wideSpaces().ReplaceAllString(b.String(), " "), func(r rune) bool {
		return r == '.' || r == zwnj || r == zwj || unicode.IsSpace(r)
	})
}

const zwnj, zwj = '\u200c', '\u200d'

// wideSpaces matches several spaces. Only single ones may keep another width.
var wideSpaces = lazyregexp.New(`[\s\v\x{85}\p{Z}]{2,}`)

// escapeReserved appends "_" to the device names of Windows, whatever the extension: "CON.txt" becomes "CON_.txt".
func escapeReserved(s string) string {
	stem, _, _ := strings.Cut(s, ".")
	stem = strings.TrimRightFunc(stem, unicode.IsSpace)
	if n := utf8.RuneCountInString(stem); n < 3 || n > 7 || !deviceName().MatchString(strings.ToUpper(stem)) {
		return s
	}
	return stem + "_" + s[len(stem):]
}

var deviceName = lazyregexp.New(`^(?:CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(?:COM|LPT)[0-9¹²³])$`)

// isLocal reports whether s is a clean relative path without "..", or "." for the root.
func isLocal(s string) bool {
	return s != "" && s[0] != '/' && path.Clean(s) == s && s != ".." && !strings.HasPrefix(s, "../") &&
		strings.IndexByte(s, 0) < 0
}

const ellipsis = "…"

// shorten cuts s to at most limit bytes, with the "…" that it adds. It cuts between words if that loses less than
// half of s, and otherwise between characters. It returns "" if not even one character fits.
func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	budget := limit - len(ellipsis)
	if budget <= 0 {
		return ""
	}
	cut := s[:lastBoundary(s, budget)]
	next, _ := utf8.DecodeRuneInString(s[len(cut):])
	if space := strings.LastIndexFunc(cut, unicode.IsSpace); space > len(cut)/2 && !unicode.IsSpace(next) {
		cut = cut[:space]
	}
	const loose = ".,:;-–—(['"
	cut = strings.TrimRightFunc(cut, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(loose, r) })
	if cut == "" {
		return ""
	}
	return cut + ellipsis
}

// lastBoundary returns the last offset up to limit that separates no character from its combining marks or joiners.
func lastBoundary(s string, limit int) int {
	best, joined := 0, false
	for i, r := range s {
		if i > limit {
			break
		}
		combines := r == zwj || r == zwnj || unicode.In(r, unicode.M, unicode.Variation_Selector) ||
			r >= 0x1f3fb && r <= 0x1f3ff
		if !joined && !combines && norm.NFC.PropertiesString(s[i:]).BoundaryBefore() {
			best = i
		}
		joined = r == zwj
	}
	return best
}

type namer struct {
	maxName  int               // maximum bytes of a component; less than the limit, because servers add suffixes
	maxPath  int               // maximum bytes of the path below the root
	replacer *strings.Replacer // the user's replacements, applied before cleaning; nil for none
}

func (n *namer) clean(s string) string {
	if n.replacer != nil {
		s = n.replacer.Replace(s)
	}
	return cleanText(braceReplacer.Replace(s))
}

var braceReplacer = strings.NewReplacer("{", "(", "}", ")")

// shortenableFields are the fields that may be cut to make a name fit, in this order.
var shortenableFields = []field{fieldEpisodeTitle, fieldOriginalTitle, fieldTitle}

// renderPath renders a template and cleans each component. The last component must leave suffixLen bytes free for the
// label and the longest suffix of the unit. If all is well, the code is "".
func (n *namer) renderPath(t Template, v *fieldValues, suffixLen int) (string, Code) {
	path, excess := n.renderComponents(t, v, suffixLen)
	if excess > 0 {
		less := *v
		for _, f := range shortenableFields {
			if excess <= 0 || !t.hasField(f) || less[f] == "" {
				continue
			}
			cut := shorten(less[f], max(len(less[f])-excess, 0))
			if f == fieldTitle && cut == "" {
				break
			}
			less[f] = cut
			path, excess = n.renderComponents(t, &less, suffixLen)
		}
	}
	switch {
	case path == "":
		return "", CodeBadName
	case excess > 0 || len(path)+suffixLen > n.maxPath:
		return "", CodeNameTooLong
	}
	return path, ""
}

// renderComponents returns the cleaned path, and by how many bytes its longest component is too long.
func (n *namer) renderComponents(t Template, v *fieldValues, suffixLen int) (path string, excess int) {
	var last string
	for component := range strings.SplitSeq(t.render(v), "/") {
		if last = CleanName(component); last == "" {
			return "", 0
		}
		path, excess = joinPath(path, last), max(excess, len(last)-n.maxName)
	}
	return path, max(excess, len(last)+suffixLen-n.maxName)
}

// FoldName returns a key for comparing names. If two names differ only in case, Unicode normalization or invisible
// characters, some file system takes them for the same name, and their keys are equal.
func FoldName(s string) string {
	if utf8.RuneCountInString(s) == len(s) { // ASCII
		return strings.ToLower(s)
	}
	// Fold maps lower-case Cherokee to upper case and the reverse, so convert to lower case first.
	s = norm.NFD.String(cases.Fold().String(strings.ToLower(norm.NFD.String(s))))
	return strings.Map(func(r rune) rune {
		if r == zwj || r == zwnj {
			return -1
		}
		return r
	}, s)
}
