package organize

import (
	"path"
	"strconv"
)

// StepKind says whether a step is a whole operation or one half of it.
type StepKind uint8

// The kinds of steps.
const (
	StepDirect   StepKind = iota // from source to target
	StepToTemp                   // from a move's source to a temporary name in its folder, to free its name
	StepFromTemp                 // from the temporary name to the target
)

// Step is one operation, or half of one. Steps are listed in the order of execution.
type Step struct {
	Unit, Op   int // indexes in the plan and the unit
	Kind       StepKind
	TempNumber int // the number of the temporary name, from 1; 0 with StepDirect
}

// TempName returns the nth temporary name of a plan.
func TempName(id string, n int) string { return ".anivault-" + id + "-" + strconv.Itoa(n) }

// RootsDisjoint reports whether no source root contains or equals a target root, or the reverse, ignoring case. If so,
// no move frees a name that the plan needs.
func RootsDisjoint(sources, targets []Root) bool {
	for _, s := range sources {
		for _, t := range targets {
			a, b := FoldName(s.Path), FoldName(t.Path)
			if IsBelow(a, b) || IsBelow(b, a) {
				return false
			}
		}
	}
	return true
}

// OrderSteps returns the steps of a plan in an order in which each target is free when its turn comes. A target that
// another move frees waits for that move. In a cycle of moves, one of them goes through a temporary name. Apart from
// that, the plan's order is kept.
func OrderSteps(p *Plan) []Step {
	o := orderer{plan: p, movesByFreedPath: movesByFreedPath(p), states: make([][]opState, len(p.Units))}
	for u := range p.Units {
		o.states[u] = make([]opState, len(p.Units[u].Ops))
	}
	o.steps = make([]Step, 0, len(p.Units))
	for u := range p.Units {
		for i := range p.Units[u].Ops {
			o.addSteps(opIndex{u, i})
		}
	}
	return o.steps
}

type opIndex struct{ unit, op int }

// movesByFreedPath returns the moves by the path that they free, after FoldName. It is empty if the roots are disjoint,
// because then no other file needs these paths.
func movesByFreedPath(p *Plan) map[string][]opIndex {
	out := map[string][]opIndex{}
	if RootsDisjoint(p.Sources, p.Targets) {
		return out
	}
	for u := range p.Units {
		for i := range p.Units[u].Ops {
			if op := &p.Units[u].Ops[i]; op.Verb == VerbMove {
				key := FoldName(p.SourcePath(&p.Units[u], op))
				out[key] = append(out[key], opIndex{u, i})
			}
		}
	}
	return out
}

type opState struct {
	started bool
	done    bool
	temp    int // the number of the source's temporary name; 0 for none
}

type orderer struct {
	plan             *Plan
	movesByFreedPath map[string][]opIndex // the moves that free each path; keys are results of FoldName
	states           [][]opState
	steps            []Step
	tempCount        int
}

// addSteps adds the step of an operation, after those of the moves that it has to wait for.
func (o *orderer) addSteps(at opIndex) {
	state := &o.states[at.unit][at.op]
	if state.started {
		return
	}
	state.started = true
	unit := &o.plan.Units[at.unit]
	if len(o.movesByFreedPath) > 0 {
		to := FoldName(o.plan.TargetPath(unit, &unit.Ops[at.op]))
		o.waitFor(at, to)
		for folder := path.Dir(to); len(folder) > 1 && folder != path.Dir(folder); folder = path.Dir(folder) {
			o.waitFor(at, folder) // a file may occupy the name of a target's folder
		}
	}
	step := Step{Unit: at.unit, Op: at.op}
	if state.temp > 0 {
		step.Kind, step.TempNumber = StepFromTemp, state.temp
	}
	o.steps = append(o.steps, step)
	state.done = true
}

func (o *orderer) waitFor(at opIndex, name string) {
	for _, holder := range o.movesByFreedPath[name] {
		if holder == at {
			continue // the move only changes the case or normalization of the name
		}
		switch state := &o.states[holder.unit][holder.op]; {
		case !state.started:
			o.addSteps(holder)
		case !state.done && state.temp == 0:
			o.tempCount++
			state.temp = o.tempCount
			o.steps = append(o.steps, Step{Unit: holder.unit, Op: holder.op, Kind: StepToTemp, TempNumber: o.tempCount})
		}
	}
}

// Bundles returns, for each unit, the index of the first unit in its bundle. A bundle is carried out, and undone, as a
// whole. Two units are in one bundle if one needs a name that the other frees.
func Bundles(p *Plan) []int {
	parent, frees := make([]int, len(p.Units)), movesByFreedPath(p)
	for u := range p.Units {
		parent[u] = u
	}
	find := func(u int) int {
		for parent[u] != u {
			parent[u] = parent[parent[u]]
			u = parent[u]
		}
		return u
	}
	for u := 0; u < len(p.Units) && len(frees) > 0; u++ {
		for i := range p.Units[u].Ops {
			for name := FoldName(p.TargetPath(&p.Units[u], &p.Units[u].Ops[i])); len(name) > 1 &&
				name != path.Dir(name); name = path.Dir(name) {
				for _, holder := range frees[name] {
					a, b := find(u), find(holder.unit)
					parent[max(a, b)] = min(a, b)
				}
			}
		}
	}
	for u := range parent {
		parent[u] = find(u)
	}
	return parent
}
