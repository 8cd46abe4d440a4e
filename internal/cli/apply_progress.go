package cli

import (
	"time"

	"github.com/anivault/anivault/internal/apply"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/ui"
)

// tellProgress draws how far a run is on a terminal, ten times a second at most, or writes an object a second to a program that reads
// along.
func (a *applyRun) tellProgress(p apply.Progress) {
	now := time.Now()
	period := time.Second
	if a.format != "ndjson" {
		if !a.line.Enabled() {
			return
		}
		period = 100 * time.Millisecond
	}
	if a.told.IsZero() {
		a.told = now
	}
	if now.Sub(a.told) < period {
		return
	}
	a.told = now
	elapsed := now.Sub(a.began)
	if a.format != "ndjson" {
		a.line.Set(runLineOf(p, elapsed, a.line.Room()))
		return
	}
	line, err := report.AppendLine(nil, &report.OrganizeProgress{
		Run: p.Run, Bytes: p.Bytes, BytesTotal: p.BytesTotal, Files: p.Files, FilesTotal: p.FilesTotal, ETAMS: timeLeft(p, elapsed).Milliseconds(),
	})
	if err == nil {
		_, _ = a.f.streams.Out.Write(line) // that nobody reads it is told by the results
	}
}

// endLine takes the line off the terminal, before anything else is written.
func (a *applyRun) endLine() {
	if a.line != nil {
		a.line.Clear()
	}
}

// timeLeft estimates how long a run still takes: by bytes where it copies, else by files.
func timeLeft(p apply.Progress, elapsed time.Duration) time.Duration {
	done, all := float64(p.Files), float64(p.FilesTotal)
	if p.BytesTotal > 0 {
		done, all = float64(p.Bytes), float64(p.BytesTotal)
	}
	if done == 0 {
		return 0 // nobody knows
	}
	return time.Duration(float64(elapsed) * (all - done) / done)
}

// runLineOf says in one line of at most room cells how far a run is: files, bytes that are copied, the rate, the time left.
func runLineOf(p apply.Progress, elapsed time.Duration, room int) string {
	parts := []part{{text: lang.Textf("%d/%d files", p.Files, p.FilesTotal), weight: 9}}
	if p.BytesTotal > 0 {
		rate := float64(p.Bytes) / max(elapsed.Seconds(), 0.1)
		parts = append(
			parts,
			part{text: lang.Textf("%s of %s copied", ui.Size(p.Bytes), ui.Size(p.BytesTotal)), weight: 8},
			part{text: lang.Textf("%s/s", ui.Size(int64(rate))), weight: 3},
		)
	}
	parts = append(parts, part{text: elapsedText(elapsed), weight: 2})
	if left := timeLeft(p, elapsed); elapsed >= estimateAfter && left > 0 {
		parts = append(parts, part{text: lang.Textf("about %s left", ui.Countdown(left)), weight: 5})
	}
	return fitting(parts, room)
}
