package apply

import "github.com/anivault/anivault/internal/organize"

// fileState is what a worker finds at a place, compared with the file that the run knows. The values are bits, so a
// rule can accept several.
type fileState uint8

const (
	nothing  fileState = 1 << iota
	same               // the run's file, unchanged
	edited             // the run's file, changed since
	returned           // the run's file, copied back from another file system
	alike              // looks like the run's copy, but the journal has no mark that proves it
	other              // another file

	ours     = same | edited | returned
	notOurs  = nothing | alike | other
	anything = ours | notOurs
)

type observation struct {
	what fileState
	dir  Dir // the folder; nil if it does not exist
	info Info
}

func (w *worker) see(o *op, at place) (observation, error) {
	if w.preview != nil {
		if s, known := w.preview.see(o, at); known {
			return s, nil
		}
	}
	dir, err := w.dirs.get(at.Dir)
	s := observation{what: nothing, dir: dir}
	if err == nil {
		s.info, err = dir.Lstat(at.Name)
	}
	if isMissing(err) || isElse(err) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	info := s.info
	s.what = other
	switch {
	case at != o.To || o.Verb == organize.Link || o.Verb == organize.Move && !o.Across:
		err = w.compare(o, at, &s)
	case o.copies():
		s.what = w.compareCopy(o, info)
	case o.Verb == organize.Symlink && info.Type == organize.TypeLink:
		var text string
		text, err = dir.Readlink(at.Name)
		if s.what = edited; text == w.run.linkText(o) {
			s.what = same
		}
	case o.Verb == organize.NFO:
		s.what, err = w.compareNote(o, dir, info)
	}
	if w.preview != nil && s.what == other && w.preview.goes(at, info) {
		s.what = nothing
	}
	return s, err
}

func (w *worker) compare(o *op, at place, s *observation) error {
	if s.info.Type != organize.TypeRegular {
		return nil
	}
	marks := &w.journal.progress
	isSame := s.info.Size == o.Size && s.info.MTime == o.MTime
	if marks.UnstableInodes && o.Sum != 0 || o.Inode == 0 { // without a sum, the file system keeps inodes
		if !isSame {
			return nil // without inodes, an edited file can't be told from another one
		}
		sum, err := ends(s.dir, at.Name, s.info.Size)
		if err == nil && sum == o.Sum {
			s.what = same
		}
		return err
	}
	back := marks.files[o.Index].returned
	switch {
	case s.info.Inode == o.Inode && s.info.Birth == o.Birth:
		if s.what = edited; isSame {
			s.what = same
		}
	case back != nil && back.is(s.info, false):
		if s.what = edited; back.matches(s.info) {
			s.what = returned
		}
	}
	return nil
}

func (w *worker) compareCopy(o *op, info Info) fileState {
	known := w.journal.progress.files[o.Index].copy
	switch {
	case known == nil && info.Type == organize.TypeRegular && info.Size == o.Size && info.MTime == o.MTime:
		return alike
	case known == nil || !known.is(info, w.journal.progress.UnstableInodes):
		return other
	case known.matches(info):
		return same
	}
	return edited
}

type kind uint8

const (
	kindLink kind = 1 << iota
	kindSymlink
	kindNFO
	kindCopy   // a copy or a clone
	kindAcross // a move to another file system
	kindMove   // a rename
	kindAside  // the first step of a move through a temporary name
	kindAny    = kindLink | kindSymlink | kindNFO | kindCopy | kindAcross | kindMove | kindAside
)

func kindOf(o *op, leg organize.Leg) kind {
	switch {
	case leg == organize.Aside:
		return kindAside
	case o.Across:
		return kindAcross
	case o.Verb == organize.Move:
		return kindMove
	case o.Verb == organize.Link:
		return kindLink
	case o.Verb == organize.Symlink:
		return kindSymlink
	case o.Verb == organize.NFO:
		return kindNFO
	}
	return kindCopy
}

type act uint8

const (
	actStay    act = iota // nothing: the file is where it should be
	actRefuse             // nothing, because of the rule's code
	actLink               // create a hard link
	actSymlink            // create a symbolic link
	actWrite              // write an NFO file
	actCopyTo             // copy to the target; a move then removes the source
	actRename             // rename to the target, or back to the source
	actUnlink             // remove the name at the target
	actFetch              // copy back to the source, and remove the file at the target
)

// rule says what to do with a file in one direction, given what is at its source and at its target. The first rule that
// matches applies. The engine looks at a place only if a rule asks about it.
type rule struct {
	kinds          kind
	source, target fileState
	never          bool // matches only a file that the run did not carry out
	ended          bool // matches only if the run had finished, so the undo has not removed anything yet
	damaged        bool // matches only if a mark of the journal is damaged: it may have been the copy's mark
	act            act
	code           organize.Code
}

var forwardRules = []rule{
	{kinds: kindLink, source: anything, target: anything, act: actLink}, // worker.link checks the new name itself
	{kinds: kindSymlink | kindNFO, source: anything, target: same, act: actStay},
	{kinds: kindSymlink, source: same, target: anything, act: actSymlink},
	{kinds: kindNFO, source: anything, target: anything, act: actWrite},
	{kinds: kindCopy | kindAcross, source: anything, target: alike, damaged: true, act: actRefuse, code: Unproven},
	{kinds: kindCopy | kindAcross, source: same | returned, target: anything, act: actCopyTo},
	{kinds: kindMove | kindAside, source: same | returned, target: anything, act: actRename},
	{kinds: kindCopy | kindAcross | kindMove | kindAside, source: anything, target: ours, act: actStay},
	{kinds: kindAny, source: anything, target: anything, act: actRefuse, code: Changed},
}

var backRules = []rule{
	{kinds: kindLink, source: anything, target: nothing, ended: true, act: actRefuse, code: Gone},
	{kinds: kindLink, source: anything, target: nothing, act: actStay},
	{kinds: kindLink, source: ours, target: ours, act: actUnlink},
	{kinds: kindLink, source: notOurs, target: ours, act: actRefuse, code: OriginalGone},
	{kinds: kindLink, source: ours, target: notOurs, ended: true, act: actRefuse, code: Replaced},
	{kinds: kindLink, source: ours, target: notOurs, act: actStay}, // everything that was there before still is
	{kinds: kindLink, source: notOurs, target: notOurs, act: actRefuse, code: MovedOn},

	{kinds: kindSymlink | kindNFO, source: anything, target: same, act: actUnlink},
	{kinds: kindSymlink | kindNFO, source: anything, target: anything, never: true, act: actStay},
	{kinds: kindSymlink, source: anything, target: edited, act: actRefuse, code: MovedOn},
	{kinds: kindSymlink, source: anything, target: notOurs, act: actStay}, // nothing of the run's is left
	{kinds: kindNFO, source: anything, target: nothing, act: actStay},
	{kinds: kindNFO, source: anything, target: edited, act: actRefuse, code: Edited},
	{kinds: kindNFO, source: anything, target: notOurs, act: actRefuse, code: MovedOn},

	{kinds: kindAcross, source: returned, target: ours, act: actUnlink},
	{kinds: kindCopy | kindAcross, source: ours, target: edited, act: actRefuse, code: Edited},
	{kinds: kindCopy | kindAcross, source: edited, target: same, act: actRefuse, code: originalEdited},
	{kinds: kindCopy | kindAcross, source: same, target: same, act: actUnlink},
	{kinds: kindCopy, source: notOurs, target: ours, act: actRefuse, code: OriginalGone},
	{kinds: kindAcross, source: nothing, target: ours, act: actFetch}, // edited or not
	{kinds: kindAcross, source: notOurs, target: ours, act: actRefuse, code: Occupied},
	{kinds: kindCopy | kindAcross, source: anything, target: notOurs, never: true, act: actStay},
	{kinds: kindCopy | kindAcross, source: anything, target: alike, act: actRefuse, code: Unproven},
	{kinds: kindCopy, source: anything, target: nothing, ended: true, act: actRefuse, code: Gone},
	{kinds: kindCopy, source: ours, target: notOurs, ended: true, act: actRefuse, code: Replaced},
	{kinds: kindCopy | kindAcross, source: ours, target: notOurs, act: actStay},
	{kinds: kindCopy, source: anything, target: nothing, act: actStay},

	{kinds: kindMove | kindAside, source: anything, target: ours, act: actRename}, // edited or not
	{kinds: kindMove | kindAside, source: ours, target: notOurs, act: actStay},
	{kinds: kindMove, source: anything, target: notOurs, never: true, act: actStay},
	{kinds: kindAside, source: anything, target: notOurs, act: actStay}, // the second step has reported where it stays
	{kinds: kindAny, source: anything, target: anything, act: actRefuse, code: MovedOn},
}

type lazyObservation struct {
	observation
	places []place
	done   bool
}

func (g *lazyObservation) is(w *worker, o *op, wanted fileState) (bool, error) {
	if wanted == anything {
		return true, nil
	}
	if !g.done {
		for i, at := range g.places {
			s, err := w.see(o, at)
			if err != nil {
				return false, err
			}
			if i == 0 || s.what&ours != 0 {
				g.observation = s
			}
			if s.what&ours != 0 {
				break
			}
		}
		g.done = true
	}
	return g.what&wanted != 0, nil
}

func (w *worker) choose(s step, back bool) (chosen rule, source, target lazyObservation, _ error) {
	o := &w.run.Ops[s.Op]
	from, to := w.run.ends(s)
	source, target = lazyObservation{places: []place{from}}, lazyObservation{places: []place{to}}
	rules := forwardRules
	switch {
	case back:
		rules = backRules
		if from != o.From {
			source.places = append(source.places, o.From)
		}
	case to != o.To:
		target.places = append(target.places, o.To)
	}
	why := w.journal.progress.files[s.Op].notDone
	k, never := kindOf(o, s.Leg), why != "" && why != Unproven // an unproven file may be the run's
	for _, r := range rules {
		if r.kinds&k == 0 || r.never && !never || r.ended && (never || !w.ended) ||
			r.damaged && w.journal.progress.damaged == 0 {
			continue
		}
		if fits, err := source.is(w, o, r.source); err != nil {
			return r, source, target, err
		} else if !fits {
			continue
		}
		if fits, err := target.is(w, o, r.target); err != nil || fits {
			return r, source, target, err
		}
	}
	return rule{act: actStay}, source, target, nil
}

func (w *worker) take(s step, back bool) *Problem {
	o := &w.run.Ops[s.Op]
	from, to := w.run.ends(s)
	if p := w.clean(o, s, back); p != nil {
		return p
	}
	r, source, target, err := w.choose(s, back)
	switch {
	case err != nil:
		return failed(err)
	case r.code == originalEdited:
		return &Problem{Code: Edited, Err: errOriginalEdited}
	case r.act == actRefuse:
		return problem(r.code)
	case w.preview != nil:
		return w.preview.take(s.Op, r.act, from, to, target.info)
	}
	switch r.act {
	case actLink:
		return w.link(o, from, to)
	case actSymlink:
		return w.symlink(o)
	case actWrite:
		return w.write(o)
	case actCopyTo:
		return w.copyTo(o, source, from, to)
	case actRename:
		if back {
			return w.renameBack(o, target.dir, from, to)
		}
		into, err := w.dirs.make(to.Dir)
		if err != nil {
			return failed(err)
		}
		return w.rename(o, source.dir, from, into, to, true)
	case actUnlink:
		return w.unlink(o, source, target, from, to)
	case actFetch:
		return w.fetch(o, target, from, to)
	case actStay, actRefuse:
	}
	if back && o.copies() && s.Leg != organize.Aside {
		return w.discard(s.Op, from, true)
	}
	return nil
}

func (w *worker) clean(o *op, s step, back bool) *Problem {
	from, to := w.run.ends(s)
	switch {
	case o.Across && !back && w.journal.progress.OneWay:
		return problem(NoExclusive)
	case w.preview != nil || s.Leg == organize.Aside:
		return nil
	case o.Verb == organize.NFO || o.copies() && back:
		return w.discard(s.Op, to, false)
	case o.copies():
		return w.discard(s.Op, from, true)
	}
	return nil
}
