package release

import (
	"cmp"
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/anivault/anivault/internal/title"
	"github.com/anivault/anivault/internal/wordlist"
)

//go:embed folders.txt
var foldersText string

type folderNames struct{ containers, carriers, films, extras, specials, subtitles, nameless map[string]bool }

var folderLists = sync.OnceValue(func() folderNames {
	list := wordlist.Parse(foldersText)
	return folderNames{
		containers: list.Set("container"), carriers: list.Set("carrier"), films: list.Set("film"),
		extras: list.Set("extra"), specials: list.Set("special"), subtitles: list.Set("subtitle"),
		nameless: list.Set("nameless"),
	}
})

// isCarrier reports whether a folder, in lower case, is a carrier with its number: "disc 2", "vol.3".
func isCarrier(w string) bool {
	head := withoutDigits(w)
	return len(head) < len(w) && folderLists().carriers[strings.TrimRight(head, " .-#")]
}

// isFilmFolder: people sort folders by a number in front or by brackets.
func isFilmFolder(w string) bool {
	return folderLists().films[strings.TrimRight(strings.TrimLeft(w, "0123456789 .-_[(【"), " ])】")]
}

func (s *stages) readFolders(r *Release, dirs []string) {
	s.addFolders(r, dirs)
	if base, _ := cutExtension(r.Name); r.Title == base && generic(base) {
		r.Title, r.Titles = "", nil // nothing says what it is
	}
	r.Extra = r.Extra || r.Folder.Extra
	if len(r.Seasons) == 0 && r.Folder.Seasons != nil && (len(r.Episodes) > 0 || len(r.Folder.Seasons) == 1) {
		r.Seasons = r.Folder.Seasons
		r.Absolute = false
	}
}

func (s *stages) addFolders(r *Release, dirs []string) {
	self := nameSays(&s.titled, r)
	if copied(r.Name) {
		r.Episodes, r.Absolute, r.Kind = nil, false, Unknown
	}
	depth := 0
	if head := r.Name[:leadingDigits(r.Name)]; head != "" && r.Title == head {
		self.folderHasNumber = slices.ContainsFunc(dirs, func(d string) bool { return d[:leadingDigits(d)] == head })
	}
	for i, d := range dirs {
		text := unify(d)
		w := strings.ToLower(strings.TrimSpace(text))
		films := isFilmFolder(w)
		if films && r.Kind == Unknown && len(r.Episodes)+len(r.Seasons)+len(r.Folder.Seasons) == 0 {
			r.Kind = Movie
		}
		switch {
		case folderLists().subtitles[w]:
			if self.languages {
				self.untitled, r.Episodes, r.Absolute, r.Kind = true, nil, false, Unknown
			}
			continue
		case folderLists().extras[w]:
			r.Folder.Extra = true
		case folderLists().specials[w]:
			if r.Folder.Seasons == nil {
				r.Folder.Seasons = []int{0}
			}
		case folderLists().containers[w], films, isCarrier(w), strings.HasSuffix(w, ":"), len(w) == 1, jumble(d):
			continue
		case yearFolder(w) && !(self.untitled && len(r.Episodes)+len(r.Seasons) > 0):
			continue // films by year; "1983/S01E02.mkv" is in a show's folder
		case r.Folder.Title != "" || depth > 3:
			return
		default:
			folderName{s.read(text, true)}.addFolder(r, &self, depth)
			if i == 1 && r.Kind == Movie && isFilmFolder(strings.ToLower(strings.TrimSpace(unify(dirs[0])))) {
				r.ofSeries()
			}
		}
		depth++
	}
}

// ofSeries: the title of a film may be its subtitle alone, so the series' title in front of it is another candidate.
func (r *Release) ofSeries() {
	own, series := title.Compact(r.Title), title.Compact(r.Folder.Title)
	if own == "" || series == "" || strings.Contains(own, series) {
		return
	}
	r.Titles = slices.Insert(r.Titles, 1, Title{Text: r.Folder.Title + " " + r.Title, Lang: r.Titles[0].Lang})
}

type ownName struct {
	untagged        bool // neither source nor codec, nor year, nor marker
	untitled        bool
	languages       bool // nothing but languages and a number
	numberFirst     bool // it begins with its episode
	folderHasNumber bool // "86/86.mkv": a folder begins with the same number, which is thus the title
	dateFirst       bool // as the recordings of a daily show do
}

func nameSays(p *titled, r *Release) ownName {
	marked := !p.marks.season.empty() || !p.marks.episode.empty() && !p.numbers.bare
	return ownName{
		untagged:    r.Source == "" && r.Video == "" && r.Year == 0 && !marked && p.tags.checksum == "",
		numberFirst: p.layout.numberFirst,
		languages:   p.onlyLanguages(),
		dateFirst:   !p.tags.dated.empty() && p.tags.dated.from == 0,
		untitled:    r.Title == "" || jumble(r.Name) || generic(r.Title),
	}
}

// onlyLanguages reports whether the name is nothing but languages and a number: "2_English".
func (p *titled) onlyLanguages() bool {
	languages := 0
	for i := range p.w.tokens {
		switch t := &p.w.tokens[i]; {
		case t.word.tag == tagLanguage:
			languages++
		case t.class != number:
			return false
		}
	}
	return languages > 0
}

// generic reports whether a program gave the name, so that it says nothing: "movie", "title_t00", "VTS_01_1", "00001".
func generic(name string) bool {
	w := strings.ToLower(name)
	return folderLists().nameless[w] || strings.HasPrefix(w, "vts ") || strings.HasPrefix(w, "title t") ||
		strings.HasPrefix(w, "video ts") || len(w) >= 5 && allDigits(w)
}

func yearFolder(w string) bool { return len(w) == 4 && allDigits(w) && w >= "1930" && w <= "2099" }

// copied: systems add a number to a further copy, "movie (1)", and discs to their files, "VTS_01_1".
func copied(name string) bool {
	base, _ := cutExtension(name)
	if strings.HasPrefix(strings.ToLower(base), "vts_") {
		return true
	}
	head, rest, ok := strings.Cut(base, " (")
	return ok && generic(head) && strings.HasSuffix(rest, ")") && allDigits(rest[:len(rest)-1])
}

type folderName struct{ in *titled }

func (p folderName) addFolder(r *Release, self *ownName, depth int) {
	from := FromFolder
	if depth > 0 {
		from = FromParent
	}
	if r.Folder.Seasons == nil && len(p.in.marks.seasons) > 0 {
		r.Folder.Seasons = p.in.marks.seasons
	}
	r.IDs = append(r.IDs, p.in.tags.ids...)
	if p.seasonFolder() || p.partFolder() {
		if r.Part == 0 {
			r.Part = p.in.marks.part
		}
		takeLeadingNumber(r, self)
		return
	}
	if len(p.in.titles) == 0 {
		return
	}
	r.Folder.Title = p.in.titles[0].Text
	r.Folder.Year = p.in.layout.year
	released := p.in.tags.media || !p.in.marks.episode.empty() && !p.in.numbers.bare
	if self.untitled || self.dateFirst || self.numberFirst && len(r.Episodes) > 0 ||
		self.untagged && released && !alike(r, p.in.titles) {
		p.replace(r, self, from, released)
	} else {
		p.join(r, from)
	}
	r.Resolution = cmp.Or(r.Resolution, p.in.resolution)
	r.Source = cmp.Or(r.Source, p.in.source)
	r.Video = cmp.Or(r.Video, p.in.video)
	r.Audio = cmp.Or(r.Audio, p.in.audio)
	r.Edition = cmp.Or(r.Edition, p.in.edition)
}

// takeLeadingNumber takes the first number of a name in a season's folder for its episode: "Season 2/16 Some Title".
func takeLeadingNumber(r *Release, self *ownName) {
	n := leadingDigits(r.Name)
	if self.numberFirst || self.folderHasNumber || len(r.Seasons) > 0 || r.Year > 0 ||
		len(r.Episodes) > 0 && !strings.HasPrefix(r.Name[n:], " - ") {
		return
	}
	if n == 0 || n > 3 || n == len(r.Name) || !strings.Contains(" .-_", r.Name[n:n+1]) {
		return
	}
	r.Episodes = []float64{float64(atoi(r.Name[:n]))}
	r.Kind = Episode
	if base, _ := cutExtension(r.Name); r.Title != "" {
		r.EpisodeTitle = strings.TrimPrefix(r.Title, r.Name[:n]+" ")
		if trimTitle(base[min(n, len(base)):]) == "" {
			r.EpisodeTitle = ""
		}
	}
	self.numberFirst = true
}

func (p folderName) replace(r *Release, self *ownName, from From, released bool) {
	if self.numberFirst || self.dateFirst {
		r.EpisodeTitle = cmp.Or(r.EpisodeTitle, r.Title)
	}
	own := r.Titles
	if self.numberFirst || self.untitled || self.dateFirst {
		own = nil
	}
	if len(r.Episodes) == 0 && !self.dateFirst && (!self.numberFirst || self.untitled) ||
		self.untagged && released && len(p.in.marks.episodes) == 1 && !p.announcesCount() {
		r.Episodes, r.Seasons = p.in.marks.episodes, p.in.marks.seasons
		r.Absolute = len(r.Episodes) > 0 && len(r.Seasons) == 0
		if k := p.in.kind(); k != Batch || len(r.Episodes) > 0 {
			r.Kind = k
		}
	}
	r.Titles = append(p.titlesFrom(from), own...)
	r.Title = r.Titles[0].Text
	if r.Year == 0 {
		r.Year = p.in.layout.year
	}
	if r.Group == "" || self.untagged {
		r.Group = p.in.layout.group
	}
}

// announcesCount reports whether the folder's episode is how many were out when it was named: "更新至12集".
func (p folderName) announcesCount() bool { return p.in.w.tagAt(p.in.marks.episode.from-1) == tagPromo }

func (p folderName) titlesFrom(from From) []Title {
	titles := slices.Clone(p.in.titles)
	for i := range titles {
		titles[i].From = from
	}
	return titles
}

func (p folderName) join(r *Release, from From) {
	if g := len(p.in.layout.group); g > 0 && len(r.Title) > g+1 && strings.EqualFold(r.Title[:g], p.in.layout.group) &&
		r.Title[g] == '-' {
		r.Title = r.Title[g+1:] // "grp-title" in "Title-GRP"
		r.Titles[0].Text = r.Title
		r.Group = cmp.Or(r.Group, p.in.layout.group)
	}
	if r.Year == 0 && alike(r, p.in.titles) {
		r.Year = p.in.layout.year
	}
	for _, t := range p.titlesFrom(from) {
		if !slices.ContainsFunc(r.Titles, func(o Title) bool { return strings.EqualFold(o.Text, t.Text) }) {
			r.Titles = append(r.Titles, t)
		}
	}
}

// seasonFolder reports whether the folder only names a season: "Season 2", "S02", "Season 2 - Subtitle".
func (p folderName) seasonFolder() bool {
	if p.in.layout.first < 0 {
		return true
	}
	noBatch := func(i int) bool { return p.in.w.tagAt(i) != tagBatch } // "Complete Season 2"
	return !p.in.marks.season.empty() && !p.in.w.some(span{p.in.layout.first, p.in.marks.season.from}, noBatch)
}

// partFolder reports whether the folder only names a part: "Part 2".
func (p folderName) partFolder() bool {
	noPart := func(i int) bool { return p.in.w.tagAt(i) != tagPart }
	return p.in.marks.part > 0 && !p.in.w.some(span{0, len(p.in.w.tokens)}, noPart)
}

func alike(r *Release, titles []Title) bool {
	a := title.Compact(r.Title)
	return a != "" && slices.ContainsFunc(titles, func(t Title) bool {
		b := title.Compact(t.Text)
		return b != "" && (strings.HasPrefix(b, a) || strings.Contains(a, b))
	})
}

// jumble reports whether a name is a hash or the like: a long word in which letters and digits change several times.
func jumble(name string) bool {
	base, _ := cutExtension(name)
	letters, digits, turns := 0, 0, 0
	for i := 0; i < len(base); i++ {
		switch c := base[i]; {
		case digit(c):
			digits++
			if i > 0 && !digit(base[i-1]) {
				turns++
			}
		case letter(c):
			letters++
		case c != '-' || i <= 7:
			return false
		}
	}
	return len(base) >= 12 && letters > 0 && digits >= 3 && turns >= 2
}
