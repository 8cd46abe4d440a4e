package library

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/release"
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

// Stems are the names of a folder's videos without their extensions: what the names of files that belong to them begin
// with.
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

// Owner returns the video whose stem is the longest that a file's name begins with, ending there or before one of ". -
// _ [ (" or a space, and what stands behind it. The video is TwoVideos where two have that stem; ok is false where none
// has.
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

// SubtitleFolder is a folder of subtitles beside videos: its own files, and those of the folders in it.
type SubtitleFolder struct {
	Name    string
	Files   []string
	Folders []SubtitleFolder
}

// SubtitlesOf returns which subtitles belong to each of a folder's videos, in byte order, with the folder in front of
// those that are in one. A file beside the videos belongs to the one whose stem is the longest that its name begins
// with. In a folder of subtitles that holds too, or else the season and episode that its name says; in a folder there
// that is called like a video everything belongs to that. What may belong to several videos belongs to none.
func SubtitlesOf(videos, beside []string, folders []SubtitleFolder) [][]string {
	out := make([][]string, len(videos))
	stems := NewStems(videos)
	add := func(video int, path string) {
		if video != TwoVideos {
			out[video] = append(out[video], path)
		}
	}
	for _, name := range beside {
		if video, _, ok := stems.Owner(name); ok && IsSubtitle(name) {
			add(video, name)
		}
	}
	var places []release.Release // of the videos, once a name has to be compared
	for _, folder := range folders {
		for _, name := range folder.Files {
			if !IsSubtitle(name) {
				continue
			}
			video, _, ok := stems.Owner(name)
			if !ok {
				if places == nil {
					for _, v := range videos {
						places = append(places, release.Parse(v))
					}
				}
				video = SamePlace(release.Parse(name), places)
			}
			add(video, filepath.Join(folder.Name, name))
		}
		for _, of := range folder.Folders {
			if video, ok := stems[of.Name]; ok {
				for _, name := range of.Files {
					if IsSubtitle(name) {
						add(video, filepath.Join(folder.Name, of.Name, name))
					}
				}
			}
		}
	}
	for _, list := range out {
		slices.SortFunc(list, cmp.Compare[string])
	}
	return out
}

// SamePlace returns the one video that has the episodes of a subtitle's name, in the same season where both say one;
// TwoVideos where none or several have.
func SamePlace(name release.Release, videos []release.Release) int {
	found := TwoVideos
	for i, v := range videos {
		if len(name.Episodes) == 0 || !slices.Equal(name.Episodes, v.Episodes) ||
			len(name.Seasons) > 0 && len(v.Seasons) > 0 && !slices.Equal(name.Seasons, v.Seasons) {
			continue
		}
		if found != TwoVideos {
			return TwoVideos
		}
		found = i
	}
	return found
}

// addSubtitles gives the videos among files, which are of one folder, their subtitles. items are all that the folder
// holds.
func addSubtitles(files []File, path string, items []item) {
	var beside []string
	var folders []SubtitleFolder
	for i := range items {
		it := &items[i]
		switch {
		case it.isFolder() && IsSubtitleFolder(it.name):
			folders = append(folders, readSubtitles(path, it.name, true))
		case !it.video && !it.isDir && IsSubtitle(it.name):
			beside = append(beside, it.name)
		}
	}
	if len(beside) == 0 && len(folders) == 0 {
		return
	}
	var videos []string
	var at []int
	for i, f := range files {
		if !f.IsDir {
			videos, at = append(videos, f.Name), append(at, i)
		}
	}
	for n, list := range SubtitlesOf(videos, beside, folders) {
		files[at[n]].Subtitles = list
	}
}

// readSubtitles lists a folder of subtitles, and with deep the folders in it. What can't be read has none.
func readSubtitles(dir, name string, deep bool) SubtitleFolder {
	out := SubtitleFolder{Name: name}
	entries, _ := os.ReadDir(filepath.Join(dir, name)) // the walk reports it, where it enters it
	for _, e := range entries {
		switch {
		case !e.IsDir():
			out.Files = append(out.Files, e.Name())
		case deep:
			out.Folders = append(out.Folders, readSubtitles(filepath.Join(dir, name), e.Name(), false))
		}
	}
	return out
}
