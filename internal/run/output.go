package run

import (
	"sync"

	"github.com/anivault/anivault/internal/run/results"
)

// portion is a part of the output: lines that are being decided, or records that are replayed.
type portion struct {
	lines []*Line
	told  *results.Records
}

// spare are blocks of memory for the records of remembered directories, used again once they are written.
type spare struct{ pool sync.Pool }

func (s *spare) get() *results.Records {
	if r, ok := s.pool.Get().(*results.Records); ok {
		return r
	}
	return new(results.Records)
}

func (s *spare) put(r *results.Records) { s.pool.Put(r) }

// write emits what comes out, in order, until the channel is closed. After an error nothing more is emitted.
func (p *pipeline) write(out <-chan portion, emit func(*Line) error, written func(lines int), cancel func()) error {
	var failed error
	fail := func(err error) {
		if failed == nil && err != nil {
			failed = err
			cancel()
		}
	}
	rest := func() {
		if failed == nil && p.pause != nil {
			fail(p.pause())
		}
	}
	for {
		var next portion
		var ok bool
		select {
		case next, ok = <-out:
		default:
			rest()
			next, ok = <-out
		}
		if !ok {
			return failed
		}
		if next.told != nil {
			for i := range next.told.List {
				if failed == nil {
					fail(p.tell(next.told.List[i]))
				}
			}
			written(len(next.told.List))
			p.spare.put(next.told)
		}
		for _, line := range next.lines {
			select {
			case <-line.done:
			default:
				rest()
				<-line.done
			}
			if failed == nil && !undecided(line) {
				fail(emit(line))
			}
			written(1)
		}
	}
}
