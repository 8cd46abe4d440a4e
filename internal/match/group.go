package match

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/title"
)

// Want is what to look for, judging by the file names of a series.
type Want uint8

// What to look for.
const (
	WantAny     Want = iota // a film or a series; the names do not show which
	WantTV                  // a series: the names have episode numbers or are a batch
	WantMovie               // a film
	WantSpecial             // a special or an OVA: usually in season 0 of a series, sometimes a film
	WantNothing             // nothing: extras are skipped
	WantWork                // the series or film that extras belong to
)

var wantNames = [...]string{"any", "tv", "movie", "special", "nothing", "the series or film of an extra"}

// String returns the name used in explanations.
func (w Want) String() string { return wantNames[w] }

// Series is a set of files in one folder that belong to one work, with the facts that their names state. Titles are the
// possible titles, the likeliest first. Episodes counts the distinct episode numbers; LastEpisode is the greatest.
type Series struct {
	Titles        []release.Title
	Season        int
	HasSeason     bool
	Part          int
	Year          int
	Want          Want
	Special       string
	IDs           []release.ID
	Folder        string
	FansubStyle   bool
	ModernRelease bool // a web release, or a codec that came after 2010
	NotInIndex    bool // none of the titles is in the title index
	LastEpisode   float64
	Episodes      int
	Files         []File
}

// Title returns the likeliest title, for display.
func (s Series) Title() string {
	if len(s.Titles) == 0 {
		return ""
	}
	return s.Titles[0].Text
}

// Group sorts files into series, in the order of their first files. Files keep their order within a series. It takes
// linear time.
func Group(files []File) []Series {
	var out []Series
	at := make(map[groupKey]int, len(files))
	for _, f := range readPairs(readCountedNumbers(files)) {
		key := groupKeyOf(f)
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			r := f.Release
			s := Series{
				Titles: distinctTitles(r), Year: r.Year, Part: r.SeasonPart(), Want: wantOf(f), Special: r.Special,
				IDs: r.IDs, Folder: folderOf(r),
				FansubStyle:   r.Checksum != "" || strings.HasPrefix(r.Name, "[") || strings.HasPrefix(r.Name, "【"),
				ModernRelease: strings.HasPrefix(r.Source, "WEB") || r.Video == "H.265" || r.Video == "AV1",
			}
			s.Season, s.HasSeason = r.Season()
			out = append(out, s)
		}
		s := &out[i]
		s.Files = append(s.Files, f)
	}
	dropSharedFolderTitles(out)
	for i := range out {
		seen := map[float64]bool{}
		for _, f := range out[i].Files {
			for _, e := range f.Release.Episodes {
				if e == math.Trunc(e) {
					seen[e] = true
					out[i].LastEpisode = max(out[i].LastEpisode, e)
				}
			}
		}
		out[i].Episodes = len(seen)
	}
	return out
}

// countedName is a name in a folder without a number in it, and that number.
type countedName struct {
	path string
	n    int
}

// readCountedNumbers reads a number of one digit, which may be a sequel's ("Title 2.mkv"), as the episode if the names
// of its folder count up to 12. A series of films is rarely that long.
func readCountedNumbers(files []File) []File {
	like, found := map[string]release.Release{}, map[countedName]bool{}
	for _, f := range files {
		r := f.Release
		if r.Kind != release.Episode || len(r.Episodes) != 1 || r.Episodes[0] < 10 || r.Episodes[0] > 12 {
			continue
		}
		for key, n := range numberedNames(r, int(r.Episodes[0]), int(r.Episodes[0])) {
			like[key], found[countedName{key, n}] = r, true
		}
	}
	if len(found) == 0 {
		return files
	}
	files = slices.Clone(files)
	for i := range files {
		r := &files[i].Release
		if r.Kind != release.Unknown && r.Kind != release.Batch || len(r.Episodes) > 0 || r.Extension == "" {
			continue
		}
		for key, n := range numberedNames(*r, 1, 9) {
			if c := like[key]; found[countedName{key, 10}] && found[countedName{key, 11}] && found[countedName{key, 12}] {
				r.Title, r.Titles, r.Seasons, r.Part = c.Title, c.Titles, c.Seasons, c.Part
				r.Kind, r.Absolute, r.Episodes = release.Episode, c.Absolute, []float64{float64(n)}
			}
		}
	}
	return files
}

// numberedNames yields the path with a sign instead of a number, for each word that is a number from least to most.
func numberedNames(r release.Release, least, most int) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		words := strings.Fields(title.Normalize(r.Name))
		for i, w := range words {
			n, err := strconv.Atoi(w)
			if err != nil || n < least || n > most || len(w) != len(strconv.Itoa(n)) {
				continue
			}
			words[i] = "#"
			if !yield(folderOf(r)+"/"+strings.Join(words, " "), n) {
				return
			}
			words[i] = w
		}
	}
}

// readPairs reads "1-10" as a season and an episode if names of its folder count on from the same first number: ranges
// would overlap. And it reads "10 Name" as an episode if the folder has "09 Name", which is one.
func readPairs(files []File) []File {
	found := map[countedName]bool{}
	for _, f := range files {
		before, _ := splitPair(f.Release)
		found[before] = true
	}
	if len(found) < 3 {
		return files
	}
	files = slices.Clone(files)
	for i := range files {
		r := &files[i].Release
		at, name := splitPair(*r)
		has := func(n int) bool { return found[countedName{at.path, at.n + n}] }
		if !(has(-2) && has(-1) || has(-1) && has(1) || has(1) && has(2)) ||
			strings.HasSuffix(at.path, "/") && !has(9-at.n) {
			continue
		}
		read := release.Parse(name)
		isSeason := len(r.Seasons) == 0 || slices.Equal(read.Seasons, r.Seasons)
		if isSeason && !slices.Equal(read.Episodes, r.Episodes) { // "K2-03" is read
			read.Path, read.Name = r.Path, r.Name
			*r = read
		}
	}
	return files
}

// splitPair splits a path at the second number of a pair, "1-10", or at a name's first, "10 Name", which the folder's
// title may precede: "Title/Title 10. Name". says has markers.
func splitPair(r release.Release) (at countedName, says string) {
	const digits = "0123456789"
	folder := folderOf(r) + "/"
	front, rest := folder, r.Name
	if after, isTitled := strings.CutPrefix(r.Name, r.Folder.Title+" "); isTitled {
		front, rest = folder+r.Folder.Title+" ", strings.Replace(after, ". ", " ", 1)
	}
	if len(rest) > 3 && isDigit(rest[0]) && isDigit(rest[1]) && strings.ContainsAny(rest[2:3], " _-") &&
		!isDigit(rest[3]) && (r.Year == 0 || !strings.Contains(r.Name, strconv.Itoa(r.Year))) {
		at.n, _ = strconv.Atoi(rest[:2])
		return countedName{front + "/", at.n}, front + "E" + rest
	}
	for i := 1; i+1 < len(r.Name); i++ {
		if r.Name[i] != '-' || !isDigit(r.Name[i-1]) || !isDigit(r.Name[i+1]) {
			continue
		}
		title, rest := strings.TrimRight(r.Name[:i], digits), strings.TrimLeft(r.Name[i+1:], digits)
		n, err := strconv.Atoi(r.Name[i+1 : len(r.Name)-len(rest)])
		if err == nil && n < 1000 && i-len(title) <= 2 && !strings.HasSuffix(title, "-") && !strings.HasPrefix(rest, "-") {
			says = fmt.Sprintf("%s%s S%sE%02d%s", folder, title, r.Name[len(title):i], n, strings.TrimLeft(rest, "회화"))
			return countedName{folder + r.Name[:i], n}, says
		}
		break
	}
	return at, ""
}

// minSharedFolderTitles is how many different titles a folder must have to be taken for a folder of several works.
const minSharedFolderTitles = 4

// dropSharedFolderTitles removes titles taken from the names of folders with many works, such as "lib".
func dropSharedFolderTitles(all []Series) {
	own := map[string]map[string]bool{}
	named := func(s *Series) bool { return len(s.Titles) > 0 && s.Titles[0].From == release.FromName }
	for i := range all {
		if s := &all[i]; named(s) {
			if own[s.Folder] == nil {
				own[s.Folder] = map[string]bool{}
			}
			own[s.Folder][BaseTitle(title.Normalize(s.Title()))] = true
		}
	}
	for i := range all {
		if s := &all[i]; named(s) && len(own[s.Folder]) >= minSharedFolderTitles {
			s.Titles = slices.DeleteFunc(slices.Clone(s.Titles), func(t release.Title) bool {
				return t.From == release.FromFolder
			})
		}
	}
}

type groupKey struct {
	folder, titles, special, episodes, ids string
	season, part, year                     int
	hasSeason                              bool
	want                                   Want
}

func groupKeyOf(f File) groupKey {
	r := f.Release
	k := groupKey{
		folder: folderOf(r), ids: fmt.Sprint(r.IDs), part: r.SeasonPart(), year: r.Year, want: wantOf(f),
	}
	for _, t := range distinctTitles(r) { // all of them: the first of "Films 4K/Title.mkv" is the folder's
		k.titles += title.Normalize(t.Text) + title.SequelSigns(t.Text) + "/"
	}
	k.season, k.hasSeason = r.Season()
	if k.want == WantSpecial { // two OVAs may be two films
		k.special, k.episodes = r.Special, fmt.Sprint(r.Episodes)
	}
	return k
}

func distinctTitles(r release.Release) []release.Title {
	all := r.Titles
	if i := slices.IndexFunc(all, func(t release.Title) bool { return t.Text == r.Title }); i > 0 {
		all = slices.Concat(all[i:i+1], all[:i], all[i+1:])
	} else if i < 0 && r.Title != "" {
		all = slices.Concat([]release.Title{{Text: r.Title}}, all)
	}
	if wantOf(File{Release: r}) == WantSpecial {
		all = withoutSpecialWords(all)
	}
	if part := strconv.Itoa(r.Part) + "부"; r.Part > 0 && len(r.Episodes) == 0 && strings.Contains(r.Name, part) {
		all = append(slices.Clip(all), release.Title{Text: r.Title + " " + part}) // a film may have it in its title
	}
	var seen []string
	all = slices.DeleteFunc(slices.Clone(all), func(t release.Title) bool {
		seen = append(seen, title.Normalize(t.Text))
		last := len(seen) - 1
		return seen[last] == "" || slices.Contains(seen[:last], seen[last])
	})
	return all[:min(len(all), maxTitles)]
}

// withoutSpecialWords adds a copy of each title that ends in a word for a special, without that word: "Title" for
// "Title Special".
func withoutSpecialWords(titles []release.Title) []release.Title {
	out := slices.Clip(titles)
	for _, t := range titles {
		if w := strings.Fields(t.Text); len(w) > 1 && words().specialWords[strings.ToLower(w[len(w)-1])] {
			t.Text = strings.Join(w[:len(w)-1], " ")
			out = append(out, t)
		}
	}
	return out
}

const maxTitles = 8

func (f File) isExtra() bool { return f.Release.Extra || f.Release.Kind == release.Extra }

var wantByKind = map[release.Kind]Want{
	release.Unknown: WantAny, release.Movie: WantMovie, release.Special: WantSpecial,
	release.Episode: WantTV, release.Batch: WantTV,
}

func wantOf(f File) Want {
	if f.isExtra() {
		if f.MatchExtra {
			return WantWork
		}
		return WantNothing
	}
	return wantByKind[f.Release.Kind]
}

// folderOf returns the path before the name. A name may itself contain a slash, between two titles.
func folderOf(r release.Release) string {
	return strings.TrimRight(r.Path[:max(strings.LastIndex(r.Path, r.Name), 0)], `/\`)
}

// reading is a possible title of the files, with its normalised forms.
type reading struct {
	release.Title
	norm            string
	base            string // norm without its sequel marker
	sequel          Sequel
	withoutSubtitle string // norm without its subtitle, "" if it has none
	film            filmSpellings
	lost            Sequel  // the marker that the file's own title has and this title of its folder lacks
	lostByOther     bool    // that title may be another work's
	weight          float64 // 0 to 1; the likeliest reading has 1
}

// filmSpellings are forms of a film's title without its word for a film.
type filmSpellings struct {
	withoutFilmWords string // "" if it has no film word
	withoutSequel    string // withoutFilmWords without its sequel marker
	sequel           Sequel
	beforeFilmWord   string // the text before the first film word; may be ""
}

// preparedSeries is a series with its readings, and with variants of them, such as without brackets or with the episode
// number.
type preparedSeries struct {
	Series
	readings, variants, withEpisodeNumber []reading
}

func prepareSeries(s Series) preparedSeries {
	prepare := func(titles []release.Title) []reading {
		out := make([]reading, len(titles))
		for i, t := range titles {
			r := reading{Title: t, norm: title.Normalize(t.Text), withoutSubtitle: title.Normalize(withoutSubtitle(t.Text))}
			r.base, r.sequel = splitSequel(r.norm)
			if s.Want == WantMovie {
				r.film = filmSpellings{withoutFilmWords: withoutFilmWords(t.Text), beforeFilmWord: beforeFilmWord(t.Text)}
				r.film.withoutSequel, r.film.sequel = splitSequel(r.film.withoutFilmWords)
			}
			r.weight = r.weightRelativeTo(title.Normalize(s.Title()))
			if own := ownTitle(s.Titles); own != "" && r.From != release.FromName && !s.HasSeason {
				r.lost, _, r.lostByOther = lostSequel(own, t.Text)
				if r.lost.Season > 0 && (s.Want == WantAny || s.Want == WantMovie) {
					r.weight *= factorLostNumber
				}
			}
			out[i] = r
		}
		return out
	}
	q := preparedSeries{
		s, prepare(s.Titles), prepare(addVariants(s.Titles)[len(s.Titles):]), prepare(s.titlesWithNumber()),
	}
	if len(q.readings) > 0 && q.readings[0].From == release.FromName {
		q.readings[0].weight = 1
	}
	if slices.ContainsFunc(q.readings, func(r reading) bool { return !r.lost.IsZero() }) {
		for i := range q.variants {
			q.variants[i].sequel = Sequel{} // "Title 2" is not "Title"
		}
	}
	return q
}

func (q preparedSeries) normalizedTitle() string {
	if len(q.readings) == 0 {
		return ""
	}
	return q.readings[0].norm
}

// titlesWithNumber returns the titles followed by the only episode number, because a film may be called "Title 2" or
// "Title OVA 2".
func (s Series) titlesWithNumber() []release.Title {
	if s.Want == WantMovie || s.Episodes != 1 || s.LastEpisode == 0 {
		return nil
	}
	n := " " + strconv.Itoa(int(s.LastEpisode))
	var out []release.Title
	for _, t := range s.Titles {
		out = append(out, release.Title{Text: t.Text + n, Lang: t.Lang, From: t.From})
		if s.Special != "" {
			out = append(out, release.Title{Text: t.Text + " " + s.Special + n, Lang: t.Lang, From: t.From})
		}
	}
	return out
}

// weightRelativeTo returns the weight of a reading in comparison with the chosen one. A short piece of a long title has
// the least weight, because "SOS" may be the title of another work.
func (r reading) weightRelativeTo(chosen string) float64 {
	switch {
	case r.From == release.FromParent:
		return 0.95
	case r.From == release.FromFolder:
		return 0.97
	case hasWordPrefix(r.norm, chosen):
		return 1 // longer than the chosen reading
	}
	first, part := strings.ReplaceAll(chosen, " ", ""), strings.ReplaceAll(r.norm, " ", "")
	if strings.Contains(first, part) && weightedLength(part)*3 < weightedLength(first) {
		return 0.85
	}
	return 0.98
}

func weightedLength(s string) int {
	n := 0
	for _, r := range s {
		n++
		if scriptClass(r) == 1 {
			n++
		}
	}
	return n
}

var ampersand = strings.NewReplacer(" and ", " & ", " And ", " & ", " & ", " and ")

// ownTitle returns the likeliest title that was read from the file's own name, "" if there is none.
func ownTitle(titles []release.Title) string {
	for _, t := range titles {
		if t.From == release.FromName {
			return t.Text
		}
	}
	return ""
}

// addVariants adds a copy of each reading that has umlauts, "and", or brackets at its end, without them: "Maerchen" for
// "Märchen", "A & B", "Title" for "Title (Uncut)", which may be a remark. "Title/Subtitle" is one title too.
func addVariants(readings []release.Title) []release.Title {
	out, own := readings, ownTitle(readings)
	for _, r := range readings {
		if own != "" && r.From != release.FromName {
			texts := []string{own}
			if lost, subtitle, _ := lostSequel(own, r.Text); lost.Season > 0 {
				texts = append(texts, strconv.Itoa(lost.Season), subtitle)
			}
			for _, text := range slices.DeleteFunc(texts, func(t string) bool { return t == "" }) {
				out = append(slices.Clip(out), release.Title{Text: r.Text + " " + text, Lang: readings[0].Lang})
			}
		}
		if text := title.SpellUmlauts(ampersand.Replace(r.Text)); text != r.Text {
			out = append(slices.Clip(out), release.Title{Text: text, Lang: r.Lang, From: r.From})
		}
		i := strings.LastIndexAny(r.Text, "(（[［")
		if t := strings.TrimSpace(r.Text); i > 0 && strings.LastIndexAny(t, ")）]］") > i &&
			strings.TrimSpace(r.Text[:i]) != "" {
			out = append(slices.Clip(out), release.Title{Text: r.Text[:i], Lang: r.Lang, From: r.From})
		}
	}
	return out
}
