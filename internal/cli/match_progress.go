package cli

import (
	"cmp"
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
	app    *app.App
	status *ui.Status

	mu         sync.Mutex
	counts     report.Summary
	totalFiles atomic.Int64 // all files; 0 until countFilesAhead has counted them

	done    chan struct{}
	workers sync.WaitGroup
}

// startProgress shows the progress of a run until stop is called. On a terminal it redraws a status line, for the first
// time before the first request. Without a terminal, it prints a line when the run begins to wait for the end of an
// outage, and one when the run continues; it does so only if waits is set.
func startProgress(f *factory, a *app.App, status *ui.Status, waits bool) *progress {
	p := &progress{app: a, status: status, done: make(chan struct{})}
	if !status.Enabled() {
		if waits && !f.streams.ErrTTY {
			var o outageReporter
			p.runEvery(time.Second, func() {
				if text := o.line(p.app.Progress(), time.Now()); text != "" {
					f.say("%s\n", text)
				}
			})
		}
		return p
	}
	p.draw()
	p.runEvery(100*time.Millisecond, p.draw)
	p.runEvery(time.Second, p.app.PollSharedState) // only the shared state shows what other processes do
	return p
}

type outageReporter struct{ since time.Time }

func (o *outageReporter) line(at app.Progress, now time.Time) lang.Text {
	w := at.Wait
	stopped := w.State == ratelimit.Sleep || w.State == ratelimit.CacheOnly
	switch {
	case o.since.IsZero() && stopped && isWaiting(w, now):
		o.since = now
		if w.Until.IsZero() {
			return lang.Textf("waiting: %s", app.BlockText(w.Block))
		}
		return lang.Textf("waiting: %s; next try at %s", app.BlockText(w.Block), ui.Clock(w.Until))
	case !o.since.IsZero() && (at.State == ratelimit.Normal.String() || at.State == ratelimit.Throttle.String()):
		waited := ui.Countdown(now.Sub(o.since))
		o.since = time.Time{}
		return lang.Textf("continuing after %s", waited)
	}
	return ""
}

func (p *progress) runEvery(period time.Duration, do func()) {
	p.workers.Go(func() {
		for tick := time.Tick(period); ; {
			do()
			select {
			case <-tick:
			case <-p.done:
				return
			}
		}
	})
}

func (p *progress) draw() {
	at := p.app.Progress()
	if total := p.totalFiles.Load(); total > 0 {
		at.Files, at.Walked = max(total, at.Files), true
	}
	p.mu.Lock()
	counts := p.counts
	p.mu.Unlock()
	p.status.Set(statusLine(at, counts, time.Now(), p.status.Room()))
}

// countFilesAfter is how long a run lasts before its files are counted: most runs end sooner.
const countFilesAfter = time.Second

// countFilesAhead counts the files of a second walk. The run's own walk is only a little ahead of its decisions, so
// without this count the total and the remaining time would be unknown until the end.
func (p *progress) countFilesAhead(ctx context.Context, walk run.Producer) {
	if walk == nil || !p.status.Enabled() {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	p.workers.Go(func() {
		<-p.done
		cancel()
	})
	p.workers.Go(func() {
		select {
		case <-time.After(countFilesAfter):
		case <-ctx.Done():
			return
		}
		files := int64(0)
		err := walk(ctx, func(b run.Batch) error {
			files += max(1, int64(len(b.Files)))
			return nil
		})
		if err == nil {
			p.totalFiles.Store(files)
		}
	})
}

func (p *progress) setCounts(s report.Summary) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts = s
}

func (p *progress) stop() {
	close(p.done)
	p.workers.Wait()
	p.status.Clear()
}

type statusPart struct {
	text   lang.Text
	short  lang.Text // used instead of text if even text alone does not fit
	weight int       // the parts with the lowest weight are dropped first
}

const statusSeparator = " · "

// statusLine returns a line of at most room cells. It drops parts that don't fit, the least important first.
func statusLine(at app.Progress, counts report.Summary, now time.Time, room int) string {
	wait := statusPart{waitText(at.Wait, now), "", 9}
	if wait.text != "" && !at.Wait.Until.IsZero() {
		wait.short = lang.Textf("wait %s", ui.Countdown(at.Wait.Until.Sub(now)))
	} else if wait.text == "" && at.AwaitsOtherProcess { // else the other process waits for the same reason
		wait.text = "waiting for another anivault's answer"
	}
	parts := []statusPart{
		wait,
		{filesText(at, counts), "", 8},
		{countText(int64(counts.Pending), "pending"), "", 6},
		{countText(at.Series, "series"), "", 3},
		{stateText(at), "", 7},
		{cacheText(at), "", 4},
		{elapsedText(at.Elapsed), "", 2},
		{remainingText(at, counts, now), "", 5},
	}
	return fitParts(parts, room)
}

func fitParts(parts []statusPart, room int) string {
	parts = slices.DeleteFunc(parts, func(p statusPart) bool { return p.text == "" })
	for {
		texts := mapped(parts, func(p statusPart) string { return lang.Say(p.text) })
		line := strings.Join(texts, statusSeparator)
		switch {
		case room <= 0:
			return ""
		case ui.Width(line) <= room || len(parts) == 0:
			return line
		case len(parts) == 1:
			return ui.Cut(lang.Say(cmp.Or(parts[0].short, parts[0].text)), room)
		}
		least := slices.MinFunc(parts, func(a, b statusPart) int { return a.weight - b.weight })
		parts = slices.DeleteFunc(parts, func(p statusPart) bool { return p.weight == least.weight })
	}
}

// filesText returns "12/38 files", with a + during the walk: "12/38+ files".
func filesText(at app.Progress, counts report.Summary) lang.Text {
	switch {
	case at.Files == 0:
		return "looking for files"
	case at.Walked:
		return lang.Textf("%d/%d files", lang.Number(counts.Files), lang.Number(at.Files))
	}
	return lang.Textf("%d/%d+ files", lang.Number(counts.Files), lang.Number(at.Files))
}

func countText(n int64, noun string) lang.Text {
	if n == 0 {
		return ""
	}
	return lang.Textf("%d "+noun, lang.Number(n))
}

func stateText(at app.Progress) lang.Text {
	switch {
	case at.State == ratelimit.Sleep.String(), at.State == ratelimit.CacheOnly.String():
		return "" // waitText says more
	case at.State == ratelimit.Throttle.String():
		return lang.Textf("slowed to %.3g/s", at.Rate)
	case at.State == ratelimit.Normal.String() && at.Rate > 0:
		return lang.Textf("%.3g/s", at.Rate)
	}
	return report.TroubleText(at.State)
}

func cacheText(at app.Progress) lang.Text {
	if asked := at.Hits + at.Misses; asked > 0 {
		return lang.Textf("cache %d %%", 100*at.Hits/asked)
	}
	return ""
}

func elapsedText(d time.Duration) lang.Text {
	if d < time.Second {
		return ""
	}
	return ui.Countdown(d.Truncate(time.Second))
}

const (
	minEstimateTime  = 5 * time.Second
	minEstimateFiles = 20
)

// remainingText estimates the remaining time from the files decided so far. It returns "" if that would be a guess:
// during the walk, for the first files and seconds, and while no request may be sent.
func remainingText(at app.Progress, counts report.Summary, now time.Time) lang.Text {
	done, left := int64(counts.Files), at.Files-int64(counts.Files)
	if !at.Walked || left <= 0 || done < minEstimateFiles || at.Elapsed < minEstimateTime || isWaiting(at.Wait, now) {
		return ""
	}
	return lang.Textf("about %s left", ui.Countdown(time.Duration(float64(at.Elapsed)*float64(left)/float64(done))))
}

func isWaiting(w app.Wait, now time.Time) bool {
	return w.Active() && (w.Until.IsZero() || w.Until.After(now))
}

func waitText(w app.Wait, now time.Time) lang.Text {
	if !isWaiting(w, now) {
		return ""
	}
	known := !w.Until.IsZero()
	left := ui.Countdown(w.Until.Sub(now))
	switch {
	case w.Cause == ratelimit.ReasonPause:
		text := lang.Text("TMDB asks us to wait")
		if known {
			text = lang.Textf("TMDB asks us to wait %s", left)
		}
		if w.Status != 0 {
			text = lang.Textf("%s (%d)", text, w.Status)
		}
		return text
	case w.Cause == ratelimit.ReasonBackoff && known:
		return lang.Textf("retrying in %s", left)
	case w.Cause == ratelimit.ReasonBackoff:
		return "retrying"
	}
	text := app.BlockText(w.Block)
	if w.State == ratelimit.CacheOnly {
		text = "only the cache answers"
	}
	if known {
		return lang.Textf("%s, next try in %s", text, left)
	}
	return text
}
