package release

import (
	"strings"

	"github.com/anivault/anivault/internal/title"
)

// This file decides what the folders above a name add to it: the season, and
// the title and year when the name is only a number, an episode's title or a
// jumble of letters.

// containers are folders that say nothing about the work in them.
var containers = map[string]bool{}

func init() {
	for _, w := range strings.Split("movies,movie,films,film,series,tv,tv shows,tv series,tvshows,tv_shows,shows,anime,animes,media,mnt,server,volume1,videos,video,home,downloads,download,"+
		"library,test,temp,tmp,completed,unsorted,share,shares,storage,data,public,disk,nas,users,sitcoms,cartoons,torrents,folder,new,incoming,"+
		"动画,动漫,电视剧,电影,剧集,番剧,애니,애니메이션,드라마,영화,アニメ,映画,аниме,сериалы,фильмы,season,bdmv,stream,video_ts,backup,cd1,cd2,disc 1,disc 2,disc1,disc2", ",") {
		containers[w] = true
	}
}

// extraFolders hold what is not the work itself.
func extraFolder(w string) bool {
	switch w {
	case "extras", "extra", "ncop", "nced", "trailers", "trailer", "bonus", "menus", "menu", "featurettes", "sample", "samples", "creditless", "pv", "cm", "特典",
		"behind the scenes", "deleted scenes", "interviews", "映像特典", "nc", "op", "ed", "scans", "cds", "previews":
		return true
	}
	return false
}

// specialFolder is a folder that stands for season 0.
func specialFolder(w string) bool {
	switch w {
	case "specials", "special", "sp", "sps", "ova", "ovas", "season 0", "season 00", "oad", "specials & ovas", "特别篇", "特典映像":
		return true
	}
	return false
}

// fold reads the folders, nearest first, into r.
func (s *stages) fold(r *Release, dirs []string) {
	self := nameSays(&s.titled, r)
	depth := 0
	for _, d := range dirs {
		w := lower(strings.TrimSpace(d))
		switch {
		case extraFolder(w):
			r.Folder.Extra = true
			depth++
			continue
		case specialFolder(w):
			if r.Folder.Seasons == nil {
				r.Folder.Seasons = []int{0}
			}
			depth++
			continue
		case containers[w], strings.HasSuffix(w, ":"), len(w) == 1, jumble(d):
			continue
		}
		if r.Folder.Title != "" || depth > 3 {
			break
		}
		s.read(narrow(d), true).foldOne(r, &self, depth)
		depth++
	}
	if r.Folder.Extra {
		r.Extra = true
	}
	if len(r.Seasons) == 0 && r.Folder.Seasons != nil && (len(r.Episodes) > 0 || len(r.Folder.Seasons) == 1) {
		r.Seasons = r.Folder.Seasons
		r.Absolute = false
	}
}

// said is what the name says by itself.
type said struct {
	poor bool // neither source nor codec, nor year, nor marker
	led  bool // it begins with its number
	none bool // no title at all
}

func nameSays(p *titled, r *Release) said {
	return said{
		poor: r.Source == "" && r.Video == "" && r.Year == 0 && (p.episode.empty() || p.bare) && p.season.empty() && p.checksum == "",
		led:  p.led,
		none: r.Title == "" || jumble(r.Name) || generic(r.Title),
	}
}

// generic says whether a name is what programs call a file that has none: "movie", "title_t00", "VTS_01_1", "00001".
func generic(name string) bool {
	switch w := lower(name); {
	case w == "movie", w == "film", w == "video", w == "feature", w == "main", w == "untitled", w == "main feature":
		return true
	case strings.HasPrefix(w, "vts "), strings.HasPrefix(w, "title t"), strings.HasPrefix(w, "video ts"):
		return true
	default:
		return len(w) >= 5 && allDigits(w)
	}
}

// foldOne reads one folder that is neither container nor extras.
func (p *titled) foldOne(r *Release, self *said, depth int) {
	from := FromFolder
	if depth > 0 {
		from = FromParent
	}
	if r.Folder.Seasons == nil && len(p.seasons) > 0 {
		r.Folder.Seasons = p.seasons
	}
	r.IDs = append(r.IDs, p.ids...)
	if p.seasonFolder() {
		numberFirst(r, self)
	}
	if len(p.titles) == 0 || p.seasonFolder() {
		return
	}
	r.Folder.Title = p.titles[0].Text
	r.Folder.Year = p.year
	released := p.media || !p.episode.empty() && !p.bare
	if self.none || self.led && len(r.Episodes) > 0 || self.poor && released && !alike(r, p.titles) {
		p.replace(r, self, from, released)
	} else {
		p.join(r, from)
	}
	keepFirst(&r.Resolution, p.resolution)
	keepFirst(&r.Source, p.source)
	keepFirst(&r.Video, p.video)
	keepFirst(&r.Audio, p.audio)
}

// numberFirst takes the number at the start of a name in a season's folder for its episode: "Season 2/16 Some Title".
func numberFirst(r *Release, self *said) {
	n := 0
	for n < len(r.Name) && digit(r.Name[n]) {
		n++
	}
	if self.led || n == 0 || n > 3 || n == len(r.Name) || strings.IndexByte(" .-_", r.Name[n]) < 0 || len(r.Seasons) > 0 || r.Year > 0 {
		return
	}
	if len(r.Episodes) > 0 && !strings.HasPrefix(r.Name[n:], " - ") {
		return
	}
	base, _ := cutExtension(r.Name)
	r.Episodes = []float64{float64(atoi(r.Name[:n]))}
	r.Kind = Episode
	if rest := trimTitle(base[min(n, len(base)):]); r.Title != "" {
		r.EpisodeTitle = strings.TrimPrefix(r.Title, r.Name[:n]+" ")
		if rest == "" {
			r.EpisodeTitle = ""
		}
	}
	self.led = true
}

// replace takes the folder's reading for a name that says less.
func (p *titled) replace(r *Release, self *said, from From, released bool) {
	if self.led {
		if r.EpisodeTitle == "" {
			r.EpisodeTitle = r.Title
		}
	}
	if self.led || self.none {
		r.Titles = nil
	}
	if len(r.Episodes) == 0 && (!self.led || self.none) || self.poor && released && len(p.episodes) == 1 {
		r.Episodes, r.Seasons = p.episodes, p.seasons
		r.Absolute = len(r.Episodes) > 0 && len(r.Seasons) == 0
		if k := p.kind(); k != Batch || len(r.Episodes) > 0 {
			r.Kind = k
		}
	}
	own := r.Titles
	r.Titles = make([]Title, 0, len(own)+len(p.titles))
	for _, t := range p.titles {
		t.From = from
		r.Titles = append(r.Titles, t)
	}
	r.Titles = append(r.Titles, own...)
	r.Title = r.Titles[0].Text
	if r.Year == 0 {
		r.Year = p.year
	}
	if r.Group == "" || self.poor {
		r.Group = p.group
	}
}

// join adds the folder's titles behind the name's own, and its year when both speak of the same work.
func (p *titled) join(r *Release, from From) {
	if g := len(p.group); g > 0 && len(r.Title) > g+1 && strings.EqualFold(r.Title[:g], p.group) && r.Title[g] == '-' {
		r.Title = r.Title[g+1:] // "grp-title" in "Title-GRP"
		r.Titles[0].Text = r.Title
		if r.Group == "" {
			r.Group = p.group
		}
	}
	same := alike(r, p.titles)
	for _, t := range p.titles {
		t.From = from
		if !hasTitle(r.Titles, t.Text) {
			r.Titles = append(r.Titles, t)
		}
	}
	if r.Year == 0 && p.year > 0 && same {
		r.Year = p.year
	}
}

// seasonFolder says whether the folder only names a season: "Season 2", "S02", "Season 2 - Subtitle".
func (p *titled) seasonFolder() bool {
	return !p.season.empty() && p.season.from == 0 || p.first < 0
}

func hasTitle(titles []Title, t string) bool {
	for i := range titles {
		if strings.EqualFold(titles[i].Text, t) {
			return true
		}
	}
	return false
}

// alike says whether one of the folder's titles begins like the name's.
func alike(r *Release, titles []Title) bool {
	a := title.Compact(r.Title)
	for i := range titles {
		b := title.Compact(titles[i].Text)
		if a != "" && b != "" && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a) || strings.Contains(a, b)) {
			return true
		}
	}
	return false
}

// jumble says whether a name is a hash or the like: one long word of mixed letters and digits, or short nonsense.
func jumble(name string) bool {
	base, _ := cutExtension(name)
	letters, digits, turns := 0, 0, 0
	for i := 0; i < len(base); i++ {
		c := base[i]
		switch {
		case digit(c):
			digits++
			if i > 0 && !digit(base[i-1]) {
				turns++
			}
		case c|0x20 >= 'a' && c|0x20 <= 'z':
			letters++
		case c == '-' && i > 7:
		default:
			return false
		}
	}
	return len(base) >= 16 && digits >= 3 && letters >= 3 && turns >= 2 || len(base) >= 12 && letters > 0 && digits >= 3 && turns >= 2
}
