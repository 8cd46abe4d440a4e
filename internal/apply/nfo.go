package apply

import (
	"errors"
	"slices"

	"github.com/anivault/anivault/internal/organize"
)

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
		if p := removeFile(into, unfinished); p != nil {
			return p
		}
		return asProblem(err)
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
