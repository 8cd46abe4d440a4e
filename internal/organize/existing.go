package organize

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lazyregexp"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/nfo"
	"github.com/anivault/anivault/internal/release"
)

// A target rarely starts empty. Folders and files from Sonarr, FileBot, Plex or an earlier run keep their names, so a
// show never gets a second folder, nor an episode a second file.

// idForms are the ways in which a folder's name ends with an ID.
var idForms = []struct{ begin, end, catalogue string }{
	{"[tmdbid-", "]", "tmdb"},
	{"[tmdbid=", "]", "tmdb"},
	{"{tmdb-", "}", "tmdb"},
	{"[tvdbid-", "]", "tvdb"},
	{"[tvdb-", "]", "tvdb"},
	{"{tvdb-", "}", "tvdb"},
	{"[imdbid-", "]", "imdb"},
	{"[imdb-", "]", "imdb"},
	{"{imdb-", "}", "imdb"},
}

// folderName is a folder's name in parts: "Show (2020) {tvdb-77} {edition-Extended}".
type folderName struct {
	title   string // with the year
	id      string // "tvdb-77"; "" for none
	edition string
}

func parseFolderName(name string) (f folderName) {
	if text, ok := strings.CutSuffix(name, "}"); ok {
		if i := strings.LastIndex(text, " {edition-"); i >= 0 {
			name, f.edition = name[:i], text[i+len(" {edition-"):]
		}
	}
	f.title = name
	for _, form := range idForms {
		text, ok := strings.CutSuffix(name, form.end)
		i := strings.LastIndex(text, form.begin[:1])
		if end := i + len(form.begin); ok && i >= 0 && end < len(text) && strings.EqualFold(text[i:end], form.begin) {
			id := strings.TrimLeft(strings.ToLower(text[end:]), "0")
			f.title, f.id = strings.TrimSpace(text[:i]), form.catalogue+"-"+id
			break
		}
	}
	return f
}

// ids returns a work's IDs as parseFolderName does, the most reliable first.
func (v *video) ids() []string {
	out := []string{"tmdb-" + strconv.Itoa(v.work.ID)}
	if id := v.facts.ids.TVDB; id > 0 {
		out = append(out, "tvdb-"+strconv.Itoa(id))
	}
	if id := v.facts.ids.IMDB; id != "" {
		out = append(out, "imdb-"+strings.ToLower(id))
	}
	return out
}

// existing returns the folders in a folder that hold a work. It looks for an ID in the name, then an NFO that names the
// work, then the title and year, then a show's title alone, and stops at the first match.
func (d *folders) existing(in *folder, v *video, edition string, titles bool) []string {
	if in.subfolders == nil {
		in.subfolders = subfolders(in)
	}
	for _, id := range v.ids() {
		if found := d.withEdition(in, v, in.subfolders[id], edition); len(found) > 0 {
			return found
		}
	}
	if found := d.withEdition(in, v, d.named(in)[v.work.Entry], edition); len(found) > 0 {
		return found
	}
	if !titles {
		return nil
	}
	for _, title := range []string{v.facts.title, v.facts.original, v.ownTitle} {
		if titleKey(title, "") == "" {
			continue
		}
		noOtherWork := func(key string) []string {
			return slices.DeleteFunc(d.withEdition(in, v, in.subfolders[key], edition), func(name string) bool {
				return d.namesOther(in, v.work.Entry, name)
			})
		}
		if found := noOtherWork(titleKey(title, number(v.facts.year))); len(found) > 0 {
			return found
		}
		if v.work.Kind != "tv" || in.hasYear(title) {
			continue
		}
		if found := noOtherWork(titleKey(title, "")); len(found) > 0 &&
			!d.hasOtherYear(join(in.path, found[0]), v.facts.year) {
			d.byTitle = append(d.byTitle, found[0])
			return found
		}
	}
	return nil
}

// subfolders returns the folders in a folder by ID, or by title if they have no ID.
func subfolders(in *folder) map[string][]string {
	out := map[string][]string{}
	for i := range in.items {
		if item := &in.items[i]; item.Type == TypeDir || item.Type == TypeLink {
			name := parseFolderName(item.Name)
			key := name.id
			if key == "" {
				title, year := name.title, ""
				if m := yearAtEnd().FindStringSubmatch(title); m != nil {
					title, year = m[1], m[2]
				}
				key = titleKey(title, year)
			}
			out[key] = append(out[key], item.Name)
		}
	}
	return out
}

// titleKey returns a title's letters and digits, because programs write punctuation differently, with its year. It
// returns "" for a title without letters and digits.
func titleKey(title, year string) string {
	letters := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) {
			return r
		}
		return -1
	}, FoldName(title))
	if letters == "" {
		return ""
	}
	return letters + "|" + year
}

// yearAtEnd matches the year after a folder's title.
var yearAtEnd = lazyregexp.New(`^(.+) \((\d{4})\)$`)

// hasYear reports whether a folder without an ID has the title and a year: the title alone is then ambiguous.
func (f *folder) hasYear(title string) bool {
	bare := titleKey(title, "")
	for key := range f.subfolders {
		if bare != "" && key != bare && strings.HasPrefix(key, bare) {
			return true
		}
	}
	return false
}

// hasOtherYear reports whether a show's folder has a season with a video whose name has another year.
func (d *folders) hasOtherYear(show string, year int) bool {
	for _, season := range d.list(show).items {
		if season.Type != TypeDir || !library.IsSeasonFolder(season.Name) {
			continue
		}
		for _, e := range d.list(join(show, season.Name)).existingVideos() {
			if e.Year > 0 && e.Year != year {
				return true
			}
		}
	}
	return false
}

// withEdition returns the folders that have the edition and may hold the kind of work: a series and a film may have the
// same ID.
func (d *folders) withEdition(in *folder, v *video, names []string, edition string) []string {
	var out []string
	for _, name := range names {
		if parseFolderName(name).edition != edition {
			continue
		}
		if kind := d.kindOf(in.path, name); kind == v.work.Kind || kind == "" {
			out = append(out, name)
		}
	}
	return out
}

// named returns the folders without an ID in their names, by the work that an NFO in them names.
func (d *folders) named(in *folder) map[Entry][]string {
	if in.named != nil {
		return in.named
	}
	in.named = map[Entry][]string{}
	for i := range in.items {
		item := &in.items[i]
		if item.Type != TypeDir || parseFolderName(item.Name).id != "" {
			continue
		}
		for _, file := range nfosOf(item.Name) {
			text, err := d.disk.Ends(path.Join(in.path, item.Name, file.name))
			if err != nil {
				continue
			}
			if _, id := nfo.IsAbout(text, file.kind, 0); id > 0 {
				entry := Entry{Kind: file.kind, ID: id}
				in.named[entry] = append(in.named[entry], item.Name)
				break
			}
		}
	}
	return in.named
}

// nfoFile is an NFO about the work that a folder holds.
type nfoFile struct{ name, kind string }

func nfosOf(folder string) []nfoFile {
	return []nfoFile{{"tvshow.nfo", "tv"}, {"movie.nfo", "movie"}, {folder + ".nfo", "movie"}}
}

// namesOther reports whether a folder without an ID in its name has an NFO about another work.
func (d *folders) namesOther(in *folder, entry Entry, name string) bool {
	for other, names := range d.named(in) {
		if other != entry && slices.Contains(names, name) {
			return true
		}
	}
	return false
}

// warnOfNFO warns of an NFO in a known folder that names another work: the folder's name decides.
func (p *Planner) warnOfNFO(v *video, folder string) {
	dir := p.folders.list(folder)
	for _, file := range nfosOf(path.Base(folder)) {
		if file.kind != v.work.Kind || dir.find(file.name) == nil {
			continue
		}
		text, err := p.disk.Ends(join(folder, file.name))
		if _, id := nfo.IsAbout(text, file.kind, 0); err == nil && id != 0 && id != v.work.ID {
			p.isAbout(join(folder, file.name), v.work.Entry)
		}
	}
}

// season returns the folder of a season in a show's folder: the one with the planned name, else the only one with
// another name for the season, such as "Season 1", "Specials" or "S01".
func (d *folders) season(show *folder, planned string, season int) (name string, code Code, why lang.Text) {
	if planned == "." || strings.Contains(planned, "/") || len(show.alike(planned)) > 0 {
		return planned, "", ""
	}
	var found []string
	for i := range show.items {
		if item := &show.items[i]; item.Type != TypeRegular && library.IsSeasonFolder(item.Name) {
			r := release.Parse(item.Name + "/x.mkv")
			if of := r.Folder.Seasons; len(of) == 1 && of[0] == season && r.SeasonPart() == 0 {
				found = append(found, item.Name)
			}
		}
	}
	switch len(found) {
	case 0:
		return planned, "", ""
	case 1:
		return found[0], "", ""
	default:
		return planned, TwoFolders, lang.Textf("%s", strings.Join(found, " and "))
	}
}

// renamesInPlace reports whether a video's source and target contain each other. Such a plan renames a library's own
// files, so existing names must not decide the new ones.
func (o *Options) renamesInPlace(v *video) bool {
	source, target := o.Sources[v.source].Path, o.Targets[v.target].Path
	return IsBelow(source, target) || IsBelow(target, source)
}

// meetExisting compares each video with the folders of its show or film. A file that is there already under another
// name keeps it, or is renamed. Another file of the same episode or film is a conflict.
func (p *Planner) meetExisting() (renamed []*video) {
	sources := map[string]*video{} // by their paths in the library
	var absent []*video
	for _, v := range p.videos {
		if v.code != "" || v.kind != kindVideo || p.o.renamesInPlace(v) {
			continue
		}
		if at, name := p.nameThere(p.searched(v), v); name != "" {
			dir := p.folders.contents(v.target, at)
			if p.o.RenameExisting {
				renamed = append(renamed, p.renameAll(v, at, name)...)
			}
			v.folder, v.to = at, join(at.path, name)
			v.stem = len(v.to) - len(path.Ext(name))
			v.there = true
			sources[join(dir.path, name)] = v
			continue
		}
		absent = append(absent, v)
	}
	for _, v := range absent {
		if !p.o.Layout.isOwnFolder(v.work.Kind) || v.entry.at.path == "." {
			continue // other works may be there
		}
		var others []*existingVideo
		for _, at := range p.searched(v) {
			others = append(others, p.folders.contents(v.target, at).sameWork(v, at == v.entry.at)...)
		}
		if len(others) == 0 || p.labelBeside(v, others, sources) {
			continue
		}
		v.skip(Exists, lang.Textf("%s", others[0].path))
	}
	p.videos = dropSkipped(p.videos)
	return renamed
}

// searched returns the folders that may hold a video already: its own, and for a series with a folder of its own that
// folder and all its seasons.
func (p *Planner) searched(v *video) []*folderChoice {
	e, out := v.entry, []*folderChoice{v.folder}
	if v.work.Kind != "tv" || !p.o.Layout.isOwnFolder("tv") || e.at.path == "." {
		return out
	}
	if e.folders == nil {
		e.folders = []*folderChoice{e.at}
		show := p.folders.contents(v.target, e.at)
		for i := range show.items {
			if item := &show.items[i]; item.Type == TypeDir && library.IsSeasonFolder(item.Name) {
				e.folders = append(e.folders, p.folders.choose(v.target, join(e.at.path, item.Name)))
			}
		}
	}
	for _, at := range e.folders {
		if at.path != v.folder.path {
			out = append(out, at)
		}
	}
	return out
}

// renameAll plans to rename a video that is in a folder under a name. If that is the planned name, other names of the
// video are only reported.
func (p *Planner) renameAll(v *video, at *folderChoice, name string) (out []*video) {
	dir := p.folders.contents(v.target, at)
	if name != v.stemWithoutLabel()+v.labelOf(name)+path.Ext(v.to) {
		if dir.find(name).Type == TypeRegular {
			out = append(out, p.rename(v, at, name))
		}
		return out
	}
	for i := range dir.items {
		item := &dir.items[i]
		if item.Type == TypeRegular && item.Name != name && library.IsVideo(item.Name) &&
			p.folders.isThere(dir, v.dir, v.item, item, p.o.findsCopies(v, v.item)) {
			r := p.rename(v, at, item.Name)
			r.skip(SameFile, lang.Textf("the same file as %s", join(dir.path, name)))
			out = append(out, r)
		}
	}
	return out
}

func (v *video) stemWithoutLabel() string { return strings.TrimSuffix(path.Base(v.base()), v.label) }

// labelOf returns the label that a video keeps when a name in the library changes: its own, else the one in the name.
func (v *video) labelOf(name string) string {
	return cmp.Or(v.label, labelAtEnd().FindString(library.Stem(name)))
}

// labelAtEnd matches the labels of a version or a part: "Film - [Extended] - [720p]", "Film - part2".
var labelAtEnd = lazyregexp.New(`(?: - (?:\[[^\[\]]+\]|part\d{1,2}))+$`)

// rename plans to give a library's file, and its sidecars, the name that it would get today. The target becomes a
// source too.
func (p *Planner) rename(v *video, at *folderChoice, name string) *video {
	target, dir := p.o.Targets[v.target], p.folders.contents(v.target, at)
	source := slices.IndexFunc(p.o.Sources, func(s Place) bool { return s.Path == target.Path })
	if source < 0 {
		source = len(p.o.Sources)
		p.o.Sources = append(p.o.Sources, target)
	}
	r := *v
	r.label = v.labelOf(name)
	r.setTarget(at, v.stemWithoutLabel())
	r.renames, r.there, r.source = true, false, source
	r.recordDir, r.name, r.dir, r.item = dir.path+"/", name, dir, dir.find(name)
	r.sidecars, dir.videos = nil, append(dir.videos, &r)
	newOwner(p, dir).assign()
	dir.videos = nil
	r.labelSidecars()
	for i := range r.sidecars { // rename existing NFOs without reading them again
		switch s := &r.sidecars[i]; {
		case s.item().Type != TypeRegular:
			r.skip(NotRegular, lang.Textf("%s", join(s.dir.path, s.item().Name)))
		case RoleOf(s.item().Name) == RoleNFO:
			s.suffix = s.item().Name[len(library.Stem(name)):]
		}
	}
	return &r
}

// nameThere returns the name that a video already has in one of the folders; "" if it is not there. It prefers the
// planned name.
func (p *Planner) nameThere(searched []*folderChoice, v *video) (at *folderChoice, name string) {
	planned, copies := path.Base(v.to), p.o.findsCopies(v, v.item)
	for _, at := range searched {
		dir := p.folders.contents(v.target, at)
		if there, _ := p.folders.find(dir, v.dir, v.item, planned, copies); there {
			return at, planned
		}
		for i := range dir.items {
			item := &dir.items[i]
			if p.folders.isThere(dir, v.dir, v.item, item, copies) && library.IsVideo(item.Name) {
				return at, item.Name
			}
		}
	}
	return nil, ""
}

// existingVideo is a video in a target folder.
type existingVideo struct {
	path string
	release.Release
}

// existingVideos returns the videos of a folder, except extras and samples.
func (f *folder) existingVideos() []existingVideo {
	if f.existing == nil {
		f.existing = []existingVideo{}
		for i := range f.items {
			if item := &f.items[i]; item.Type != TypeDir && library.IsVideo(item.Name) {
				r := release.Parse(path.Join(path.Base(f.path), item.Name))
				if !r.Extra {
					f.existing = append(f.existing, existingVideo{join(f.path, item.Name), r})
				}
			}
		}
	}
	return f.existing
}

// sameWork returns the videos of a folder with the same episode or film, but not its other parts. A number without a
// season counts as season 1 if the folder is the show's own.
func (f *folder) sameWork(v *video, isShow bool) (out []*existingVideo) {
	videos := f.existingVideos()
	for i := range videos {
		e := &videos[i]
		if v.work.Kind == "tv" {
			if !slices.ContainsFunc(e.Episodes, func(n float64) bool {
				return n == float64(int(n)) && slices.Contains(v.work.Episodes, int(n))
			}) {
				continue
			}
			season, known := e.Season()
			if !known && isShow {
				season, known = 1, true
			}
			if !known || season != v.work.Season {
				continue
			}
		}
		if v.label != "" {
			if part := partOf(e.Name, e.Part); part > 0 && part != v.part() {
				continue
			}
		}
		out = append(out, e)
	}
	return out
}

// labelBeside gives a video a label that distinguishes it from other versions, if the user wants versions and the
// server supports them. The name of a video's source says more than its own.
func (p *Planner) labelBeside(v *video, others []*existingVideo, sources map[string]*video) bool {
	if !p.o.Versions || v.work.Kind != "movie" && !p.o.Layout.versions {
		return false
	}
	group := []*video{v}
	for _, e := range others {
		if source := sources[e.path]; source != nil {
			group = append(group, source)
			continue
		}
		group = append(group, &video{tags: p.namers[v.target].cleanTags(tags{
			version: e.Version, edition: e.Edition, resolution: e.Resolution, source: e.Source, group: e.Group,
		})})
	}
	labels := versions(group)
	if labels == nil {
		return false
	}
	stem := v.stemWithoutLabel()
	v.label += labels[0]
	v.setTarget(v.folder, stem)
	return len(stem)+v.suffixLen() <= p.namers[v.target].max
}
