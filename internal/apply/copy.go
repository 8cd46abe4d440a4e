package apply

import (
	"context"
	"errors"
	"hash/crc32"
	"io"
	"slices"
	"syscall"

	"github.com/cespare/xxhash/v2"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/organize"
)

// identifies reports whether a file is the marked copy. An edited copy can be recognized only if inodes are stable.
func (m *copyMark) identifies(info Info, unstable bool) bool {
	if unstable {
		return m.isUnchanged(info)
	}
	return info.Type == organize.TypeRegular && info.Inode == m.Inode && info.BirthTime == m.BirthTime
}

func (m *copyMark) isUnchanged(info Info) bool {
	return info.Type == organize.TypeRegular && info.Size == m.Size && info.MTime == m.MTime
}

// partPlace returns the temporary name of an unfinished copy. The name has a random prefix, so only the run can have
// created such a file. A copy back to the source has its own suffix.
func (r *run) partPlace(i int, at place, back bool) place {
	suffix := ".part"
	if back {
		suffix = ".back.part"
	}
	return place{at.Dir, organize.TempName(r.PartPrefix, i+1) + suffix}
}

// copyFile copies a file to a temporary name, records the copy in the journal, and gives it its final name. known is
// the copy that an interrupted run has recorded; nil if there is none.
func (w *worker) copyFile(
	o *op, dir Dir, from, to place, seen Info, known *copyMark, back bool,
) (*copyMark, *Problem) {
	into, err := w.dirs.openOrCreate(to.Dir)
	if err != nil {
		return nil, asProblem(err)
	}
	part := w.run.partPlace(o.Index, to, back)
	unstable := w.journal.progress.UnstableInodes
	info, err := into.Lstat(part.Name)
	there := err == nil
	switch {
	case err != nil && !isMissing(err):
		return nil, asProblem(err)
	case known != nil && !there: // the copy already has its final name, or a power loss destroyed it
		if now, err := into.Lstat(to.Name); err == nil && known.identifies(now, unstable) && known.isUnchanged(now) {
			return known, asProblem(into.Sync())
		}
		known = nil
	case there && (known == nil || !known.identifies(info, unstable) || !known.isUnchanged(info)):
		if err := into.Unlink(part.Name); err != nil { // remove an incomplete copy
			return nil, asProblem(err)
		}
		known = nil
	}
	if known == nil {
		var p *Problem
		if known, p = w.createCopy(o, dir, from, into, part, seen, back); p != nil {
			if left := removeFile(into, part.Name); left != nil {
				return nil, left
			}
			return nil, p
		}
		word := markCopied
		if back {
			word = markReturned
		}
		w.journal.appendMark(mark{Mark: word, File: new(o.Index), Copy: known})
		if err := w.journal.sync(); err != nil {
			return nil, asProblem(err)
		}
	}
	if p := w.publish(known, into, part, to); p != nil {
		return nil, p
	}
	return known, asProblem(into.Sync())
}

// publish gives a finished copy its final name. It never replaces a file.
func (w *worker) publish(known *copyMark, into Dir, part, to place) *Problem {
	linked, err := renameExclusive(into, part.Name, into, to.Name, w.journal.progress.MoveByLink)
	if linked && err == nil {
		err = into.Unlink(part.Name)
	}
	now, looked := into.Lstat(to.Name)
	isOurs := looked == nil && known.identifies(now, w.journal.progress.UnstableInodes)
	switch {
	case err == nil && looked == nil && !isOurs: // another program replaced the temporary file: restore that file's name
		if !linked {
			_ = into.Rename(to.Name, into, part.Name)
		} else if now.Links > 1 {
			_ = into.Unlink(to.Name)
		}
		return newProblem(CodeChanged)
	case err == nil:
		return nil
	}
	if left := removeFile(into, part.Name); left != nil || isOurs { // isOurs: the copy already has its final name
		return left
	}
	return asProblem(err)
}

// createCopy copies a file with its times, mode and owner to the name of part. It fails if the source changes
// meanwhile. When an unchanged copy goes back to its source, the new file gets the original time, because the other
// file system may have rounded it.
func (w *worker) createCopy(
	o *op, dir Dir, from place, into Dir, part place, seen Info, back bool,
) (*copyMark, *Problem) {
	source, err := dir.OpenForReading(from.Name)
	if err != nil {
		return nil, asProblem(err)
	}
	defer source.Close()
	before, err := source.Stat()
	if err != nil {
		return nil, asProblem(err)
	}
	if !isUnmodified(seen, before) {
		return nil, newProblem(CodeChanged)
	}
	target, err := into.Create(part.Name)
	if err != nil {
		return nil, asProblem(err)
	}
	defer target.Close()
	sum := uint64(0)
	crc, named := namedCRC(o)
	named = named && from == o.From
	check := crc32.NewIEEE()
	if o.Verb == organize.VerbReflink {
		if err := target.Clone(source); err != nil {
			return nil, &Problem{Code: organize.CodeNoReflink, Err: err}
		}
		named = false
	} else if sum, err = copyContent(w.ctx, source, target, before.Size, func(read []byte, at int64) {
		if named {
			_, _ = check.Write(read)
		}
		if w.onCopied != nil {
			w.onCopied(at)
		}
	}); err != nil {
		return nil, asProblem(err)
	}
	meta := before
	if gone := w.journal.progress.files[o.Index].targetCopy; back && gone != nil && gone.isUnchanged(before) {
		meta.MTime = o.MTime
		if gone.Mode != 0 {
			meta.Mode = gone.Mode
		}
	}
	whole, err := target.CopyMetadata(source, meta, w.dirs.inheritOwner)
	if err != nil {
		return nil, asProblem(err)
	}
	if err := target.Sync(); err != nil {
		return nil, asProblem(err)
	}
	after, err := source.Stat()
	if err != nil {
		return nil, asProblem(err)
	}
	if !isUnmodified(before, after) {
		return nil, newProblem(CodeChanged)
	}
	made, err := target.Stat()
	if err != nil {
		return nil, asProblem(err)
	}
	if !whole {
		w.journal.progress.files[o.Index].lostAttributes = true
	}
	if named && check.Sum32() != crc {
		w.journal.progress.files[o.Index].badCRC = true
	}
	return &copyMark{
		Inode: made.Inode, Size: made.Size, MTime: made.MTime, BirthTime: made.BirthTime, Sum: sum,
		Mode: before.Mode,
	}, nil
}

func isUnmodified(before, now Info) bool {
	return now.Size == before.Size && now.MTime == before.MTime && now.Inode == before.Inode
}

// interruptible is a reader that fails once its context is canceled: reading a film may take minutes.
type interruptible struct {
	io.Reader
	ctx context.Context
}

func (r interruptible) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(p)
}

func (w *worker) verifyCopy(known *copyMark, dir Dir, name string) *Problem {
	f, err := dir.OpenForReading(name)
	if err != nil {
		return asProblem(err)
	}
	defer f.Close()
	f.DropCache()
	sum := xxhash.New()
	if _, err := io.Copy(sum, interruptible{io.NewSectionReader(f, 0, known.Size+1), w.ctx}); err != nil {
		return asProblem(err)
	}
	if sum.Sum64() != known.Sum {
		return &Problem{Code: organize.CodeUnreadable, Err: syscall.EIO}
	}
	return nil
}

func (w *worker) copyToTarget(o *op, source lazyObservation, from, to place) *Problem {
	known, p := w.copyFile(o, source.dir, from, to, source.info, w.journal.progress.files[o.Index].targetCopy, false)
	if p != nil || o.Verb != organize.VerbMove {
		return p
	}
	// Remove the source only if the copy is verified and the source is still unchanged.
	into, p := w.verifyCopyAt(known, to)
	if p != nil {
		return p
	}
	if now, err := into.Lstat(to.Name); err != nil || !known.identifies(now, w.journal.progress.UnstableInodes) ||
		!known.isUnchanged(now) {
		return newProblem(CodeChanged)
	}
	s, err := w.observe(o, from)
	switch {
	case err != nil:
		return asProblem(err)
	case s.state == stateMissing:
		return nil
	case s.state == stateEdited: // only the copy may still have the content that was planned
		return &Problem{Code: CodeEdited, Err: errOriginalEdited}
	case s.state&stateOurs == 0:
		return newProblem(CodeOriginalGone)
	}
	return removeFile(s.dir, from.Name)
}

// copyBack copies a file from the target back to the source, verifies the copy, and removes the file at the target.
func (w *worker) copyBack(o *op, target lazyObservation, from, to place) *Problem {
	known, p := w.copyFile(o, target.dir, to, from, target.info, w.journal.progress.files[o.Index].returnedCopy, true)
	if p != nil {
		if p.Code == organize.CodeExists {
			p.Code = CodeOldNameTaken
		}
		return p
	}
	if _, p := w.verifyCopyAt(known, from); p != nil {
		return p
	}
	if p := removeFile(target.dir, to.Name); p != nil {
		return p
	}
	return w.removePart(o.Index, from, true)
}

func (w *worker) verifyCopyAt(known *copyMark, at place) (Dir, *Problem) {
	dir, err := w.dirs.get(at.Dir)
	if err != nil {
		return nil, asProblem(err)
	}
	if p := w.verifyCopy(known, dir, at.Name); p != nil {
		return nil, p
	}
	return dir, asProblem(dir.Sync())
}

// removePart removes the unfinished copy that an interrupted run may have left beside a place.
func (w *worker) removePart(i int, at place, back bool) *Problem {
	dir, err := w.dirs.get(at.Dir)
	if err == nil {
		part := w.run.partPlace(i, at, back).Name
		if _, err = dir.Lstat(part); err == nil {
			err = dir.Unlink(part)
		}
	}
	if err != nil && !isMissing(err) && !isNotFolder(err) {
		return asProblem(err)
	}
	return nil
}

var errOriginalEdited = lang.Error("the original, not the copy")

const copyChunkSize = 256 << 10 // fits a CPU cache; with 1 MiB, copying takes 50% longer

// copyContent copies a file's content, leaving out blocks of zeros, and returns its XXH64. It calls seen with each
// piece and the offset of the piece's end.
func copyContent(ctx context.Context, from, to File, size int64, onPiece func(read []byte, at int64)) (uint64, error) {
	sum, buffer := xxhash.New(), make([]byte, min(copyChunkSize, max(size, 1)))
	for at := int64(0); ; {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		n, err := from.ReadAt(buffer, at)
		piece := buffer[:n]
		_, _ = sum.Write(piece)
		if !isAllZero(piece) {
			if err := writeFullAt(to, piece, at); err != nil {
				return 0, err
			}
		}
		at += int64(n)
		onPiece(piece, at)
		if errors.Is(err, io.EOF) {
			return sum.Sum64(), to.Extend(at)
		}
		if err != nil {
			return 0, err
		}
	}
}

func writeFullAt(f File, p []byte, at int64) error {
	n, err := f.WriteAt(p, at)
	if err == nil && n < len(p) {
		return io.ErrShortWrite
	}
	return err
}

func isAllZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

func readUpTo(dir Dir, name string, maxBytes int64) ([]byte, error) {
	f, err := dir.OpenForReading(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.NewSectionReader(f, 0, maxBytes))
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
	part := w.run.partPlace(o.Index, o.To, false)
	known, err := w.createNFO(o, into, part)
	if err != nil {
		if left := removeFile(into, part.Name); left != nil {
			return left
		}
		return asProblem(err)
	}
	p := w.publish(known, into, part, o.To)
	if p != nil && p.Code == organize.CodeExists {
		return newProblem(CodeForeignNFO) // another program created it just now
	}
	return p
}

func (w *worker) createNFO(o *op, into Dir, part place) (_ *copyMark, err error) {
	folder, err := into.Stat()
	if err != nil {
		return nil, err
	}
	file, err := into.Create(part.Name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := writeFullAt(file, []byte(o.Text), 0); err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	info.Mode, info.UID, info.GID, info.MTime = folder.Mode&0o666, folder.UID, folder.GID, organize.StampOf(w.run.Begun)
	if _, err := file.CopyMetadata(file, info, w.dirs.inheritOwner); err != nil {
		return nil, err
	}
	if err := file.Sync(); err != nil {
		return nil, err
	}
	if info, err = file.Stat(); err != nil {
		return nil, err
	}
	return &copyMark{Inode: info.Inode, Size: info.Size, MTime: info.MTime, BirthTime: info.BirthTime}, nil
}

// isUnmovedSource reports whether a place still holds a file that the run moves away.
func (w *worker) isUnmovedSource(at place) bool {
	return slices.ContainsFunc(w.run.Ops, func(o op) bool {
		if o.Verb != organize.VerbMove || o.From != at {
			return false
		}
		s, err := w.observe(&o, at)
		return err == nil && s.state&stateOurs != 0
	})
}
