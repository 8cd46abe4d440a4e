package library

import "strings"

// Stems are the names of a folder's videos without their extensions: what the names of files that belong to them begin with.
type Stems map[string]int

// TwoVideos is in the place of a video's number where two have one stem.
const TwoVideos = -1

// NewStems returns the stems of a folder's videos, numbered as given.
func NewStems(videos []string) Stems {
	s := make(Stems, len(videos))
	for i, name := range videos {
		stem := Stem(name)
		if _, taken := s[stem]; taken {
			i = TwoVideos
		}
		s[stem] = i
	}
	return s
}

// Stem returns a file's name without its extension.
func Stem(name string) string {
	if dot := strings.LastIndexByte(name, '.'); dot > 0 {
		return name[:dot]
	}
	return name
}

// Owner returns the video whose stem is the longest that a file's name begins with, ending there or before one of ". - _ [ (" or
// a space, and what stands behind it. The video is TwoVideos where two have that stem; ok is false where none has.
func (s Stems) Owner(name string) (video int, rest string, ok bool) {
	for end := len(name); end > 0; end-- {
		if end < len(name) && !strings.ContainsRune(".-_ [(", rune(name[end])) {
			continue
		}
		if video, ok = s[name[:end]]; ok {
			return video, name[end:], true
		}
	}
	return 0, "", false
}

// IsSubtitleFolder reports whether a folder of that name holds the subtitles of the videos beside it.
func IsSubtitleFolder(name string) bool { return subtitleFolders[strings.ToLower(name)] }

var subtitleFolders = set("subs", "subtitles", "sub", "字幕", "자막")

// IsSeasonFolder reports whether a folder's name says that it holds a season of a series.
func IsSeasonFolder(name string) bool { return seasonFolder().MatchString(name) }
