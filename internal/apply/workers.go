package apply

import (
	"sync"

	"github.com/anivault/anivault/internal/organize"
)

// fewest is how many steps a worker has at least: fewer take no longer one after the other.
const fewest = 64

func workersFor(workers, steps int) int { return max(1, min(workers, steps/fewest)) }

func split(n, parts int) [][2]int {
	parts = workersFor(parts, n)
	out := make([][2]int, parts)
	for i := range out {
		out[i] = [2]int{n * i / parts, n * (i + 1) / parts}
	}
	return out
}

// parallel does something with all parts at the same time, and returns when all have ended. A panic in one is then that
// of the caller.
func parallel(parts [][2]int, do func(part, first, end int)) {
	if len(parts) == 1 {
		do(0, parts[0][0], parts[0][1])
		return
	}
	var wg sync.WaitGroup
	panics := make([]any, len(parts))
	for i, part := range parts {
		wg.Go(func() {
			defer func() { panics[i] = recover() }()
			do(i, part[0], part[1])
		})
	}
	wg.Wait()
	for _, p := range panics {
		if p != nil {
			panic(p)
		}
	}
}

func (x *execution) inParallel(do func(w *worker, first, end int)) {
	parts := x.w.run.parts(workersFor(x.workers, len(x.w.run.Steps)))
	if len(parts) < 2 {
		do(&x.w, 0, len(x.w.run.Steps))
		return
	}
	parallel(parts, func(_, first, end int) {
		w := x.w
		w.dirs.open = map[int]Dir{}
		defer w.dirs.close()
		do(&w, first, end)
	})
}

// parts divides the steps into at most n parts of which none needs what another does; nil where they can't be: names
// that one file leaves and another takes, copies, and files that are written are in their order.
func (r *run) parts(n int) [][2]int {
	if n < 2 || !r.independent() {
		return nil
	}
	var out [][2]int
	for first := 0; first < len(r.Steps); {
		end := max(len(r.Steps)*(len(out)+1)/n, first+1)
		for end < len(r.Steps) && r.bundleAt(end) == r.bundleAt(end-1) {
			end++
		}
		out = append(out, [2]int{first, end})
		first = end
	}
	return out
}

func (r *run) bundleAt(step int) int { return r.Ops[r.Steps[step].Op].Bundle }

func (r *run) independent() bool {
	ended := map[int]bool{}
	moves := false
	for i, s := range r.Steps {
		o := &r.Ops[s.Op]
		moves = moves || o.Verb == organize.Move
		if o.Verb != organize.Link && o.Verb != organize.Move || o.Across || o.Temp != 0 || ended[o.Bundle] {
			return false
		}
		if i+1 < len(r.Steps) && r.bundleAt(i+1) != o.Bundle {
			ended[o.Bundle] = true
		}
	}
	return !moves || organize.Apart(r.Sources, r.Targets)
}
