package organize

import (
	_ "embed" // for languages.txt
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/nfo"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/slicesx"
)

// sidecar is a file that belongs to a video, such as a subtitle.
type sidecar struct {
	dir       *folder
	index     int    // the index of the file in dir.items
	subfolder string // dir relative to the video's folder; "" for that folder itself
	suffix    string // the part of the target name after the video's stem
	title     string // distinguishes sidecars with the same suffix, such as "Commentary"
	code      Code   // why the sidecar is skipped; "" if it is not
	why       lang.Text
}

func (s *sidecar) item() *Item { return &s.dir.items[s.index] }

func (s *sidecar) source() string { return joinPath(s.subfolder, s.item().Name) }

func (s *sidecar) target(base string) string {
	dir, stem := path.Split(base)
	return dir + path.Join(slicesx.Map(strings.Split(stem+s.suffix, "/"), CleanName)...)
}

type sidecarAssigner struct {
	planner      *Planner
	dir          *folder
	matcher      *library.Videos
	videos       []*video // by number in matcher; nil for a video that is not planned
	videoNumbers []int    // by index in dir.items: the number of the video; -1 if the file is no video

	isRename   bool // for the rename of one video in the library; its extras and previews go with it
	isRenaming bool // the library's own files get other names; their previews go with them
}

func (p *Planner) assignSidecars() {
	var order []*folder
	for _, v := range p.videos {
		if v.dir.videos == nil {
			order = append(order, v.dir)
		}
		v.dir.videos = append(v.dir.videos, v)
	}
	for _, dir := range order {
		if dir.mayHaveSidecars() {
			newSidecarAssigner(p, dir).assign()
		}
	}
	for _, v := range p.videos {
		v.labelSidecars()
	}
}

func (f *folder) mayHaveSidecars() bool {
	return slices.ContainsFunc(f.items, func(item Item) bool {
		return item.Type == TypeDir && (library.IsSubtitleFolder(item.Name) || path.Ext(item.Name) == ".trickplay") ||
			item.Type == TypeRegular && !library.IsVideo(item.Name)
	})
}

func newSidecarAssigner(p *Planner, dir *folder) *sidecarAssigner {
	o := &sidecarAssigner{planner: p, dir: dir, videoNumbers: make([]int, len(dir.items))}
	var names []string
	planned := make(map[*Item]*video, len(dir.videos))
	for _, v := range dir.videos {
		planned[v.item], o.isRename, o.isRenaming = v, v.isRename, v.isRename || p.opts.renamesInPlace(v)
	}
	for i := range dir.items {
		item := &dir.items[i]
		v := planned[item] // a record's file may lack the extension of a video
		o.videoNumbers[i] = -1
		isExtra := o.isRename && (library.IsExtraName(item.Name) || release.Parse(item.Name).Extra)
		if v != nil || item.Type != TypeDir && library.IsVideo(item.Name) && !isExtra {
			o.videoNumbers[i] = len(names)
			names, o.videos = append(names, item.Name), append(o.videos, v)
		}
	}
	o.matcher = library.NewVideos(names)
	return o
}

func (o *sidecarAssigner) assign() {
	for i := range o.dir.items {
		switch item := &o.dir.items[i]; {
		case item.Ignored:
		case item.Type == TypeDir && library.IsSubtitleFolder(item.Name):
			o.assignSubtitles(o.planner.folders.list(joinPath(o.dir.path, item.Name)), item.Name)
		case item.Type == TypeDir && o.isRenaming && strings.HasSuffix(item.Name, ".trickplay"):
			o.assignPreviews(item.Name)
		case (item.Type == TypeRegular || item.Type == TypeLink && o.isRename) &&
			o.videoNumbers[i] < 0 && !isNeverSidecar(item.Name):
			if number, rest, ok := o.matcher.Owner(item.Name); ok {
				o.assignTo(number, sidecar{dir: o.dir, index: i, suffix: rest})
			}
		}
	}
}

// assignSubtitles assigns what is in a folder of subtitles, and in those below it for a video or a language. A subtitle
// of a video in the same folder stays with that.
func (o *sidecarAssigner) assignSubtitles(dir *folder, subfolder string) {
	_, language := languageSuffix(path.Base(subfolder))
	inside := newSidecarAssigner(o.planner, dir).matcher
	for i := range dir.items {
		item := &dir.items[i]
		if item.Type == TypeDir && !item.Ignored && !strings.Contains(subfolder, "/") {
			of := o.planner.folders.list(joinPath(dir.path, item.Name))
			if left, rest := languageSuffix(item.Name); left == "" && rest != "" {
				o.assignSubtitles(of, path.Join(subfolder, item.Name))
			} else if number, rest, ok := o.matcher.Owner(item.Name); ok && rest == "" {
				for k := range of.items {
					if isSubtitleOrAudio(&of.items[k]) {
						o.assignTo(number, sidecarByLanguage(of, k, path.Join(subfolder, item.Name)))
					}
				}
			}
		}
		if _, _, isOwned := inside.Owner(item.Name); isOwned || !isSubtitleOrAudio(item) {
			continue
		}
		number, rest, ok := o.matcher.Owner(item.Name)
		s := sidecar{dir: dir, index: i, subfolder: subfolder, suffix: rest, title: path.Base(subfolder)}
		if !ok {
			number, s = o.matcher.WithEpisodes(item.Name), sidecarByLanguage(dir, i, subfolder)
		}
		if _, own := languageSuffix(library.Stem(s.suffix)); own == "" && language != "" {
			if !ok {
				s.suffix, s.title = path.Ext(item.Name), library.Stem(item.Name)
			}
			s.suffix = language + s.suffix
		}
		o.assignTo(number, s)
	}
}

// assignPreviews assigns the preview images that Jellyfin creates, such as "Film.trickplay/320 - 10x10/0.jpg".
func (o *sidecarAssigner) assignPreviews(name string) {
	number, rest, ok := o.matcher.Owner(name)
	if !ok || rest != path.Ext(name) {
		return
	}
	for _, size := range o.planner.folders.list(joinPath(o.dir.path, name)).items {
		if below := joinPath(name, size.Name); size.Type == TypeDir {
			of := o.planner.folders.list(joinPath(o.dir.path, below))
			for i := range of.items {
				suffix := joinPath(joinPath(rest, size.Name), of.items[i].Name)
				o.assignTo(number, sidecar{dir: of, index: i, subfolder: below, suffix: suffix})
			}
		}
	}
}

func isSubtitleOrAudio(item *Item) bool {
	role := RoleOf(item.Name)
	return item.Type == TypeRegular && !item.Ignored && (role == RoleSubtitle || role == RoleAudio)
}

// sidecarByLanguage returns a sidecar with only the language and flags of its name, or with the whole name.
func sidecarByLanguage(dir *folder, index int, subfolder string) sidecar {
	name := dir.items[index].Name
	left, rest := languageSuffix(library.Stem(name))
	if rest == "" {
		return sidecar{dir: dir, index: index, subfolder: subfolder, suffix: "." + name}
	}
	return sidecar{
		dir: dir, index: index, subfolder: subfolder, suffix: rest + path.Ext(name), title: strings.TrimSpace(left),
	}
}

func (o *sidecarAssigner) assignTo(number int, s sidecar) {
	if number == library.NoSingleVideo {
		o.planner.reportedFiles[s.item()] = true
		o.planner.unowned = append(o.planner.unowned, o.planner.opts.skippedFile(s.dir, s.item().Name, CodeNoOwner,
			"no video, or more than one, fits it"))
		return
	}
	v := o.videos[number]
	if v == nil {
		return
	}
	if RoleOf(s.item().Name) == RoleNFO && s.suffix != "" {
		text, err := o.planner.folders.disk.ReadEnds(joinPath(s.dir.path, s.item().Name))
		switch root := nfo.Root(text); {
		case err != nil:
			s.code, s.why = CodeUnreadable, lang.TextOf(err)
		case root != "movie" && root != "tvshow" && root != "episodedetails":
			s.suffix = ".release.nfo"
		}
	}
	o.planner.ownedFiles[s.item()] = true
	v.sidecars = append(v.sidecars, s)
}

func (v *video) labelSidecars() {
	if len(v.sidecars) < 2 {
		return
	}
	for _, title := range []func(*sidecar) string{
		func(s *sidecar) string { return s.title },
		func(s *sidecar) string { return strings.ReplaceAll(s.subfolder, "/", " ") },
	} {
		for _, group := range v.duplicateSuffixes() {
			titles := slicesx.Map(group, title)
			for k, text := range distinctWords(titles) {
				if text = strings.Trim(cleanText(text), ". "); text != "" {
					group[k].suffix = "." + text + group[k].suffix
				}
			}
		}
	}
	taken := map[string]bool{}
	for i := range v.sidecars {
		taken[suffixKey(v.sidecars[i].suffix)] = true
	}
	for _, group := range v.duplicateSuffixes() {
		n := 2
		for _, s := range group[1:] {
			for taken[suffixKey("."+strconv.Itoa(n)+s.suffix)] {
				n++
			}
			s.suffix = "." + strconv.Itoa(n) + s.suffix
			taken[suffixKey(s.suffix)] = true
		}
	}
}

func suffixKey(rest string) string { return FoldName(cleanText("x" + rest)) }

// distinctWords returns each text without the words that all texts begin or end with.
func distinctWords(texts []string) []string {
	out, words := make([]string, len(texts)), make([][]string, len(texts))
	for i, text := range texts {
		words[i] = strings.FieldsFunc(text, isSeparator)
	}
	for range 2 { // from the beginning, then from the end
		n := 0
		for n < len(words[0]) && !slices.ContainsFunc(words, func(of []string) bool {
			return n >= len(of) || of[n] != words[0][n]
		}) {
			n++
		}
		for i := range words {
			words[i] = words[i][n:]
			slices.Reverse(words[i])
		}
	}
	for i := range words {
		out[i] = strings.Join(words[i], " ")
	}
	return out
}

func (v *video) duplicateSuffixes() [][]*sidecar {
	all := make([]*sidecar, len(v.sidecars))
	for i := range v.sidecars {
		all[i] = &v.sidecars[i]
	}
	return groupDuplicates(all, func(s *sidecar) string { return suffixKey(s.suffix) })
}

func extension(name string) string {
	if ext := strings.ToLower(path.Ext(name)); ext != "" && ext != name {
		return ext
	}
	return ""
}

// languagesText has a row for each language: the code that media servers read, other ISO 639 codes, and the names of
// the language in English and in the language itself.
//
//go:embed languages.txt
var languagesText string

// languages maps the words of each row, in lower case, to the code.
var languages = indexWords(strings.Split(strings.TrimSpace(languagesText), "\n")...)

var subtitleFlags = indexWords("forced", "sdh", "cc", "hi", "default", "signs")

func indexWords(list ...string) map[string]string {
	m := map[string]string{}
	for _, row := range list {
		words := strings.Fields(row)
		for _, word := range words {
			m[strings.ToLower(word)] = words[0]
		}
	}
	return m
}

// languageSuffix splits the language and flags off the end of a stem: "2_English (SDH)" results in "2" and ".en.sdh".
// If there are none, suffix is "".
func languageSuffix(stem string) (left, suffix string) {
	var language string
	var said []string
	for {
		stem = strings.TrimRightFunc(stem, isSeparator)
		word := lastWord(stem)
		if before, dash := strings.CutSuffix(stem, "-"+word); dash { // a code with a hyphen, such as zh-Hans or pt-BR
			if longer := lastWord(before) + "-" + word; languages[strings.ToLower(longer)] != "" {
				word = longer
			}
		}
		low := strings.ToLower(word)
		switch {
		case subtitleFlags[low] != "" && !slices.Contains(said, low):
			said = append(said, low)
		case languages[low] != "" && language == "":
			language = languages[low]
		default:
			if language != "" {
				said = append(said, language)
			}
			slices.Reverse(said)
			return stem, strings.Join(append([]string{""}, said...), ".")
		}
		stem = strings.TrimSuffix(stem, word)
	}
}

func lastWord(s string) string {
	return s[len(strings.TrimRightFunc(s, func(r rune) bool { return !isSeparator(r) })):]
}

func isSeparator(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("._-[](){},+&", r) }
