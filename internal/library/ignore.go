package library

import (
	"fmt"
	"runtime"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// PatternError is an --exclude that no name can match.
type PatternError struct {
	Pattern string
	Reason  string
}

// Error names the pattern and what is wrong with it.
func (e *PatternError) Error() string {
	return fmt.Sprintf("exclude pattern %q %s", e.Pattern, e.Reason)
}

// pattern is one line of an ignore file, in gitignore syntax (gitignore(5), "PATTERN FORMAT"). Two differences: "?"
// and "[...]" take a character where git takes a byte, and names are compared in Unicode NFC, because macOS
// decomposes them (and without regard to case where file systems have none). The tests compare it with git itself;
// docs/decisions.md says why it is our own.
type pattern struct {
	text     string   // as written, for reasons
	line     int      // from 1; 0 for --exclude
	segments []string // between slashes; "**" alone stands for any number of them
	negated  bool
	dirOnly  bool
}

// patterns is one list; the last pattern that matches decides.
type patterns struct {
	origin string // the file, or "--exclude"
	fold   bool
	list   []pattern
}

// foldCase reports whether the file systems of this system usually ignore case.
const foldCase = runtime.GOOS == "windows" || runtime.GOOS == "darwin"

func canonical(s string, fold bool) string {
	if !isASCII(s) && utf8.ValidString(s) {
		s = norm.NFC.String(s)
	}
	if fold {
		s = strings.ToLower(s)
	}
	return s
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// parsePatterns reads an ignore file. It never fails: a line that can match nothing matches nothing, as in git.
func parsePatterns(origin, text string, fold bool) patterns {
	p := patterns{origin: origin, fold: fold}
	text = strings.TrimPrefix(text, "\ufeff")
	n := 0
	for line := range strings.Lines(text) {
		n++
		if one, ok := parsePattern(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"), fold); ok {
			one.line = n
			p.list = append(p.list, one)
		}
	}
	return p
}

// parsePattern reads one line. It reports false for one that is empty, a comment, or slashes alone.
func parsePattern(line string, fold bool) (p pattern, ok bool) {
	if strings.HasPrefix(line, "#") {
		return p, false
	}
	line = trimTrailingSpaces(line)
	p.text = line
	line, p.negated = strings.CutPrefix(line, "!")
	line, p.dirOnly = strings.CutSuffix(line, "/")
	rest, leading := strings.CutPrefix(line, "/")
	if rest == "" {
		return p, false
	}
	p.segments = strings.Split(canonical(rest, fold), "/")
	for i, segment := range p.segments {
		if len(segment) > 2 && strings.Trim(segment, "*") == "" {
			p.segments[i] = "**"
		}
	}
	if !leading && len(p.segments) == 1 {
		p.segments = []string{"**", p.segments[0]} // a name alone counts at any depth
	}
	return p, true
}

// trimTrailingSpaces drops spaces at the end unless a backslash holds them.
func trimTrailingSpaces(s string) string {
	trimmed := strings.TrimRight(s, " ")
	slashes := len(trimmed) - len(strings.TrimRight(trimmed, `\`))
	if slashes%2 == 1 && len(trimmed) < len(s) {
		return trimmed + " "
	}
	return trimmed
}

// match returns the last pattern that matches rel, a path with forward slashes relative to the list's folder.
func (p patterns) match(rel string, dir bool) (pattern, bool) {
	if len(p.list) == 0 {
		return pattern{}, false
	}
	names := strings.Split(canonical(rel, p.fold), "/")
	for i := len(p.list) - 1; i >= 0; i-- {
		one := p.list[i]
		if (dir || !one.dirOnly) && matchSegments(one.segments, names) {
			return one, true
		}
	}
	return pattern{}, false
}

// matchSegments matches path segments; "**" takes any number of them, at the end at least one. Only the last "**"
// ever has to be tried again, so the time is at most the product of both lengths.
func matchSegments(want, names []string) bool {
	w, n := 0, 0
	backW, backN := -1, 0
	for n < len(names) {
		switch {
		case w < len(want) && want[w] == "**":
			if w == len(want)-1 {
				return true // names are left, which "/**" asks for
			}
			backW, backN = w, n
			w++
			continue
		case w < len(want) && matchName(want[w], names[n]):
			w++
			n++
			continue
		case backW < 0:
			return false
		}
		backN++
		w, n = backW+1, backN
	}
	return w == len(want)
}

// matchName matches one name: "*" any run, "?" one character, "[...]" a set, "\" takes the next character as it is.
// Each byte that is not UTF-8 counts as one character.
func matchName(want, name string) bool {
	w, n := 0, 0
	backW, backN := -1, 0
	for n < len(name) {
		if w < len(want) && want[w] == '*' {
			backW, backN = w, n
			w++
			continue
		}
		if wn, nn, ok := matchOne(want[w:], name[n:]); ok {
			w += wn
			n += nn
			continue
		}
		if backW < 0 {
			return false
		}
		_, size := utf8.DecodeRuneInString(name[backN:])
		backN += size
		w, n = backW+1, backN
	}
	for w < len(want) && want[w] == '*' {
		w++
	}
	return w == len(want)
}

// matchOne matches one character. It returns how many bytes of each were used.
func matchOne(want, name string) (wn, nn int, ok bool) {
	if want == "" {
		return 0, 0, false
	}
	_, size := utf8.DecodeRuneInString(name)
	switch want[0] {
	case '?':
		return 1, size, true
	case '[':
		n, in, valid := matchSet(want, name[:size])
		return n, size, valid && in
	case '\\':
		if len(want) == 1 {
			return 0, 0, false // git: a trailing backslash matches nothing
		}
		want = want[1:]
		_, wsize := utf8.DecodeRuneInString(want)
		return 1 + wsize, size, want[:wsize] == name[:size]
	}
	_, wsize := utf8.DecodeRuneInString(want)
	return wsize, size, want[:wsize] == name[:size]
}

// matchSet matches "[abc]", "[a-z]", "[!a]", "[^a]" and "[[:alpha:]]" against one character. valid is false when the
// set does not end.
func matchSet(want, char string) (n int, in, valid bool) {
	i := 1
	negated := i < len(want) && (want[i] == '!' || want[i] == '^')
	if negated {
		i++
	}
	c, _ := utf8.DecodeRuneInString(char)
	for first := true; i < len(want); first = false {
		if want[i] == ']' && !first {
			return i + 1, in != negated, true
		}
		size, has, ok := setElement(want[i:], c)
		if !ok {
			return 0, false, false
		}
		i += size
		in = in || has
	}
	return 0, false, false
}

// setElement matches the first element of a set: "[:class:]", "a-z" or "a".
func setElement(want string, c rune) (size int, in, ok bool) {
	if strings.HasPrefix(want, "[:") {
		if name, _, closed := strings.Cut(want[2:], ":]"); closed {
			class, known := classes[name]
			return len(name) + 4, known && class(c), known
		}
	}
	low, size, ok := setChar(want)
	if !ok {
		return 0, false, false
	}
	high := low
	if rest := want[size:]; len(rest) > 1 && rest[0] == '-' && rest[1] != ']' {
		var more int
		if high, more, ok = setChar(rest[1:]); !ok {
			return 0, false, false
		}
		size += 1 + more
	}
	return size, low <= c && c <= high, true
}

func setChar(s string) (c rune, size int, ok bool) {
	escape := 0
	if s[0] == '\\' {
		escape = 1
	}
	if len(s) == escape {
		return 0, 0, false
	}
	c, size = utf8.DecodeRuneInString(s[escape:])
	return c, escape + size, true
}

// classes are POSIX's, which are ASCII's.
var classes = map[string]func(rune) bool{
	"alpha":  func(c rune) bool { return lower(c) || upper(c) },
	"digit":  digit,
	"alnum":  func(c rune) bool { return lower(c) || upper(c) || digit(c) },
	"lower":  lower,
	"upper":  upper,
	"space":  func(c rune) bool { return c == ' ' || c >= '\t' && c <= '\r' },
	"blank":  func(c rune) bool { return c == ' ' || c == '\t' },
	"punct":  func(c rune) bool { return c > ' ' && c < 0x7f && !lower(c) && !upper(c) && !digit(c) },
	"xdigit": func(c rune) bool { return digit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' },
	"cntrl":  func(c rune) bool { return c < ' ' || c == 0x7f },
	"print":  func(c rune) bool { return c >= ' ' && c < 0x7f },
	"graph":  func(c rune) bool { return c > ' ' && c < 0x7f },
}

func lower(c rune) bool { return c >= 'a' && c <= 'z' }
func upper(c rune) bool { return c >= 'A' && c <= 'Z' }
func digit(c rune) bool { return c >= '0' && c <= '9' }

// parseExcludes reads --exclude patterns, refusing those that can match nothing: on a command line that is a mistake.
func parseExcludes(globs []string, fold bool) (patterns, error) {
	p := patterns{origin: "--exclude", fold: fold}
	for _, glob := range globs {
		one, ok := parsePattern(glob, fold)
		switch {
		case !ok && strings.HasPrefix(glob, "#"):
			return p, &PatternError{Pattern: glob, Reason: `is a comment: write \# for a name that starts with #`}
		case !ok:
			return p, &PatternError{Pattern: glob, Reason: "is empty"}
		}
		for _, segment := range one.segments {
			if !wellFormed(segment) {
				return p, &PatternError{Pattern: glob, Reason: "has a [ without its ], an unknown [:class:] or a \\ at its end"}
			}
		}
		p.list = append(p.list, one)
	}
	return p, nil
}

// wellFormed reports whether every set in a segment ends and no backslash is last.
func wellFormed(segment string) bool {
	for i := 0; i < len(segment); {
		switch segment[i] {
		case '\\':
			if i+1 == len(segment) {
				return false
			}
			i += 2
		case '[':
			n, _, valid := matchSet(segment[i:], "a")
			if !valid {
				return false
			}
			i += n
		default:
			i++
		}
	}
	return true
}
