package apply

import (
	"context"
	"hash/crc32"
	"io"
	"path"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"github.com/anivault/anivault/internal/lazyregexp"
	"github.com/anivault/anivault/internal/organize"
)

// Statuses that only Verify gives.
const (
	StatusOK       Status = "ok"       // unchanged at its target
	StatusEdited   Status = "edited"   // at its target, but changed since
	StatusMovedOn  Status = "moved_on" // a later run has moved it
	StatusGone     Status = "gone"     // nothing is at its target
	StatusReplaced Status = "replaced" // another file is at its target
	StatusBadCRC   Status = "bad_crc"  // its content doesn't match the CRC-32 in its name
)

// Verify checks that each file is where a run put it. It skips files that an undo has put back. For an interrupted run
// it also reports which files are still at their source. With deep it reads and checks copies, and files with a CRC-32
// in their name.
func (e *Engine) Verify(ctx context.Context, id string, deep bool) (*Outcome, error) {
	j, err := openJournal(e.Journals, id, false)
	if err != nil {
		return nil, err
	}
	x := e.open(j)
	defer x.close()
	for _, root := range j.run.Targets {
		if gone := e.mounted(root); gone != nil {
			return nil, gone
		}
	}
	out := &Outcome{Run: id, Results: x.results(), Damaged: j.progress.damaged}
	stands := out.Results[:0]
	for i, r := range out.Results {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if j.progress.files[i].back || j.progress.stage == Undone {
			continue
		}
		if code := j.progress.files[i].notDone; code != "" {
			r.Problem = problem(code)
			if r.Status = r.Problem.status(); r.Status == StatusFailed {
				r.Status = StatusRefused // it failed during the run, not now
			}
		} else if r.Status, err = x.verify(&j.run.Ops[i], deep); err != nil {
			r.Status, r.Problem = StatusFailed, failed(err)
		}
		stands = append(stands, r)
	}
	out.Results = stands
	e.nameLater(out, j.run.Begun)
	return out, nil
}

func (x *execution) verify(o *op, deep bool) (Status, error) {
	x.w.dirs.trim()
	target, err := x.w.see(o, o.To)
	p := &x.w.journal.progress
	interrupted := p.stage.Unfinished() || p.stage == Abandoned
	switch {
	case err != nil:
		return "", err
	case interrupted && (x.waits(o, o.From) || o.Temp > 0 && x.waits(o, x.w.run.temp(o))):
		return p.elsewhere(), nil
	case target.what == nothing:
		return StatusGone, nil
	case target.what == edited && o.Verb != organize.Symlink:
		return StatusEdited, nil
	case target.what != same:
		return StatusReplaced, nil
	case !deep || o.Verb == organize.Symlink || o.Verb == organize.NFO:
		return StatusOK, nil
	}
	return x.read(o)
}

func (x *execution) read(o *op) (Status, error) {
	wanted, named := namedCRC(o)
	known := x.w.journal.progress.files[o.Index].copy
	if !named && (known == nil || known.Sum == 0) {
		return StatusOK, nil
	}
	dir, err := x.w.dirs.get(o.To.Dir)
	if err != nil {
		return "", err
	}
	f, err := dir.Read(o.To.Name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	f.DropCache()
	crc, sum := crc32.NewIEEE(), xxhash.New()
	if _, err := io.Copy(io.MultiWriter(crc, sum), io.NewSectionReader(f, 0, o.Size)); err != nil {
		return "", err
	}
	switch {
	case known != nil && known.Sum != 0 && sum.Sum64() != known.Sum:
		return StatusEdited, nil
	case named && crc.Sum32() != wanted:
		return StatusBadCRC, nil
	}
	return StatusOK, nil
}

var crcInName = lazyregexp.New(`[\[(]([0-9A-Fa-f]{8})[\])]`)

// namedCRC returns the CRC-32 in a video's name, such as "[8D7F2A11]". It skips eight decimal digits, which may be a
// date, and files other than videos: a subtitle's name carries the CRC-32 of its video.
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
