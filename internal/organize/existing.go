package organize

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lazyregexp"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/nfo"
	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/slicesx"
)

// renamesInPlace reports whether a video's source root contains its target root, or the reverse. Such a plan renames
// the library's own files, so their existing names must not determine the new ones.
func (o *Options) renamesInPlace(v *video) bool {
	source, target := o.Sources[v.source].Path, o.Targets[v.target].Path
	return IsBelow(source, target) || IsBelow(target, source)
}

// compareWithExisting compares each video with the existing folders of its show or film. If the same file is there
// under another name, it keeps that name or is renamed. A different file of the same episode or film is a conflict.
func (p *Planner) compareWithExisting() (renamed []*video) {
	var absent []*video
	var searched []*targetFolder
	for _, v := range p.videos {
		if v.code != "" || v.kind != kindVideo || p.opts.renamesInPlace(v) {
			continue
		}
		searched = p.folders.appendSearched(searched[:0], v)
		if at, name := p.folders.findExisting(searched, v); name != "" {
			if p.opts.RenameExisting {
				renamed = append(renamed, p.planRenames(v, at, name)...)
			}
			v.folder, v.targetPath = at, joinPath(at.path, name)
			if v.work.Kind == "movie" {
				v.entry.folder = at // for what belongs to the folder of the film
			}
			v.stemLength = len(v.targetPath) - len(path.Ext(name))
			v.isInPlace = true
			continue
		}
		absent = append(absent, v)
	}
	for _, v := range absent {
		var others []*existingVideo
		own := p.opts.Layout.hasOwnFolder(v.work.Kind) && v.entry.folder.path != "."
		searched = p.folders.appendSearched(searched[:0], v)
		p.folders.countInLibrary(v)
		for _, at := range searched {
			below, isShared := "", !own || v.work.Kind == "movie"
			if own && IsBelow(at.path, v.entry.folder.path) {
				below, isShared = relativeTo(at.path, v.entry.folder.path), false
			}
			others = append(others, p.folders.videosOfSameWork(p.folders.contents(v.target, at), v, below, isShared)...)
		}
		if p.opts.SkipCode != nil {
			v.code = p.opts.SkipCode(v.item)
		}
		if v.code == "" && len(others) > 0 && !p.labelAsVersion(v, others) {
			v.skip(CodeExists, lang.Textf("%s", others[0].path))
		}
	}
	p.videos = dropSkipped(p.videos)
	return renamed
}

// appendSearched appends the folders that may already hold a video: its target folder, the folder of its work with
// those in it and those of its seasons beside it, and for a film also the folder above and, for an edition, the film's
// folder without it, because Radarr names only the file after it.
func (d *folderIndex) appendSearched(out []*targetFolder, v *video) []*targetFolder {
	e := v.entry
	out = append(out, v.folder)
	if !d.opts.Layout.hasOwnFolder(v.work.Kind) || e.folder.path == "." {
		return out
	}
	if e.folders == nil {
		e.folders = slices.Concat(d.foldersWithin(v.target, e.folder, 2), d.seasonsBeside(v))
	}
	for _, at := range e.folders {
		if at.path != v.folder.path {
			out = append(out, at)
		}
	}
	if v.work.Kind == "movie" {
		above := d.chooseTarget(v.target, path.Dir(e.folder.path))
		if out = append(out, above); parseFolderName(path.Base(e.folder.path)).edition != "" {
			for _, name := range d.findWorkFolders(d.contents(v.target, above), v, "", true) {
				out = append(out, d.chooseTarget(v.target, joinPath(above.path, name)))
			}
		}
	}
	return out
}

// seasonsBeside returns the folders of single seasons beside a show's folder, such as "제목 2기" and "Show Season 2". It
// asks for the show's titles only if there are such folders at all: reading an entry takes milliseconds.
func (d *folderIndex) seasonsBeside(v *video) (out []*targetFolder) {
	above := d.chooseTarget(v.target, path.Dir(v.entry.folder.path))
	beside := d.contents(v.target, above)
	if v.work.Kind != "tv" || len(d.subfoldersBy(beside, seasonPrefix)) == 0 {
		return nil
	}
	for _, title := range slices.Concat(v.titles(), d.details(v.work.Entry).Titles) {
		key := titleKey(title, "")
		for _, name := range d.subfoldersBy(beside, seasonPrefix+key) {
			at := d.chooseTarget(v.target, joinPath(above.path, name))
			if key != "" && !slices.Contains(out, at) && at != v.entry.folder {
				out = append(out, d.foldersWithin(v.target, at, 1)...)
			}
		}
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
		if item.Type == TypeRegular && p.folders.isSameFile(dir, v.dir, v.item, item, p.opts.acceptsCopies(v, v.item)) &&
			FoldName(item.Name) != FoldName(name) && library.IsVideo(item.Name) {
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
			mayBe := item.Inode == v.item.Inode || item.Size == v.item.Size || item.Type == TypeLink // quick, for thousands
			if mayBe && d.isSameFile(dir, v.dir, v.item, item, copies) && library.IsVideo(item.Name) {
				return at, item.Name
			}
		}
	}
	return nil, ""
}

type existingVideo struct {
	path string
	release.Release
	isAbsolute func() bool // its own name has a number without a season
	titleKey   string      // of its title
	isCounted  bool        // its number is the end of its title, as in "Show 3"
	name       folderName  // the IDs and edition in its own name
}

// discFolder matches the folder of a disc, or of a part, in that of its film.
var discFolder = lazyregexp.New(`(?i)^(?:BDMV|VIDEO_TS|HVDVD_TS|CD ?\d)$`)

const anyNumber, anyPart = -1, -2 // the keys of all existing videos, and of those of a part of a season

// existingVideos returns the videos in a folder by their numbers, except extras and samples.
func (f *folder) existingVideos() map[float64][]*existingVideo {
	if f.parsedVideos == nil {
		f.parsedVideos = map[float64][]*existingVideo{}
		for i := range f.items {
			item := &f.items[i]
			if r, ok := f.parseVideo(item); ok {
				own := sync.OnceValue(func() bool { return len(r.Episodes) > 0 && release.Parse(item.Name).Absolute })
				name := parseFolderName(library.Stem(item.Name))
				e := existingVideo{joinPath(f.path, item.Name), r, own, titleKey(r.Title, ""), false, name}
				if r.SeasonPart() > 0 && len(r.Episodes) > 0 {
					f.parsedVideos[anyPart] = append(f.parsedVideos[anyPart], &e)
				}
				for _, n := range slices.Concat([]float64{anyNumber}, r.Episodes, r.Overall) {
					f.parsedVideos[n] = append(f.parsedVideos[n], &e)
				}
				if title, n := splitCounted(item.Name); n > 0 && len(r.Episodes) == 0 {
					counted := e
					counted.Title, counted.titleKey = title, titleKey(title, "")
					counted.Episodes, counted.isCounted = []float64{n}, true
					f.parsedVideos[n] = append(f.parsedVideos[n], &counted)
				}
			}
		}
	}
	return f.parsedVideos
}

// parseVideo parses the name of a video. ok is false for an extra, a sample and any other file.
func (f *folder) parseVideo(item *Item) (r release.Release, ok bool) {
	isDisc := item.Type == TypeDir && discFolder().MatchString(item.Name)
	if isDisc || item.Type != TypeDir && library.IsVideo(item.Name) && !strings.HasPrefix(item.Name, "._") {
		r = release.Parse(path.Join(path.Base(f.path), item.Name))
		ok = !r.Extra && !library.IsExtraName(item.Name)
	}
	return r, ok
}

// videosOfSameWork returns the videos in a folder that hold the same episode or film. It omits other parts of it. In
// the folder of a film, all do. In a shared folder, the name of the work counts. below is the folder's path in that of
// the work; "" if it is not in it.
func (d *folderIndex) videosOfSameWork(f *folder, v *video, below string, isShared bool) (out []*existingVideo) {
	all, numbers := f.existingVideos(), []float64{anyNumber}
	if v.work.Kind == "tv" && len(all) > 0 { // a season may have thousands of videos
		numbers = append(slices.Clone(v.episodesInName), anyPart)
		for _, n := range slices.Concat(v.named.Episodes, cmp.Or(v.orders.In(orders.Absolute), &v.named).Episodes) {
			numbers = append(numbers, float64(n), float64(100*v.named.Season+n))
		}
	}
	for _, n := range numbers {
		for _, e := range all[n] {
			if isShared && !v.isNamedBy(e) || slices.Contains(out, e) ||
				e.isCounted && !v.isNamedBy(e) && e.titleKey != showKey(v.entry.folder.path) ||
				e.Special != "" && v.named.Season > 0 && d.hasEpisode(v, 0, 1) || // without specials, OVAs may be season 1
				v.work.Kind == "tv" && !d.holdsEpisode(f, e, v, below) {
				continue
			}
			if part := cmp.Or(e.Part, release.DiscInName(e.Name)); v.label != "" && part > 0 && part != v.partNumber() {
				continue
			}
			out = append(out, e)
		}
	}
	return out
}

// holdsEpisode reports whether a video in a folder holds an episode of v. A number without a season is of the season
// whose folder holds it, as in "Season 2/Disc 1". In the show's other folders it is absolute if that order is known,
// else of season 1. In a season's folder, such numbers are absolute if all lie behind the earlier seasons; so is any
// that TMDB's season lacks. If it has their last one, they may also be its own: each then holds both episodes. A season
// that the source's own name has may be one that TMDB counts as part of another, and so may a sequel that both names
// have only the title of.
func (d *folderIndex) holdsEpisode(f *folder, e *existingVideo, v *video, below string) bool {
	isOf := func(n float64) bool { return slices.Contains(e.Episodes, n) }
	has := func(at *orders.Place) bool {
		return slices.ContainsFunc(at.Episodes, func(n int) bool { return isOf(float64(n)) })
	}
	named, absolute := &v.named, cmp.Or(v.orders.In(orders.Absolute), &v.named)
	joined := 100*named.Season + named.Episodes[0] // as in "Season 1/103.mkv"
	season, isNumberInName := d.seasonOf(v, e, below), slices.ContainsFunc(v.episodesInName, isOf)
	if holds, known := d.holdsByOtherNumber(v, e, season); known {
		return holds
	}
	switch {
	case season < 0:
		return below != "" && (isNumberInName && v.namesSequelOf(e) || absolute.Season == 1 && has(absolute) &&
			(below == "." || e.SeasonPart() < 2 && (e.Title == "" || v.isNamedBy(e))))
	case season > 0 && season == v.seasonInName && isNumberInName,
		season > 0 && season <= named.Season && has(absolute) && d.hasEpisode(v, season, 1) &&
			!d.hasEpisode(v, season, absolute.Episodes[0]):
		return true
	case season != named.Season:
		return false
	case season > 0 && isOf(float64(joined)) && e.isAbsolute():
		return !d.hasEpisode(v, season, joined)
	}
	isOwn, isAbsolute := d.mayCount(f, e, v, float64(absolute.Episodes[0]-named.Episodes[0]))
	return isOwn && has(named) || isAbsolute && has(absolute)
}

// holdsByOtherNumber reports whether a video holds an episode of v by its number in a part of a season, or over all
// seasons. Its number in the part may count from 1, or on from the part before. known is false if its name has no such
// number, or TMDB's season no such part.
func (d *folderIndex) holdsByOtherNumber(v *video, e *existingVideo, season int) (holds, known bool) {
	inBoth := func(n float64) bool { return slices.Contains(v.episodesInName, n) && !d.hasEpisode(v, season, int(n)) }
	if season == v.work.Season && slices.ContainsFunc(e.Episodes, inBoth) {
		return true, true // "S02E06" of a season that begins with E53
	}
	part := e.SeasonPart()
	if part < 1 || part > len(d.details(v.work.Entry).Cours[season]) {
		return d.holdsByOverall(v, e, season)
	}
	return season == v.named.Season && slices.ContainsFunc(v.named.Episodes, func(n int) bool {
		at := 1 + slices.Index(d.details(v.work.Entry).Cours[season][part-1], n)
		return at > 0 && (slices.Contains(e.Episodes, float64(at)) || slices.Contains(e.Episodes, float64(n)))
	}), true
}

// holdsByOverall reports whether a video holds an episode of v by its number over all seasons, as in "S05E02 - 093",
// whose season may be TVDB's. known is false if its season and number are also TMDB's, in the same season or nearby:
// then these count, as in match.
func (d *folderIndex) holdsByOverall(v *video, e *existingVideo, season int) (holds, known bool) {
	absolute := v.orders.In(orders.Absolute)
	if len(e.Overall) == 0 || len(e.Overall) != len(e.Episodes) || absolute == nil {
		return false, false
	}
	const maxRecaps = 3
	n, stated, earlier := int(e.Overall[0]), int(e.Episodes[0]), absolute.Episodes[0]-v.work.Episodes[0]
	if season == v.work.Season && d.hasEpisode(v, season, stated) {
		return false, !d.hasEpisode(v, season, n-earlier) && max(n-earlier-stated, earlier+stated-n) > maxRecaps
	}
	position := func(season, n int) int { return 10_000*season + n }
	from, to := position(season, stated), position(v.work.Season, v.work.Episodes[0])
	between := slicesx.Count(d.details(v.work.Entry).Episodes, func(at nfo.Episode) bool {
		p := position(at.Season, at.Number)
		return at.Season > 0 && min(from, to) < p && p <= max(from, to)
	})
	holds = slices.Contains(absolute.Episodes, n) && (between > maxRecaps || !d.hasEpisode(v, season, stated))
	return holds, holds
}

// mayCount reports whether the number of a video in the folder of v's season may be the season's own, and whether it
// may be absolute. earlier is the number of episodes in the seasons before.
func (d *folderIndex) mayCount(f *folder, e *existingVideo, v *video, earlier float64) (isOwn, isAbsolute bool) {
	if earlier <= 0 || !e.isAbsolute() {
		return true, false
	}
	last := 0.0
	for _, e := range f.existingVideos()[anyNumber] {
		if e.isAbsolute() && e.Episodes[0] <= earlier {
			return true, false
		} else if e.isAbsolute() {
			last = max(last, e.Episodes[0])
		}
	}
	return d.hasEpisode(v, v.named.Season, int(last)), true
}

// countInLibrary finds the season and number of an episode in a library that counts a season which TMDB does not have,
// such as TVDB's second. It begins behind the library's last episode of the season before, where TMDB has a pause.
func (d *folderIndex) countInLibrary(v *video) {
	if v.work.Kind != "tv" || v.entry.order != orders.TMDB || v.named.Season != 1 || v.seasonInName > 0 {
		return
	}
	numbers := d.numbersBySeason(v)
	first, n := 1, v.named.Episodes[0]
	for season := 1; slices.Contains(numbers[season], 1); season++ {
		last := int(slices.Max(numbers[season]))
		if n < first+last {
			begins := func(cour []int) bool { return cour[0] == first }
			if season > 1 && !d.hasEpisode(v, season, 1) && slices.ContainsFunc(d.details(v.work.Entry).Cours[1], begins) {
				v.seasonInName, v.episodesInName = season, []float64{float64(n - first + 1)}
			}
			return
		}
		first += last
	}
}

// numbersBySeason returns the episodes of each season in the folders of v's show.
func (d *folderIndex) numbersBySeason(v *video) map[int][]float64 {
	if v.entry.numbers == nil {
		v.entry.numbers = map[int][]float64{}
		for _, at := range v.entry.folders {
			for _, e := range d.contents(v.target, at).existingVideos()[anyNumber] {
				season, _ := e.Season()
				v.entry.numbers[season] = append(v.entry.numbers[season], e.Episodes...)
			}
		}
	}
	return v.entry.numbers
}

// seasonOf returns the season of a video in a folder of v's show; -1 if neither its name nor the folder's says one.
func (d *folderIndex) seasonOf(v *video, e *existingVideo, below string) int {
	season, known := e.Season()
	above, _, _ := strings.Cut(below, "/")
	for _, name := range []string{above, e.Title} {
		if !known {
			season = seasonOf(v.entry.folder.path, name)
			known = season >= 0
		}
	}
	if bare := titleKey(strings.TrimRight(e.Title, "0123456789IVXⅡⅢⅣⅤ"), ""); !known && bare != e.titleKey {
		for _, title := range slices.Concat(v.titles(), d.details(v.work.Entry).Titles) {
			if titleKey(title, "") == bare { // another title of the show, with a number: "Romaji Title II"
				if n := seasonOf(title, e.Title); d.hasEpisode(v, n, 1) {
					return n
				}
			}
		}
	}
	if !known && finalSeason().MatchString(e.Title) {
		for n := range d.details(v.work.Entry).Cours {
			season = max(season, n)
		}
	}
	return season
}

var finalSeason = lazyregexp.New(`(?i)\bfinal[ ._]season\b|파이널 ?시즌|最終シーズン`)

// namesSequelOf reports whether both names have the same title, which is that of a sequel, and no season.
func (v *video) namesSequelOf(e *existingVideo) bool {
	return v.seasonInName == 0 && e.titleKey == titleKey(v.titleInName, "") && e.titleKey != titleKey(v.facts.title, "")
}

func (d *folderIndex) hasEpisode(v *video, season, n int) bool { // on TMDB
	isIt := func(at nfo.Episode) bool { return at.Season == season && at.Number == n }
	return slices.ContainsFunc(d.details(v.work.Entry).Episodes, isIt)
}

func (v *video) titles() []string {
	return []string{v.facts.title, v.facts.originalTitle, v.titleInName}
}

// isNamedBy reports whether the name of a video has an ID of the work, or a title of it and for a film the year, and
// the edition if the film's folder has one.
func (v *video) isNamedBy(e *existingVideo) bool {
	isOwn := func(id string) bool { return slices.Contains(v.ids(), id) }
	isTitle := func(title string) bool { return titleKey(title, "") == e.titleKey }
	edition := parseFolderName(path.Base(v.entry.folder.path)).edition
	return (edition == "" || edition == e.name.edition) && (slices.ContainsFunc(e.name.ids, isOwn) ||
		e.titleKey != "" && (v.work.Kind == "tv" || e.Year == v.facts.year) && slices.ContainsFunc(v.titles(), isTitle))
}

// labelAsVersion labels a video so that it differs from other versions, if the user wants versions and the media server
// supports them. For a video that comes from a planned source, it reads the tags from the source's name. A name of the
// user's own templates that has the label's words needs none, and may be an episode's on any server.
func (p *Planner) labelAsVersion(v *video, others []*existingVideo) bool {
	if !p.opts.LabelVersions {
		return false
	}
	group, planned := []*video{v}, slices.Concat(v.entry.videos, v.entry.filmVideos)
	for _, e := range others {
		if i := slices.IndexFunc(planned, func(s *video) bool {
			return s.isInPlace && joinPath(p.opts.Targets[s.target].Path, s.targetPath) == e.path
		}); i >= 0 {
			group = append(group, planned[i])
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
	switch words := strings.Trim(labels[0], " -[]"); {
	case p.opts.Layout.Name == CustomLayout && words != "" && strings.Contains(stem, words):
		return true
	case v.work.Kind != "movie" && !p.opts.Layout.SupportsVersions:
		return false
	}
	v.label += labels[0]
	v.setTarget(v.folder, stem)
	return len(stem)+v.suffixLen() <= p.namers[v.target].maxName
}
