package apply

import (
	"errors"
	"strings"
	"syscall"

	"github.com/anivault/anivault/internal/organize"
)

// leads returns the text of an operation's symbolic link: the way from its folder to the source or, where that is wanted, the source's
// path.
func (r *run) leads(o *op) string {
	if r.Absolute {
		return r.pathOf(o.From)
	}
	return relative(r.path(o.To.Dir), r.pathOf(o.From))
}

// relative returns the way from a folder to a path; both are absolute, clean and without links.
func relative(folder, to string) string {
	a, b := strings.Split(strings.Trim(folder, "/"), "/"), strings.Split(strings.Trim(to, "/"), "/")
	if a[0] == "" {
		a = nil
	}
	n := 0
	for n < len(a) && n < len(b)-1 && a[n] == b[n] {
		n++
	}
	return strings.Repeat("../", len(a)-n) + strings.Join(b[n:], "/")
}

// points reports whether the operation's link lies at its target, and whether anything does.
func (e *engine) points(o *op) (dir Dir, there, ours bool, err error) {
	dir, info, there, err := e.lies(o.To)
	if !there {
		return dir, false, false, err
	}
	if info.Type != organize.TypeLink {
		return dir, true, false, nil
	}
	text, err := dir.Readlink(o.To.Name)
	return dir, true, text == e.run.leads(o), err
}

// point makes the operation's link.
func (e *engine) point(o *op, from place) *Problem {
	_, f, err := e.find(o, from)
	if err != nil {
		return failed(err)
	}
	_, _, done, err := e.points(o)
	switch {
	case err != nil:
		return failed(err)
	case done:
		return nil
	case !f.same:
		return problem(Changed)
	}
	into, err := e.make(o.To.Dir)
	if err != nil {
		return failed(err)
	}
	err = into.Symlink(e.run.leads(o), o.To.Name)
	if errors.Is(err, syscall.EPERM) {
		return &Problem{Code: NotPermitted, Err: err}
	}
	if err != nil {
		if _, _, done, looked := e.points(o); looked != nil || !done {
			return failed(err)
		}
	}
	return nil
}

// unpoint takes the link away if it still leads where it did.
func (e *engine) unpoint(i int) *Problem {
	dir, there, ours, err := e.points(&e.run.Ops[i])
	switch {
	case err != nil:
		return failed(err)
	case !there:
		return nil
	case !ours:
		return e.strayed(i)
	}
	return remove(dir, e.run.Ops[i].To.Name)
}

// strayed says why a link that leads elsewhere now is not taken away. Where no link is, none of ours is left.
func (e *engine) strayed(i int) *Problem {
	_, info, err := e.look(e.run.Ops[i].To)
	if err == nil && info.Type == organize.TypeLink && e.journal.progress.file(i).notDone == "" {
		return problem(MovedOn)
	}
	return nil
}
