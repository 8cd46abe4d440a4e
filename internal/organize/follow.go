package organize

import (
	"path"
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/lazyregexp"
	"github.com/anivault/anivault/internal/library"
)

// kind says what a video of a Planner is.
type kind uint8

const (
	isVideo kind = iota
	isExtra      // a trailer, a creditless opening and the like: it follows the entry of the videos around it
	isWide       // no video, but a file that is about all of a folder: a poster, a font
)

// wide matches the names, in lower case, of files that are about a folder and all below it.
var wide = lazyregexp.New(`^(?:(?:tvshow|season)\.nfo|(?:poster|fanart|banner|clearlogo|landscape|logo|folder|cover|season\d{1,4}-poster)\.(?:jpg|png|webp)|theme\.mp3)$`)

// fonts is the name, in lower case, of a folder that is as wide.
const fonts = "fonts"

// sole is to which one entry all videos of a folder and below go.
type sole struct {
	entry *entry // nil: there are none, or they don't
	spot  *spot  // the one folder they get; nil: several
	mixed bool
}

// setAside takes the extras from the videos: what they are is decided by the videos around them.
func (p *Planner) setAside() {
	p.videos = slices.DeleteFunc(p.videos, func(v *video) bool {
		if v.kind == isExtra {
			p.followers = append(p.followers, v)
		}
		return v.kind == isExtra
	})
}

// follow gives the followers targets, once those of the videos are known.
func (p *Planner) follow() {
	p.findWide()
	if len(p.followers) == 0 {
		return
	}
	records := p.byItem()
	soles := map[*folder]sole{}
	for _, v := range p.followers {
		p.followOne(v, records, soles)
		if v.code == "" {
			p.videos = append(p.videos, v)
		}
	}
}

// findWide finds the files that are about a folder, in those that hold videos and the ones above them.
func (p *Planner) findWide() {
	seen := map[string]bool{}
	for _, v := range p.videos {
		root := p.o.Sources[v.source].Path
		for dir := v.dir.path; IsBelow(dir, root) && !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			p.findWideIn(p.list(dir), v.source)
			if dir == root {
				break
			}
		}
	}
}

func (p *Planner) findWideIn(f *folder, source int) {
	add := func(of *folder, item *Item) {
		v := &video{kind: isWide, given: of.path + "/", name: item.Name, dir: of, item: item, source: source}
		p.followers, p.all = append(p.followers, v), append(p.all, v)
	}
	for i := range f.items {
		item := &f.items[i]
		switch name := item.Name; {
		case item.Type == TypeRegular && len(name) <= 32 && !p.owned[item] && wide().MatchString(strings.ToLower(name)):
			add(f, item)
		case item.Type == TypeDir && strings.EqualFold(name, fonts):
			of := p.list(join(f.path, name))
			for k := range of.items {
				if of.items[k].Type == TypeRegular && !followsNobody(of.items[k].Name) {
					add(of, &of.items[k])
				}
			}
		}
	}
}

// byItem finds the records of files, of those too that are left.
func (p *Planner) byItem() map[*Item]*video {
	out := make(map[*Item]*video, len(p.all))
	for _, v := range p.all {
		item := v.item
		if item == nil {
			if at := p.origin(v.given); at.err == nil {
				item = at.dir.find(v.name)
			}
		}
		if item != nil && v.kind != isWide {
			out[item] = v
		}
	}
	return out
}

// followOne finds a follower's target, or leaves it.
func (p *Planner) followOne(v *video, records map[*Item]*video, soles map[*folder]sole) {
	code := NoOwner
	of := v.dir
	if v.kind == isExtra {
		code = Extra
	} else if strings.EqualFold(path.Base(of.path), fonts) && !wide().MatchString(strings.ToLower(v.name)) {
		of = p.list(path.Dir(of.path))
	}
	s := p.soleOf(of, records, soles)
	for root := p.o.Sources[v.source].Path; v.kind == isExtra && s.entry == nil && !s.mixed && of.path != root; {
		of = p.list(path.Dir(of.path))
		s = p.soleOf(of, records, soles)
	}
	if s.entry == nil {
		v.leave(code, "the videos beside and below it don't all go to one folder")
		return
	}
	first := s.entry.videos[0]
	if s.entry.at.path == "." || !p.isOwnFolder(first.work.Kind) {
		v.leave(code, "what it belongs to gets no folder of its own")
		return
	}
	v.entry, v.target, v.work.Entry = s.entry, first.target, first.work.Entry
	at := s.entry.at
	switch {
	case v.kind == isExtra:
		at = p.settle(v.target, join(at.path, p.o.Layout.extras))
	case of != v.dir:
		at = p.settle(v.target, join(at.path, CleanName(path.Base(v.dir.path))))
	case s.spot != nil && (library.IsSeasonFolder(path.Base(of.path)) || p.look(v.target, s.spot) == of):
		at = s.spot // a season's own, or where it belongs already
	}
	name := CleanName(v.item.Name)
	v.spot, v.to = at, join(at.path, name)
	v.stem = len(v.to) - len(path.Ext(name))
	switch most := p.namers[v.target].max; {
	case at.code != "":
		v.leave(at.code, at.why)
	case name == "":
		v.leave(BadName, "")
	case max(len(name), len(library.Stem(name))+v.tail()) > most:
		v.leave(NameTooLong, "")
	}
}

// soleOf says to which one entry the videos of a folder and below go. What has no record might go elsewhere.
func (p *Planner) soleOf(f *folder, records map[*Item]*video, known map[*folder]sole) sole {
	if s, is := known[f]; is {
		return s
	}
	var out sole
	join := func(e *entry, at *spot) {
		switch {
		case out.entry == nil:
			out.entry, out.spot = e, at
		case out.entry != e:
			out.mixed = true
		case out.spot != at:
			out.spot = nil
		}
	}
	for i := range f.items {
		switch item := &f.items[i]; {
		case item.Type == TypeDir:
			s := p.soleOf(p.list(pathOf(f, item)), records, known)
			if out.mixed = out.mixed || s.mixed; s.entry != nil {
				join(s.entry, s.spot)
			}
		case !library.IsVideo(item.Name) && records[item] == nil || strings.HasPrefix(item.Name, "._"):
		default:
			v := records[item]
			switch {
			case v != nil && (v.kind == isExtra || v.code == SameFile || v.code == Extra && library.IsExtra(v.why)):
			case v == nil || v.code != "":
				out.mixed = true
			default:
				join(v.entry, v.spot)
			}
		}
	}
	if out.mixed || f.err != nil {
		out = sole{mixed: true}
	}
	known[f] = out
	return out
}

func pathOf(f *folder, item *Item) string { return join(f.path, item.Name) }
