package cache

import (
	"context"
	"errors"
	"fmt"
)

// landed is what a flight has brought.
type landed struct {
	ans answer
	err error
	// again: the leader gave up for reasons of its own, so another may lead.
	again    bool
	panicked any
}

// share answers a question once for all who ask it at the same time. Each of them waits as long as its own context
// allows. When the leader's context ends the next caller leads.
func (t *Transport) share(q question) (answer, error) {
	ctx := q.req.Context()
	for {
		flight := t.flights.DoChan(q.key, func() (any, error) { return t.lead(q), nil })
		select {
		case <-ctx.Done():
			return answer{}, ended(ctx)
		case res := <-flight:
			got := res.Val.(landed)
			if got.panicked != nil {
				panic(got.panicked)
			}
			if !got.again || ctx.Err() != nil {
				return got.ans, got.err
			}
		}
	}
}

// lead answers the question in a goroutine of the flight's own. A panic there would end the process, so it is handed to
// the callers, who may recover.
func (t *Transport) lead(q question) (out landed) {
	defer func() { out.panicked = recover() }()
	out.ans, out.err = t.answer(q)
	out.again = out.err != nil && q.req.Context().Err() != nil
	return out
}

// ended returns why a context has ended: its cause, and for a cancelled one [context.Canceled] as well.
func ended(ctx context.Context) error {
	cause := context.Cause(ctx)
	if err := ctx.Err(); errors.Is(err, context.Canceled) && !errors.Is(cause, err) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return cause
}
