package metrics

import (
	"context"
	"errors"
	"time"
)

// every is the time between two snapshots.
const every = 10 * time.Second

// Reporter writes a process's metrics to sinks. An error of a sink never ends a run: OnError gets the first
// of each sink, and the sink is tried again the next time.
type Reporter struct {
	Metrics *Metrics
	Sinks   []Sink
	OnError func(error) // may be nil
}

// Run writes a snapshot every ten seconds, and the final one when ctx ends. It returns after that with the first
// error of each sink, joined; nil where all went well.
func (r *Reporter) Run(ctx context.Context) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	failed := make([]error, len(r.Sinks))
	for {
		select {
		case at := <-tick.C:
			r.write(at, false, failed)
		case <-ctx.Done():
			r.write(time.Now(), true, failed)
			return errors.Join(failed...)
		}
	}
}

func (r *Reporter) write(at time.Time, final bool, failed []error) {
	s := r.Metrics.Snapshot()
	for i, sink := range r.Sinks {
		err := sink(s, at, final)
		if err == nil || failed[i] != nil {
			continue
		}
		failed[i] = err
		if r.OnError != nil {
			r.OnError(err)
		}
	}
}
