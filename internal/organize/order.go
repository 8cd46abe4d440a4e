package organize

import (
	"path"
	"strconv"
)

// Leg says which part of an operation a step is.
type Leg uint8

// The legs of an operation.
const (
	Whole Leg = iota // from source to target
	Aside            // a move's source goes to a temporary name in its folder, to free its name
	Home             // from the temporary name to the target
)

// Step is one operation, or half of one, in the order of execution.
type Step struct {
	Unit, Op int // of the plan
	Leg      Leg
	Temp     int // with Aside and Home: the number of the temporary name, from 1
}

// TempName returns the plan's nth temporary name.
func TempName(id string, n int) string { return ".anivault-" + id + "-" + strconv.Itoa(n) }

// Separate reports whether no source root contains or equals a target root, or the reverse, ignoring case. Then no move
// frees a name that the plan needs.
func Separate(sources, targets []Root) bool {
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

// Order returns the steps of a plan in an order in which each target is free. A target that a move frees waits for that
// move, and a cycle of moves goes through a temporary name. Otherwise the plan's order is kept.
func Order(p *Plan) []Step {
	o := orderer{plan: p, frees: frees(p), states: make([][]opState, len(p.Units))}
	for u := range p.Units {
		o.states[u] = make([]opState, len(p.Units[u].Ops))
	}
	o.steps = make([]Step, 0, len(p.Units))
	for u := range p.Units {
		for i := range p.Units[u].Ops {
			o.emit(place{u, i})
		}
	}
	return o.steps
}

type place struct{ unit, op int }

// frees returns the moves by the folded path that they free. It is empty if no other file can need these paths.
func frees(p *Plan) map[string][]place {
	out := map[string][]place{}
	if Separate(p.Sources, p.Targets) {
		return out
	}
	for u := range p.Units {
		for i := range p.Units[u].Ops {
			if op := &p.Units[u].Ops[i]; op.Verb == Move {
				key := FoldName(p.SourcePath(&p.Units[u], op))
				out[key] = append(out[key], place{u, i})
			}
		}
	}
	return out
}

type opState struct {
	begun bool
	done  bool
	temp  int // the number of the source's temporary name; 0: none
}

type orderer struct {
	plan   *Plan
	frees  map[string][]place // by folded path: the moves that free it
	states [][]opState
	steps  []Step
	temps  int
}

func (o *orderer) emit(at place) {
	state := &o.states[at.unit][at.op]
	if state.begun {
		return
	}
	state.begun = true
	unit := &o.plan.Units[at.unit]
	if len(o.frees) > 0 {
		to := FoldName(o.plan.TargetPath(unit, &unit.Ops[at.op]))
		o.await(at, to)
		for folder := path.Dir(to); len(folder) > 1 && folder != path.Dir(folder); folder = path.Dir(folder) {
			o.await(at, folder) // a file whose name is needed for a folder
		}
	}
	step := Step{Unit: at.unit, Op: at.op}
	if state.temp > 0 {
		step.Leg, step.Temp = Home, state.temp
	}
	o.steps = append(o.steps, step)
	state.done = true
}

func (o *orderer) await(at place, name string) {
	for _, holder := range o.frees[name] {
		if holder == at {
			continue // it only changes the case or normalization of its own name
		}
		state := &o.states[holder.unit][holder.op]
		if !state.begun {
			o.emit(holder)
			continue
		}
		if !state.done && state.temp == 0 {
			o.temps++
			state.temp = o.temps
			o.steps = append(o.steps, Step{Unit: holder.unit, Op: holder.op, Leg: Aside, Temp: o.temps})
		}
	}
}

// Bundles returns for each unit the first unit of its bundle. Two units are in one bundle if one needs a name that the
// other frees; a bundle is carried out, and undone, as a whole.
func Bundles(p *Plan) []int {
	parent := make([]int, len(p.Units))
	frees := frees(p)
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
	for u := range p.Units {
		for i := range p.Units[u].Ops {
			if len(frees) == 0 {
				break
			}
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
