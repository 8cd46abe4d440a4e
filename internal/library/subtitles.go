package library

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"

	"github.com/anivault/anivault/internal/release"
)

// SubtitleFolder is a folder of subtitles beside videos: its own files, and those of the folders in it.
type SubtitleFolder struct {
	Name    string
	Files   []string
	Folders []SubtitleFolder
}

// SubtitlesOf returns which subtitles belong to each of a folder's videos, in byte order, with the folder in front of those that
// are in one. A file beside the videos belongs to the one whose stem is the longest that its name begins with. In a folder of
// subtitles that holds too, or else the season and episode that its name says; in a folder there that is called like a video
// everything belongs to that. What may belong to several videos belongs to none.
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

// SamePlace returns the one video that has the episodes of a subtitle's name, in the same season where both say one; TwoVideos
// where none or several have.
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

// addSubtitles gives the videos among files, which are of one folder, their subtitles. items are all that the folder holds.
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
