package organize

import (
	_ "embed" // of languages.txt
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/nfo"
	"github.com/anivault/anivault/internal/release"
)

type sidecar struct {
	dir    *folder
	index  int    // in dir
	below  string // dir relative to the video's folder; "" for that folder itself
	suffix string // what follows the video's stem in the name
	title  string // distinguishes it from another sidecar with the same rest
	code   Code   // why only this sidecar is skipped
	why    lang.Text
}

func (s *sidecar) item() *Item { return &s.dir.items[s.index] }

func (s *sidecar) source() string { return join(s.below, s.item().Name) }

func (s *sidecar) target(base string) string {
	dir, stem := path.Split(base)
	parts := strings.Split(stem+s.suffix, "/")
	for i, part := range parts {
		parts[i] = CleanName(part)
	}
	return dir + path.Join(parts...)
}

type owner struct {
	p      *Planner
	dir    *folder
	all    *library.Videos
	videos []*video // by number; nil: not planned
	at     []int    // by index in dir: the video's number; -1: not a video

	renames bool // the folder's one planned video is of the library: its extras and previews go with it
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
		if dir.hasOthers() {
			newOwner(p, dir).assign()
		}
	}
	for _, v := range p.videos {
		v.labelSidecars()
	}
}

func (f *folder) hasOthers() bool {
	return slices.ContainsFunc(f.items, func(item Item) bool {
		return item.Type == TypeDir && library.IsSubtitleFolder(item.Name) || item.Type == TypeRegular &&
			!library.IsVideo(item.Name)
	})
}

func newOwner(p *Planner, dir *folder) *owner {
	o := &owner{p: p, dir: dir, at: make([]int, len(dir.items))}
	var names []string
	planned := make(map[*Item]*video, len(dir.videos))
	for _, v := range dir.videos {
		planned[v.item], o.renames = v, v.renames
	}
	for i := range dir.items {
		item := &dir.items[i]
		v := planned[item] // a record may name a file without a video's extension
		o.at[i] = -1
		if v != nil || item.Type != TypeDir && library.IsVideo(item.Name) && !(o.renames && release.Parse(item.Name).Extra) {
			o.at[i] = len(names)
			names, o.videos = append(names, item.Name), append(o.videos, v)
		}
	}
	o.all = library.NewVideos(names)
	return o
}

func (o *owner) assign() {
	for i := range o.dir.items {
		switch item := &o.dir.items[i]; {
		case item.Type == TypeDir && library.IsSubtitleFolder(item.Name):
			o.assignSubtitles(o.p.folders.list(join(o.dir.path, item.Name)), item.Name)
		case item.Type == TypeDir && o.renames && strings.HasSuffix(item.Name, ".trickplay"):
			o.assignPreviews(item.Name)
		case (item.Type == TypeRegular || item.Type == TypeLink && o.renames) && o.at[i] < 0 && !followsNobody(item.Name):
			if number, rest, ok := o.all.Owner(item.Name); ok {
				o.assignTo(number, sidecar{dir: o.dir, index: i, suffix: rest})
			}
		}
	}
}

func (o *owner) assignSubtitles(dir *folder, below string) {
	for i := range dir.items {
		item := &dir.items[i]
		if item.Type == TypeDir {
			if number, rest, ok := o.all.Owner(item.Name); ok && rest == "" {
				of := o.p.folders.list(join(dir.path, item.Name))
				for k := range of.items {
					if isTrack(&of.items[k]) {
						o.assignTo(number, byLanguage(of, k, path.Join(below, item.Name)))
					}
				}
			}
			continue
		}
		if !isTrack(item) {
			continue
		}
		if number, rest, ok := o.all.Owner(item.Name); ok {
			o.assignTo(number, sidecar{dir: dir, index: i, below: below, suffix: rest, title: path.Base(below)})
		} else {
			o.assignTo(o.all.WithEpisodes(item.Name), byLanguage(dir, i, below))
		}
	}
}

// assignPreviews assigns the preview images that Jellyfin makes: "Film.trickplay/320 - 10x10/0.jpg".
func (o *owner) assignPreviews(name string) {
	number, rest, ok := o.all.Owner(name)
	if !ok || rest != path.Ext(name) {
		return
	}
	for _, size := range o.p.folders.list(join(o.dir.path, name)).items {
		if below := join(name, size.Name); size.Type == TypeDir {
			of := o.p.folders.list(join(o.dir.path, below))
			for i := range of.items {
				o.assignTo(number, sidecar{dir: of, index: i, below: below, suffix: join(join(rest, size.Name), of.items[i].Name)})
			}
		}
	}
}

func isTrack(item *Item) bool {
	role := RoleOf(item.Name)
	return item.Type == TypeRegular && (role == RoleSubtitle || role == RoleAudio)
}

// byLanguage returns a sidecar with only the language and flags of its name, or the whole name if it has none.
func byLanguage(dir *folder, index int, below string) sidecar {
	name := dir.items[index].Name
	left, rest := languageSuffix(library.Stem(name))
	if rest == "" {
		return sidecar{dir: dir, index: index, below: below, suffix: "." + name}
	}
	return sidecar{dir: dir, index: index, below: below, suffix: rest + path.Ext(name), title: strings.TrimSpace(left)}
}

func (o *owner) assignTo(number int, s sidecar) {
	if number == library.NoSingleVideo {
		o.p.reported[s.item()] = true
		o.p.unowned = append(o.p.unowned, o.p.o.leftFile(s.dir, s.item().Name, NoOwner,
			"no video, or more than one, could own it"))
		return
	}
	v := o.videos[number]
	if v == nil {
		return
	}
	if RoleOf(s.item().Name) == RoleNFO && s.suffix != "" {
		text, err := o.p.disk.Ends(join(s.dir.path, s.item().Name))
		switch root := nfo.Root(text); {
		case err != nil:
			s.code, s.why = Unreadable, lang.TextOf(err)
		case root != "movie" && root != "tvshow" && root != "episodedetails":
			s.suffix = ".release.nfo"
		}
	}
	if s.dir == o.dir {
		o.p.owned[s.item()] = true
	}
	v.sidecars = append(v.sidecars, s)
}

func (v *video) labelSidecars() {
	if len(v.sidecars) < 2 {
		return
	}
	for _, title := range []func(*sidecar) string{
		func(s *sidecar) string { return s.title },
		func(s *sidecar) string { return strings.ReplaceAll(s.below, "/", " ") },
	} {
		for _, group := range v.sameRests() {
			titles := make([]string, len(group))
			for k, s := range group {
				titles[k] = title(s)
			}
			for k, text := range differences(titles) {
				if text = strings.Trim(cleanText(text), ". "); text != "" {
					group[k].suffix = "." + text + group[k].suffix
				}
			}
		}
	}
	taken := map[string]bool{}
	for i := range v.sidecars {
		taken[restKey(v.sidecars[i].suffix)] = true
	}
	for _, group := range v.sameRests() {
		n := 2
		for _, s := range group[1:] {
			for taken[restKey("."+strconv.Itoa(n)+s.suffix)] {
				n++
			}
			s.suffix = "." + strconv.Itoa(n) + s.suffix
			taken[restKey(s.suffix)] = true
		}
	}
}

func restKey(rest string) string { return FoldName(cleanText("x" + rest)) }

// differences returns the words that distinguish each text, without the words that all texts begin or end with.
func differences(texts []string) []string {
	words := make([][]string, len(texts))
	for i, text := range texts {
		words[i] = strings.FieldsFunc(text, isSeparator)
	}
	first := words[0]
	begin, end := len(first), len(first)
	for _, other := range words[1:] {
		n := 0
		for n < min(begin, len(other)) && other[n] == first[n] {
			n++
		}
		begin = n
	}
	for _, other := range words {
		n := 0
		for n < min(end, len(other)-begin, len(first)-begin) && other[len(other)-1-n] == first[len(first)-1-n] {
			n++
		}
		end = n
	}
	out := make([]string, len(texts))
	for i := range words {
		out[i] = strings.Join(words[i][begin:len(words[i])-end], " ")
	}
	return out
}

func (v *video) sameRests() [][]*sidecar {
	all := make([]*sidecar, len(v.sidecars))
	for i := range v.sidecars {
		all[i] = &v.sidecars[i]
	}
	return groups(all, func(s *sidecar) string { return restKey(s.suffix) })
}

func extension(name string) string {
	if ext := strings.ToLower(path.Ext(name)); ext != "" && ext != name {
		return ext
	}
	return ""
}

// languages maps the words for languages in subtitle names to the code that servers read. Each row of languages.txt
// starts with the code; ISO 639 codes and names in English and the language itself follow.
//
//go:embed languages.txt
var languagesText string

var languages = rows(strings.Split(strings.TrimSpace(languagesText), "\n")...)

var flags = rows("forced", "sdh", "cc", "hi", "default", "signs")

func rows(list ...string) map[string]string {
	m := map[string]string{}
	for _, row := range list {
		words := strings.Fields(row)
		for _, word := range words {
			m[strings.ToLower(word)] = words[0]
		}
	}
	return m
}

// languageSuffix splits the language and flags off the end of a stem: "2_English (SDH)" gives "2" and ".en.sdh". rest
// is "" if there are none.
func languageSuffix(stem string) (left, rest string) {
	var language string
	var said []string
	for {
		stem = strings.TrimRightFunc(stem, isSeparator)
		word := lastWord(stem)
		if before, dash := strings.CutSuffix(stem, "-"+word); dash { // zh-Hans, pt-BR
			if longer := lastWord(before) + "-" + word; languages[strings.ToLower(longer)] != "" {
				word = longer
			}
		}
		low := strings.ToLower(word)
		switch {
		case word == "":
			return stem, suffix(language, said)
		case flags[low] != "" && !slices.Contains(said, low):
			said = append(said, low)
		case languages[low] != "" && language == "":
			language = languages[low]
		default:
			return stem, suffix(language, said)
		}
		stem = strings.TrimSuffix(stem, word)
	}
}

func lastWord(s string) string {
	i := strings.LastIndexFunc(s, isSeparator)
	if i < 0 {
		return s
	}
	_, size := utf8.DecodeRuneInString(s[i:])
	return s[i+size:]
}

func suffix(language string, said []string) string {
	rest := ""
	if language != "" {
		rest = "." + language
	}
	slices.Reverse(said)
	for _, flag := range said {
		rest += "." + flag
	}
	return rest
}

func isSeparator(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("._-[](){},+&", r) }
