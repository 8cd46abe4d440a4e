package cli

import (
	"sync"
	"time"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/ui"
)

// progress is the status line of a match on a terminal: drawn on stderr ten times a second, cleared while
// results are written. Where stderr is not a terminal it does nothing.
type progress struct {
	run    *app.App
	status *ui.Status

	mu     sync.Mutex
	counts report.Summary

	done    chan struct{}
	stopped sync.WaitGroup
}

// startProgress begins to draw, unless the person asked for quiet: the first line at once, before anything is asked.
func (c *command) startProgress(run *app.App, status *ui.Status) *progress {
	p := &progress{run: run, status: status, done: make(chan struct{})}
	if !status.Enabled() {
		return p
	}
	p.draw()
	p.look()
	p.stopped.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.draw()
			case <-p.done:
				return
			}
		}
	})
	return p
}

// look keeps the shared state in sight, which is all there is to tell while others ask.
func (p *progress) look() {
	p.stopped.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			p.run.Look()
			select {
			case <-tick.C:
			case <-p.done:
				return
			}
		}
	})
}

func (p *progress) draw() {
	p.mu.Lock()
	counts := p.counts
	p.mu.Unlock()
	p.status.Set(statusLine(p.run.Progress(), counts, time.Now(), p.status.Room()))
}

// counted takes note of the files decided so far.
func (p *progress) counted(s report.Summary) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts = s
}

func (p *progress) stop() {
	close(p.done)
	p.stopped.Wait()
	p.status.Clear()
}
