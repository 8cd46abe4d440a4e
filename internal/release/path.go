package release

import "strings"

// This file decides which part of a path is the name, which are its folders,
// and what is an extension.

// extensions of files that hold, or belong to, a video.
var extensions = map[string]bool{}

func init() {
	for _, e := range strings.Fields("mkv mp4 m4v avi mov ts m2ts mts wmv webm ogm ogv mpg mpeg vob flv rmvb rm 3gp divx iso strm mk3d wtv asf m2v img " +
		"srt ass ssa sub idx vtt nfo sup smi txt torrent nzb 7z zip rar patch jpg png mka flac mks disc") {
		extensions[e] = true
	}
}

// cutExtension splits a name into its base and its known extension, lower case and without the dot.
func cutExtension(name string) (base, ext string) {
	base = strings.TrimRight(name, " '\"")
	for {
		dot := strings.LastIndexByte(base, '.')
		if dot < 0 || len(base)-dot > 8 || dot == 0 {
			return base, ext
		}
		e := lower(base[dot+1:])
		if !extensions[e] || e == "ts" && ext != "" {
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

// splitPath splits path into the name and the folders above it, nearest first. Unless the file is there, a slash that
// stands between blanks, in brackets, or between two titles of one name separates nothing.
func splitPath(path string, exists bool, store []string) (name string, dirs []string) {
	dirs = store[:0]
	rest := path
	if !strings.ContainsAny(rest, `/\`) {
		return rest, dirs
	}
	absolute := rest[0] == '/' || rest[0] == '\\' || rest[0] == '~' || strings.HasPrefix(rest, "./") || strings.HasPrefix(rest, "../") ||
		len(rest) > 2 && rest[1] == ':' && (rest[2] == '/' || rest[2] == '\\')
	if !exists && !absolute && !strings.Contains(rest, `\`) && oneName(rest) {
		return rest, dirs
	}
	end := len(rest)
	name = ""
	found := false
	depth := 0
	for i := len(rest) - 1; i >= -1; i-- {
		if i >= 0 {
			switch rest[i] {
			case ']', ')', '}':
				depth++
			case '[', '(', '{':
				depth = max(depth-1, 0)
			}
			if rest[i] != '/' && rest[i] != '\\' {
				continue
			}
			if !exists && rest[i] == '/' && (depth > 0 && opensBefore(rest, i) || i > 0 && rest[i-1] == ' ' && i+1 < len(rest) && rest[i+1] == ' ' || !found && fraction(rest, i)) {
				continue
			}
			depth = 0
		}
		part := strings.TrimSpace(rest[i+1 : end])
		end = i
		if part == "" {
			continue
		}
		if !found {
			name, found = part, true
			continue
		}
		if len(dirs) == cap(dirs) {
			break
		}
		dirs = append(dirs, part)
	}
	return name, dirs
}

// opensBefore says whether the bracket that closes behind the slash at i opens before it in the same element.
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

// fraction: "Ranma 1/2".
func fraction(s string, i int) bool {
	return i > 1 && i+1 < len(s) && digit(s[i-1]) && digit(s[i+1]) && s[i-2] == ' ' && (i+2 == len(s) || s[i+2] == ' ' || s[i+2] == '.')
}

// oneName says whether a relative path with slashes is one name that has titles, languages or tags beside each other.
func oneName(s string) bool {
	if strings.Contains(s, " / ") {
		return true
	}
	if s[0] != '[' && !strings.HasPrefix(s, "【") && s[0] != '(' {
		return false
	}
	slash := strings.LastIndexByte(s, '/')
	last := s[slash+1:]
	if strings.HasPrefix(last, "[") || strings.HasPrefix(last, "【") {
		return false
	}
	_, ext := cutExtension(last)
	if ext == "" {
		return true
	}
	// "[组][中文/Romaji][01].mkv": the slash is in brackets.
	return strings.Count(s, "/") == 1 && strings.ContainsAny(last, "]】") && !strings.Contains(last, "[")
}
