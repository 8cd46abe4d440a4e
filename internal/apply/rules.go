package apply

import "github.com/anivault/anivault/internal/organize"

// fileState says whether the file at a path is the run's own. Its values are bits, so a rule can accept several.
type fileState uint8

const (
	stateMissing  fileState = 1 << iota
	stateSame               // the run's file, unchanged
	stateEdited             // the run's file, changed by another program
	stateReturned           // a copy of the run's file, moved back from another file system
	stateUnproven           // a file like the run's copy, which no mark of the journal proves to be it
	stateOther              // another file

	stateOurs    = stateSame | stateEdited | stateReturned
	stateNotOurs = stateMissing | stateUnproven | stateOther
	stateAny     = stateOurs | stateNotOurs
)

type observation struct {
	state fileState
	dir   Dir // the folder that contains the place; nil if it does not exist
	info  Info
}

func (w *worker) observe(o *op, at place) (observation, error) {
	if w.preview != nil {
		if s, ok := w.preview.observe(o, at); ok {
			return s, nil
		}
	}
	dir, err := w.dirs.get(at.Dir)
	s := observation{state: stateMissing, dir: dir}
	if err == nil {
		s.info, err = dir.Lstat(at.Name)
	}
	if isMissing(err) || isNotFolder(err) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	info := s.info
	s.state = stateOther
	switch {
	case at != o.To || o.Verb == organize.VerbLink || o.Verb == organize.VerbMove && !o.CrossDevice:
		err = w.compareFile(o, at, &s)
	case o.copiesContent():
		s.state = w.compareCopy(o, info)
	case o.Verb == organize.VerbSymlink && info.Type == organize.TypeLink:
		var text string
		text, err = dir.Readlink(at.Name)
		if s.state = stateEdited; text == w.run.linkText(o) {
			s.state = stateSame
		}
	case o.Verb == organize.VerbNFO:
		s.state, err = w.compareNFO(o, dir, info)
	}
	if w.preview != nil && s.state == stateOther && w.preview.willBeGone(at, info) {
		s.state = stateMissing
	}
	return s, err
}

func (w *worker) compareFile(o *op, at place, s *observation) error {
	if s.info.Type != organize.TypeRegular {
		return nil
	}
	isSame := s.info.Size == o.Size && s.info.MTime == o.MTime
	if w.progress.UnstableInodes && o.EndsSum != 0 || o.Inode == 0 { // EndsSum is 0 if inodes are stable
		if !isSame {
			return nil // without stable inodes, an edited file looks like any other file
		}
		sum, err := hashEnds(s.dir, at.Name, s.info.Size)
		if err == nil && sum == o.EndsSum {
			s.state = stateSame
		}
		return err
	}
	returned := w.progress.files[o.Index].returnedCopy
	switch {
	case o.isInode(s.info):
		if s.state = stateEdited; isSame {
			s.state = stateSame
		}
	case returned != nil && returned.identifies(s.info, false):
		if s.state = stateEdited; returned.isUnchanged(s.info) {
			s.state = stateReturned
		}
	}
	return nil
}

func (w *worker) compareCopy(o *op, info Info) fileState {
	recorded := w.progress.files[o.Index].targetCopy
	switch {
	case recorded == nil && info.Type == organize.TypeRegular && info.Size == o.Size && info.MTime == o.MTime:
		return stateUnproven
	case recorded == nil || !recorded.identifies(info, w.progress.UnstableInodes):
		return stateOther
	case recorded.isUnchanged(info):
		return stateSame
	}
	return stateEdited
}

type opKind uint8

const (
	kindLink opKind = 1 << iota
	kindSymlink
	kindNFO
	kindCopy        // a copy or a reflink
	kindCrossDevice // a move to another file system
	kindMove        // a rename
	kindToTemp      // the first step of a move through a temporary name
	kindAny         = kindLink | kindSymlink | kindNFO | kindCopy | kindCrossDevice | kindMove | kindToTemp
)

// verbKinds are the kinds of steps, except to a temporary name or to another file system.
var verbKinds = [...]opKind{
	organize.VerbLink: kindLink, organize.VerbSymlink: kindSymlink, organize.VerbNFO: kindNFO,
	organize.VerbMove: kindMove, organize.VerbCopy: kindCopy, organize.VerbReflink: kindCopy,
}

func kindOf(o *op, stepKind organize.StepKind) opKind {
	switch {
	case stepKind == organize.StepToTemp:
		return kindToTemp
	case o.CrossDevice:
		return kindCrossDevice
	}
	return verbKinds[o.Verb]
}

type ruleAction uint8

const (
	actNone         ruleAction = iota // do nothing: the file is where it should be
	actRefuse                         // do nothing, and report the rule's code
	actLink                           // create a hard link
	actSymlink                        // create a symbolic link
	actWriteNFO                       // write an NFO file
	actCopy                           // copy to the target; a move then removes the source
	actRename                         // rename to the target, or back to the source
	actRemoveTarget                   // remove the name at the target
	actCopyBack                       // copy back to the source, and remove the file at the target
)

// rule says what to do with a file in one direction, given the states of its source and its target. The first rule that
// matches applies. A place is examined only if a rule needs its state.
type rule struct {
	kinds          opKind
	source, target fileState
	notDone        bool // matches only if the run did not carry out the operation
	finished       bool // matches only if the run had finished, so nothing has been undone yet
	journalDamaged bool // matches only if the journal has damaged marks, one of which may be the mark of the copy
	act            ruleAction
	code           organize.Code
}

var forwardRules = []rule{
	{kinds: kindLink, source: stateAny, target: stateAny, act: actLink}, // worker.link checks the new name itself
	{kinds: kindSymlink | kindNFO, source: stateAny, target: stateSame, act: actNone},
	{kinds: kindSymlink, source: stateSame, target: stateAny, act: actSymlink},
	{kinds: kindNFO, source: stateAny, target: stateAny, act: actWriteNFO},
	{
		kinds: kindCopy | kindCrossDevice, source: stateAny, target: stateUnproven, journalDamaged: true,
		act: actRefuse, code: CodeUnprovenCopy,
	},
	{kinds: kindCopy | kindCrossDevice, source: stateSame | stateReturned, target: stateAny, act: actCopy},
	{kinds: kindCrossDevice, source: stateEdited, target: stateSame, act: actCopy}, // refuses it
	{kinds: kindMove | kindToTemp, source: stateSame | stateReturned, target: stateAny, act: actRename},
	{kinds: kindCopy | kindCrossDevice | kindMove | kindToTemp, source: stateAny, target: stateOurs, act: actNone},
	{kinds: kindAny, source: stateAny, target: stateAny, act: actRefuse, code: CodeChanged},
}

var backwardRules = []rule{
	// If there is a link, another program has made it.
	{kinds: kindLink | kindSymlink, source: stateAny, target: stateAny, notDone: true, act: actNone},
	{kinds: kindLink, source: stateAny, target: stateMissing, finished: true, act: actRefuse, code: CodeTargetGone},
	{kinds: kindLink, source: stateAny, target: stateMissing, act: actNone},
	{kinds: kindLink, source: stateOurs, target: stateOurs, act: actRemoveTarget},
	{kinds: kindLink, source: stateNotOurs, target: stateOurs, act: actRefuse, code: CodeOriginalGone},
	{kinds: kindLink, source: stateOurs, target: stateNotOurs, finished: true, act: actRefuse, code: CodeTargetReplaced},
	{kinds: kindLink, source: stateOurs, target: stateNotOurs, act: actNone}, // the original still exists
	{kinds: kindLink, source: stateNotOurs, target: stateNotOurs, act: actRefuse, code: CodeMovedAway},

	{kinds: kindSymlink | kindNFO, source: stateAny, target: stateSame, act: actRemoveTarget},
	{kinds: kindNFO, source: stateAny, target: stateAny, notDone: true, act: actNone},
	{kinds: kindSymlink, source: stateAny, target: stateEdited, act: actRefuse, code: CodeMovedAway},
	{
		kinds: kindSymlink | kindNFO, source: stateAny, target: stateMissing, finished: true,
		act: actRefuse, code: CodeTargetGone,
	},
	{kinds: kindNFO, source: stateAny, target: stateMissing, act: actNone},
	{kinds: kindSymlink, source: stateAny, target: stateNotOurs, finished: true, act: actRefuse, code: CodeTargetReplaced},
	{kinds: kindSymlink, source: stateAny, target: stateNotOurs, act: actNone}, // the run's link is gone
	{kinds: kindNFO, source: stateAny, target: stateEdited, act: actRefuse, code: CodeEdited},
	{kinds: kindNFO, source: stateAny, target: stateNotOurs, act: actRefuse, code: CodeMovedAway},

	{kinds: kindCrossDevice, source: stateReturned, target: stateOurs, act: actRemoveTarget},
	{kinds: kindCopy | kindCrossDevice, source: stateOurs, target: stateEdited, act: actRefuse, code: CodeEdited},
	{kinds: kindCopy | kindCrossDevice, source: stateEdited, target: stateSame, act: actRefuse, code: codeOriginalEdited},
	{kinds: kindCopy | kindCrossDevice, source: stateSame, target: stateSame, act: actRemoveTarget},
	{kinds: kindCopy, source: stateNotOurs, target: stateOurs, act: actRefuse, code: CodeOriginalGone},
	{kinds: kindCrossDevice, source: stateMissing, target: stateOurs, act: actCopyBack}, // even if edited
	{kinds: kindCrossDevice, source: stateNotOurs, target: stateOurs, act: actRefuse, code: CodeOldNameTaken},
	{kinds: kindCopy | kindCrossDevice, source: stateAny, target: stateNotOurs, notDone: true, act: actNone},
	{kinds: kindCopy | kindCrossDevice, source: stateAny, target: stateUnproven, act: actRefuse, code: CodeUnprovenCopy},
	{kinds: kindCopy, source: stateAny, target: stateMissing, finished: true, act: actRefuse, code: CodeTargetGone},
	{kinds: kindCopy, source: stateOurs, target: stateNotOurs, finished: true, act: actRefuse, code: CodeTargetReplaced},
	{kinds: kindCopy | kindCrossDevice, source: stateOurs, target: stateNotOurs, act: actNone},
	{kinds: kindCopy, source: stateAny, target: stateMissing, act: actNone},

	{kinds: kindMove | kindToTemp, source: stateAny, target: stateOurs, act: actRename}, // even if edited
	{kinds: kindMove, source: stateOurs, target: stateNotOurs, finished: true, act: actRefuse, code: CodeMovedAway},
	{kinds: kindMove | kindToTemp, source: stateOurs, target: stateNotOurs, act: actNone},
	{kinds: kindMove, source: stateAny, target: stateNotOurs, notDone: true, act: actNone},
	{kinds: kindToTemp, source: stateAny, target: stateNotOurs, act: actNone}, // the second step has reported it
	{kinds: kindAny, source: stateAny, target: stateAny, act: actRefuse, code: CodeMovedAway},
}

// lazyObservation examines a place when a rule needs its state, and takes the next one if the file is not there.
type lazyObservation struct {
	observation
	places     []place
	isObserved bool
}

func (g *lazyObservation) hasState(w *worker, o *op, wanted fileState) (bool, error) {
	if wanted == stateAny {
		return true, nil
	}
	if !g.isObserved {
		for i, at := range g.places {
			s, err := w.observe(o, at)
			if err != nil {
				return false, err
			}
			if i == 0 || s.state&stateOurs != 0 {
				g.observation = s
			}
			if s.state&stateOurs != 0 {
				break
			}
		}
		g.isObserved = true
	}
	return g.state&wanted != 0, nil
}

func (w *worker) chooseRule(s step, undoing bool) (chosen rule, source, target lazyObservation, _ error) {
	o := &w.run.Ops[s.Op]
	from, to := w.run.stepPlaces(s)
	source, target = lazyObservation{places: []place{from}}, lazyObservation{places: []place{to}}
	rules := forwardRules
	switch {
	case undoing:
		rules = backwardRules
		if from != o.From {
			source.places = append(source.places, o.From)
		}
	case to != o.To:
		target.places = append(target.places, o.To)
	}
	kind, code := kindOf(o, s.Kind), w.progress.files[s.Op].notDone
	notDone := code != "" && code != CodeUnprovenCopy // an unproven copy may be the run's
	for _, r := range rules {
		if r.kinds&kind == 0 || r.notDone && !notDone || r.finished && (notDone || !w.runFinished) ||
			r.journalDamaged && w.progress.damagedMarks == 0 {
			continue
		}
		fits, err := source.hasState(w, o, r.source)
		if fits {
			fits, err = target.hasState(w, o, r.target)
		}
		if fits || err != nil {
			return r, source, target, err
		}
	}
	return rule{act: actNone}, source, target, nil
}

// runStep carries out a step, or undoes it. With a preview it only simulates that.
func (w *worker) runStep(s step, undoing bool) *Problem {
	o := &w.run.Ops[s.Op]
	from, to := w.run.stepPlaces(s)
	if p := w.removeOldCopies(o, s, undoing); p != nil {
		return p
	}
	r, source, target, err := w.chooseRule(s, undoing)
	switch {
	case err != nil:
		return asProblem(err)
	case r.code == codeOriginalEdited:
		return &Problem{Code: CodeEdited, Err: errOriginalEdited}
	case r.act == actRefuse:
		return newProblem(r.code)
	case w.preview != nil:
		return w.preview.simulate(s.Op, r.act, from, to, target.info)
	}
	switch r.act {
	case actLink:
		return w.link(o, from, to)
	case actSymlink:
		return w.symlink(o)
	case actWriteNFO:
		return w.writeNFO(o)
	case actCopy:
		return w.copyToTarget(o, source, from, to)
	case actRename:
		if undoing {
			return w.renameBack(o, target, from, to)
		}
		into, err := w.dirs.openOrCreate(to.Dir)
		if err != nil {
			return asProblem(err)
		}
		return w.rename(o, source.dir, from, into, to, true)
	case actRemoveTarget:
		return w.removeTarget(o, source, target, from, to)
	case actCopyBack:
		return w.copyBack(o, target, from, to)
	case actNone:
		if !undoing && (o.Verb == organize.VerbLink || o.Verb == organize.VerbSymlink) {
			return w.keepIfMadeByOthers(o)
		}
	case actRefuse:
	}
	if undoing && o.copiesContent() && s.Kind != organize.StepToTemp {
		return w.removeUnfinished(s.Op, from, true)
	}
	return nil
}

// removeOldCopies removes unfinished copies that an interrupted run or undo of the step may have left.
func (w *worker) removeOldCopies(o *op, s step, undoing bool) *Problem {
	from, to := w.run.stepPlaces(s)
	switch {
	case o.CrossDevice && !undoing && w.progress.CannotMoveBack:
		return newProblem(CodeNoExclusiveRename)
	case w.preview != nil || s.Kind == organize.StepToTemp:
		return nil
	case o.Verb == organize.VerbNFO || o.copiesContent() && undoing:
		return w.removeUnfinished(s.Op, to, false)
	case o.copiesContent(), o.Verb == organize.VerbMove && !undoing && !w.firstTime:
		return w.removeUnfinished(s.Op, from, true)
	}
	return nil
}
