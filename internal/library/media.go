package library

import (
	"bytes"
	"path/filepath"
	"strings"
)

var video = set("mkv", "mp4", "m4v", "avi", "mov", "ts", "m2ts", "mts", "wmv", "webm", "ogm", "ogv",
	"mpg", "mpeg", "vob", "flv", "rmvb", "rm", "3gp", "divx", "iso", "strm")

var subtitle = set("srt", "ass", "ssa", "sub", "idx", "vtt", "sup", "smi", "ttml")

func set(words ...string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}

func extension(name string) string {
	return strings.ToLower(strings.TrimPrefix(filepath.Ext(name), "."))
}

// IsVideo reports whether a name has the extension of a video, in any case.
func IsVideo(name string) bool { return video[extension(name)] }

// isVideo is IsVideo for a name that need not become a string.
func isVideo(name []byte) bool {
	dot := bytes.LastIndexByte(name, '.')
	return dot >= 0 && (video[string(name[dot+1:])] || IsVideo(string(name[dot:])))
}

// IsSidecar reports whether a name is that of a file that belongs to a video: subtitles and ".nfo".
func IsSidecar(name string) bool { return IsSubtitle(name) || extension(name) == "nfo" }

// IsSubtitle reports whether a name has the extension of subtitles, in any case.
func IsSubtitle(name string) bool { return subtitle[extension(name)] }
