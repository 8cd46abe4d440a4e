package organize

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/library"
)

// spot is where a planned folder is or will be.
type spot struct {
	path   string // below the target, under the name that it has or will have; "." for the target itself
	device uint64
	code   Code
	why    string
	dir    *folder // what it holds; nil: nobody has looked
}

// spotKey is a folder as the templates name it.
type spotKey struct {
	target int
	path   string
}

// look returns what a target's folder holds.
func (p *Planner) look(target int, at *spot) *folder {
	if at.dir == nil {
		at.dir = p.list(join(p.o.Targets[target].Path, at.path))
	}
	return at.dir
}

// toLook returns the targets' folders at which nobody has looked yet, in the order of the videos.
func (p *Planner) toLook() []string {
	var dirs []string
	seen := map[string]bool{}
	var last *spot
	for _, v := range p.videos {
		if v.spot == nil || v.spot == last || v.spot.dir != nil { // nil: a name or folder is wrong, and it is skipped
			continue
		}
		last = v.spot
		dir := join(p.o.Targets[v.target].Path, last.path)
		if _, known := p.folders[dir]; !known && !seen[dir] {
			seen[dir] = true
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// known returns the folders in a folder whose name ends with the entry's id, and then that edition.
func (p *Planner) known(f *folder, e Entry, edition string) []string {
	if f.ids == nil {
		f.ids = map[int][]int{}
		for i := range f.items {
			if id, _ := idAtEnd(f.items[i].Name); id > 0 && (f.items[i].Type == TypeDir || f.items[i].Type == TypeLink) {
				f.ids[id] = append(f.ids[id], i)
			}
		}
	}
	var out []string
	for _, i := range f.ids[e.ID] {
		name := f.items[i].Name
		if _, of := idAtEnd(name); of != edition {
			continue
		}
		if kind := p.kindOf(f.path, name); kind == e.Kind || kind == "" {
			out = append(out, name)
		}
	}
	return out
}

// idAtEnd returns the id of TMDB's that a folder's name ends with, 0 for none, and the edition that may stand behind it.
func idAtEnd(name string) (id int, edition string) {
	if text, ok := strings.CutSuffix(name, "}"); ok {
		if i := strings.LastIndex(text, " {edition-"); i >= 0 {
			name, edition = name[:i], text[i+len(" {edition-"):]
		}
	}
	for _, form := range []struct{ begin, end string }{{"[tmdbid-", "]"}, {"[tmdbid=", "]"}, {"{tmdb-", "}"}} {
		if text, ok := strings.CutSuffix(name, form.end); ok {
			if i := strings.LastIndex(text, form.begin); i >= 0 {
				if id, err := strconv.Atoi(text[i+len(form.begin):]); err == nil {
					return id, edition
				}
			}
		}
	}
	return 0, edition
}

// kindOf returns what a folder with an id in its name holds, by what is in it: series and films have ids of their own, so one
// number may be both. A film's file begins with its folder's name. "" where nothing tells.
func (p *Planner) kindOf(parent, name string) string {
	for _, item := range p.list(join(parent, name)).items {
		switch {
		case item.Type == TypeDir && library.IsSeasonFolder(item.Name):
			return "tv"
		case item.Type != TypeDir && library.IsVideo(item.Name) && strings.HasPrefix(item.Name, name):
			return "movie"
		}
	}
	return ""
}

// settle returns a planned folder with each part under the name it has where it is there, in whatever case and normal form.
func (p *Planner) settle(target int, planned string) *spot {
	key := spotKey{target, planned}
	if s, known := p.spots[key]; known {
		return s
	}
	var at *spot
	if planned == "." {
		at = &spot{path: ".", device: p.o.Targets[target].Device}
	} else if at = p.settle(target, path.Dir(planned)); at.code == "" {
		at = p.settleIn(target, at, path.Base(planned))
	}
	p.spots[key] = at
	return at
}

func (p *Planner) settleIn(target int, parent *spot, name string) *spot {
	f := p.look(target, parent)
	out := &spot{path: join(parent.path, name), device: parent.device}
	var there []*Item
	for _, item := range f.alike(name) {
		if item.Name == name {
			there = []*Item{item}
			break
		}
		there = append(there, item)
	}
	switch {
	case f.err != nil:
		out.code, out.why = Unreadable, f.err.Error()
	case len(there) > 1:
		out.code, out.why = TwoFolders, there[0].Name+" and "+there[len(there)-1].Name
	case len(there) == 1:
		out.path = join(parent.path, there[0].Name)
		switch there[0].Type {
		case TypeDir:
			out.device = there[0].Device
		case TypeLink: // none is followed when the plan is carried out
			out.code, out.why = OutsideRoot, fmt.Sprintf("%s is a link to %s", join(f.path, there[0].Name), there[0].Leads)
		case TypeRegular, TypeOther:
			out.code, out.why = Exists, fmt.Sprintf("%s is no folder", join(f.path, there[0].Name))
		}
	}
	return out
}

// ownNames returns the folders of planned targets that have names which Parse would refuse.
func (p *Planner) ownNames() []Folder {
	var out []Folder
	seen := map[*spot]bool{}
	for _, v := range p.videos {
		if len(v.ops) == 0 || seen[v.spot] {
			continue
		}
		seen[v.spot] = true
		for dir := v.spot.path; dir != "."; dir = path.Dir(dir) {
			if base := path.Base(dir); CleanName(base) != base || len(base) > longestName-reservedBytes {
				out = append(out, Folder{Target: v.target, Path: dir})
			}
		}
	}
	slices.SortFunc(out, func(a, b Folder) int { return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.Path, b.Path)) })
	return slices.Compact(out)
}
