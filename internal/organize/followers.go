package organize

import (
	"path"
	"strings"

	"github.com/anivault/anivault/internal/lazyregexp"
	"github.com/anivault/anivault/internal/library"
)

type fileKind uint8

const (
	kindVideo      fileKind = iota
	kindExtra               // a trailer, a creditless opening and so on, which goes where the videos around it go
	kindFolderWide          // a file about a whole folder, such as a poster or a font
)

var folderWidePattern = lazyregexp.New(`^(?:(?:tvshow|season|movie)\.nfo|theme\.mp3|` +
	`(?:(?:fanart|backdrop)\d*|poster|banner|clearlogo|clearart|landscape|logo|folder|cover|thumb|disc|discart|keyart|` +
	`season(?:\d{1,4}|-all|-specials)-(?:poster|fanart|banner|landscape|thumb))\.(?:jpe?g|png|webp))$`)

const fontsFolder = "fonts"

// destination says where the videos in a folder and below it go.
type destination struct {
	entry  *plannedEntry // nil if there are no videos, or if they belong to several entries
	folder *targetFolder // nil if the videos go to several folders
	mixed  bool          // the videos belong to several entries, or some are skipped
}

// extraPlacer plans extras and files about whole folders.
type extraPlacer struct {
	planner      *Planner
	files        []*video // those to place
	videoByItem  map[*Item]*video
	destinations map[*folder]destination
}

func (p *Planner) placeExtras(extras []*video) []*video {
	f := extraPlacer{planner: p, files: extras, destinations: map[*folder]destination{}}
	f.findFolderWideFiles()
	if len(f.files) > 0 {
		f.indexVideos()
	}
	for _, v := range f.files {
		f.placeExtra(v)
	}
	return dropSkipped(f.files)
}

func (f *extraPlacer) findFolderWideFiles() {
	p, seen := f.planner, map[string]bool{}
	for _, v := range p.videos {
		if v.isRename {
			continue // the files about the video's folder are already in place
		}
		for dir := v.dir.path; IsBelow(dir, p.opts.Sources[v.source].Path) && !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			f.findFolderWideIn(p.folders.list(dir), v.source)
		}
	}
}

func (f *extraPlacer) findFolderWideIn(dir *folder, source int) {
	p := f.planner
	add := func(of *folder, item *Item) {
		v := &video{kind: kindFolderWide, recordDir: of.path + "/", name: item.Name, dir: of, item: item, source: source}
		f.files, p.allFiles = append(f.files, v), append(p.allFiles, v)
	}
	for i := range dir.items {
		item := &dir.items[i]
		switch name := item.Name; {
		case item.Ignored, library.IsVideo(name): // most files are videos, and the expression is slow
		case item.Type == TypeRegular && len(name) <= 32 && !p.ownedFiles[item] &&
			folderWidePattern().MatchString(strings.ToLower(name)):
			add(dir, item)
		case item.Type == TypeDir && strings.EqualFold(name, fontsFolder):
			of := p.folders.list(joinPath(dir.path, name))
			for k := range of.items {
				if font := &of.items[k]; font.Type == TypeRegular && !font.Ignored && !isNeverSidecar(font.Name) &&
					!library.IsVideo(font.Name) {
					add(of, font)
				}
			}
		}
	}
}

func (f *extraPlacer) indexVideos() {
	p := f.planner
	f.videoByItem = make(map[*Item]*video, len(p.allFiles))
	for _, v := range p.allFiles {
		item := v.item
		if item == nil {
			if at := p.recordFolderOf(v.recordDir); at.err == nil {
				item = at.dir.find(v.name)
			}
		}
		if item != nil && v.kind != kindFolderWide {
			f.videoByItem[item] = v
		}
	}
}

func (f *extraPlacer) placeExtra(v *video) {
	p := f.planner
	code, of := CodeNoOwner, v.dir
	if v.kind == kindExtra {
		code = CodeExtra
	} else if strings.EqualFold(path.Base(of.path), fontsFolder) &&
		!folderWidePattern().MatchString(strings.ToLower(v.name)) {
		of = p.folders.list(path.Dir(of.path))
	}
	s := f.destinationOf(of)
	for root := p.opts.Sources[v.source].Path; v.kind == kindExtra && s.entry == nil && !s.mixed && of.path != root; {
		of = p.folders.list(path.Dir(of.path))
		s = f.destinationOf(of)
	}
	if s.entry == nil || strings.EqualFold(v.name, "movie.nfo") && s.entry.videos[0].work.Kind != "movie" {
		v.skip(code, "the videos beside and below it don't all go to one folder")
		return
	}
	first := s.entry.videos[0]
	if s.entry.folder.path == "." || !p.opts.Layout.hasOwnFolder(first.work.Kind) {
		v.skip(code, "its video gets no folder of its own")
		return
	}
	v.entry, v.target, v.work.Entry = s.entry, first.target, first.work.Entry
	at := s.entry.folder
	switch {
	case v.kind == kindExtra:
		at = p.folders.chooseTarget(v.target, joinPath(at.path, p.opts.Layout.ExtrasFolder))
	case of != v.dir:
		at = p.folders.chooseTarget(v.target, joinPath(at.path, CleanName(path.Base(v.dir.path))))
	case s.folder != nil && (library.IsSeasonFolder(path.Base(of.path)) || p.folders.contents(v.target, s.folder) == of):
		at = s.folder // a poster of the season, or a file that is already in place
	}
	name := CleanName(v.item.Name)
	v.folder, v.targetPath = at, joinPath(at.path, name)
	v.stemLength = len(v.targetPath) - len(path.Ext(name))
	switch most := p.namers[v.target].maxName; {
	case at.code != "":
		v.skip(at.code, at.why)
	case name == "":
		v.skip(CodeBadName, "")
	case max(len(name), len(library.Stem(name))+v.suffixLen()) > most:
		v.skip(CodeNameTooLong, "")
	}
}

func (f *extraPlacer) destinationOf(dir *folder) destination {
	if s, is := f.destinations[dir]; is {
		return s
	}
	var out destination
	add := func(e *plannedEntry, at *targetFolder) {
		switch {
		case out.entry == nil:
			out.entry, out.folder = e, at
		case out.entry != e:
			out.mixed = true
		case out.folder != at:
			out.folder = nil
		}
	}
	for i := range dir.items {
		switch item := &dir.items[i]; {
		case item.Type == TypeDir:
			s := f.destinationOf(f.planner.folders.list(joinPath(dir.path, item.Name)))
			if out.mixed = out.mixed || s.mixed; s.entry != nil {
				add(s.entry, s.folder)
			}
		case !library.IsVideo(item.Name) && f.videoByItem[item] == nil || strings.HasPrefix(item.Name, "._"):
		default:
			v := f.videoByItem[item]
			switch {
			case v != nil && (v.kind == kindExtra || v.code == CodeSameFile || v.code == CodeExtra && library.IsExtra(v.why)):
			case v == nil || v.code != "":
				out.mixed = true
			default:
				add(v.entry, v.folder)
			}
		}
	}
	if out.mixed || dir.err != nil {
		out = destination{mixed: true}
	}
	f.destinations[dir] = out
	return out
}
