package organize

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/lazyregexp"
	"github.com/anivault/anivault/internal/library"
)

// leaveSameFolders leaves the files of two works that would get one folder: names of kodi carry no id.
func (p *Planner) leaveSameFolders() {
	holders := map[foldKey]*entry{}
	for _, v := range p.videos {
		e := v.entry
		if v.code != "" || e.code != "" || e.videos[0] != v || !p.isOwnFolder(v.work.Kind) {
			continue
		}
		key := fold(v.target, e.at.path)
		if first := holders[key]; first != nil {
			why := fmt.Sprintf("%s and %s would both be %s", first.videos[0].work.Entry, v.work.Entry, e.at.path)
			for _, other := range slices.Concat(first.videos, e.videos) {
				if other.code == "" {
					other.leave(SameFolder, why)
				}
				p.together(first.videos[0], other)
			}
			continue
		}
		holders[key] = e
	}
	p.compact()
}

// together notes that two files are in one conflict.
func (p *Planner) together(a, b *video) {
	of, with := p.rivals[a], p.rivals[b]
	if of == nil {
		of = &[]*video{a}
		p.rivals[a] = of
	}
	switch {
	case a == b || of == with:
	case with == nil:
		*of = append(*of, b)
		p.rivals[b] = of
	default:
		*of = append(*of, *with...)
		for _, v := range *with {
			p.rivals[v] = of
		}
	}
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
			all = append(all, v.path())
		}
		for i, v := range group {
			others := slices.Delete(slices.Clone(all), i, i+1)
			v.leave(SameTarget, "would be "+path.Base(v.base())+", and so would "+strings.Join(others, ", "))
			p.together(group[0], v)
		}
	}
	p.compact()
}

// sameNames returns the videos that would have one name but for their extensions, in the order of the records.
func (p *Planner) sameNames() [][]*video {
	first := make(map[foldKey]*video, len(p.videos))
	groups := map[*video][]*video{} // by the first of a name
	var order []*video
	for _, v := range p.videos {
		if v.code != "" {
			continue
		}
		key := fold(v.target, v.base())
		of := first[key]
		if of == nil {
			first[key] = v
			continue
		}
		if groups[of] == nil {
			groups[of] = []*video{of}
			order = append(order, of)
		}
		groups[of] = append(groups[of], v)
	}
	var out [][]*video
	for _, of := range order {
		out = append(out, groups[of])
	}
	return out
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
		v.label += labels[i]
	}
	if kind == "movie" {
		p.nameFilms(group[0].entry.work)
		return
	}
	for _, v := range group {
		p.nameEpisode(v.entry, v)
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
	if v.tags != nil && v.tags.part > 0 {
		return v.tags.part
	}
	if m := disc().FindStringSubmatch(library.Stem(v.item.Name)); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return 0
}

// loneDisc matches a disc's number, or a part's as plans write it, which say of one file alone that it is not all of the film or
// episode.
var loneDisc = lazyregexp.New(`(?i)(?:^|[ ._(\[-])(?:cd|dis[ck])[ ._-]?(\d{1,2})(?:$|[ ._)\]-])|(?-i: - part(\d{1,2})$)`)

// lonePart matches a part's number right behind the episode's. It may be the episode's title, too.
var lonePart = lazyregexp.New(`(?i)S\d{1,2}E\d{1,4}[ ._-]+(?:part|pt)[ ._-]?(\d{1,2})(?:$|[ ._)\]-])`)

// loneWords are, in lower case, what a name has of which one of these patterns says anything: looking for them takes a tenth of the time.
var loneWords = []string{"part", "pt", "cd", "dis"}

// labelLone gives a part its label also where the others are not there.
func (v *video) labelLone() {
	if v.label != "" {
		return
	}
	stem, n := library.Stem(v.item.Name), 0
	lower := strings.ToLower(stem)
	if !slices.ContainsFunc(loneWords, func(w string) bool { return strings.Contains(lower, w) }) {
		return
	}
	if m := loneDisc().FindStringSubmatch(stem); m != nil {
		n, _ = strconv.Atoi(m[1] + m[2])
	} else if m := lonePart().FindStringSubmatch(stem); m != nil && v.work.Kind == "tv" {
		n, _ = strconv.Atoi(m[1])
		if slices.Contains(v.work.Episodes, n) || strings.Contains(v.titles, strconv.Itoa(n)) {
			n = 0 // "S01E02 Part 2"
		}
	}
	if n > 0 {
		v.label = " - part" + strconv.Itoa(n)
	}
}

// disc matches what says which disc of a film a file is: "cd2", "Disc 1".
var disc = lazyregexp.New(`(?i)(?:^|[ ._(\[-])(?:cd|dis[ck]|dvd|part|pt)[ ._-]?(\d{1,2})(?:$|[ ._)\]-])`)

// versions returns " - [1080p]" and so on, by the first of edition, resolution, source, group and version in which all differ. A
// name that says no edition has the usual one, and needs no label among others.
func versions(group []*video) []string {
	for i, of := range []func(*tags) string{
		func(t *tags) string { return t.edition },
		func(t *tags) string { return t.resolution },
		func(t *tags) string { return t.source },
		func(t *tags) string { return t.group },
		func(t *tags) string { return "v" + strconv.Itoa(max(t.version, 1)) },
	} {
		var labels []string
		for _, v := range group {
			if v.tags == nil || i > 0 && of(v.tags) == "" {
				labels = nil
				break
			}
			label := ""
			if text := of(v.tags); text != "" {
				label = " - [" + text + "]"
			}
			labels = append(labels, label)
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
		if seen[FoldName(l)] {
			return nil
		}
		seen[FoldName(l)] = true
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
	v.ops = make([]Op, 0, 1+len(v.belongs))
	if !p.operateOn(v, v.dir, v.item, v.item.Name, v.to) {
		return
	}
	for i := range v.belongs {
		s := &v.belongs[i]
		if s.code == "" && !p.operateOn(v, s.dir, s.item(), s.source(), s.target(v.base())) {
			return
		}
	}
}

// operateOn makes the operation of one file of a unit. It returns false where the unit is left.
func (p *Planner) operateOn(v *video, from *folder, item *Item, source, to string) bool {
	verb, code := p.verb(item, v.spot.device)
	if code != "" {
		v.leave(code, "--or copy copies it")
		return false
	}
	there, blockers := p.find(p.look(v.target, v.spot), from, item, verb, path.Base(to))
	role := RoleOf(item.Name)
	if there || len(blockers) > 0 && (role == RoleNFO || role == RoleImage) {
		v.inPlace++ // a server's own, where it is not ours: what is there stays, and so does ours
		return true
	}
	if t := &p.o.Targets[v.target]; verb == Reflink && t.NoReflink && t.Device == v.spot.device {
		v.leave(NoReflink, "")
		return false
	}
	if len(blockers) > 0 {
		p.needs[v] = append(p.needs[v], blockers...)
	}
	if verb == Move && item.Links > 1 && item.Device != v.spot.device {
		v.parted++
	}
	op := Op{Verb: verb, Size: item.Size, MTime: item.MTime, Inode: item.Inode, Source: source, To: to}
	if p.o.Sources[v.source].Adrift {
		op.Inode = 0
	}
	v.ops = append(v.ops, op)
	return true
}

// find reports whether a file is at its target already, and else which paths are in the way. The source itself under a name that
// differs in case or normal form is in nobody's way.
func (p *Planner) find(dir, from *folder, item *Item, verb Verb, name string) (there bool, blockers []string) {
	for _, other := range dir.alike(name) {
		switch {
		case other == item:
			if name == item.Name {
				return true, nil
			}
		case p.isThere(dir, from, item, other, verb):
			return true, nil
		default:
			blockers = append(blockers, join(dir.path, other.Name))
		}
	}
	return false, blockers
}

// isThere reports whether a file at the target is what the verb would make.
func (p *Planner) isThere(dir, from *folder, item, other *Item, verb Verb) bool {
	switch {
	case other.Type == TypeLink:
		return verb == Symlink && LeadsTo(dir.path, other.Leads) == join(from.path, item.Name)
	case other.Type != TypeRegular:
		return false
	case item.Inode != 0 && item.Inode == other.Inode && item.Device == other.Device:
		return true
	case verb != Copy && verb != Reflink, item.Size != other.Size, item.MTime != other.MTime:
		return false
	}
	a, errA := p.disk.Ends(join(from.path, item.Name))
	b, errB := p.disk.Ends(join(dir.path, other.Name))
	return errA == nil && errB == nil && string(a) == string(b)
}

// LeadsTo returns where a symbolic link in a folder leads, by its text.
func LeadsTo(folder, text string) string {
	if path.IsAbs(text) {
		return path.Clean(text)
	}
	return path.Join(folder, text)
}

// leaveCollisions leaves units whose names are taken by what stays, and units that want one name; again until nothing changes,
// because what is left stays where it is.
func (p *Planner) leaveCollisions() {
	for changed := true; changed; {
		p.compact()
		changed = p.leaveTaken()
		changed = p.leaveRivals() || changed
	}
}

// leaveTaken leaves units whose names no move of the plan frees.
func (p *Planner) leaveTaken() (changed bool) {
	var moves map[string]bool
	for v, blockers := range p.needs {
		for _, blocker := range blockers {
			if moves == nil {
				moves = p.moved()
			}
			if v.code == "" && !moves[blocker] {
				v.leave(Exists, blocker)
				changed = true
			}
		}
	}
	return changed
}

// moved returns the paths that moves of the plan free.
func (p *Planner) moved() map[string]bool {
	out := map[string]bool{}
	for _, v := range p.videos {
		for i := range v.ops {
			if v.ops[i].Verb == Move {
				out[join(v.dir.path, v.ops[i].Source)] = true
			}
		}
	}
	return out
}

// leaveRivals leaves units that want one name.
func (p *Planner) leaveRivals() (changed bool) {
	wanted := make(map[foldKey]*video, len(p.videos))
	for _, v := range p.videos {
		if v.code != "" {
			continue
		}
		for i := range v.ops {
			key := fold(v.target, v.ops[i].To)
			first := wanted[key]
			if first == nil {
				wanted[key] = v
				continue
			}
			why := "a file of its unit would be " + path.Base(v.ops[i].To) + ", and so would one of "
			v.leave(SameTarget, why+first.path())
			first.leave(SameTarget, why+v.path())
			p.together(first, v)
			changed = true
		}
	}
	return changed
}
