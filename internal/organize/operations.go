package organize

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/lang"
)

// chooseVerb returns what to do with a file: the mode's verb, or VerbCopy if the mode can't cross file systems and the
// user allows copies. If the mode is impossible, it skips the video. NFOs and images are always copied instead of
// linked, because servers overwrite them.
func (o *Options) chooseVerb(v *video, item *Item) Verb {
	verb, role := o.Mode.Verb(), RoleOf(item.Name)
	otherDevice := item.Device != v.folder.device
	isCopied := (verb == VerbLink || verb == VerbSymlink) && (role == RoleNFO || role == RoleImage)
	switch root := &o.Targets[v.target]; {
	case v.isRename:
		return VerbMove
	case isCopied && v.kind != kindFolderWide: // a file about a folder is skipped where the folder's videos are
		return VerbCopy
	case otherDevice && (verb == VerbLink || verb == VerbReflink),
		verb == VerbLink && AreOtherMounts(item.Mount, v.folder.mount):
		if o.FallBackToCopy {
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

// opPlanner plans the operations of videos that have their names.
type opPlanner struct {
	opts       *Options
	folders    *folderIndex
	conflicts  conflictGroups
	blockedOps []blockedOp
}

// plan plans the operations of more videos, and returns all that are not skipped.
func (p *opPlanner) plan(planned, more []*video) []*video {
	for _, v := range more {
		p.addOps(v)
	}
	return p.skipCollisions(append(planned, more...))
}

func (p *opPlanner) addOps(v *video) {
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

func (p *opPlanner) addOp(v *video, from *folder, item *Item, source, to string) bool {
	at := v.folder
	in, name := path.Split(to) // path.Dir would clean a path that is clean
	if in = cmp.Or(strings.TrimSuffix(in, "/"), "."); in != at.path {
		at = p.folders.chooseTarget(v.target, in)
	}
	if v.code, v.why = at.code, at.why; v.code != "" {
		return false
	}
	dir := p.folders.contents(v.target, at)
	there, blockers := p.folders.findFile(dir, from, item, name, p.opts.acceptsCopies(v, item))
	switch {
	case there:
		v.filesInPlace++
		return true
	case v.isBeingRenamed: // the next plan adds it under the new name; this name may become another video's
		return true
	}
	verb := p.opts.chooseVerb(v, item)
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
	return !v.isRename && !o.renamesInPlace(v) && (item.Size > 0 || o.Mode == ModeCopy || o.Mode == ModeReflink)
}

// findFile reports whether a file is already in a folder under the given name. Otherwise it returns the paths of other
// files that block the name. With copies, a copy counts as the file itself.
func (d *folderIndex) findFile(
	dir, from *folder, item *Item, name string, copies bool,
) (exists bool, blockers []string) {
	if other := dir.find(name); other != nil && (other == item || d.isSameFile(dir, from, item, other, copies)) {
		return true, nil // a quick way for most files
	}
	for _, other := range dir.findSimilar(name) {
		switch {
		case other == item: // under a similar name
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
	case !copies, item.Size != other.Size, !item.MTime.IsCopiedAs(other.MTime):
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

// skipCollisions skips units whose targets are taken, and units with equal targets. A skipped file keeps its old name,
// which may be the target of another unit, so this is repeated until nothing changes.
func (p *opPlanner) skipCollisions(videos []*video) []*video {
	for changed := true; changed; {
		videos = dropSkipped(videos)
		changed = p.skipBlocked(videos)
		changed = p.skipSameTargets(videos) || changed
	}
	return videos
}

func (p *opPlanner) skipBlocked(videos []*video) (changed bool) {
	if len(p.blockedOps) == 0 {
		return false
	}
	freed := map[string]bool{}
	for _, v := range videos {
		for i := range v.ops {
			if v.ops[i].Verb == VerbMove {
				freed[joinPath(v.dir.path, v.ops[i].Source)] = true
			}
		}
	}
	p.blockedOps = slices.DeleteFunc(p.blockedOps, func(o blockedOp) bool {
		i := slices.IndexFunc(o.blockers, func(blocker string) bool { return !freed[blocker] })
		switch {
		case i < 0 || o.video.code != "":
			return false
		case o.optional:
			o.video.ops = slices.DeleteFunc(o.video.ops, func(op Op) bool { return op.To == o.to })
			o.video.filesInPlace++
		default:
			o.video.skip(CodeExists, lang.Textf("%s", o.blockers[i]))
		}
		changed = true
		return true
	})
	return changed
}

func (p *opPlanner) skipSameTargets(videos []*video) (changed bool) {
	wanted := make(map[nameKey]*video, len(videos))
	for _, v := range videos {
		if v.code != "" {
			continue
		}
		for i := range v.ops {
			key := v.nameKeyOf(v.ops[i].To)
			first := wanted[key]
			if first == nil {
				wanted[key] = v
				continue
			}
			const why = "its unit and that of %[2]s would both create %[1]s"
			name := path.Base(v.ops[i].To)
			v.skip(CodeSameTarget, lang.Textf(why, name, first.recordPath()))
			first.skip(CodeSameTarget, lang.Textf(why, name, v.recordPath()))
			p.conflicts.merge(first, v)
			changed = true
		}
	}
	return changed
}
