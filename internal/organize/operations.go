package organize

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/nfo"
	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/ui"
)

// chooseVerb returns what to do with a file: the mode's verb, or VerbCopy if the mode can't cross file systems and the
// user allows copies. If the mode is impossible, it skips the video. NFOs and images are always copied instead of
// linked, because servers overwrite them.
func (p *Planner) chooseVerb(v *video, item *Item) Verb {
	verb, role := p.opts.Mode.Verb(), RoleOf(item.Name)
	otherDevice := item.Device != v.folder.device
	isCopied := (verb == VerbLink || verb == VerbSymlink) && (role == RoleNFO || role == RoleImage)
	switch root := &p.opts.Targets[v.target]; {
	case v.isRename:
		return VerbMove
	case isCopied && v.kind != kindFolderWide: // a file about a folder is skipped where the folder's videos are
		return VerbCopy
	case otherDevice && (verb == VerbLink || verb == VerbReflink),
		verb == VerbLink && AreOtherMounts(item.Mount, v.folder.mount):
		if p.opts.FallBackToCopy {
			return VerbCopy
		}
		v.skip(CodeCrossDevice, "--or copy copies it")
	case root.Device != v.folder.device: // nothing is known about a file system other than the root's
	case verb == VerbReflink && root.NoReflink:
		v.skip(CodeNoReflink, "")
	case verb == VerbSymlink && (root.Type == "vfat" || root.Type == "exfat"):
		v.skip(CodeNoSymlink, "")
	}
	if isCopied {
		return VerbCopy
	}
	return verb
}

// AreOtherMounts reports whether two mount IDs are known and differ. Then no hard link and no rename goes from one to
// the other, even if both are mounts of one file system, such as two volumes of a container.
func AreOtherMounts(a, b uint64) bool { return a != 0 && b != 0 && a != b }

func (p *Planner) addOps(v *video) {
	v.ops = make([]Op, 0, 1+len(v.sidecars))
	if v.isInPlace {
		v.filesInPlace++
	} else if !p.addOp(v, v.dir, v.item, v.item.Name, v.targetPath) {
		return
	}
	for i := range v.sidecars {
		s := &v.sidecars[i]
		if s.code == "" && !p.addOp(v, s.dir, s.item(), s.source(), s.target(v.targetStem())) {
			return
		}
	}
}

// blockedOp is an operation whose name is taken, until other moves free it. An NFO file or an image is optional: the
// existing one may stay, because the server may have written it.
type blockedOp struct {
	video    *video
	to       string
	blockers []string // the paths that have to become free
	optional bool
}

func (p *Planner) addOp(v *video, from *folder, item *Item, source, to string) bool {
	at := v.folder
	if in := path.Dir(to); in != at.path {
		at = p.folders.chooseTarget(v.target, in)
	}
	if at.code != "" {
		v.skip(at.code, at.why)
		return false
	}
	dir := p.folders.contents(v.target, at)
	there, blockers := p.folders.findFile(dir, from, item, path.Base(to), p.opts.acceptsCopies(v, item))
	switch {
	case there:
		v.filesInPlace++
		return true
	case v.isBeingRenamed: // the next plan adds it under the new name; this name may become another video's
		return true
	}
	verb := p.chooseVerb(v, item)
	if v.code != "" {
		return false
	}
	if len(blockers) > 0 {
		role := RoleOf(item.Name)
		p.blockedOps = append(p.blockedOps, blockedOp{v, to, blockers, role == RoleNFO || role == RoleImage})
	}
	if verb == VerbMove && item.Links > 1 &&
		(item.Device != v.folder.device || AreOtherMounts(item.Mount, v.folder.mount)) {
		v.splitLinkCount++
	}
	op := Op{Verb: verb, Size: item.Size, MTime: item.MTime, Inode: item.Inode, Source: source, To: to}
	if p.opts.Sources[v.source].UnstableInodes {
		op.Inode = 0
	}
	v.ops = append(v.ops, op)
	return true
}

// acceptsCopies reports whether a copy of a file in the library counts as the file itself. Empty files all look alike,
// so they count only if the mode makes copies.
func (o *Options) acceptsCopies(v *video, item *Item) bool {
	makesCopies := o.Mode == ModeCopy || o.Mode == ModeReflink
	return !v.isRename && !o.renamesInPlace(v) && (item.Size > 0 || makesCopies)
}

// findFile reports whether a file is already in a folder under the given name. Otherwise it returns the paths of other
// files that block the name. With copies, a copy counts as the file itself.
func (d *folderIndex) findFile(
	dir, from *folder, item *Item, name string, copies bool,
) (exists bool, blockers []string) {
	for _, other := range dir.findSimilar(name) {
		switch {
		case other == item:
			if name == item.Name {
				return true, nil
			}
		case d.isSameFile(dir, from, item, other, copies):
			return true, nil
		default:
			blockers = append(blockers, joinPath(dir.path, other.Name))
		}
	}
	return false, blockers
}

// isSameFile reports whether an entry is the file: a link to it, another name of it, or with copies also a copy.
func (d *folderIndex) isSameFile(dir, from *folder, item, other *Item, copies bool) bool {
	switch {
	case other.Type == TypeLink:
		return LinkTarget(dir.path, other.LinkText) == joinPath(from.path, item.Name)
	case other.Type != TypeRegular:
		return false
	case item.Inode != 0 && item.Inode == other.Inode && item.Device == other.Device:
		return true
	case !copies, item.Size != other.Size, item.MTime != other.MTime:
		return false
	}
	a, errA := d.disk.ReadEnds(joinPath(from.path, item.Name))
	b, errB := d.disk.ReadEnds(joinPath(dir.path, other.Name))
	return errA == nil && errB == nil && string(a) == string(b)
}

// LinkTarget returns the path that a symbolic link in a folder points to. text is the text of the link.
func LinkTarget(folder, text string) string {
	if path.IsAbs(text) {
		return path.Clean(text)
	}
	return path.Join(folder, text)
}

// takenNFOs returns, by the target name of an NFO, the source that is copied there.
func (p *Planner) takenNFOs() map[nameKey]string {
	taken := map[nameKey]string{}
	for _, v := range p.videos {
		for i := range v.ops {
			if strings.HasSuffix(strings.ToLower(v.ops[i].To), ".nfo") {
				taken[v.nameKeyOf(v.ops[i].To)] = joinPath(v.dir.path, v.ops[i].Source)
			}
		}
	}
	return taken
}

func (p *Planner) addNFOs() {
	if !p.opts.NFO.Enabled && !p.opts.NFO.ForOrders && !p.opts.Renumber {
		return
	}
	taken, shows := p.takenNFOs(), map[*plannedEntry]bool{}
	for _, v := range p.videos {
		if v.kind != kindVideo || v.isBeingRenamed {
			continue
		}
		own := p.opts.Layout.hasOwnFolder(v.work.Kind)
		// An NFO about the whole entry does not belong in the folder of one anime.
		if v.work.Kind == "tv" && own && v.anime == 0 && v.entry.folder.path != "." && !shows[v.entry] {
			shows[v.entry] = true
			order := p.displayOrder(v)
			if p.opts.NFO.Enabled || order != "" && order != orders.TVDB {
				p.addNFO(v, taken, v.entry.folder, "tvshow.nfo", &NFOSpec{
					Entry: v.work.Entry, Full: p.opts.NFO.Full, Order: order,
				})
			}
			p.checkOrder(v, taken, order)
		}
		if !p.opts.NFO.Enabled {
			continue
		}
		switch name := path.Base(v.targetStem()) + ".nfo"; {
		case v.work.Kind == "movie" && strings.Contains(v.label, " - part") && v.partNumber() > 1:
			// media servers don't read the NFO of a later part
		case v.work.Kind == "movie":
			p.addNFO(v, taken, v.folder, name, &NFOSpec{Entry: v.work.Entry, Full: p.opts.NFO.Full})
		case v.work.Kind == "tv" && p.opts.NFO.Full && len(v.named.Episodes) == len(v.work.Episodes):
			spec := NFOSpec{Entry: v.work.Entry, Full: true, Season: v.work.Season, Episodes: v.work.Episodes}
			if v.entry.order != orders.TMDB {
				spec.Named = v.named
			}
			p.addNFO(v, taken, v.folder, name, &spec)
		}
	}
}

// displayOrder returns the value for <displayorder> in the NFO of a video's show; "" for TMDB's order. If
// <displayorder> has no word for the order, it adds the show's folder to unnamedOrders.
func (p *Planner) displayOrder(v *video) string {
	order := v.entry.order
	if order == orders.TMDB || order == orders.TVDB {
		return strings.TrimPrefix(order, orders.TMDB)
	}
	if !p.opts.NFO.ForOrders {
		return ""
	}
	details := &nfo.Entry{}
	if p.folders.details != nil {
		details = cmp.Or(p.folders.details(v.work.Entry), details)
	}
	name := details.DisplayOrder(order)
	if name == "" {
		p.unnamedOrders = append(p.unnamedOrders, v.entry.folder.path)
	}
	return name
}

// checkOrder remembers the folder of a show whose NFO exists and does not say the order of its numbers. Layouts with an
// ID in the folder's name say TVDB's there.
func (p *Planner) checkOrder(v *video, taken map[nameKey]string, order string) {
	if order == "" && !p.opts.Renumber {
		return
	}
	at, dir := v.entry.folder, p.folders.contents(v.target, v.entry.folder)
	file := taken[nameKey{v.target, at.key, "tvshow.nfo"}]
	if file == "" && dir.find("tvshow.nfo") != nil {
		file = joinPath(dir.path, "tvshow.nfo")
	}
	text, err := p.disk.ReadEnds(file)
	if file == "" || err != nil {
		return
	}
	stated, ofTVDB := nfo.OrderIn(text)
	if stated != strings.TrimPrefix(order, orders.TVDB) ||
		!p.opts.Layout.Show.hasField(fieldTMDB) && ofTVDB != (order == orders.TVDB) {
		p.unnamedOrders = append(p.unnamedOrders, at.path)
	}
}

func (p *Planner) addNFO(v *video, taken map[nameKey]string, at *targetFolder, name string, n *NFOSpec) {
	to := joinPath(at.path, name)
	key := nameKey{v.target, at.key, FoldName(name)}
	if from, known := taken[key]; known {
		if from != "" {
			p.checkNFO(from, n.Entry)
		}
		return
	}
	taken[key] = "" // it is new
	dir := p.folders.contents(v.target, at)
	if there := dir.findSimilar(name); len(there) > 0 {
		if p.checkNFO(joinPath(dir.path, there[0].Name), n.Entry) {
			v.filesInPlace++
		}
		return
	}
	n.Languages = p.opts.NFO.Languages
	v.ops = append(v.ops, Op{Verb: VerbNFO, NFO: n, To: to})
}

// checkNFO reports whether an NFO is about the entry, and adds a warning if it is not.
func (p *Planner) checkNFO(file string, entry Entry) bool {
	text, err := p.disk.ReadEnds(file)
	about, named := false, 0
	if err == nil {
		about, named = nfo.IsAbout(text, entry.Kind, entry.ID)
	}
	if !about {
		names := lang.Text("no TMDB id")
		if named != 0 {
			names = lang.Textf("TMDB's id %d", named)
		}
		warning := lang.Textf("foreign_nfo: %s names %s, not %s, and is kept", ui.Printable(file), names, entry)
		if !slices.Contains(p.foreignNFOs, warning) {
			p.foreignNFOs = append(p.foreignNFOs, warning)
		}
	}
	return about
}
