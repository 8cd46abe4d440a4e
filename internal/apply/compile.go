package apply

import (
	"path"

	"github.com/anivault/anivault/internal/organize"
)

// spread refuses with a file all of its bundle.
func (c *check) spread() {
	bad := map[int]bool{}
	for i := range c.items {
		if c.items[i].problem != nil && !c.items[i].problem.isLeft() {
			bad[c.items[i].op.Bundle] = true
		}
	}
	for i := range c.items {
		if c.items[i].problem == nil && bad[c.items[i].op.Bundle] {
			c.items[i].problem = problem(WithAnother)
		}
	}
}

// refuse completes the results and reports whether anything can't be carried out.
func (c *check) refuse() bool {
	any := false
	for i := range c.items {
		r := &c.items[i].result
		switch {
		case c.items[i].problem != nil && c.items[i].problem.isLeft():
			r.Status, r.Problem = StatusLeft, c.items[i].problem
		case c.items[i].problem != nil:
			r.Status, r.Problem, any = StatusRefused, c.items[i].problem, true
		case c.items[i].inPlace:
			r.Status = StatusInPlace
		default:
			r.Status = StatusPlanned
		}
	}
	return any
}

// compile puts what can be carried out in order.
func (c *check) compile() {
	temps := 0
	aside := map[int]int{}
	steps := organize.Order(c.plan)
	c.run.Ops, c.run.Steps = make([]op, 0, len(c.items)), make([]step, 0, len(steps))
	for _, s := range steps {
		i := c.first[s.Unit] + s.Op
		temps = max(temps, s.Temp)
		if s.Leg != organize.Whole && c.items[i].problem == nil {
			c.items[i].op.Temp = s.Temp
		}
	}
	for _, s := range steps {
		i := c.first[s.Unit] + s.Op
		if c.items[i].problem != nil || c.items[i].inPlace {
			continue
		}
		if s.Leg == organize.Aside {
			aside[i] = len(c.run.Steps)
			c.run.Steps = append(c.run.Steps, step{i, organize.Aside})
			continue
		}
		if c.items[i].op.Temp < 0 {
			temps++
			c.items[i].op.Temp = temps
			aside[i] = len(c.run.Steps)
			c.run.Steps = append(c.run.Steps, step{i, organize.Aside})
			s.Leg = organize.Home
		}
		index := len(c.run.Ops)
		c.items[i].op.Index = index
		c.run.Ops = append(c.run.Ops, c.items[i].op)
		if first, two := aside[i]; two {
			c.run.Steps[first].Op = index
		}
		c.run.Steps = append(c.run.Steps, step{index, s.Leg})
	}
	c.leaves()
}

// leaves marks the folders that go away when the moves have emptied them: those below a source root that hold no root.
func (c *check) leaves() {
	holds := make([]bool, len(c.run.Dirs))
	below := make([]bool, len(c.run.Dirs))
	for i := range c.run.Dirs {
		d := &c.run.Dirs[i]
		if d.Parent >= 0 {
			below[i] = below[d.Parent]
			continue
		}
		for _, s := range c.plan.Sources {
			below[i] = below[i] || organize.IsBelow(d.Name, s.Path)
		}
		for name := path.Dir(d.Name); len(name) > 1; name = path.Dir(name) {
			if above, known := c.dirs[name]; known {
				holds[above] = true
			}
		}
	}
	for i := range c.run.Ops {
		o := &c.run.Ops[i]
		if o.Verb != organize.Move {
			continue
		}
		for at := o.From.Dir; at >= 0; at = c.run.Dirs[at].Parent {
			d := &c.run.Dirs[at]
			d.Removable = d.Parent >= 0 && !d.New && below[at] && !holds[at]
		}
	}
}
