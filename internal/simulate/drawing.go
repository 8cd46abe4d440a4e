package simulate

import (
	"fmt"
	"io"
	"strings"

	"github.com/anivault/anivault/internal/chart"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/ratelimit"
)

// WriteSVG writes the run as a picture.
func (r *Result) WriteSVG(out io.Writer) error {
	t := &r.Totals
	d := chart.Drawing{
		Title: r.title(), Description: r.describe(), Length: r.For, Phases: r.phases(), Spans: r.spans(),
		Footer: fmt.Sprintf("%d good of %.0f possible (%s), %d refused, %d errors, %d given up; "+
			"at most %d of %d permits in any ceiling_window", t.Good, t.Possible, share(float64(t.Good), t.Possible), t.Throttled, t.Errors, t.Failed, t.Peak, t.Ceiling),
	}
	for _, s := range ratelimit.States() {
		d.Lanes = append(d.Lanes, s.String())
	}
	for i, s := range r.Steps {
		d.Steps = append(d.Steps, chart.Step{
			End: s.At, Good: r.perSecond(i, s.Good), Allowed: s.Rate,
			Bad: r.perSecond(i, s.Errors+s.Throttled), Throttled: s.Throttled,
		})
	}
	return d.WriteSVG(out)
}

// describe returns the run in words.
func (r *Result) describe() string {
	parts := make([]string, 0, len(r.Moves)+1)
	for _, row := range r.totals() {
		parts = append(parts, row[0]+": "+row[1])
	}
	for _, m := range r.Moves {
		parts = append(parts, fmt.Sprintf("%s %s to %s, %s", ui.Offset(m.At), m.From, m.To, m.Reason))
	}
	return strings.Join(parts, ". ") + "."
}
