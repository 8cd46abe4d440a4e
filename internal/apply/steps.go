package apply

import (
	"cmp"
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/cespare/xxhash/v2"

	"github.com/anivault/anivault/internal/organize"
	"github.com/anivault/anivault/internal/slicesx"
)

// worker carries out the steps of a run.
type worker struct {
	openRun
	ctx         context.Context // canceling it stops the current copy
	preview     *undoPreview    // simulates an undo; nil to carry out the steps
	runFinished bool            // the run had finished when the undo began
	onCopied    func(at int64)  // called with the number of copied bytes; may be nil
	firstTime   bool            // the run is not a resumed one, so no step has been carried out before
}

// hashedEndSize is how many bytes of each end are hashed, to identify a file whose inode may change.
const hashedEndSize = 64 << 10

// hashEnds returns the XXH64 of a file's first and last bytes. It is never 0.
func hashEnds(dir Dir, name string, size int64) (uint64, error) {
	f, err := dir.OpenForReading(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	sum := xxhash.New()
	for _, end := range [][2]int64{{0, min(size, hashedEndSize)}, {max(size-hashedEndSize, hashedEndSize), size}} {
		if _, err := io.Copy(sum, io.NewSectionReader(f, end[0], max(end[1]-end[0], 0))); err != nil {
			return 0, err
		}
	}
	return max(sum.Sum64(), 1), nil
}

// link creates a hard link. Afterwards it checks which file has the new name, because another program may have replaced
// the source meanwhile.
func (w *worker) link(o *op, from, to place) *Problem {
	dir, err := w.dirs.get(from.Dir)
	if isMissing(err) || isNotFolder(err) {
		if s, err := w.observe(o, to); err != nil || s.state&stateOurs != 0 {
			return asProblem(err)
		}
		return newProblem(CodeChanged)
	}
	if err != nil {
		return asProblem(err)
	}
	into, err := w.dirs.openOrCreate(to.Dir)
	if err != nil {
		return asProblem(err)
	}
	err = dir.Link(from.Name, into, to.Name)
	target, looked := w.observe(o, to)
	switch {
	case err == nil && target.state == stateSame:
		return nil
	case errors.Is(err, syscall.EEXIST) && target.state&stateOurs != 0:
		return w.keepIfMadeByOthers(o)
	case err != nil:
		if source, err := w.observe(o, from); err == nil && source.state != stateSame {
			return newProblem(CodeChanged)
		}
		return asProblem(err)
	case looked != nil:
		return asProblem(looked)
	}
	// The source was replaced. Remove the new name, unless it is the only name of that file.
	if target.state != stateMissing && target.info.Links > 1 {
		if err := into.Unlink(to.Name); err != nil {
			return asProblem(err)
		}
	}
	return newProblem(CodeChanged)
}

// renameBack renames a file back to its old name. If the two folders have since become two mounts, it copies the file.
func (w *worker) renameBack(o *op, target lazyObservation, from, to place) *Problem {
	if w.progress.files[o.Index].returnedCopy != nil { // an interrupted undo may have copied it
		source, err := w.observe(o, from)
		if err != nil {
			return asProblem(err)
		}
		if source.state == stateReturned {
			return w.removeTarget(o, lazyObservation{observation: source}, target, from, to)
		}
	}
	into, err := w.dirs.openOrCreate(from.Dir)
	if err != nil {
		return asProblem(err)
	}
	if i, made := w.run.NewFolders[from]; made {
		for n := len(w.run.Dirs) - 1; n >= i; n-- { // the run has created a folder with the file's old name
			if w.run.Dirs[n].New {
				_, _ = w.dirs.removeIfEmpty(n) // if a folder remains, the rename fails
			}
		}
	}
	p := w.rename(o, target.dir, to, into, from, false)
	switch {
	case p != nil && p.Code == organize.CodeExists:
		p.Code = CodeOldNameTaken
	case p != nil && p.Code == organize.CodeCrossDevice:
		return w.copyBack(o, target, from, to)
	}
	return p
}

// rename renames a file in one step, or by a hard link, and never replaces another. With asPlanned, the file must have
// its planned size and time.
func (w *worker) rename(o *op, dir Dir, from place, into Dir, to place, asPlanned bool) *Problem {
	byLink, err := renameExclusive(dir, from.Name, into, to.Name, w.progress.MoveByLink)
	target, looked := w.observe(o, to)
	isOurs := target.state&stateOurs != 0
	switch {
	case looked != nil:
		return asProblem(looked)
	case err == nil && isOurs && (target.state != stateEdited || !asPlanned):
		if byLink {
			return w.removeOldName(o, dir, from, into, to)
		}
		return nil
	case err == nil && byLink:
		if target.state != stateMissing && target.info.Links > 1 { // see link
			err = into.Unlink(to.Name)
		}
	case err == nil:
		err = into.Rename(to.Name, dir, from.Name) // another program replaced the source just now: rename its file back
	case isOurs: // the file has the new name: an earlier attempt was interrupted, or the error is wrong
		source, looked := w.observe(o, from)
		switch {
		case looked != nil:
			return asProblem(looked)
		case source.state&stateOurs == 0:
			return nil
		case w.progress.UnstableInodes && !source.info.isHardLinkOf(target.info):
			return asProblem(err) // the two names may belong to different files with equal content
		}
		return w.removeOldName(o, dir, from, into, to)
	}
	if err != nil {
		return asProblem(err)
	}
	return newProblem(CodeChanged)
}

// renameExclusive renames a file without replacing another. If the file system can't do that in one step, or byLink is
// set, it creates a hard link instead and keeps the old name: linked is then true.
func renameExclusive(dir Dir, from string, into Dir, to string, byLink bool) (linked bool, err error) {
	if !byLink {
		if err = dir.Rename(from, into, to); !lacksExclusiveRename(err) {
			return false, err
		}
	}
	err = dir.Link(from, into, to)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EOPNOTSUPP) {
		err = &Problem{Code: CodeNoExclusiveRename, Err: err} // the file system has no hard links either
	}
	return true, err
}

// lacksExclusiveRename reports whether the error says that the file system can't rename without replacing.
func lacksExclusiveRename(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EOPNOTSUPP)
}

// isHardLinkOf reports whether two names with equal content are hard links of one file. Some FUSE file systems give
// each name its own inode number. Then the ctime decides: creating the link sets it for both names.
func (i Info) isHardLinkOf(other Info) bool {
	one := i.Inode == other.Inode || i.CTime.Nsec != 0 && i.CTime == other.CTime
	return one && i.Links > 1 && i.Links == other.Links
}

// removeOldName removes the old name of a file after making the new one durable.
func (w *worker) removeOldName(o *op, dir Dir, from place, into Dir, to place) *Problem {
	if err := into.Sync(); err != nil {
		return asProblem(err)
	}
	kept, err := w.observe(o, to)
	if err != nil {
		return asProblem(err)
	}
	gone, err := w.observe(o, from)
	switch {
	case err != nil:
		return asProblem(err)
	case gone.state == stateMissing:
		return nil
	case kept.state&stateOurs == 0 || gone.state&stateOurs == 0 || gone.info.Links < 2:
		return newProblem(CodeChanged)
	}
	if from.Dir == to.Dir { // on a case-insensitive file system, both names may be one directory entry
		names, err := dir.Names()
		if err != nil {
			return asProblem(err)
		}
		isOurs := func(name string) bool {
			s, err := w.observe(o, place{from.Dir, name})
			return err == nil && s.state&stateOurs != 0
		}
		if slicesx.Count(names, isOurs) < 2 {
			return newProblem(organize.CodeExists)
		}
	}
	return removeFile(dir, from.Name)
}

func removeFile(dir Dir, name string) *Problem {
	err := dir.Unlink(name)
	if isMissing(err) {
		return nil
	}
	return asProblem(err)
}

// removeTarget removes the name at the target. The caller has found the original at the source.
func (w *worker) removeTarget(o *op, source, target lazyObservation, from, to place) *Problem {
	if o.Verb == organize.VerbLink && target.info.Links < 2 {
		return newProblem(CodeOriginalGone)
	}
	returned := w.progress.files[o.Index].returnedCopy
	if returned != nil && returned.identifies(source.info, w.progress.UnstableInodes) {
		if _, p := w.verifyCopy(returned, from); p != nil {
			return p
		}
	}
	if p := removeFile(target.dir, to.Name); p != nil || !o.copiesContent() {
		return p
	}
	return w.removeUnfinished(o.Index, from, true)
}

func (w *worker) symlink(o *op) *Problem {
	into, err := w.dirs.openOrCreate(o.To.Dir)
	if err != nil {
		return asProblem(err)
	}
	err = into.Symlink(w.run.linkText(o), o.To.Name)
	switch {
	case errors.Is(err, syscall.EPERM):
		return &Problem{Code: CodeNotPermitted, Err: err}
	case errors.Is(err, syscall.ENOSYS), errors.Is(err, syscall.EOPNOTSUPP):
		return &Problem{Code: organize.CodeNoSymlink, Err: err}
	case err != nil:
		if s, looked := w.observe(o, o.To); looked != nil || s.state != stateSame {
			return asProblem(err)
		}
		return w.keepIfMadeByOthers(o)
	}
	return nil
}

// keepIfMadeByOthers handles a link that exists already. In a resumed run it is the run's own. Otherwise another
// program has made it since the check, so neither a rollback nor an undo may remove it.
func (w *worker) keepIfMadeByOthers(o *op) *Problem {
	if !w.firstTime {
		return nil
	}
	w.journal.appendFileMark(o.Index, markNotDone, organize.CodeExists)
	return newProblem(organize.CodeExists)
}

func (r *run) linkText(o *op) string {
	source := r.pathOf(o.From)
	if !r.AbsoluteLinks {
		if relative, err := filepath.Rel(r.dirPath(o.To.Dir), source); err == nil {
			return relative
		}
	}
	return source
}

func (w *worker) compareNFO(o *op, dir Dir, info Info) (fileState, error) {
	if info.Type == organize.TypeRegular && info.Size == o.Size {
		text, err := readUpTo(dir, o.To.Name, o.Size+1)
		if err != nil || string(text) == o.Text {
			return stateSame, err
		}
	}
	switch {
	case w.isUnmovedSource(o.To):
		return stateMissing, nil // the NFO was never written: another file still has its name
	case info.Type == organize.TypeRegular:
		return stateEdited, nil
	}
	return stateOther, nil
}

// writeNFO creates an NFO file: under a temporary name at first, and renamed once its content is durable. The file gets
// the mode of its folder and the time of the run, so resuming the run gives the same result.
func (w *worker) writeNFO(o *op) *Problem {
	into, err := w.dirs.openOrCreate(o.To.Dir)
	if err != nil {
		return asProblem(err)
	}
	unfinished := w.run.unfinishedName(o.Index, false)
	made, err := w.createNFO(o, into, unfinished)
	if err != nil {
		return cmp.Or(removeFile(into, unfinished), asProblem(err))
	}
	p := w.publish(made, into, unfinished, o.To.Name)
	if p != nil && p.Code == organize.CodeExists {
		return newProblem(CodeForeignNFO) // another program created it just now
	}
	return p
}

func (w *worker) createNFO(o *op, into Dir, name string) (made *copyMark, err error) {
	folder, err := into.Stat()
	if err != nil {
		return nil, err
	}
	file, err := into.Create(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := file.WriteAt([]byte(o.Text), 0); err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	info.Mode, info.UID, info.GID, info.MTime = folder.Mode&0o666, folder.UID, folder.GID, organize.StampOf(w.run.Begun)
	made, _, err = w.completeFile(file, file, info)
	return made, err
}

func (w *worker) isUnmovedSource(at place) bool {
	return slices.ContainsFunc(w.run.Ops, func(o op) bool {
		if o.Verb != organize.VerbMove || o.From != at {
			return false
		}
		s, err := w.observe(&o, at)
		return err == nil && s.state&stateOurs != 0
	})
}
