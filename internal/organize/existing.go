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

// hasOtherID reports whether a folder's name has an ID of a catalogue in which the work has an ID too. The caller has
// already searched for the work's own IDs, so the folder is of another work.
func (v *video) hasOtherID(folder string) bool {
	return slices.ContainsFunc(parseFolderName(folder).ids, func(other string) bool {
		catalogue := other[:strings.IndexByte(other, '-')+1]
		return slices.ContainsFunc(v.ids(), func(id string) bool { return strings.HasPrefix(id, catalogue) })
	})
}

// findWorkFolders returns the subfolders that hold a work. It searches for an ID in the name, then for an NFO about the
// work, then for a title and the year, and for a show also for a title alone. It stops at the first of these that finds
// any folder. A show's titles in other languages come last.
func (d *folderIndex) findWorkFolders(in *folder, v *video, edition string, titles bool) []string {
	for _, id := range v.ids() {
		if found := d.filterByEdition(in, v, d.subfoldersBy(in, id), edition); len(found) > 0 {
			return found
		}
	}
	if v.anime > 0 {
		return nil // an NFO or a title is of the whole entry
	}
	if found := d.filterByEdition(in, v, d.foldersByNFO(in)[v.work.Entry], edition); len(found) > 0 {
		return found
	}
	if !titles {
		return nil
	}
	for _, title := range v.titles() {
		if found := d.foldersByTitle(in, v, edition, title); len(found) > 0 {
			return found
		}
	}
	var found []string
	if v.work.Kind == "tv" && d.details != nil && len(in.subfolders) > 0 {
		if details := d.details(v.work.Entry); details != nil {
			for _, title := range details.Titles {
				found = append(found, d.foldersByTitle(in, v, edition, title)...)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// foldersByTitle returns the subfolders with the title and the work's year. If there is none, it returns a folder that
// has the title without a year: that of a show, or of a film if a file in it has the year.
func (d *folderIndex) foldersByTitle(in *folder, v *video, edition, title string) []string {
	if titleKey(title, "") == "" {
		return nil
	}
	noOtherWork := func(key string) []string {
		return slices.DeleteFunc(d.filterByEdition(in, v, d.subfoldersBy(in, key), edition), func(name string) bool {
			return v.hasOtherID(name) || catalogueOf(name) == "anidb" || d.hasNFOOfOther(in, v.work.Entry, name)
		})
	}
	found := noOtherWork(titleKey(title, ui.Number(v.facts.year)))
	if len(found) > 0 || v.work.Kind == "tv" && d.hasShowWithYear(in, title) {
		return found
	}
	found = noOtherWork(titleKey(title, ""))
	if v.work.Kind == "movie" {
		return slices.DeleteFunc(found, func(name string) bool {
			return !slices.ContainsFunc(d.list(joinPath(in.path, name)).existingVideos(),
				func(e existingVideo) bool { return e.Year == v.facts.year })
		})
	}
	if len(found) == 0 || d.hasOtherYear(joinPath(in.path, found[0]), v.facts.year) {
		return nil
	}
	d.matchedByTitle = append(d.matchedByTitle, found[0])
	return found
}

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
			} else if r := release.Parse(title + "/x.mkv").Folder; r.Year > 0 && len(r.Seasons) == 0 &&
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

// hasOtherYear reports whether any season in a show's folder has a video with another year in its name.
func (d *folderIndex) hasOtherYear(show string, year int) bool {
	return slices.ContainsFunc(d.list(show).items, func(season Item) bool {
		return season.Type == TypeDir && library.IsSeasonFolder(season.Name) &&
			slices.ContainsFunc(d.list(joinPath(show, season.Name)).existingVideos(), func(e existingVideo) bool {
				return e.Year > 0 && e.Year != year
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

// foldersByNFO returns the subfolders without an ID in their names, by the work that their NFO is about.
func (d *folderIndex) foldersByNFO(in *folder) map[Entry][]string {
	if in.byNFO != nil {
		return in.byNFO
	}
	in.byNFO = map[Entry][]string{}
	for i := range in.items {
		item := &in.items[i]
		if item.Type != TypeDir || parseFolderName(item.Name).ids != nil {
			continue
		}
		for _, file := range workNFOs(item.Name) {
			if id := d.idInNFO(path.Join(in.path, item.Name, file.name), file.kind); id > 0 {
				entry := Entry{Kind: file.kind, ID: id}
				in.byNFO[entry] = append(in.byNFO[entry], item.Name)
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

// hasNFOOfOther reports whether a folder without an ID in its name has an NFO about another work.
func (d *folderIndex) hasNFOOfOther(in *folder, entry Entry, name string) bool {
	for other, names := range d.foldersByNFO(in) {
		if other != entry && slices.Contains(names, name) {
			return true
		}
	}
	return false
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
		if item := &show.items[i]; item.Type != TypeRegular && seasonOf(show, item.Name) == season {
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

// seasonOf returns the season that a folder in a show's folder holds by its name alone, such as "Season 1", "Specials",
// "S01", "1" or "Show - Season 1"; -1 if the name says none, a part of a season, or what a release is.
func seasonOf(show *folder, name string) int {
	if strings.Trim(name, "0123456789") == "" {
		name = "Season " + name
	}
	r := release.Parse(name + "/x.mkv")
	of, title := r.Folder, yearSuffix().ReplaceAllString(parseFolderName(path.Base(show.path)).title, "$1")
	if len(of.Seasons) == 1 && len(release.Parse(name).Episodes) == 0 && r.Group == "" && r.SeasonPart() == 0 &&
		(of.Title == "" || titleKey(of.Title, "") == titleKey(title, "")) {
		return of.Seasons[0]
	}
	return -1
}

// renamesInPlace reports whether a video's source root contains its target root, or the reverse. Such a plan renames
// the library's own files, so their existing names must not determine the new ones.
func (o *Options) renamesInPlace(v *video) bool {
	source, target := o.Sources[v.source].Path, o.Targets[v.target].Path
	return IsBelow(source, target) || IsBelow(target, source)
}

// compareWithExisting compares each video with the existing folders of its show or film. If the same file is there
// under another name, it keeps that name or is renamed. A different file of the same episode or film is a conflict.
func (p *Planner) compareWithExisting() (renamed []*video) {
	sources := map[string]*video{} // planned videos that are in the library, by their paths there
	var absent []*video
	for _, v := range p.videos {
		if v.code != "" || v.kind != kindVideo || p.opts.renamesInPlace(v) {
			continue
		}
		if at, name := p.folders.findExisting(p.folders.searchFolders(v), v); name != "" {
			dir := p.folders.contents(v.target, at)
			if p.opts.RenameExisting {
				renamed = append(renamed, p.planRenames(v, at, name)...)
			}
			v.folder, v.targetPath = at, joinPath(at.path, name)
			if v.work.Kind == "movie" {
				v.entry.folder = at // for what belongs to the folder of the film
			}
			v.stemLength = len(v.targetPath) - len(path.Ext(name))
			v.isInPlace = true
			sources[joinPath(dir.path, name)] = v
			continue
		}
		absent = append(absent, v)
	}
	for _, v := range absent {
		var others []*existingVideo
		own := p.opts.Layout.hasOwnFolder(v.work.Kind) && v.entry.folder.path != "."
		for _, at := range p.folders.searchFolders(v) {
			shared := !own || v.work.Kind == "movie" && at.path == path.Dir(v.entry.folder.path)
			others = append(others, p.folders.contents(v.target, at).videosOfSameWork(v, own && at == v.entry.folder, shared)...)
		}
		if len(others) == 0 || p.labelAsVersion(v, others, sources) {
			continue
		}
		v.skip(CodeExists, lang.Textf("%s", others[0].path))
	}
	p.videos = dropSkipped(p.videos)
	return renamed
}

// searchFolders returns the folders that may already hold a video: its target folder, the folder of its work with those
// in it, and for a film also the folder above.
func (d *folderIndex) searchFolders(v *video) []*targetFolder {
	e, out := v.entry, []*targetFolder{v.folder}
	if !d.opts.Layout.hasOwnFolder(v.work.Kind) || e.folder.path == "." {
		return out
	}
	if e.folders == nil {
		e.folders = d.foldersWithin(v.target, e.folder, 2)
	}
	out = append(out, slices.DeleteFunc(slices.Clone(e.folders),
		func(at *targetFolder) bool { return at.path == v.folder.path })...)
	if v.work.Kind == "movie" {
		out = append(out, d.chooseTarget(v.target, path.Dir(e.folder.path)))
	}
	return out
}

// foldersWithin returns a folder and those below it, down to a depth.
func (d *folderIndex) foldersWithin(target int, at *targetFolder, depth int) []*targetFolder {
	out := []*targetFolder{at}
	if depth == 0 {
		return out
	}
	for _, item := range d.contents(target, at).items {
		if item.Type == TypeDir && !noVideoFolder().MatchString(item.Name) {
			out = append(out, d.foldersWithin(target, d.chooseTarget(target, joinPath(at.path, item.Name)), depth-1)...)
		}
	}
	return out
}

// noVideoFolder matches what media servers put beside videos, and their folders of extras that other folders may be
// called, too.
var noVideoFolder = lazyregexp.New(`(?i)\.trickplay$|^(?:other|scenes|clips)$`)

// planRenames plans to rename a video that is in a library folder. If it already has the planned name, its other names
// in that folder are only reported.
func (p *Planner) planRenames(v *video, folder *targetFolder, name string) (out []*video) {
	dir := p.folders.contents(v.target, folder)
	if name != v.stemWithoutLabel()+v.keptLabel(name)+path.Ext(v.targetPath) {
		if dir.find(name).Type == TypeRegular {
			out, v.isBeingRenamed = append(out, p.planRename(v, folder, name)), true
		}
		return out
	}
	for i := range dir.items {
		item := &dir.items[i]
		// A name that differs only in case or normal form is that entry itself, not another hard link.
		if item.Type == TypeRegular && FoldName(item.Name) != FoldName(name) && library.IsVideo(item.Name) &&
			p.folders.isSameFile(dir, v.dir, v.item, item, p.opts.acceptsCopies(v, v.item)) {
			r := p.planRename(v, folder, item.Name)
			r.skip(CodeSameFile, lang.Textf("the same file as %s", joinPath(dir.path, name)))
			out = append(out, r)
		}
	}
	return out
}

func (v *video) stemWithoutLabel() string {
	return strings.TrimSuffix(path.Base(v.targetStem()), v.label)
}

// keptLabel returns the label of a video that is renamed in the library: the new one, or else the present one.
func (v *video) keptLabel(name string) string {
	return cmp.Or(v.label, labelSuffix().FindString(library.Stem(name)))
}

// labelSuffix matches labels of versions and parts: " - [Extended] - [720p]" or " - part2" at a name's end.
var labelSuffix = lazyregexp.New(`(?: - (?:\[[^\[\]]+\]|part\d{1,2}))+$`)

// planRename plans today's name for a library file and its sidecars. The target folder becomes a source too.
func (p *Planner) planRename(v *video, folder *targetFolder, name string) *video {
	target, dir := p.opts.Targets[v.target], p.folders.contents(v.target, folder)
	source := slices.IndexFunc(p.opts.Sources, func(s RootInfo) bool { return s.Path == target.Path })
	if source < 0 {
		source = len(p.opts.Sources)
		p.opts.Sources = append(p.opts.Sources, target)
	}
	r := *v
	r.label = v.keptLabel(name)
	r.setTarget(folder, v.stemWithoutLabel())
	r.isRename, r.isInPlace, r.source = true, false, source
	r.recordDir, r.name, r.dir, r.item = dir.path+"/", name, dir, dir.find(name)
	r.sidecars, dir.videos = nil, append(dir.videos, &r)
	newSidecarAssigner(p, dir).assign()
	dir.videos = nil
	r.labelSidecars()
	for i := range r.sidecars { // rename existing NFOs without reading them again
		switch s := &r.sidecars[i]; {
		case s.item().Type != TypeRegular:
			r.skip(CodeNotRegular, lang.Textf("%s", joinPath(s.dir.path, s.item().Name)))
		case RoleOf(s.item().Name) == RoleNFO:
			s.suffix = s.item().Name[len(library.Stem(name)):]
		}
	}
	return &r
}

// findExisting returns folder and name of a video that already exists, "" if none, the planned name first.
func (d *folderIndex) findExisting(searched []*targetFolder, v *video) (at *targetFolder, name string) {
	planned, copies := path.Base(v.targetPath), d.opts.acceptsCopies(v, v.item)
	for _, at := range searched {
		dir := d.contents(v.target, at)
		if there, _ := d.findFile(dir, v.dir, v.item, planned, copies); there {
			return at, planned
		}
		for i := range dir.items {
			item := &dir.items[i]
			if d.isSameFile(dir, v.dir, v.item, item, copies) && library.IsVideo(item.Name) {
				return at, item.Name
			}
		}
	}
	return nil, ""
}

type existingVideo struct {
	path string
	release.Release
}

// discFolder matches the folder of a disc in that of its film.
var discFolder = lazyregexp.New(`(?i)^(?:BDMV|VIDEO_TS|HVDVD_TS)$`)

// existingVideos returns the videos in a folder, except extras and samples.
func (f *folder) existingVideos() []existingVideo {
	if f.parsedVideos == nil {
		f.parsedVideos = []existingVideo{}
		for i := range f.items {
			item := &f.items[i]
			isDisc := item.Type == TypeDir && discFolder().MatchString(item.Name)
			if isDisc || item.Type != TypeDir && library.IsVideo(item.Name) {
				r := release.Parse(path.Join(path.Base(f.path), item.Name))
				if !r.Extra && !library.IsExtraName(item.Name) {
					f.parsedVideos = append(f.parsedVideos, existingVideo{joinPath(f.path, item.Name), r})
				}
			}
		}
	}
	return f.parsedVideos
}

// videosOfSameWork returns the videos in a folder that hold the same episode or film. It omits other parts of it. In
// the folder of a film, all do. In the show's own folder, a number without a season counts as season 1. In a shared
// folder, the name of the work counts.
func (f *folder) videosOfSameWork(v *video, isOwn, isShared bool) (out []*existingVideo) {
	videos := f.existingVideos()
	for i := range videos {
		e := &videos[i]
		if isShared && !v.isNamedBy(e) {
			continue
		}
		if v.work.Kind == "tv" {
			if !slices.ContainsFunc(e.Episodes, func(n float64) bool {
				return n == float64(int(n)) && slices.Contains(v.named.Episodes, int(n))
			}) {
				continue
			}
			season, known := e.Season()
			if !known && isOwn {
				season, known = 1, true
			}
			if !known || season != v.named.Season {
				continue
			}
		}
		if v.label != "" {
			if part := partInName(e.Name, e.Part); part > 0 && part != v.partNumber() {
				continue
			}
		}
		out = append(out, e)
	}
	return out
}

func (v *video) titles() []string {
	return []string{v.facts.title, v.facts.originalTitle, v.titleInName}
}

// isNamedBy reports whether the name of a video has an ID of the work, or a title of it and for a film the year.
func (v *video) isNamedBy(e *existingVideo) bool {
	isOwn := func(id string) bool { return slices.Contains(v.ids(), id) }
	isTitle := func(title string) bool { return titleKey(title, "") == titleKey(e.Title, "") }
	return slices.ContainsFunc(parseFolderName(library.Stem(e.Name)).ids, isOwn) || titleKey(e.Title, "") != "" &&
		(v.work.Kind == "tv" || e.Year == v.facts.year) && slices.ContainsFunc(v.titles(), isTitle)
}

// labelAsVersion labels a video so that it differs from other versions, if the user wants versions and the media server
// supports them. For a video that comes from a planned source, it reads the tags from the source's name.
func (p *Planner) labelAsVersion(v *video, others []*existingVideo, sources map[string]*video) bool {
	if !p.opts.LabelVersions || v.work.Kind != "movie" && !p.opts.Layout.SupportsVersions {
		return false
	}
	group := []*video{v}
	for _, e := range others {
		if source := sources[e.path]; source != nil {
			group = append(group, source)
			continue
		}
		group = append(group, &video{tags: p.namers[v.target].cleanTags(releaseTags{
			version: e.Version, edition: e.Edition, resolution: e.Resolution, source: e.Source, group: e.Group,
		})})
	}
	labels := versionLabels(group)
	if labels == nil {
		return false
	}
	stem := v.stemWithoutLabel()
	v.label += labels[0]
	v.setTarget(v.folder, stem)
	return len(stem)+v.suffixLen() <= p.namers[v.target].maxName
}
