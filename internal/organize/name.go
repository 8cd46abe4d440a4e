package organize

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/anivault/anivault/internal/ui"
)

// CleanName returns one component of a path as every system can store it, or "" where nothing is left of it: NFC, without
// separators, signs that a system forbids, control and zero-width characters, and without dots and spaces at its ends. The
// result is the same on every system, and cleaning it again changes nothing.
func CleanName(s string) string {
	return reserved(cleanText(s))
}

// cleanText is CleanName for a piece of a component: the names of devices are no matter.
func cleanText(s string) string {
	if isPlain(s) {
		return s
	}
	// What is removed can bring together what then combines, so once more until nothing changes.
	for {
		next := cleanOnce(s)
		if next == s {
			return s
		}
		s = next
	}
}

// isPlain reports whether s is ASCII that no rule but that of reserved names can change: most names.
func isPlain(s string) bool {
	if s == "" || s[0] == '.' || s[0] == ' ' || s[len(s)-1] == '.' || s[len(s)-1] == ' ' {
		return false
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; !plain[c] || c == ' ' && s[i-1] == ' ' {
			return false
		}
	}
	return true
}

// plain has the ASCII characters that every system takes in a name.
var plain = func() (table [256]bool) {
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
	return strings.TrimRightFunc(strings.TrimLeftFunc(oneSpace(b.String()), isEnd), isEnd)
}

const zwnj, zwj = '\u200c', '\u200d'

// isEnd reports whether a name may not begin or end with r. The joiners join nothing there.
func isEnd(r rune) bool { return r == '.' || r == zwnj || r == zwj || unicode.IsSpace(r) }

// oneSpace makes each run of spaces one.
func oneSpace(s string) string {
	var b strings.Builder
	before := rune(0)
	for i, r := range s {
		if unicode.IsSpace(r) {
			next, _ := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):])
			if unicode.IsSpace(before) {
				before = r
				continue
			}
			if unicode.IsSpace(next) {
				r = ' ' // a lone space of another width stays as it is
			}
		}
		b.WriteRune(r)
		before = r
	}
	return b.String()
}

// reserved appends "_" to the names that Windows keeps for devices, also where a dot follows.
func reserved(s string) string {
	stem, _, _ := strings.Cut(s, ".")
	stem = strings.TrimRightFunc(stem, unicode.IsSpace)
	if n := utf8.RuneCountInString(stem); n < 3 || n > 7 || !isDevice(strings.ToUpper(stem)) {
		return s
	}
	return stem + "_" + s[len(stem):]
}

func isDevice(s string) bool {
	switch s {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	number, ok := strings.CutPrefix(s, "COM")
	if !ok {
		number, ok = strings.CutPrefix(s, "LPT")
	}
	return ok && utf8.RuneCountInString(number) == 1 && strings.Contains("0123456789¹²³", number)
}

// isClean reports whether s is a relative path whose components CleanName leaves as they are, so that it stays below its root.
func isClean(s string) bool {
	for {
		component, rest, more := strings.Cut(s, "/")
		if component == "" || CleanName(component) != component {
			return false
		}
		if !more {
			return true
		}
		s = rest
	}
}

// isLocal reports whether s is a relative path in its shortest form that stays below its root. The root itself is ".".
func isLocal(s string) bool {
	return s != "" && s[0] != '/' && path.Clean(s) == s && s != ".." && !strings.HasPrefix(s, "../") && strings.IndexByte(s, 0) < 0
}
