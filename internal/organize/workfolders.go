package organize

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lazyregexp"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/nfo"
	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/ui"
)

// This file finds folders and files that Sonarr, FileBot, Plex or an earlier run has put into a target. They keep their
// names, so no show gets a second folder and no episode a second file.

// folderTag matches an ID in a folder's name in the forms of Sonarr, Radarr, Plex, Jellyfin, Emby and Kodi, such as
// "[tmdbid-1]", "{tmdb-1}", "[tvdbid=1]" or "[tt0000001]", and the edition of a film as Plex writes it.
var folderTag = lazyregexp.New(
	`[\[{(](?:(?i:(tmdb|tvdb|anidb|imdb)(?:id)?[-=]0*(\w+)|(tt\d{7,}))[\]})]|edition-([^{}]+)})`)

// folderName holds the parts of a folder's name, such as "Show (2020) {tvdb-77} {edition-Extended}".
type folderName struct {
	title   string   // including the year
	ids     []string // such as "tvdb-77"
	edition string
}

func parseFolderName(name string) (f folderName) {
	f.title = name
	if i := strings.IndexAny(name, "[{("); i < 0 || !strings.ContainsAny(name[i:], "-=tT") {
		return f // a quick check that excludes most names
	}
	for _, m := range folderTag().FindAllStringSubmatch(name, -1) {
		f.title, f.edition = strings.Replace(f.title, m[0], "", 1), cmp.Or(f.edition, m[4])
		if m[4] == "" {
			f.ids = append(f.ids, strings.ToLower(cmp.Or(m[1], "imdb")+"-"+m[2]+m[3]))
		}
	}
	f.title = strings.TrimSpace(f.title)
	return f
}

// ids returns the IDs of a work in the format of folderName.ids, the most reliable first.
func (v *video) ids() []string {
	if v.anime > 0 {
		return []string{"anidb-" + strconv.Itoa(v.anime)}
	}
	out := []string{"tmdb-" + strconv.Itoa(v.work.ID)}
	if id := v.facts.ids.TVDB; id > 0 {
		out = append(out, "tvdb-"+strconv.Itoa(id))
	}
	if id := v.facts.ids.IMDB; id != "" {
		out = append(out, "imdb-"+strings.ToLower(id))
	}
	return out
}

// catalogueOf returns the catalogue of the ID in a folder's name; "" if the name has no ID. Of several IDs, the first
// in this order decides.
func catalogueOf(folder string) string {
	ids := parseFolderName(folder).ids
	for _, catalogue := range []string{orders.TMDB, orders.TVDB, orders.AniDB, "imdb"} {
		if slices.ContainsFunc(ids, func(id string) bool { return strings.HasPrefix(id, catalogue+"-") }) {
			return catalogue
		}
	}
	return ""
}

// hasOtherID reports whether a folder's name has an ID of a catalogue in which the work has another ID.
func (v *video) hasOtherID(folder string) bool {
	return slices.ContainsFunc(parseFolderName(folder).ids, func(other string) bool {
		catalogue := other[:strings.IndexByte(other, '-')+1]
		return !slices.Contains(v.ids(), other) &&
			slices.ContainsFunc(v.ids(), func(id string) bool { return strings.HasPrefix(id, catalogue) })
	})
}

// findWorkFolders returns the subfolders that hold a work: those with the most reliable of its IDs in the name, those
// with an NFO about it, and those with its title and year. If there is none, it searches for a show's title alone, and
// last for its titles in other languages.
func (d *folderIndex) findWorkFolders(in *folder, v *video, edition string, titles bool) (found []string) {
	for _, id := range v.ids() {
		if found = d.filterByEdition(in, v, d.subfoldersBy(in, id), edition); len(found) > 0 {
			break
		}
	}
	if v.anime > 0 || !titles && len(found) > 0 {
		return found // an NFO or a title of an anime is of the whole entry
	}
	for name, of := range d.worksByNFO(in) {
		if of == v.work.Entry {
			found = append(found, d.filterByEdition(in, v, []string{name}, edition)...)
		}
	}
	slices.Sort(found)
	if !titles {
		return found
	}
	known := found
	for i, title := range v.titles() {
		if len(known) > 0 && i < 2 || len(found) == 0 { // the title in a file's name may be another work's
			found = append(found, d.foldersByTitle(in, v, edition, title, known)...)
		}
	}
	if len(found) == 0 && v.work.Kind == "tv" && len(in.subfolders) > 0 {
		for _, title := range d.details(v.work.Entry).Titles {
			found = append(found, d.foldersByTitle(in, v, edition, title, nil)...)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// foldersByTitle returns the subfolders with the title and the work's year. If there is none, it returns a folder that
// has the title without a year: that of a show, or of a film if a file in it has the year. If the work has known
// folders already, it returns only others with the year and videos.
func (d *folderIndex) foldersByTitle(in *folder, v *video, edition, title string, known []string) []string {
	if titleKey(title, "") == "" {
		return nil
	}
	noOtherWork := func(key string) []string {
		return slices.DeleteFunc(d.filterByEdition(in, v, d.subfoldersBy(in, key), edition), func(name string) bool {
			ofNFO, hasNFO := d.worksByNFO(in)[name]
			return v.hasOtherID(name) || catalogueOf(name) == "anidb" || hasNFO && ofNFO != v.work.Entry
		})
	}
	found := noOtherWork(titleKey(title, ui.Number(v.facts.year)))
	if len(known) > 0 {
		return slices.DeleteFunc(found, func(name string) bool {
			return slices.Contains(known, name) || in.find(name).Type == TypeLink || !d.holdsVideos(joinPath(in.path, name))
		})
	}
	if len(found) > 0 || v.work.Kind == "tv" && d.hasShowWithYear(in, title) {
		return found
	}
	found = noOtherWork(titleKey(title, ""))
	if v.work.Kind == "movie" {
		return slices.DeleteFunc(found, func(name string) bool {
			return !slices.ContainsFunc(d.list(joinPath(in.path, name)).existingVideos()[anyNumber],
				func(e *existingVideo) bool { return e.Year == v.facts.year })
		})
	}
	if len(found) == 0 || d.hasOtherYear(joinPath(in.path, found[0]), v.facts.year) {
		return nil
	}
	d.matchedByTitle = append(d.matchedByTitle, found[0])
	return found
}

func (d *folderIndex) holdsVideos(dir string) bool {
	f := d.list(dir)
	return slices.ContainsFunc(f.items, func(item Item) bool {
		_, isVideo := f.parseVideo(&item)
		return isVideo || item.Type == TypeDir && d.holdsVideos(joinPath(dir, item.Name))
	})
}

// seasonPrefix and a show's titleKey are the key of a folder beside those of shows that holds one season of the show;
// seasonPrefix alone is the key of all such folders.
const seasonPrefix = "season of "

// subfoldersBy returns the names of the subfolders with an ID, or with a titleKey.
func (d *folderIndex) subfoldersBy(f *folder, key string) []string {
	if f.subfolders != nil {
		return f.subfolders[key]
	}
	f.subfolders = map[string][]string{}
	for i := range f.items {
		if item := &f.items[i]; item.Type == TypeDir || item.Type == TypeLink {
			name := parseFolderName(item.Name)
			title, year := name.title, ""
			if m := yearSuffix().FindStringSubmatch(title); m != nil {
				title, year = m[1], m[2]
			} else if r := release.Parse(title + "/x.mkv").Folder; len(r.Seasons) == 1 && r.Title != "" {
				name.ids = append(name.ids, seasonPrefix, seasonPrefix+titleKey(r.Title, ""))
			} else if r.Year > 0 && len(r.Seasons) == 0 &&
				d.workKindOf(f.path, item.Name) != "" { // a release, and no folder of several films
				name.ids = append(name.ids, titleKey(r.Title, ui.Number(r.Year)))
			}
			for _, key := range append(name.ids, titleKey(title, year)) {
				f.subfolders[key] = append(f.subfolders[key], item.Name)
			}
		}
	}
	return f.subfolders[key]
}

// titleKey returns the year after the letters and digits of a title, because programs write titles differently: without
// punctuation and accents, with "and" for "&", and "Show, The" for "The Show". It returns "" for a title without any.
func titleKey(title, year string) string {
	if strings.Contains(title, ", ") {
		title = trailingArticle().ReplaceAllString(title, "$2 $1")
	}
	title = strings.ReplaceAll(title, "&", "and")
	latin := false
	letters := strings.Map(func(r rune) rune {
		if isAccent := unicode.Is(unicode.Mn, r) && latin; !isAccent {
			if latin = unicode.Is(unicode.Latin, r); unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) {
				return r
			}
		}
		return -1
	}, norm.NFKD.String(FoldName(title)))
	if letters == "" {
		return ""
	}
	return letters + "|" + year
}

// trailingArticle matches a title as programs write it that sort by its first word: "Show, The".
var trailingArticle = lazyregexp.New(`(?i)^(.*), (the|an?)$`)

// yearSuffix matches a folder's title and the year after it.
var yearSuffix = lazyregexp.New(`^(.+) \((\d{4})\)$`)

// hasShowWithYear reports whether a show's subfolder without ID has this title and a year, so the title is ambiguous.
func (d *folderIndex) hasShowWithYear(in *folder, title string) bool {
	bare := titleKey(title, "")
	for key, names := range in.subfolders {
		if bare != "" && key != bare && strings.HasPrefix(key, bare) &&
			slices.ContainsFunc(names, func(name string) bool { return d.workKindOf(in.path, name) != "movie" }) {
			return true
		}
	}
	return false
}

// hasOtherYear reports whether a season in a show's folder has a video with another year in its name than the folder. A
// year behind the episode's number may be in its title, and that of a later season may be when it aired.
func (d *folderIndex) hasOtherYear(show string, year int) bool {
	return slices.ContainsFunc(d.list(show).items, func(season Item) bool {
		return season.Type == TypeDir && library.IsSeasonFolder(season.Name) &&
			slices.ContainsFunc(d.list(joinPath(show, season.Name)).existingVideos()[anyNumber], func(e *existingVideo) bool {
				before, _, _ := strings.Cut(path.Base(e.path), strconv.Itoa(e.Year))
				number, _ := e.Season()
				return e.Year > 0 && e.Year != year && !strings.Contains(path.Base(show), strconv.Itoa(e.Year)) &&
					number <= 1 && len(release.Parse(before+".mkv").Episodes) == 0
			})
	})
}

// filterByEdition returns the folders with the given edition that may hold a work of this kind. The kind matters
// because a series and a film can have the same ID.
func (d *folderIndex) filterByEdition(in *folder, v *video, names []string, edition string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return parseFolderName(name).edition != edition ||
			!slices.Contains([]string{"", v.work.Kind}, d.workKindOf(in.path, name))
	})
}

// worksByNFO returns the works that the NFOs of subfolders without an ID in their names are about, by these names.
func (d *folderIndex) worksByNFO(in *folder) map[string]Entry {
	if in.byNFO != nil {
		return in.byNFO
	}
	in.byNFO = map[string]Entry{}
	for i := range in.items {
		item := &in.items[i]
		if item.Type != TypeDir || parseFolderName(item.Name).ids != nil {
			continue
		}
		for _, file := range workNFOs(item.Name) {
			if id := d.idInNFO(path.Join(in.path, item.Name, file.name), file.kind); id > 0 {
				in.byNFO[item.Name] = Entry{Kind: file.kind, ID: id}
				break
			}
		}
	}
	return in.byNFO
}

// idInNFO returns the TMDB ID in an NFO; 0 if it has none or can't be read.
func (d *folderIndex) idInNFO(file, kind string) int {
	text, _ := d.disk.ReadEnds(file)
	_, id := nfo.IsAbout(text, kind, 0)
	return id
}

// findSeasonFolder returns the name of a season's folder in a show's folder. That is the planned name if it exists.
// Otherwise it is the only folder with another name for the season, such as "Season 1", "Specials" or "S01".
func (d *folderIndex) findSeasonFolder(
	show *folder, planned string, season int,
) (name string, code Code, why lang.Text) {
	if planned == "." || strings.Contains(planned, "/") || len(show.findSimilar(planned)) > 0 {
		return planned, "", ""
	}
	var found []string
	for i := range show.items {
		if item := &show.items[i]; item.Type != TypeRegular && seasonOf(show.path, item.Name) == season {
			found = append(found, item.Name)
		}
	}
	if len(found) > 1 {
		return planned, CodeTwoFolders, lang.Textf("%s", strings.Join(found, " and "))
	}
	if len(found) == 1 {
		planned = found[0]
	}
	return planned, "", ""
}

// showKey returns the titleKey of a show's folder.
func showKey(show string) string {
	return titleKey(yearSuffix().ReplaceAllString(parseFolderName(path.Base(show)).title, "$1"), "")
}

// seasonOf returns the season that a folder in the show's, a path, or the title in a file's name says by itself, such
// as "Season 1", "Specials", "S01", "1", "Show - Season 1" or "Show II"; -1 if it says none, a part of a season, what
// belongs to one, as "Season 1 Extras", or what a release is.
func seasonOf(show, name string) int {
	title := showKey(show)
	mark, end := name, len(strings.TrimRight(name, "0123456789IVXⅡⅢⅣⅤ"))
	if titleKey(name[:end], "") == title { // "Show II", "쇼2"
		mark = name[end:]
	}
	if strings.Trim(mark, "0123456789IVXⅡⅢⅣⅤ") == "" && titleKey(name, "") != title {
		name = "Season " + mark
	}
	r := release.Parse(name + "/x.mkv")
	if len(r.Folder.Seasons) == 1 && len(release.Parse(name).Episodes) == 0 && r.Group == "" && r.SeasonPart() == 0 &&
		(r.Folder.Title == "" || titleKey(r.Folder.Title, "") == title) {
		last := lastWord(strings.TrimRightFunc(name, isSeparator))
		of := release.Parse(last + "/x.mkv").Folder
		isBeside := of.Extra || of.Special || library.IsSubtitleFolder(last) || besideEpisodes().MatchString(last)
		if r.Folder.Seasons[0] == 0 || !isBeside {
			return r.Folder.Seasons[0]
		}
	}
	return -1
}

// besideEpisodes matches the last word of a folder of a season's music or scenes.
var besideEpisodes = lazyregexp.New(`(?i)^(?:ost|soundtracks?|scenes)$`)
