package release

import (
	"cmp"
	_ "embed"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/anivault/anivault/internal/lazyregexp"
	"github.com/anivault/anivault/internal/title"
	"github.com/anivault/anivault/internal/wordlist"
)

//go:embed folders.txt
var foldersText string

// folders returns the sets of folder names in folders.txt, by kind.
var folders = wordlist.Sets(foldersText)

// folderKind returns what a folder's lower-case name says about its content, or "" if it may be a title. It ignores the
// leading number or brackets by which people sort folders of films.
func folderKind(w string) string {
	bonus := mediaOfBonus().ReplaceAllString(w, "")                                               // "BD Specials"
	all := strings.FieldsFunc(bonus, func(r rune) bool { return strings.ContainsRune("+&,", r) }) // "NCOP+NCED"
	for _, kind := range []string{"subtitle", "extra", "special"} {
		other := func(w string) bool { return !folders()[kind][strings.TrimSpace(w)] }
		if len(all) > 0 && !slices.ContainsFunc(all, other) {
			return kind
		}
	}
	if folders()["film"][strings.TrimRight(strings.TrimLeft(w, "0123456789 .-_[(【"), " ])】")] {
		return "film"
	}
	if isCarrier(w) || rangeFolder().MatchString(w) || folders()["container"][w] || strings.HasSuffix(w, ":") ||
		len(w) == 1 {
		return "container"
	}
	return ""
}

var mediaOfBonus = lazyregexp.New(`^(?:bd|dvd|blu-?ray|hdtv)[ ._-]`)

// isCarrier reports whether a folder's lower-case name is a disc, volume or box with a number: "disc 2", "bd vol.3".
func isCarrier(w string) bool {
	head := trimTrailingDigits(w)
	isGap := func(r rune) bool { return strings.ContainsRune(" .-#", r) }
	words := strings.FieldsFunc(strings.ReplaceAll(head, "blu-ray", "bd"), isGap)
	other := func(w string) bool { return !folders()["carrier"][w] }
	return head != w && len(words) > 0 && !slices.ContainsFunc(words, other)
}

// rangeFolder matches a folder that only says which episodes are in it: "001-050", "51~100".
var rangeFolder = lazyregexp.New(`^\d{0,3}1 ?[-~] ?\d{2,4}$`)

func (s *stages) readFolders(r *Release, dirs []string) {
	s.applyFolders(r, dirs)
	if base, _ := cutExtension(r.Name); r.Title == base && isGenericName(base) {
		r.Title, r.Titles = "", nil // neither the name nor a folder has a title
	}
	r.Extra = r.Extra || r.Folder.Extra
	if len(r.Seasons) == 0 && r.Folder.Seasons != nil && (len(r.Episodes) > 0 || len(r.Folder.Seasons) == 1) {
		r.Seasons = r.Folder.Seasons
		r.Absolute = false
		m := seasonDashEpisode().FindStringSubmatch(normalizeWidth(r.Name))
		if m != nil && slices.Equal(r.Seasons, []int{atoi(m[1])}) {
			r.Episodes, r.Kind = []float64{float64(atoi(m[2]))}, Episode
		}
	}
}

// seasonDashEpisode matches the season and episode at the start of a name in a season folder: "Season 2/2-05.mkv".
var seasonDashEpisode = lazyregexp.New(`^([1-9]\d?)-(\d\d)\D`)

// placeInList matches the number before a folder's title in a list of works: "01. Title", "2 - Title".
var placeInList = lazyregexp.New(`^\d{1,2}(?:\. | - )|^0\d `)

func (s *stages) applyFolders(r *Release, dirs []string) {
	self := factsOf(&s.titles, r, dirs)
	if isNumberedCopy(r.Name) {
		r.Episodes, r.Absolute, r.Kind = nil, false, Unknown
	}
	depth, inFilms := 0, false
	for i, d := range dirs {
		text := s.withFirstSeason(s.nameInShow(r, &self, dirs[i:]))
		w := strings.ToLower(strings.TrimSpace(text))
		kind := folderKind(w)
		r.Folder.Live = r.Folder.Live || folders()["live"][w]
		if kind == "film" {
			inFilms = inFilms || i == 0
			if r.Kind == Unknown && len(r.Episodes)+len(r.Seasons)+len(r.Folder.Seasons) == 0 {
				r.Kind = Movie
			}
		}
		switch {
		case kind == "subtitle":
			if self.onlyLanguages {
				self.untitled, r.Episodes, r.Absolute, r.Kind = true, nil, false, Unknown
			}
			continue
		case kind == "extra":
			r.Folder.Extra = true
		case kind == "special":
			if r.Folder.Seasons == nil {
				r.Folder.Seasons, r.Folder.Special = []int{0}, len(r.Seasons) == 0
			}
		case kind != "", looksRandom(d):
			continue
		case isYearFolder(w) && !(self.untitled && len(r.Episodes)+len(r.Seasons) > 0):
			continue // a folder of films of one year, but in "1983/S01E02.mkv", "1983" is a show
		case r.Folder.Title != "" || depth > 3:
			s.addWholeTitle(r, text)
			return
		default:
			s.addFolderBelow(r, text, dirs[i+1:], &self, depth)
			if i == 1 && inFilms && r.Kind == Movie {
				r.addSeriesTitle()
			}
		}
		depth++
	}
}

// addFolderBelow adds a folder. If it holds only the file's episode and lies in a season's folder of the same show, the
// season is read there: "Season 2/Title - 05/Title - 05.mkv".
func (s *stages) addFolderBelow(r *Release, text string, above []string, self *nameFacts, depth int) {
	p := s.read(text, true)
	addFolder(r, p, self, depth)
	if len(above) > 0 && len(r.Episodes) == 1 && slices.Equal(r.Episodes, p.marks.episodes) &&
		len(r.Seasons)+len(r.Folder.Seasons) == 0 {
		p = s.read(normalizeName(above[0]), true)
		if len(p.marks.seasons) == 1 && (p.isSeasonFolder() || isSameWork(r, p.titles)) {
			r.Folder.Title = ""
		}
	}
}

// nameInShow returns how the name of the first folder is to be read. In the folder of its show, "2", "2nd" and "II" are
// read as "Season 2", and a year or subtitle is read after the show's title.
func (s *stages) nameInShow(r *Release, self *nameFacts, dirs []string) string {
	text := normalizeName(dirs[0])
	if len(dirs) == 1 || len(r.Episodes) == 0 || len(r.Seasons)+len(r.Folder.Seasons) > 0 || r.Folder.Title != "" {
		return text
	}
	above, lower := strings.ToLower(normalizeName(dirs[1])), strings.ToLower(text)
	show := slices.Clone(s.read(normalizeName(dirs[1]), true).titles)
	isShow, unnamed := isSameWork(r, show), self.untitled || self.startsWithNumber
	_, n := utf8.DecodeLastRuneInString(lower)
	arc := folders()["arc"]
	isArc := arc[lower] || arc[lower[strings.LastIndexByte(lower, ' ')+1:]] || arc[lower[len(lower)-n:]]
	if len(show) == 0 || folderKind(above) != "" || !isShow && !unnamed || strings.HasPrefix(text, "시즌") || // "시즌1,2"
		isCarrier(lower) || slices.Contains([]string{"special", "extra"}, folderKind(lower)) {
		return text
	}
	for _, season := range []string{"Season " + text, text + " Season"} {
		if p := s.read(season, true); p.layout.titleStart < 0 && len(p.marks.seasons) == 1 && p.marks.seasons[0] <= 20 {
			return season
		}
	}
	p := s.read(text, true)
	switch {
	case isYearFolder(text):
		return show[0].Text + " (" + text + ")"
	case !isShow && !isArc, len(p.titles) == 0, isSameWork(r, p.titles), p.isSeasonFolder(), p.isPartFolder(),
		strings.HasPrefix(title.Compact(text), title.Compact(show[0].Text)):
		return text
	}
	return strings.Replace(text, p.titles[0].Text, show[0].Text+" "+p.titles[0].Text, 1)
}

// withFirstSeason adds the season to the first title of a list: "Title + Title S2", "Title + S2".
func (s *stages) withFirstSeason(text string) string {
	for _, sign := range []string{" + ", " & ", ", "} {
		before, after, ok := strings.Cut(text, sign)
		if !ok {
			continue
		}
		first, numbered := slices.Clone(s.read(before, true).titles), len(s.markers.seasons) > 0
		p := s.read(after, true)
		if len(first) == 0 || numbered || !slices.Equal(p.marks.seasons, []int{2}) {
			continue
		}
		only := p.layout.titleStart < 0 && sign != ", " // "Title, S2" is one season
		if only || len(p.titles) > 0 && title.Normalize(p.titles[0].Text) == title.Normalize(first[0].Text) {
			return before + " S1 + " + after
		}
	}
	return text
}

// addWholeTitle puts the title of a folder before the other titles if those are its end or its initials:
// "Harbour Derby Lantern Gray/Lantern Gray S2/LG - 05.mkv".
func (s *stages) addWholeTitle(r *Release, folder string) {
	p := s.read(folder, true)
	if len(p.titles) == 0 || len(p.marks.episodes) > 0 {
		return
	}
	whole := Title{Text: p.titles[0].Text, Lang: p.titles[0].Lang, From: FromParent}
	words, initials := strings.Fields(title.Normalize(whole.Text)), ""
	for _, w := range words {
		initials += w[:1]
	}
	for _, short := range []string{title.Normalize(r.Title), title.Normalize(r.Folder.Title)} {
		end := strings.HasSuffix(strings.Join(words, " "), " "+short)
		if !end && (len(words) < 2 || strings.ReplaceAll(short, " ", "") != initials) {
			return
		}
	}
	if title.Normalize(r.Folder.Title) != strings.Join(words, " ") {
		r.Title, r.Titles = whole.Text, append([]Title{whole}, r.Titles...)
	}
}

// addSeriesTitle adds "Series Film" as a title, because a film's file may be named after its subtitle alone.
func (r *Release) addSeriesTitle() {
	own, series := title.Compact(r.Title), title.Compact(r.Folder.Title)
	if own == "" || series == "" || strings.Contains(own, series) {
		return
	}
	r.Titles = slices.Insert(r.Titles, 1, Title{Text: r.Folder.Title + " " + r.Title, Lang: r.Titles[0].Lang})
}

// nameFacts are facts about the file's own name. They decide how much the folders may add.
type nameFacts struct {
	untagged         bool // it has no source, codec, year, marker or checksum
	untitled         bool
	onlyLanguages    bool // it has only languages and a number
	startsWithNumber bool // it begins with the episode number
	folderHasNumber  bool // a folder begins with the same number, so it is the title: "86/86.mkv"
	onlyNumber       bool // it is a number and tags, which no folder says to be a film
	startsWithDate   bool // it begins with a date, like recordings of daily shows
}

func factsOf(p *titleStage, r *Release, dirs []string) nameFacts {
	head := r.Name[:leadingDigits(r.Name)]
	isNumber := head != "" && r.Title == head
	hasNumber := func(d string) bool { return d[:leadingDigits(d)] == head }
	marked := !p.marks.seasonSpan.empty() || !p.marks.episodeSpan.empty() && !p.numbers.bareEpisode
	return nameFacts{
		untagged:         r.Source == "" && r.Video == "" && r.Year == 0 && !marked && p.tags.checksum == "",
		startsWithNumber: p.layout.startsWithNumber,
		folderHasNumber:  isNumber && slices.ContainsFunc(dirs, hasNumber),
		onlyNumber: isNumber && len(head) < 4 && r.Year+len(r.Episodes)+len(r.Seasons) == 0 &&
			!slices.ContainsFunc(dirs, func(d string) bool { return hasNumber(d) || folderKind(strings.ToLower(d)) == "film" }),
		onlyLanguages:  p.onlyLanguages(),
		startsWithDate: !p.tags.dateSpan.empty() && p.tags.dateSpan.from == 0,
		untitled:       r.Title == "" || looksRandom(r.Name) || isGenericName(r.Title),
	}
}

// onlyLanguages reports whether the name has only languages and a number: "2_English".
func (p *titleStage) onlyLanguages() bool {
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

// isGenericName reports whether a program made up the name, as in "movie", "title_t00", "VTS_01_1" or "00001".
func isGenericName(name string) bool {
	w := strings.ToLower(name)
	return folders()["nameless"][w] || strings.HasPrefix(w, "vts ") || strings.HasPrefix(w, "title t") ||
		strings.HasPrefix(w, "video ts") || len(w) >= 5 && allDigits(w)
}

func isYearFolder(w string) bool { return len(w) == 4 && allDigits(w) && w >= "1930" && w <= "2099" }

// isNumberedCopy reports whether an operating system or a disc numbered the file: "movie (1)", "VTS_01_1".
func isNumberedCopy(name string) bool {
	base, _ := cutExtension(name)
	head, rest, ok := strings.Cut(base, " (")
	return strings.HasPrefix(strings.ToLower(base), "vts_") ||
		ok && isGenericName(head) && strings.HasSuffix(rest, ")") && allDigits(rest[:len(rest)-1])
}

// addFolderKind makes a file without a season a special in "Title OVA" and an extra in "Title NCOP". "Title [NCOP]" and
// "Title + NCOP" hold episodes, too.
func addFolderKind(r, f *Release, p *titleStage) {
	switch {
	case r.Kind != Episode || len(r.Seasons)+len(r.Folder.Seasons) > 0 ||
		isOneOf(f.Title[strings.LastIndexByte(f.Title, ' ')+1:], "&", "and", "with"):
	case f.Kind == Special || f.Special == "SPECIALS":
		r.Kind, r.Special = Special, f.Special
	case f.Kind == Extra && len(f.Episodes) < 2:
		only := p.layout.titleStart < 0 || !p.marks.isBatch && !strings.ContainsAny(p.w.text, "+&,[")
		r.Folder.Extra = r.Folder.Extra || only
	}
}

func addFolder(r *Release, p *titleStage, self *nameFacts, depth int) {
	var f Release
	p.fillRelease(&f)
	from := [...]From{FromFolder, FromParent}[min(depth, 1)]
	for i := range f.Titles {
		f.Titles[i].From = from
	}
	addFolderKind(r, &f, p)
	if len(f.Seasons) > 0 && (r.Folder.Seasons == nil ||
		slices.Equal(r.Folder.Seasons, []int{1}) && len(f.Seasons) == 1 && len(f.Episodes) == 0) { // "Title S2/S1"
		r.Folder.Seasons = f.Seasons
	}
	r.IDs = append(r.IDs, f.IDs...)
	if p.isSeasonFolder() || p.isPartFolder() {
		r.Part = cmp.Or(r.Part, f.Part)
		useLeadingNumber(r, self)
		if len(r.Episodes)+len(r.Seasons) == 0 && len(f.Seasons) == 1 && len(f.Episodes) == 1 && f.Kind == Episode {
			r.Seasons, r.Episodes, r.Kind = f.Seasons, f.Episodes, Episode // "Show/S01E03/x.mkv"
		}
		return
	}
	if f.Title == "" {
		return
	}
	r.Folder.Title, r.Folder.Year = f.Title, f.Year
	if len(r.Seasons) == 0 && r.Kind == Episode {
		r.Part = cmp.Or(r.Part, f.Part)
	}
	if self.onlyNumber {
		r.Episodes, r.Absolute, r.Kind, self.untitled = []float64{float64(atoi(r.Title))}, true, Episode, true
	}
	saysMore := self.untagged && p.isRelease(r, &f)
	if self.untitled || self.startsWithDate || self.startsWithNumber && len(r.Episodes) > 0 ||
		saysMore && !isSameWork(r, f.Titles) {
		addRemark(&f, p.w.text)
		useFolderTitles(r, &f, self, saysMore && p.namesOneEpisode(r, &f))
	} else {
		addFolderTitles(r, &f)
	}
	r.Resolution = cmp.Or(r.Resolution, f.Resolution)
	r.Source = cmp.Or(r.Source, f.Source)
	r.Video = cmp.Or(r.Video, f.Video)
	r.Audio = cmp.Or(r.Audio, f.Audio)
	r.Edition = cmp.Or(r.Edition, f.Edition)
}

// isRelease reports whether a folder looks like that of one release and not of shows: "Naruto [BD]/Boruto - 05.mkv".
func (p *titleStage) isRelease(r, f *Release) bool {
	isShow := len(r.Episodes) > 0 && len(r.Title) > 4 && !p.w.isDotted && f.Year == 0 && !r.Folder.Extra
	at := p.marks.episodeSpan
	return at.empty() && p.tags.hasMediaTag && !isShow || !at.empty() && (p.tags.hasMediaTag || !p.numbers.bareEpisode)
}

// addRemark adds the remark after the title if it may tell works apart: "Title (Live Action)", not "Title (Watched)".
func addRemark(f *Release, folder string) {
	if len(f.Titles) < 2 || !strings.Contains(folder, f.Title+" ("+f.Titles[1].Text+")") {
		return
	}
	for _, w := range strings.Fields(f.Titles[1].Text) {
		if l := strings.ToLower(w); !isLetter(w[0]) || w[1:] != l[1:] || wordSets()["decoration"][l] { // "SubsPlease"
			return
		}
	}
	f.Title += " (" + f.Titles[1].Text + ")"
	f.Titles = slices.Insert(f.Titles, 0, Title{Text: f.Title, Lang: f.Titles[0].Lang, From: f.Titles[0].From})
}

// namesOneEpisode reports whether a folder says which episode the file is. "更新至12集" says how many episodes were out at
// the time, and "20화 완결" and "5 of 12" how many there are, if the file has a number of its own.
func (p *titleStage) namesOneEpisode(r, f *Release) bool {
	from := p.marks.episodeSpan.from
	return len(f.Episodes) == 1 && p.w.tagAt(from-1) != tagPromo &&
		(len(r.Episodes) == 0 || leadingDigits(r.Name) == 0 || p.w.tokens[from].class != cjk && p.w.roleAt(from+1) != ofWord)
}

// useLeadingNumber uses the number that starts a name in a season folder as its episode: "Season 2/16 Some Title".
func useLeadingNumber(r *Release, self *nameFacts) {
	n := leadingDigits(r.Name)
	if self.startsWithNumber || self.folderHasNumber || len(r.Seasons) > 0 || r.Year > 0 ||
		len(r.Episodes) > 0 && !strings.HasPrefix(r.Name[n:], " - ") {
		return
	}
	if n == 0 || n > 3 || n == len(r.Name) || !strings.Contains(" .-_", r.Name[n:n+1]) {
		return
	}
	r.Episodes = []float64{float64(atoi(r.Name[:n]))}
	r.Kind = Episode
	r.EpisodeTitle = cmp.Or(strings.TrimPrefix(r.Title, r.Name[:n]+" "), r.EpisodeTitle)
	self.startsWithNumber = true
}

// useFolderTitles puts the folder's titles before the name's own. The numbers of a batch are those of all its files.
func useFolderTitles(r, f *Release, self *nameFacts, hasEpisode bool) {
	if self.startsWithNumber || self.startsWithDate {
		r.EpisodeTitle = cmp.Or(r.EpisodeTitle, r.Title)
	}
	if self.startsWithNumber || self.untitled || self.startsWithDate {
		r.Titles = nil
	}
	if len(r.Episodes) == 0 && f.Kind != Batch && !self.startsWithDate && (!self.startsWithNumber || self.untitled) ||
		hasEpisode {
		r.Episodes, r.Seasons, r.Absolute, r.Kind = f.Episodes, f.Seasons, f.Absolute, f.Kind
	}
	if n := len(placeInList().FindString(f.Title)); n > 0 {
		f.Titles = append(f.Titles, Title{Text: f.Title[n:], Lang: f.Titles[0].Lang, From: f.Titles[0].From})
	}
	r.Title, r.Titles = f.Title, append(f.Titles, r.Titles...)
	r.Year = cmp.Or(r.Year, f.Year)
	if r.Group == "" || self.untagged {
		r.Group = f.Group
	}
}

// addFolderTitles adds the titles of a folder, and its year if both names are about the same work.
func addFolderTitles(r, f *Release) {
	if g := len(f.Group); g > 0 && len(r.Title) > g+1 && strings.EqualFold(r.Title[:g], f.Group) && r.Title[g] == '-' {
		r.Title = r.Title[g+1:] // "grp-title" in "Title-GRP"
		r.Titles[0].Text = r.Title
		r.Group = cmp.Or(r.Group, f.Group)
	}
	if r.Year == 0 && isSameWork(r, f.Titles) {
		r.Year = f.Year
	}
	for _, t := range f.Titles {
		if !slices.ContainsFunc(r.Titles, func(o Title) bool { return strings.EqualFold(o.Text, t.Text) }) {
			r.Titles = append(r.Titles, t)
		}
	}
}

// isSeasonFolder reports whether the folder only names a season: "Season 2", "S02", "Season 2 - Subtitle".
func (p *titleStage) isSeasonFolder() bool {
	noBatch := func(i int) bool { return p.w.tagAt(i) != tagBatch } // "Complete Season 2"
	start, season := p.layout.titleStart, p.marks.seasonSpan
	return start < 0 || !season.empty() && !p.w.anyToken(span{start, season.from}, noBatch)
}

// isPartFolder reports whether the folder only names a part: "Part 2".
func (p *titleStage) isPartFolder() bool {
	noPart := func(i int) bool { return p.w.tagAt(i) != tagPart }
	return p.marks.part > 0 && !p.w.anyToken(span{0, len(p.w.tokens)}, noPart)
}

func isSameWork(r *Release, titles []Title) bool {
	a := title.Compact(r.Title)
	return a != "" && slices.ContainsFunc(titles, func(t Title) bool {
		b := title.Compact(t.Text)
		return b != "" && (strings.HasPrefix(b, a) || strings.Contains(a, b))
	})
}

// looksRandom reports whether a name looks like a hash: one long word with letters and digits in turn.
func looksRandom(name string) bool {
	base, _ := cutExtension(name)
	letters, digits, turns := 0, 0, 0
	for i := 0; i < len(base); i++ {
		switch c := base[i]; {
		case isDigit(c):
			digits++
			if i > 0 && !isDigit(base[i-1]) {
				turns++
			}
		case isLetter(c):
			letters++
		case c != '-' || i <= 7:
			return false
		}
	}
	return len(base) >= 12 && letters > 0 && digits >= 3 && turns >= 2
}
