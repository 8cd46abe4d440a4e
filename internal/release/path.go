package release

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// cutExtension splits a name into its base and its known extension, lower case and without the dot.
func cutExtension(name string) (base, ext string) {
	base = strings.TrimRight(name, " '\"")
	for {
		dot := strings.LastIndexByte(base, '.')
		if dot <= 0 || len(base)-dot > 8 {
			return base, ext
		}
		e := lower(base[dot+1:])
		if !lists().extensions[e] || e == "ts" && ext != "" {
			return base, ext
		}
		if ext == "" {
			ext = e
		}
		base = base[:dot]
		if ext != "7z" && ext != "torrent" && ext != "disc" && ext != "nzb" {
			return base, ext
		}
	}
}

// maxDirs bounds the folders that are read.
const maxDirs = 8

// splitPath splits path into the name and the folders above it, nearest first, at most maxDirs. Unless the
// file is there, a slash that stands between blanks, in brackets, or between two titles of one name separates nothing.
func splitPath(path string, exists bool) (name string, dirs []string) {
	if strings.IndexByte(path, '/') < 0 && strings.IndexByte(path, '\\') < 0 ||
		!exists && !absolute(path) && oneName(path) {
		return path, dirs
	}
	found := false
	for end := len(path); end >= 0 && len(dirs) < maxDirs; {
		start := lastElement(path[:end], path, exists, found)
		part := strings.TrimSpace(path[start:end])
		end = start - 1
		switch {
		case part == "":
		case !found:
			name, found = part, true
		default:
			dirs = append(dirs, part)
		}
	}
	return name, dirs
}

// absolute reports whether a path begins where only a path can.
func absolute(path string) bool {
	switch path[0] {
	case '/', '\\', '~':
		return true
	}
	return strings.HasPrefix(path, "./") || strings.HasPrefix(path, "../") ||
		len(path) > 2 && path[1] == ':' && (path[2] == '/' || path[2] == '\\')
}

// lastElement returns where the last element of s begins, which is a prefix of path. found says that the name, the last
// element of path, lies behind s.
func lastElement(s, path string, exists, found bool) int {
	depth := 0 // of brackets that close behind
	for i := len(s) - 1; i >= 0; i-- {
		switch s[i] {
		case ']', ')', '}':
			depth++
		case '[', '(', '{':
			depth = max(depth-1, 0)
		case '\\':
			return i + 1
		case '/':
			inName := depth > 0 && opensBefore(path, i) || spacedSlash(path, i) || !found && fraction(path, i)
			if exists || !inName {
				return i + 1
			}
		}
	}
	return 0
}

// opensBefore reports whether the bracket that closes behind the slash at i opens before it in the same element.
func opensBefore(s string, i int) bool {
	for k := i - 1; k >= 0 && k > i-512 && s[k] != '\\'; k-- {
		switch s[k] {
		case '[', '(', '{':
			return true
		case ']', ')', '}':
			return false
		}
	}
	return false
}

// spacedSlash reports whether the slash at i stands between two blanks: "Title / Other Title".
func spacedSlash(s string, i int) bool {
	return i > 0 && i+1 < len(s) && (s[i-1] == ' ' && s[i+1] == ' ' ||
		strings.HasSuffix(s[:i], "　") && strings.HasPrefix(s[i+1:], "　"))
}

// fraction reports whether the slash at i is one of a fraction: "Ranma 1/2".
func fraction(s string, i int) bool {
	return i > 1 && i+1 < len(s) && digit(s[i-1]) && digit(s[i+1]) && s[i-2] == ' ' &&
		(i+2 == len(s) || s[i+2] == ' ' || s[i+2] == '.')
}

// oneName reports whether a relative path with slashes is one name that has titles, languages or tags beside each
// other.
func oneName(s string) bool {
	if strings.Contains(s, `\`) {
		return false
	}
	if strings.Contains(s, " / ") || strings.Contains(s, "　/　") {
		return true
	}
	opens := func(s string) bool {
		r, _ := utf8.DecodeRuneInString(s)
		return slices.Index(bracketSigns, r)%2 == 0
	}
	last := s[strings.LastIndexByte(s, '/')+1:]
	if !opens(s) || opens(last) {
		return false
	}
	if _, ext := cutExtension(last); ext == "" {
		return true
	}
	// "[组][中文/Romaji][01].mkv": the slash is in brackets.
	return strings.Count(s, "/") == 1 && strings.ContainsAny(last, "]】］") && !strings.ContainsAny(last, "[［")
}
