package organize

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/library"
)

// leaveSameFolders leaves the files of two works that would get one folder: names of kodi carry no id.
func (p *Planner) leaveSameFolders() {
	type at struct {
		target int
		folder string
	}
	holders := map[at]*entry{}
	for _, v := range p.videos {
		e := v.entry
		if e.code != "" || e.videos[0] != v || !p.isOwnFolder(v.work.Kind) {
			continue
		}
		key := at{v.target, foldName(e.folder)}
		if first, taken := holders[key]; taken {
			why := fmt.Sprintf("%s and %s would both be %s", first.videos[0].work.Entry, v.work.Entry, e.folder)
			for _, other := range slices.Concat(first.videos, e.videos) {
				if other.code == "" {
					other.leave(SameFolder, why)
				}
			}
			continue
		}
		holders[key] = e
	}
	p.compact()
}

// isOwnFolder reports whether the templates give each work a folder of its own: one that a title or an id names.
func (p *Planner) isOwnFolder(kind string) bool {
	if kind == "tv" {
		return names(p.o.Layout.Show.nodes)
	}
	text := p.o.Layout.Movie.text
	slash := strings.LastIndexByte(text, '/')
	if slash < 0 {
		return false
	}
	folder, err := ParseTemplate(text[:slash])
	return err == nil && names(folder.nodes)
}

// names reports whether one of the fields tells works apart.
func names(nodes []node) bool {
	return slices.ContainsFunc([]field{fieldTitle, fieldOriginalTitle, fieldTMDB, fieldTVDB, fieldIMDB}, func(f field) bool {
		return has(nodes, f)
	})
}

// tellApart gives labels to the files that would have one name, or leaves them.
func (p *Planner) tellApart() {
	groups := p.sameNames()
	if len(groups) == 0 {
		return
	}
	for _, group := range groups {
		p.label(group)
	}
	for _, group := range p.sameNames() {
		var all []string
		for _, v := range group {
			all = append(all, v.path)
		}
		for i, v := range group {
			others := slices.Delete(slices.Clone(all), i, i+1)
			v.leave(SameTarget, "would be "+path.Base(v.base)+", and so would "+strings.Join(others, ", "))
		}
	}
	p.compact()
}

// sameNames returns the videos that would have one name but for their extensions, in the order of the records.
func (p *Planner) sameNames() [][]*video {
	seen := make(map[string]int, len(p.videos)) // key → the first video, or -1-i for group i
	var groups [][]*video
	for i, v := range p.videos {
		if v.code != "" {
			continue
		}
		key := strconv.Itoa(v.target) + "/" + foldName(v.base)
		switch at, taken := seen[key]; {
		case !taken:
			seen[key] = i
		case at < 0:
			groups[-1-at] = append(groups[-1-at], v)
		default:
			groups = append(groups, []*video{p.videos[at], v})
			seen[key] = -len(groups)
		}
	}
	return groups
}

// label tells the files of one name apart by their parts, else, if that is wanted, as versions.
func (p *Planner) label(group []*video) {
	labels := parts(group)
	kind := group[0].work.Kind
	if labels == nil && p.o.Versions && (kind == "movie" || p.o.Layout.versions) {
		labels = versions(group)
	}
	if labels == nil {
		return
	}
	for i, v := range group {
		v.label = labels[i]
	}
	if kind == "movie" {
		e := group[0].entry
		e.code = ""
		p.nameMovie(e, e.videos[0])
		for _, v := range e.videos {
			p.name(v)
		}
		return
	}
	for _, v := range group {
		p.name(v)
	}
}

// parts returns " - part1" and so on where each file has a part's number of its own.
func parts(group []*video) []string {
	var labels []string
	for _, v := range group {
		part := v.part()
		if part <= 0 {
			return nil
		}
		labels = append(labels, " - part"+strconv.Itoa(part))
	}
	return distinct(labels)
}

// part returns the number of the part that a file is, by its name; 0 for none.
func (v *video) part() int {
	if v.rec.parsed != nil && v.rec.parsed.part > 0 {
		return v.rec.parsed.part
	}
	if m := disc.FindStringSubmatch(library.Stem(v.item.Name)); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return 0
}

// disc matches what says which disc of a film a file is: "cd2", "Disc 1".
var disc = regexp.MustCompile(`(?i)(?:^|[ ._(\[-])(?:cd|dis[ck]|dvd|part|pt)[ ._-]?(\d{1,2})(?:$|[ ._)\]-])`)

// versions returns " - [1080p]" and so on, by the first of edition, resolution, source, group and version in which all differ.
func versions(group []*video) []string {
	for _, of := range []func(*video) string{
		func(v *video) string { return v.rec.parsed.resolution },
		func(v *video) string { return v.rec.parsed.source },
		func(v *video) string { return v.rec.parsed.group },
		func(v *video) string { return "v" + strconv.Itoa(max(v.rec.parsed.version, 1)) },
	} {
		var labels []string
		for _, v := range group {
			if v.rec.parsed == nil || cleanText(of(v)) == "" {
				labels = nil
				break
			}
			labels = append(labels, " - ["+cleanText(of(v))+"]")
		}
		if labels = distinct(labels); labels != nil {
			return labels
		}
	}
	return nil
}

// distinct returns the labels if no two are the same.
func distinct(labels []string) []string {
	seen := map[string]bool{}
	for _, l := range labels {
		if seen[foldName(l)] {
			return nil
		}
		seen[foldName(l)] = true
	}
	return labels
}

// verb returns what is done with a file: the mode's, a copy where that is wanted and the mode can't cross file systems.
// Servers write into the NFOs and images that they find, so these are never links.
func (p *Planner) verb(item *Item, device uint64) (Verb, Code) {
	verb := p.o.Mode.Verb()
	if role := RoleOf(item.Name); (verb == Link || verb == Symlink) && (role == RoleNFO || role == RoleImage) {
		return Copy, ""
	}
	if item.Device != device && (verb == Link || verb == Reflink) {
		if !p.o.OrCopy {
			return None, CrossDevice
		}
		verb = Copy
	}
	return verb, ""
}

// operate makes the operations of a unit, and leaves it where its names are taken.
func (p *Planner) operate(v *video) {
	root := p.o.Targets[v.target].Path
	dir := p.list(path.Join(root, path.Dir(v.base)))
	device := p.settle(v.target, path.Dir(v.base)).device
	add := func(from *folder, item *Item, source, to string) bool {
		verb, code := p.verb(item, device)
		if code != "" {
			v.leave(code, "its target is on another file system; --or copy copies it")
			return false
		}
		state, blocker := p.look(dir, from, item, verb, path.Base(to))
		switch state {
		case free:
		case there:
			v.inPlace++
			return true
		case taken:
			if role := RoleOf(item.Name); role == RoleNFO || role == RoleImage {
				v.inPlace++ // a server's own; what is there stays, and so does ours
				return true
			}
			v.needs = append(v.needs, blocker)
		}
		v.ops = append(v.ops, Op{
			Verb: verb, Size: item.Size, MTime: item.MTime, Inode: item.Inode, Source: source, To: to,
		})
		return true
	}
	if !add(v.dir, v.item, v.item.Name, v.base+path.Ext(v.item.Name)) {
		return
	}
	for i := range v.belongs {
		s := &v.belongs[i]
		if s.code == "" && !add(s.dir, s.item(), s.source(), s.target(v.base)) {
			return
		}
	}
}

// state is what planning finds under a target's name.
type state uint8

const (
	free  state = iota // nothing, or the source itself under a name that differs in case or normal form
	there              // the source, or what would be made of it
	taken
)

// look says what there is under a target's name, and which path is in the way.
func (p *Planner) look(dir, from *folder, item *Item, verb Verb, name string) (found state, blocker string) {
	for _, i := range dir.alike(name) {
		other := &dir.items[i]
		switch {
		case dir == from && other.Name == item.Name:
			if name == item.Name {
				return there, ""
			}
		case p.isThere(dir, from, item, other, verb):
			return there, ""
		default:
			found, blocker = taken, path.Join(dir.path, other.Name)
		}
	}
	return found, blocker
}

// isThere reports whether a file at the target is what the verb would make.
func (p *Planner) isThere(dir, from *folder, item, other *Item, verb Verb) bool {
	switch {
	case other.Type == TypeLink:
		return verb == Symlink && absolutePath(dir.path, other.Leads) == path.Join(from.path, item.Name)
	case other.Type != TypeRegular:
		return false
	case item.Inode != 0 && item.Inode == other.Inode && item.Device == other.Device:
		return true
	case verb != Copy && verb != Reflink, item.Size != other.Size, item.MTime != other.MTime:
		return false
	}
	a, errA := p.disk.Ends(path.Join(from.path, item.Name))
	b, errB := p.disk.Ends(path.Join(dir.path, other.Name))
	return errA == nil && errB == nil && string(a) == string(b)
}

func absolutePath(dir, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(dir, name)
}

// leaveCollisions leaves units whose names are taken by what stays, and units that want one name; again until nothing changes,
// because what is left stays where it is.
func (p *Planner) leaveCollisions() {
	for changed := true; changed; {
		p.compact()
		changed = false
		moves := map[string]bool{}
		wants := map[string]*video{}
		for _, v := range p.videos {
			for i := range v.ops {
				if v.ops[i].Verb == Move {
					moves[path.Join(v.dir.path, v.ops[i].Source)] = true
				}
			}
		}
		for _, v := range p.videos {
			for _, blocker := range v.needs {
				if !moves[blocker] {
					v.leave(Exists, blocker+" is there")
					changed = true
				}
			}
			if v.code != "" {
				continue
			}
			for i := range v.ops {
				key := strconv.Itoa(v.target) + "/" + foldName(v.ops[i].To)
				first, wanted := wants[key]
				if !wanted {
					wants[key] = v
					continue
				}
				why := "a file of its unit would be " + path.Base(v.ops[i].To) + ", and so would one of "
				v.leave(SameTarget, why+first.path)
				first.leave(SameTarget, why+v.path)
				changed = true
			}
		}
	}
}
