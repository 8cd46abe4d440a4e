package apply

import (
	"errors"
	"io"
	"slices"

	"github.com/anivault/anivault/internal/nfo"
	"github.com/anivault/anivault/internal/organize"
)

func (c *check) compose(it *item) *Problem {
	o := &it.op
	if o.Verb != organize.NFO {
		return nil
	}
	var text []byte
	if c.engine.Note != nil {
		text = c.engine.Note(c.ctx, it.line.Note)
	}
	if len(text) == 0 {
		return problem(NotCached)
	}
	o.Text, o.Size = string(text), int64(len(text))
	it.result.Size = o.Size
	return nil
}

const mostNote = 1 << 20

func (c *check) noteThere(it *item, dir Dir, name string, info Info) *Problem {
	if holder := c.moves[it.op.To]; holder != nil && holder.problem == nil {
		return c.compose(it)
	}
	if info.Type == organize.TypeRegular {
		text, err := readUpTo(dir, name, mostNote)
		if err != nil {
			return failed(err)
		}
		of := it.line.Note
		if about, _ := nfo.IsAbout(text, of.Kind, of.ID); about {
			it.inPlace = true
			return nil
		}
	}
	return problem(ForeignNFO)
}

func readUpTo(dir Dir, name string, most int64) ([]byte, error) {
	f, err := dir.Read(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.NewSectionReader(f, 0, most))
}

func (w *worker) compareNote(o *op, dir Dir, info Info) (what, error) {
	if info.Type == organize.TypeRegular && info.Size == o.Size {
		text, err := readUpTo(dir, o.To.Name, o.Size+1)
		if err != nil || string(text) == o.Text {
			return same, err
		}
	}
	switch {
	case w.isHome(o.To):
		return nothing, nil // it was never written
	case info.Type == organize.TypeRegular:
		return edited, nil
	}
	return other, nil
}

// write writes the operation's file, which gets its name when it is whole and durable. It has the rights of the folder
// it is in and the time of the run, so one that was gone on with ends as it would have.
func (w *worker) write(o *op) *Problem {
	into, err := w.dirs.make(o.To.Dir)
	if err != nil {
		return failed(err)
	}
	part := w.run.part(o.Index, o.To, false)
	known, err := w.fillNote(o, into, part)
	if err != nil {
		if left := remove(into, part.Name); left != nil {
			return left
		}
		return failed(err)
	}
	p := w.publish(known, into, part, o.To)
	if p != nil && p.Code == organize.Exists {
		return problem(ForeignNFO) // it came a moment ago
	}
	return p
}

func (w *worker) fillNote(o *op, into Dir, part place) (_ *copyMark, err error) {
	folder, err := into.Stat()
	if err != nil {
		return nil, err
	}
	file, err := into.Create(part.Name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := writeAt(file, []byte(o.Text), 0); err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	info.Mode, info.UID, info.GID, info.MTime = folder.Mode&0o666, folder.UID, folder.GID, organize.StampOf(w.run.Begun)
	if _, err := file.CopyMetadata(file, info, w.dirs.asRoot); err != nil {
		return nil, err
	}
	if err := file.Sync(); err != nil {
		return nil, err
	}
	if info, err = file.Stat(); err != nil {
		return nil, err
	}
	return &copyMark{Inode: info.Inode, Size: info.Size, MTime: info.MTime, Birth: info.Birth}, nil
}

func (w *worker) isHome(at place) bool {
	return slices.ContainsFunc(w.run.Ops, func(o op) bool {
		if o.Verb != organize.Move || o.From != at {
			return false
		}
		s, err := w.see(&o, at)
		return err == nil && s.what&ours != 0
	})
}
