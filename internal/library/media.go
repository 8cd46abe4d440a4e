package library

import (
	_ "embed" // for the words
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lazyregexp"
	"github.com/anivault/anivault/internal/match"
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

// The reasons to skip a file or folder, other than a pattern.
const (
	SkipSample      = "sample"
	SkipTrailer     = "trailer"
	SkipCreditless  = "creditless opening or ending"
	SkipMenu        = "disc menu"
	SkipExtra       = "extra"
	SkipExtras      = "in a folder of extras"
	SkipHidden      = "hidden folder"
	SkipSystem      = "system folder"
	SkipAppleDouble = "macOS metadata"
	SkipSidecar     = "belongs to a video"
	SkipNotVideo    = "not a video file"
	SkipIrregular   = "not a regular file"
	SkipBrokenLink  = "link to nothing"
	SkipLinkLoop    = "link to a folder that is scanned anyway"
)

// IsExtra reports whether a file skipped for this reason is an extra of the series or film around it.
func IsExtra(reason lang.Text) bool {
	reasons := []lang.Text{SkipTrailer, SkipCreditless, SkipMenu, SkipExtra, SkipExtras, SkipSample, match.ExtraReason}
	return slices.Contains(reasons, reason)
}

// IsSample reports whether a file is a sample by its name or that of its folder.
func IsSample(path string) bool {
	folder := strings.ToLower(filepath.Base(filepath.Dir(path)))
	return folder == "sample" || folder == "samples" || skipByName(filepath.Base(path)) == SkipSample
}

// IsExtraName reports whether a file is an extra, such as a trailer, by its name.
func IsExtraName(name string) bool { return IsExtra(skipByName(name)) }

// fileRules match names without their extension; the first match decides. Names for each row are in skip_test.go.
var fileRules = []struct {
	reason lang.Text
	words  []string // lower case; a name without any cannot match
	stem   func() *regexp.Regexp
}{
	// "sample", "sample-grp-show", "show.s01e01-sample", "show [sample]". Not "Free Sample" nor "Sample - 01": a
	// space does not set it apart.
	{SkipSample, []string{"sample"}, lazyregexp.New(
		`(?i)^sample$|^sample-\S|^\S+[._-]sample$|[\[(]sample[\])]$|\d[ ._-]+sample$`)},
	{SkipTrailer, []string{"trailer"}, lazyregexp.New(
		`(?i)^(?:theatrical |official |teaser )?trailers?(?: ?\d+)?$|[._-]trailer ?\d*$` +
			`|- (?:theatrical |official |teaser )?trailer ?\d*$|[\[(](?:official )?trailer ?\d*[\])]`)},
	{SkipCreditless, []string{"nc", "credit", "clean", "textless"}, lazyregexp.New(
		`(?i)(?:^|[ ._\[(-])NC[ ._-]?(?:OP|ED)(?:[ ._-]?\d{1,2}[a-z]?)?(?:v\d)?(?:$|[ ._\])-])` +
			`|(?:^|[ ._\[(-])(?:creditless|clean|textless|non-?credit)[ ._-](?:opening|ending|op|ed)(?:$|[ ._\])\d-])`)},
	{SkipMenu, []string{"menu"}, lazyregexp.New(
		`(?i)^(?:\[[^\]]*\] ?)?(?:(?:BD|DVD|Blu-?ray|Disc|Disk|Main)[ ._-]?)?menus?(?:[ ._-]?\d{1,2})?$` +
			`|[ ._\[(-](?:BD|DVD|Blu-?ray|Disc|Disk)[ ._-]?menus?(?:[ ._-]?\d{1,2})?(?:$|[ ._\])-])` +
			`|\[menus?(?:[ ._-]?\d{1,2})?\]| - menus?(?: ?\d{1,2})?$| - menus?(?: ?\d{1,2})? [\[(]`)},
	// These suffixes mark local extras in Plex, Jellyfin and Kodi. Common words such as "-scene" are not enough: they may
	// be part of a hyphenated title, such as "crime-scene".
	{SkipExtra, []string{
		"scene", "deleted", "featurette", "interview", "extra", "short", "other", "clip",
	}, lazyregexp.New(`(?i)\S-(?:behindthescenes|deleted|deletedscene|featurette|interview|extra)$` +
		`|[ .)\]].*\S-(?:scene|short|other|clip)$`)},
}

// episodeName matches an episode's name and captures the title before the number. There " - Menu" is part of a title.
var episodeName = lazyregexp.New(`(?i)^(.*?)[ ._-]*(?:\bs\d{1,2}[ ._-]?e\d{1,4}|\b\d{1,2}x\d{2,3}\b)`)

func skipByName(name string) lang.Text {
	if strings.HasPrefix(name, "._") {
		return SkipAppleDouble
	}
	stem := strings.TrimSuffix(name, filepath.Ext(name))
	low := strings.ToLower(stem)
	for _, r := range fileRules {
		hasWord := slices.ContainsFunc(r.words, func(w string) bool { return strings.Contains(low, w) })
		if hasWord && r.stem().MatchString(stem) && (r.reason != SkipMenu || !episodeName().MatchString(stem)) {
			return r.reason
		}
	}
	return ""
}

var seasonFolder = lazyregexp.New(
	`(?i)^(?:season|series|saison|staffel|temporada|stagione|сезон|시즌|シーズン)[ ._-]*\d{1,4}\b|^s\d{1,2}$` +
		`|\b\d{1,2}(?:st|nd|rd|th) season$|^第[0-9０-９一二三四五六七八九十]+[期季]$|\d기$` +
		`|^(?:specials?|season 0+|ova|oad)$|\bseason\s(?:\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten)$`)

// hiddenFolder returns why the walk skips a folder with this name, or "" if the walk reads it. Roots are always read. A
// name that starts with a dot but looks like a title is not hidden: the series ".hack//SIGN" may be in ".hack SIGN".
func hiddenFolder(name string) lang.Text {
	switch {
	case isListed("system", name):
		return SkipSystem
	case !strings.HasPrefix(name, "."):
		return ""
	case strings.HasPrefix(strings.ToLower(name), ".trash"):
		return SkipSystem
	case strings.ContainsAny(name, " [(") || strings.Contains(name, "__") ||
		strings.HasPrefix(strings.ToLower(name), ".hack"):
		return ""
	}
	return SkipHidden
}

// folderContext describes the folder around a folder, to decide whether the inner one holds extras. Its name is not
// enough: there is a series called "Extras".
type folderContext struct {
	isRoot     bool
	hasSeasons bool // only known if it has a folder with a name for extras
	hasVideos  bool
}

func folderContextOf(items []item, root bool) folderContext {
	s, hasExtras := folderContext{isRoot: root}, false
	for i := range items {
		s.hasVideos = s.hasVideos || items[i].isVideo
		word := strings.TrimSpace(items[i].name)
		hasExtras = hasExtras || !items[i].isVideo && (isListed("extras", word) || isListed("extras-beside-videos", word))
	}
	s.hasSeasons = hasExtras && hasSeasons(items) // nobody else asks, and a root can have thousands of folders
	return s
}

func hasSeasons(items []item) bool {
	return slices.ContainsFunc(items, func(it item) bool { return it.isDir && IsSeasonFolder(it.name) })
}

// isExtrasFolder reports whether a folder with a name for extras holds the extras of the folder around it:
//
//   - no, if its episodes are named after the folder ("Extras.S01E01"): it is a series
//   - yes, if there are season folders next to it
//   - below a root: yes, unless it contains season folders and there are no videos next to it
//   - directly in a root with videos (a film's folder or a flat library): yes, unless it contains season folders
//   - directly in a root without videos: no, it is a title
//   - if its name may mean anything ("Other"): only below a root, beside videos or seasons
func isExtrasFolder(name string, items []item, parent folderContext) bool {
	if word := strings.TrimSpace(name); isListed("extras-beside-videos", word) {
		return !parent.isRoot && (parent.hasVideos || parent.hasSeasons)
	} else if !isListed("extras", word) {
		return false
	}
	seasons := hasSeasons(items)
	for _, it := range items {
		m := episodeName().FindStringSubmatch(it.name)
		if it.isVideo && m != nil && lettersOf(yearSuffix().ReplaceAllString(m[1], "")) == lettersOf(name) {
			return false
		}
	}
	if parent.isRoot {
		return parent.hasSeasons || parent.hasVideos && !seasons
	}
	return parent.hasSeasons || parent.hasVideos || !seasons
}

var yearSuffix = lazyregexp.New(`[ ._-]*[(\[]?(?:19|20)\d\d[)\]]?$`)

func lettersOf(s string) string { return strings.ToLower(separators.Replace(s)) }

var separators = strings.NewReplacer(" ", "", ".", "", "_", "", "-", "", "[", "", "]", "", "(", "", ")", "")
