package organize

import (
	"path"
	"strings"

	"github.com/anivault/anivault/internal/lazyregexp"
	"github.com/anivault/anivault/internal/library"
)

type kind uint8

const (
	kindVideo      kind = iota
	kindExtra           // a trailer, a creditless opening and so on: it goes with the videos around it
	kindFolderWide      // a file about a whole folder, such as a poster or a font
)

var folderWide = lazyregexp.New(`^(?:(?:tvshow|season)\.nfo|theme\.mp3|` +
	`(?:poster|fanart|banner|clearlogo|landscape|logo|folder|cover|season\d{1,4}-poster)\.(?:jpg|png|webp))$`)

const fonts = "fonts"

type destination struct {
	entry  *entry        // nil: no videos, or videos of several entries
	folder *folderChoice // the only folder they go to; nil: several
	mixed  bool
}

type follower struct {
	p       *Planner
	records map[*Item]*video
	known   map[*folder]destination
}

func (p *Planner) follow() {
	p.findFolderWide()
	if len(p.byNeighbour) == 0 {
		return
	}
	f := follower{p: p, records: p.recordsByItem(), known: map[*folder]destination{}}
	for _, v := range p.byNeighbour {
		f.follow(v)
		if v.code == "" {
			p.videos = append(p.videos, v)
		}
	}
}

func (p *Planner) findFolderWide() {
	seen := map[string]bool{}
	for _, v := range p.videos {
		if v.renames {
			continue // files about its folder are in place
		}
		root := p.o.Sources[v.source].Path
		for dir := v.dir.path; IsBelow(dir, root) && !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			p.findFolderWideIn(p.folders.list(dir), v.source)
			if dir == root {
				break
			}
		}
	}
}

func (p *Planner) findFolderWideIn(f *folder, source int) {
	add := func(of *folder, item *Item) {
		v := &video{kind: kindFolderWide, recordDir: of.path + "/", name: item.Name, dir: of, item: item, source: source}
		p.byNeighbour, p.all = append(p.byNeighbour, v), append(p.all, v)
	}
	for i := range f.items {
		item := &f.items[i]
		switch name := item.Name; {
		case item.Type == TypeRegular && len(name) <= 32 && !p.owned[item] && folderWide().MatchString(strings.ToLower(name)):
			add(f, item)
		case item.Type == TypeDir && strings.EqualFold(name, fonts):
			of := p.folders.list(join(f.path, name))
			for k := range of.items {
				if of.items[k].Type == TypeRegular && !followsNobody(of.items[k].Name) {
					add(of, &of.items[k])
				}
			}
		}
	}
}

func (p *Planner) recordsByItem() map[*Item]*video {
	out := make(map[*Item]*video, len(p.all))
	for _, v := range p.all {
		item := v.item
		if item == nil {
			if at := p.origin(v.recordDir); at.err == nil {
				item = at.dir.find(v.name)
			}
		}
		if item != nil && v.kind != kindFolderWide {
			out[item] = v
		}
	}
	return out
}

func (f *follower) follow(v *video) {
	p := f.p
	code := NoOwner
	of := v.dir
	if v.kind == kindExtra {
		code = Extra
	} else if strings.EqualFold(path.Base(of.path), fonts) && !folderWide().MatchString(strings.ToLower(v.name)) {
		of = p.folders.list(path.Dir(of.path))
	}
	s := f.destinationOf(of)
	for root := p.o.Sources[v.source].Path; v.kind == kindExtra && s.entry == nil && !s.mixed && of.path != root; {
		of = p.folders.list(path.Dir(of.path))
		s = f.destinationOf(of)
	}
	if s.entry == nil {
		v.skip(code, "the videos beside and below it don't all go to one folder")
		return
	}
	first := s.entry.videos[0]
	if s.entry.at.path == "." || !p.o.Layout.isOwnFolder(first.work.Kind) {
		v.skip(code, "what it belongs to gets no folder of its own")
		return
	}
	v.entry, v.target, v.work.Entry = s.entry, first.target, first.work.Entry
	at := s.entry.at
	switch {
	case v.kind == kindExtra:
		at = p.folders.choose(v.target, join(at.path, p.o.Layout.extras))
	case of != v.dir:
		at = p.folders.choose(v.target, join(at.path, CleanName(path.Base(v.dir.path))))
	case s.folder != nil && (library.IsSeasonFolder(path.Base(of.path)) || p.folders.contents(v.target, s.folder) == of):
		at = s.folder // a season's own poster, or in place already
	}
	name := CleanName(v.item.Name)
	v.folder, v.to = at, join(at.path, name)
	v.stem = len(v.to) - len(path.Ext(name))
	switch most := p.namers[v.target].max; {
	case at.code != "":
		v.skip(at.code, at.why)
	case name == "":
		v.skip(BadName, "")
	case max(len(name), len(library.Stem(name))+v.suffixLen()) > most:
		v.skip(NameTooLong, "")
	}
}

func (f *follower) destinationOf(dir *folder) destination {
	if s, is := f.known[dir]; is {
		return s
	}
	var out destination
	add := func(e *entry, at *folderChoice) {
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
			s := f.destinationOf(f.p.folders.list(join(dir.path, item.Name)))
			if out.mixed = out.mixed || s.mixed; s.entry != nil {
				add(s.entry, s.folder)
			}
		case !library.IsVideo(item.Name) && f.records[item] == nil || strings.HasPrefix(item.Name, "._"):
		default:
			v := f.records[item]
			switch {
			case v != nil && (v.kind == kindExtra || v.code == SameFile || v.code == Extra && library.IsExtra(v.why)):
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
	f.known[dir] = out
	return out
}
