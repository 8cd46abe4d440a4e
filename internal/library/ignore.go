package library

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lockfile"
)

// PatternError means that an --exclude pattern can't match any name.
type PatternError struct {
	Pattern string
	Reason  lang.Text
}

func (e *PatternError) Error() string { return e.Text().String() }

// Text returns the message for people.
func (e *PatternError) Text() lang.Text {
	return lang.Textf("exclude pattern %q %s", e.Pattern, e.Reason)
}

// pattern is one line of an ignore file, in gitignore syntax (gitignore(5), "PATTERN FORMAT"). Two differences: "?"
// and "[...]" take a character where git takes a byte, and names are compared in Unicode NFC, because macOS
// decomposes them (and without regard to case where file systems have none). The tests compare it with git itself.
type pattern struct {
	text    string         // as written, for messages
	line    int            // from 1; 0 for --exclude
	regexp  *regexp.Regexp // matches the whole path, or its last name if byName; nil: nothing matches
	suffix  string         // text at the end of every match: a quick test that most paths fail
	byName  bool           // matches a name at any depth
	negated bool
	dirOnly bool
}

type patterns struct {
	origin     string // name of the ignore file, or "--exclude"
	ignoreCase bool
	list       []pattern
}

const ignoresCase = runtime.GOOS == "windows" || runtime.GOOS == "darwin"

// canonical returns a pattern or a path in the form in which they are compared. It replaces each byte of invalid UTF-8
// with a character that no name contains.
func canonical(s string, ignoreCase bool) string {
	if utf8.ValidString(s) {
		s = norm.NFC.String(s)
	} else {
		var b strings.Builder
		for i, r := range s {
			if r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)) {
				r = 0x10fe00 + rune(s[i])
			}
			b.WriteRune(r)
		}
		s = b.String()
	}
	if ignoreCase {
		s = strings.ToLower(s)
	}
	return s
}

// parsePatterns reads an ignore file. It never fails: a line that can match nothing matches nothing, as in git.
func parsePatterns(origin, text string, ignoreCase bool) patterns {
	p := patterns{origin: origin, ignoreCase: ignoreCase}
	text = strings.TrimPrefix(text, "\ufeff")
	n := 0
	for line := range strings.Lines(text) {
		n++
		if one, ok := parsePattern(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"), ignoreCase); ok {
			one.line = n
			p.list = append(p.list, one)
		}
	}
	return p
}

func parsePattern(line string, ignoreCase bool) (p pattern, ok bool) {
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
	rest = canonical(rest, ignoreCase)
	p.suffix = rest[strings.LastIndexAny(rest, `*?[]\/`)+1:]
	segments := strings.Split(rest, "/")
	p.byName = !leading && len(segments) == 1 && !isDoubleStar(segments[0])
	expression := "(?s)^"
	for i, segment := range segments {
		switch last := i == len(segments)-1; {
		case isDoubleStar(segment) && last:
			expression += ".+"
		case isDoubleStar(segment):
			expression += "(?:.+/)?"
		default:
			name, ok := nameRegexp(segment)
			if !ok {
				return p, true
			}
			expression += name
			if !last {
				expression += "/"
			}
		}
	}
	p.regexp, _ = regexp.Compile(expression + "$") // it fails only for a pattern that is too long
	return p, true
}

func isDoubleStar(segment string) bool { return len(segment) > 1 && strings.Trim(segment, "*") == "" }

func trimTrailingSpaces(s string) string {
	trimmed := strings.TrimRight(s, " ")
	slashes := len(trimmed) - len(strings.TrimRight(trimmed, `\`))
	if slashes%2 == 1 && len(trimmed) < len(s) {
		return trimmed + " "
	}
	return trimmed
}

func (p patterns) match(rel string, dir bool) (pattern, bool) {
	if len(p.list) == 0 {
		return pattern{}, false
	}
	rel = canonical(rel, p.ignoreCase)
	name := rel[strings.LastIndexByte(rel, '/')+1:]
	for _, one := range slices.Backward(p.list) {
		if one.regexp == nil || one.dirOnly && !dir || !strings.HasSuffix(rel, one.suffix) {
			continue
		}
		if one.byName && one.regexp.MatchString(name) || !one.byName && one.regexp.MatchString(rel) {
			return one, true
		}
	}
	return pattern{}, false
}

// nameRegexp returns the regular expression for one name of a pattern: "*" matches any text, "?" one character, "[...]"
// a set, and "\" makes the next character literal. ok is false if a set has no end or the last character is "\": such
// patterns match nothing, as in git.
func nameRegexp(segment string) (form string, ok bool) {
	var b strings.Builder
	for segment != "" {
		c, size := utf8.DecodeRuneInString(segment)
		switch c {
		case '*':
			b.WriteString("[^/]*")
		case '?':
			b.WriteString("[^/]")
		case '[':
			if form, size, ok = charSetRegexp(segment); !ok {
				return "", false
			}
			b.WriteString(form)
		default:
			if c, size, ok = nextChar(segment); !ok {
				return "", false
			}
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
		segment = segment[size:]
	}
	return b.String(), true
}

// charSetRegexp returns the expression for the set at the start of s, such as "[abc]", "[!a-z]" or "[[:alpha:]]".
func charSetRegexp(s string) (form string, size int, ok bool) {
	i, open := 1, "["
	if strings.HasPrefix(s[i:], "!") || strings.HasPrefix(s[i:], "^") {
		i, open = 2, "[^/"
	}
	var b strings.Builder
	for first := true; i < len(s); first = false {
		if s[i] == ']' && !first {
			if b.Len() == 0 && open == "[" {
				return `[^\x00-\x{10ffff}]`, i + 1, true // such as "[z-a]": matches nothing
			}
			return open + b.String() + "]", i + 1, true
		}
		if name, _, closed := strings.Cut(s[i:], ":]"); closed && strings.HasPrefix(name, "[:") {
			if charClasses[name[2:]] == "" {
				return "", 0, false
			}
			b.WriteString(charClasses[name[2:]])
			i += len(name) + 2
			continue
		}
		low, size, ok := nextChar(s[i:])
		if !ok {
			return "", 0, false
		}
		i += size
		high := low
		if rest := s[i:]; len(rest) > 1 && rest[0] == '-' && rest[1] != ']' {
			if high, size, ok = nextChar(rest[1:]); !ok {
				return "", 0, false
			}
			i += 1 + size
		}
		// A set never matches a slash.
		writeRange(&b, low, min(high, '/'-1))
		writeRange(&b, max(low, '/'+1), high)
	}
	return "", 0, false
}

func writeRange(b *strings.Builder, low, high rune) {
	if low <= high {
		fmt.Fprintf(b, `\x{%x}-\x{%x}`, low, high)
	}
}

func nextChar(s string) (c rune, size int, ok bool) {
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

var charClasses = map[string]string{
	"alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "lower": "a-z", "upper": "A-Z", "space": ` \t-\r`,
	"blank": ` \t`, "punct": "!-.:-@\\[-`{-~", "xdigit": "0-9a-fA-F", "cntrl": `\x00-\x1f\x7f`,
	"print": " -.0-~", "graph": "!-.0-~",
}

// parseExcludes reads --exclude patterns. It refuses those that can't match anything, because they must be mistakes.
func parseExcludes(globs []string, ignoreCase bool) (patterns, error) {
	p := patterns{origin: "--exclude", ignoreCase: ignoreCase}
	for _, glob := range globs {
		one, ok := parsePattern(glob, ignoreCase)
		switch {
		case !ok && strings.HasPrefix(glob, "#"):
			return p, &PatternError{Pattern: glob, Reason: `is a comment: write \# for a name that starts with #`}
		case !ok:
			return p, &PatternError{Pattern: glob, Reason: "is empty"}
		}
		if one.regexp == nil {
			return p, &PatternError{Pattern: glob, Reason: "has a [ without its ], an unknown [:class:] or a \\ at its end"}
		}
		p.list = append(p.list, one)
	}
	return p, nil
}

// IgnoreFile is the name of a file with gitignore patterns for its folder and all below, wherever the walk starts.
const IgnoreFile = ".anivaultignore"

const maxIgnoreFile = 1 << 20 // bytes; a hand-written file has a few hundred

type ignoreScope struct {
	patterns
	base   string // folder of the patterns, absolute, with a separator at its end
	parent *ignoreScope
}

func (s *ignoreScope) ignoreReason(path string, dir bool) (reason lang.Text, ignored bool) {
	for ; s != nil; s = s.parent {
		rel, ok := strings.CutPrefix(path, s.base)
		if !ok {
			continue
		}
		if p, ok := s.match(filepath.ToSlash(rel), dir); ok {
			if p.line == 0 {
				return lang.Textf("excluded by %s %s", s.origin, p.text), !p.negated
			}
			return lang.Textf("ignored by %s:%d (%s)", s.origin, p.line, p.text), !p.negated
		}
	}
	return "", false
}

func (s *ignoreScope) extendedBy(p patterns, dir string) *ignoreScope {
	if len(p.list) == 0 {
		return s
	}
	return &ignoreScope{patterns: p, base: withSeparator(dir), parent: s}
}

func readIgnoreFile(dir string, ignoreCase bool) (patterns, error) {
	path := filepath.Join(dir, IgnoreFile)
	text, err := lockfile.ReadFile(path, maxIgnoreFile+1)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.As(err, new(*lockfile.NotRegularError)):
		return patterns{}, nil // a folder or a device is not an ignore file
	case err != nil:
		return patterns{}, err
	case len(text) > maxIgnoreFile:
		return patterns{}, lang.Error("read %s: larger than %d bytes", path, maxIgnoreFile)
	}
	return parsePatterns(path, string(text), ignoreCase), nil
}

// scopeAbove reads the ignore files of the folders above dir, an absolute path. It ignores those that it can't read:
// the user did not name these folders.
func scopeAbove(dir string, ignoreCase bool) *ignoreScope {
	parent := filepath.Dir(dir)
	if parent == dir {
		return nil
	}
	s := scopeAbove(parent, ignoreCase)
	if p, err := readIgnoreFile(parent, ignoreCase); err == nil {
		s = s.extendedBy(p, parent)
	}
	return s
}
