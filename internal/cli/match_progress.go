package cli

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/run"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/ratelimit"
)

type progress struct {
	run    *app.App
	status *ui.Status

	mu     sync.Mutex
	counts report.Summary
	total  atomic.Int64 // files in all, once a walk ahead of the run has counted them; 0: not yet

	done    chan struct{}
	stopped sync.WaitGroup
}

// startProgress draws the first line before anything is asked. If nobody watches, a run that waits for the end of an
// outage says when it begins to wait and when it continues.
func startProgress(f *factory, a *app.App, status *ui.Status, waits bool) *progress {
	p := &progress{run: a, status: status, done: make(chan struct{})}
	if !status.Enabled() {
		if waits && !f.streams.ErrTTY {
			var o outageLines
			p.every(time.Second, func() {
				if text := o.line(p.run.Progress(), time.Now()); text != "" {
					f.say("%s\n", text)
				}
			})
		}
		return p
	}
	p.draw()
	p.every(100*time.Millisecond, p.draw)
	p.every(time.Second, p.run.Look) // the shared state is all there is to tell while others ask
	return p
}

type outageLines struct{ since time.Time }

func (o *outageLines) line(at app.Progress, now time.Time) lang.Text {
	w := at.Wait
	stopped := w.State == ratelimit.Sleep || w.State == ratelimit.CacheOnly
	switch {
	case o.since.IsZero() && stopped && waiting(w, now):
		o.since = now
		if w.Until.IsZero() {
			return lang.Textf("waiting (%s): %s", w.State, app.Why(w.Block))
		}
		return lang.Textf("waiting (%s): %s; next try at %s", w.State, app.Why(w.Block), ui.Clock(w.Until))
	case !o.since.IsZero() && (at.State == ratelimit.Normal.String() || at.State == ratelimit.Throttle.String()):
		waited := ui.Countdown(now.Sub(o.since))
		o.since = time.Time{}
		return lang.Textf("going on after %s", waited)
	}
	return ""
}

func (p *progress) every(period time.Duration, do func()) {
	p.stopped.Go(func() {
		tick := time.NewTicker(period)
		defer tick.Stop()
		for {
			do()
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
	at := p.run.Progress()
	if total := p.total.Load(); total > 0 {
		at.Files, at.Walked = max(total, at.Files), true
	}
	p.status.Set(statusLine(at, counts, time.Now(), p.status.Room()))
}

// countAfter is how long a run takes before its files are counted: most are over by then.
const countAfter = time.Second

// countAhead counts what walk yields. The run itself walks no further ahead than it can decide, so without this neither
// the total nor the time left would be known before its end.
func (p *progress) countAhead(ctx context.Context, walk run.Producer) {
	if walk == nil || !p.status.Enabled() {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	p.stopped.Go(func() {
		<-p.done
		cancel()
	})
	p.stopped.Go(func() {
		select {
		case <-time.After(countAfter):
		case <-ctx.Done():
			return
		}
		files := int64(0)
		err := walk(ctx, func(b run.Batch) error {
			files += max(1, int64(len(b.Files)))
			return nil
		})
		if err == nil {
			p.total.Store(files)
		}
	})
}

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

type part struct {
	text   lang.Text
	short  lang.Text // stands in where the whole line has room for nothing else
	weight int       // the part with the least goes first
}

const between = " · "

// statusLine is one line of at most room cells. Parts that don't fit are dropped, the least important first.
func statusLine(at app.Progress, counts report.Summary, now time.Time, room int) string {
	parts := []part{
		{waitText(at.Wait, now), waitShort(at.Wait, now), 9},
		{othersText(at, now), "", 9},
		{filesText(at, counts), "", 8},
		{countText(int64(counts.Pending), "pending"), "", 6},
		{countText(at.Series, "series"), "", 3},
		{stateText(at), "", 7},
		{cacheText(at), "", 4},
		{elapsedText(at.Elapsed), "", 2},
		{leftText(at, counts, now), "", 5},
	}
	return fitting(parts, room)
}

func fitting(parts []part, room int) string {
	parts = slices.DeleteFunc(parts, func(p part) bool { return p.text == "" })
	for {
		texts := make([]string, len(parts))
		for i, p := range parts {
			texts[i] = lang.Say(p.text)
		}
		line := strings.Join(texts, between)
		switch {
		case room <= 0:
			return ""
		case ui.Width(line) <= room || len(parts) == 0:
			return line
		case len(parts) == 1:
			if parts[0].short != "" {
				line = lang.Say(parts[0].short)
			}
			return ui.Cut(line, room)
		}
		least := slices.MinFunc(parts, func(a, b part) int { return a.weight - b.weight })
		parts = slices.DeleteFunc(parts, func(p part) bool { return p.weight == least.weight })
	}
}

// filesText is "12/38 files", with a + while the folders are still being read.
func filesText(at app.Progress, counts report.Summary) lang.Text {
	switch {
	case at.Files == 0:
		return "looking for files"
	case at.Walked:
		return lang.Textf("%d/%d files", counts.Files, at.Files)
	}
	return lang.Textf("%d/%d+ files", counts.Files, at.Files)
}

func countText(n int64, noun string) lang.Text {
	if n == 0 {
		return ""
	}
	return lang.Textf("%d "+noun, n)
}

func stateText(at app.Progress) lang.Text {
	if at.Rate == 0 {
		return lang.Text(at.State)
	}
	return lang.Textf("%s %.3g/s", at.State, at.Rate)
}

func cacheText(at app.Progress) lang.Text {
	asked := at.Hits + at.Misses
	if asked == 0 {
		return ""
	}
	return lang.Textf("cache %d%%", 100*at.Hits/asked)
}

func elapsedText(d time.Duration) lang.Text {
	if d < time.Second {
		return ""
	}
	return lang.Text(ui.Countdown(d.Truncate(time.Second)))
}

const (
	estimateAfter = 5 * time.Second
	estimateFiles = 20
)

// leftText estimates the time left from the files decided so far. It says nothing where that would be a guess: while
// folders are still being read, in the beginning, and while nobody may ask.
func leftText(at app.Progress, counts report.Summary, now time.Time) lang.Text {
	done, left := int64(counts.Files), at.Files-int64(counts.Files)
	if !at.Walked || left <= 0 || done < estimateFiles || at.Elapsed < estimateAfter || waiting(at.Wait, now) {
		return ""
	}
	return lang.Textf("about %s left", ui.Countdown(time.Duration(float64(at.Elapsed)*float64(left)/float64(done))))
}

func waiting(w app.Wait, now time.Time) bool {
	return w.On() && (w.Until.IsZero() || w.Until.After(now))
}

func waitText(w app.Wait, now time.Time) lang.Text {
	if !waiting(w, now) {
		return ""
	}
	known := !w.Until.IsZero() // when the next try is
	left := ui.Countdown(w.Until.Sub(now))
	switch {
	case w.Cause == ratelimit.ReasonPause && known && w.Status != 0:
		return lang.Textf("TMDB asks us to wait %s (%d)", left, w.Status)
	case w.Cause == ratelimit.ReasonPause && known:
		return lang.Textf("TMDB asks us to wait %s", left)
	case w.Cause == ratelimit.ReasonPause && w.Status != 0:
		return lang.Textf("TMDB asks us to wait (%d)", w.Status)
	case w.Cause == ratelimit.ReasonPause:
		return "TMDB asks us to wait"
	case w.Cause == ratelimit.ReasonBackoff && known:
		return lang.Textf("trying one again in %s", left)
	case w.Cause == ratelimit.ReasonBackoff:
		return "trying one again"
	}
	text := app.Why(w.Block)
	if w.State == ratelimit.CacheOnly {
		text = "only the cache answers"
	}
	if known {
		return lang.Textf("%s, next try in %s", text, left)
	}
	return text
}

func othersText(at app.Progress, now time.Time) lang.Text {
	if !at.Others || waitText(at.Wait, now) != "" {
		return "" // the other process has the same wait
	}
	return "waiting for another anivault's answer"
}

func waitShort(w app.Wait, now time.Time) lang.Text {
	if !waiting(w, now) || w.Until.IsZero() {
		return ""
	}
	return lang.Textf("wait %s", ui.Countdown(w.Until.Sub(now)))
}
