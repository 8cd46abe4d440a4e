package library

import (
	_ "embed" // for the words
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/anivault/anivault/internal/lazyregexp"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/wordlist"
)

//go:embed words.txt
var wordsText string

var wordSets = wordlist.Sets(wordsText)

// isListed reports whether a name, in any case and normal form, is in a section of words.txt.
func isListed(section, name string) bool {
	words := wordSets()[section]
	return words[name] || words[strings.ReplaceAll(strings.ToLower(norm.NFC.String(name)), "_", " ")]
}

func extension(name string) string { return strings.TrimPrefix(filepath.Ext(name), ".") }

// IsVideo reports whether a name has the extension of a video, in any case.
func IsVideo(name string) bool { return isListed("video", extension(name)) }

// IsSidecar reports whether a name has the extension of subtitles or ".nfo".
func IsSidecar(name string) bool {
	return IsSubtitle(name) || strings.EqualFold(extension(name), "nfo")
}

// IsSubtitle reports whether a name has the extension of subtitles, in any case.
func IsSubtitle(name string) bool { return isListed("subtitle", extension(name)) }

// Videos are the videos in a folder. They are used to find the video that another file, such as a subtitle, belongs to.
type Videos struct {
	names    []string
	stems    map[string]int    // index in names, by NFC name without extension
	releases []release.Release // the parsed names; nil until the first comparison
}

// NoSingleVideo is returned instead of a video's index if a file belongs to no video, or may belong to several.
const NoSingleVideo = -1

// NewVideos returns the videos with these names.
func NewVideos(names []string) *Videos {
	v := &Videos{names: names, stems: make(map[string]int, len(names))}
	for i, name := range names {
		stem := norm.NFC.String(Stem(name))
		if _, taken := v.stems[stem]; taken {
			i = NoSingleVideo
		}
		v.stems[stem] = i
	}
	return v
}

// Stem returns a file's name without its extension.
func Stem(name string) string {
	if dot := strings.LastIndexByte(name, '.'); dot > 0 {
		return name[:dot]
	}
	return name
}

// Owner returns the index of the video that a file belongs to, and the rest of the file's name: ".ko.srt" for "Show
// 01.ko.srt". The file's name must begin with the video's stem, followed by ". - _ [ (", a space or nothing; the
// longest stem wins. The index is NoSingleVideo if two videos have that stem.
func (v *Videos) Owner(name string) (video int, rest string, ok bool) {
	for end := len(name); end > 0; end-- {
		if end < len(name) && !strings.ContainsRune(".-_ [(", rune(name[end])) {
			continue
		}
		if video, ok = v.stems[norm.NFC.String(name[:end])]; ok {
			return video, name[end:], true
		}
	}
	return 0, "", false
}

// IsSubtitleFolder reports whether a folder of that name holds the subtitles of the videos beside it.
func IsSubtitleFolder(name string) bool { return isListed("subtitles", name) }

// IsSeasonFolder reports whether a folder's name says that it holds a season of a series.
func IsSeasonFolder(name string) bool { return seasonFolder().MatchString(norm.NFC.String(name)) }

// subtitlesOf returns the subtitles of each video, in byte order. Paths are relative to the videos' folder. The name of
// a subtitle next to the videos must begin with a video's stem. In a folder of subtitles, the same season and episode
// are enough, and a folder in it that is named like a video's stem belongs to that video. A subtitle that may belong to
// several videos is left out.
func subtitlesOf(names, paths []string) [][]string {
	out := make([][]string, len(names))
	videos := NewVideos(names)
	for _, path := range paths {
		parts := strings.Split(path, string(filepath.Separator))
		name := parts[len(parts)-1]
		video, _, ok := videos.Owner(name)
		switch {
		case len(parts) == 3:
			video, ok = videos.stems[norm.NFC.String(parts[1])]
		case len(parts) == 2 && !ok:
			video, ok = videos.WithEpisodes(name), true
		}
		if ok && video != NoSingleVideo {
			out[video] = append(out[video], path)
		}
	}
	for _, list := range out {
		slices.Sort(list)
	}
	return out
}

// WithEpisodes returns the index of the only video with the season and episodes of a subtitle from a folder of
// subtitles, or else NoSingleVideo. A subtitle without episodes, such as "2_English.srt", belongs to the only video.
// Extras, such as trailers, don't count.
func (v *Videos) WithEpisodes(subtitle string) int {
	if v.releases == nil {
		for _, video := range v.names {
			r := release.Parse(video)
			r.Extra = r.Extra || IsExtraName(video)
			v.releases = append(v.releases, r)
		}
	}
	found := v.withEpisodes(release.Parse("subs/" + subtitle))
	if number := leadingNumber().FindString(subtitle); found == NoSingleVideo && number != "" {
		return v.withEpisodes(release.Parse("subs/" + number))
	}
	return found
}

// leadingNumber matches an episode's number before a language: "05.en.srt". One digit is a track's: "2_English.srt".
var leadingNumber = lazyregexp.New(`^\d{2,4}`)

func (v *Videos) withEpisodes(name release.Release) (found int) {
	found = NoSingleVideo
	for i, v := range v.releases {
		if v.Extra || len(name.Episodes) > 0 && (!slices.Equal(name.Episodes, v.Episodes) ||
			len(name.Seasons) > 0 && len(v.Seasons) > 0 && !slices.Equal(name.Seasons, v.Seasons)) {
			continue
		}
		if found != NoSingleVideo {
			return NoSingleVideo
		}
		found = i
	}
	return found
}

func addSubtitles(files []File, dir string, items []item) {
	var paths []string
	for i := range items {
		switch it := &items[i]; {
		case it.isFolder() && IsSubtitleFolder(it.name):
			paths = append(paths, subtitlesBelow(dir, it.name, true)...)
		case !it.isVideo && !it.isDir && IsSubtitle(it.name):
			paths = append(paths, it.name)
		}
	}
	if len(paths) == 0 {
		return
	}
	var videos []string
	var at []int
	for i, f := range files {
		if !f.IsDir {
			videos, at = append(videos, f.Name), append(at, i)
		}
	}
	for n, list := range subtitlesOf(videos, paths) {
		files[at[n]].Subtitles = list
	}
}

func subtitlesBelow(dir, name string, recursive bool) (paths []string) {
	entries, _ := os.ReadDir(filepath.Join(dir, name)) // the walk reports the error
	for _, e := range entries {
		switch at := filepath.Join(name, e.Name()); {
		case !e.IsDir() && IsSubtitle(e.Name()):
			paths = append(paths, at)
		case e.IsDir() && recursive:
			paths = append(paths, subtitlesBelow(dir, at, false)...)
		}
	}
	return paths
}
