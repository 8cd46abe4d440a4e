package organize

import (
	"path"
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/nfo"
	"github.com/anivault/anivault/internal/ui"
)

// verb returns what to do with a file: the mode's verb, or Copy if the user allows that and the mode can't cross file
// systems. NFOs and images are always copied instead of linked, because servers write to them.
func (o *Options) verb(item *Item, device uint64) (Verb, Code) {
	verb := o.Mode.Verb()
	if role := RoleOf(item.Name); (verb == Link || verb == Symlink) && (role == RoleNFO || role == RoleImage) {
		return Copy, ""
	}
	if item.Device != device && (verb == Link || verb == Reflink) {
		if !o.OrCopy {
			return None, CrossDevice
		}
		verb = Copy
	}
	return verb, ""
}

func (p *Planner) operate(v *video) {
	v.ops = make([]Op, 0, 1+len(v.sidecars))
	if v.there {
		v.inPlace++
	} else if !p.operateOn(v, v.dir, v.item, v.item.Name, v.to) {
		return
	}
	for i := range v.sidecars {
		s := &v.sidecars[i]
		if s.code == "" && !p.operateOn(v, s.dir, s.item(), s.source(), s.target(v.base())) {
			return
		}
	}
}

func (p *Planner) operateOn(v *video, from *folder, item *Item, source, to string) bool {
	at := v.folder
	if in := path.Dir(to); in != at.path {
		at = p.folders.choose(v.target, in)
	}
	if at.code != "" {
		v.skip(at.code, at.why)
		return false
	}
	dir := p.folders.contents(v.target, at)
	there, blockers := p.folders.find(dir, from, item, path.Base(to), p.o.findsCopies(v, item))
	role := RoleOf(item.Name)
	if there || len(blockers) > 0 && (role == RoleNFO || role == RoleImage) {
		v.inPlace++ // keep the existing file, maybe the server's own, and leave ours
		return true
	}
	verb, code := p.o.verb(item, v.folder.device)
	if v.renames {
		verb, code = Move, ""
	}
	if code != "" {
		v.skip(code, "--or copy copies it")
		return false
	}
	switch t := &p.o.Targets[v.target]; {
	case t.Device != v.folder.device: // of another file system nothing is known
	case verb == Reflink && t.NoReflink:
		code = NoReflink
	case verb == Symlink && (t.Type == "vfat" || t.Type == "exfat"):
		code = NoSymlink
	}
	if code != "" {
		v.skip(code, "")
		return false
	}
	if len(blockers) > 0 {
		p.waitsFor[v] = append(p.waitsFor[v], blockers...)
	}
	if verb == Move && item.Links > 1 && item.Device != v.folder.device {
		v.parted++
	}
	op := Op{Verb: verb, Size: item.Size, MTime: item.MTime, Inode: item.Inode, Source: source, To: to}
	if p.o.Sources[v.source].UnstableInodes {
		op.Inode = 0
	}
	v.ops = append(v.ops, op)
	return true
}

// findsCopies reports whether a copy of a file in the library counts as the file. Empty files are all alike, so one
// counts only if the mode makes copies.
func (o *Options) findsCopies(v *video, item *Item) bool {
	makesCopies := o.Mode == ModeCopy || o.Mode == ModeReflink
	return !v.renames && !o.renamesInPlace(v) && (item.Size > 0 || makesCopies)
}

// find reports whether a file is in a folder under a name already, or returns the other files in its way. With copies,
// a copy of the file is the file.
func (d *folders) find(dir, from *folder, item *Item, name string, copies bool) (there bool, blockers []string) {
	for _, other := range dir.alike(name) {
		switch {
		case other == item:
			if name == item.Name {
				return true, nil
			}
		case d.isThere(dir, from, item, other, copies):
			return true, nil
		default:
			blockers = append(blockers, join(dir.path, other.Name))
		}
	}
	return false, blockers
}

func (d *folders) isThere(dir, from *folder, item, other *Item, copies bool) bool {
	switch {
	case other.Type == TypeLink:
		return LeadsTo(dir.path, other.LinkText) == join(from.path, item.Name)
	case other.Type != TypeRegular:
		return false
	case item.Inode != 0 && item.Inode == other.Inode && item.Device == other.Device:
		return true
	case !copies, item.Size != other.Size, item.MTime != other.MTime:
		return false
	}
	a, errA := d.disk.Ends(join(from.path, item.Name))
	b, errB := d.disk.Ends(join(dir.path, other.Name))
	return errA == nil && errB == nil && string(a) == string(b)
}

// LeadsTo returns where a symbolic link in a folder leads, by its text.
func LeadsTo(folder, text string) string {
	if path.IsAbs(text) {
		return path.Clean(text)
	}
	return path.Join(folder, text)
}

func (p *Planner) addNotes() {
	if !p.o.Notes.Wanted {
		return
	}
	taken := map[nameKey]string{} // the names of such files, and which file gets each; "": it is written
	for _, v := range p.videos {
		for i := range v.ops {
			if strings.HasSuffix(strings.ToLower(v.ops[i].To), ".nfo") {
				taken[v.key(v.ops[i].To)] = join(v.dir.path, v.ops[i].Source)
			}
		}
	}
	shows := map[*entry]bool{}
	for _, v := range p.videos {
		if v.kind != kindVideo {
			continue
		}
		own := p.o.Layout.isOwnFolder(v.work.Kind)
		if v.work.Kind == "tv" && own && v.entry.at.path != "." && !shows[v.entry] {
			shows[v.entry] = true
			p.addNote(v, taken, v.entry.at, "tvshow.nfo", &Note{Entry: v.work.Entry, Full: p.o.Notes.Full})
		}
		switch name := path.Base(v.base()) + ".nfo"; {
		case v.work.Kind == "movie" && !v.isLaterPart():
			p.addNote(v, taken, v.folder, name, &Note{Entry: v.work.Entry, Full: p.o.Notes.Full})
		case v.work.Kind == "tv" && p.o.Notes.Full:
			p.addNote(v, taken, v.folder, name, &Note{
				Entry: v.work.Entry, Full: true, Season: v.work.Season,
				Episodes: v.work.Episodes,
			})
		}
	}
}

// isLaterPart reports whether a file is a second or later part of a film: servers read the NFO beside the first one.
func (v *video) isLaterPart() bool {
	return strings.Contains(v.label, " - part") && v.part() > 1
}

func (p *Planner) addNote(v *video, taken map[nameKey]string, at *folderChoice, name string, n *Note) {
	to := join(at.path, name)
	key := nameKey{v.target, at.key, FoldName(name)}
	if from, known := taken[key]; known {
		if from != "" {
			p.isAbout(from, n.Entry)
		}
		return
	}
	taken[key] = ""
	dir := p.folders.contents(v.target, at)
	if there := dir.alike(name); len(there) > 0 {
		if p.isAbout(join(dir.path, there[0].Name), n.Entry) {
			v.inPlace++
		}
		return
	}
	n.Languages = p.o.Notes.Languages
	v.ops = append(v.ops, Op{Verb: NFO, Note: n, To: to})
}

// isAbout reports whether an NFO is about the entry, and warns if it is not.
func (p *Planner) isAbout(file string, entry Entry) bool {
	text, err := p.disk.Ends(file)
	about, named := false, 0
	if err == nil {
		about, named = nfo.IsAbout(text, entry.Kind, entry.ID)
	}
	if !about {
		names := lang.Text("no TMDB id")
		if named != 0 {
			names = lang.Textf("TMDB's id %d", named)
		}
		warning := lang.Textf("foreign_nfo: %s names %s, not %s, and stays as it is", ui.Printable(file), names, entry)
		if !slices.Contains(p.foreign, warning) {
			p.foreign = append(p.foreign, warning)
		}
	}
	return about
}
