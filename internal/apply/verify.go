package apply

import (
	"context"
	"path"
	"strconv"

	"github.com/anivault/anivault/internal/lazyregexp"
	"github.com/anivault/anivault/internal/organize"
)

// Statuses that only Verify returns.
const (
	StatusOK        Status = "ok"       // unchanged at its target
	StatusEdited    Status = "edited"   // at its target, but changed after the run
	StatusMovedAway Status = "moved_on" // a later run has moved it
	StatusGone      Status = "gone"     // nothing is at its target
	StatusReplaced  Status = "replaced" // another file is at its target
	StatusBadCRC    Status = "bad_crc"  // its content doesn't match the CRC-32 in its name
)

// Verify checks that each file is still where the run put it. It skips files that were put back. For an interrupted
// run, it also reports which files are still at their source. With deep, it reads copies and files with a CRC-32 in
// their name, and checks their content.
func (e *Engine) Verify(ctx context.Context, id string, deep bool) (*Outcome, error) {
	j, err := openJournal(e.Journals, id, false)
	if err != nil {
		return nil, err
	}
	x := e.newExecution(j)
	x.ctx = ctx
	defer x.close()
	if gone := e.checkRoots(j.run.Targets); gone != nil {
		return nil, gone
	}
	out := &Outcome{Run: id, Results: x.results(), DamagedMarks: j.progress.damagedMarks}
	checked := out.Results[:0]
	for i, r := range out.Results {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if j.progress.files[i].undone || j.progress.stage == StageUndone {
			continue
		}
		if code := j.progress.files[i].notDone; code != "" {
			r.Problem = newProblem(code)
			if r.Status = r.Problem.status(); r.Status == StatusFailed {
				r.Status = StatusRefused // StatusFailed would mean that Verify failed
			}
		} else if r.Status, err = x.verify(&j.run.Ops[i], deep); err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			r.Status, r.Problem = StatusFailed, asProblem(err)
		}
		checked = append(checked, r)
	}
	out.Results = checked
	e.findLaterMoves(out, j.run.Begun)
	return out, nil
}

func (x *execution) verify(o *op, deep bool) (Status, error) {
	x.dirs.trim()
	target, err := x.observe(o, o.To)
	interrupted := x.progress.stage.IsUnfinished() || x.progress.stage == StageAbandoned
	switch {
	case err != nil:
		return "", err
	case interrupted && (x.isStillAt(o, o.From) || o.TempNumber > 0 && x.isStillAt(o, x.run.tempPlace(o))):
		return x.progress.sourceStatus(), nil
	case target.state == stateMissing:
		return StatusGone, nil
	case target.state == stateEdited && o.Verb != organize.VerbSymlink:
		return StatusEdited, nil
	case target.state != stateSame:
		return StatusReplaced, nil
	case !deep || o.Verb == organize.VerbSymlink || o.Verb == organize.VerbNFO:
		return StatusOK, nil
	}
	return x.verifyContent(o)
}

// verifyContent compares a file's content with the checksum of its copy and with the CRC-32 in its name.
func (x *execution) verifyContent(o *op) (Status, error) {
	wanted, named := namedCRC(o)
	made := x.progress.files[o.Index].targetCopy
	hashed := made != nil && made.Sum != 0
	if !named && !hashed {
		return StatusOK, nil
	}
	dir, err := x.dirs.get(o.To.Dir)
	if err != nil {
		return "", err
	}
	sum, crc, err := x.hashContent(dir, o.To.Name, o.Size)
	switch {
	case err != nil:
		return "", err
	case hashed && sum != made.Sum:
		return StatusEdited, nil
	case named && crc != wanted:
		return StatusBadCRC, nil
	}
	return StatusOK, nil
}

var crcInName = lazyregexp.New(`[\[(]([0-9A-Fa-f]{8})[\])]`)

// namedCRC returns the CRC-32 in a video's name, such as "[8D7F2A11]". It ignores eight decimal digits, which may be a
// date. It also ignores files other than videos, because the name of a subtitle carries the CRC-32 of its video.
func namedCRC(o *op) (crc uint32, named bool) {
	if organize.RoleOf(o.From.Name) != organize.RoleVideo {
		return 0, false
	}
	for _, found := range crcInName().FindAllStringSubmatch(path.Base(o.From.Name), -1) {
		if _, err := strconv.Atoi(found[1]); err == nil {
			continue
		}
		n, err := strconv.ParseUint(found[1], 16, 32)
		return uint32(n), err == nil
	}
	return 0, false
}
