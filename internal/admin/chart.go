package admin

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/chart"
)

type curve struct {
	class, name string
	value       func(sample) float64
}

// Places in a chart, in SVG units.
const (
	chartWide, chartTall = 600, 150
	chartLeft, chartTop  = 44, 10
	chartBottom          = chartTall - 22
)

// drawn is a chart for a page: a picture, and its newest, smallest and largest values in words.
func drawn(title, unit string, list []sample, span time.Duration, curves ...curve) template.HTML {
	if len(list) < 2 {
		return template.HTML("<p class=soft>" + template.HTMLEscapeString(title) +
			": nothing yet; a value is noted every ten seconds.</p>")
	}
	end := list[len(list)-1].at
	begin := end.Add(-span)
	most := 0.0
	for _, s := range list {
		for _, c := range curves {
			most = max(most, c.value(s))
		}
	}
	top, tick := chart.Axis(max(most, 1))
	p := chart.Plot{Left: chartLeft, Right: chartWide - 4, Top: chartTop, Bottom: chartBottom, Length: span, Max: top}
	var b, words strings.Builder
	for _, c := range curves {
		low, high := c.value(list[0]), 0.0
		for _, s := range list {
			low, high = min(low, c.value(s)), max(high, c.value(s))
		}
		fmt.Fprintf(&words, "%s: now %.3g%s, from %.3g to %.3g. ", c.name, c.value(list[len(list)-1]), unit, low, high)
	}
	fmt.Fprintf(&b, `<figure><figcaption>%s <span class=soft>%s</span></figcaption><svg viewBox="0 0 %d %d" role="img" `+
		`aria-label="%s, %s">`,
		template.HTMLEscapeString(title), template.HTMLEscapeString(words.String()), chartWide, chartTall,
		template.HTMLEscapeString(title), template.HTMLEscapeString(words.String()))
	for v := 0.0; v <= top; v += tick {
		y := p.Y(v)
		fmt.Fprintf(&b, `<path class="grid" d="M%d %.1fH%d"/><text x="%d" y="%.1f" class="end">%.3g</text>`, chartLeft, y,
			chartWide-4, chartLeft-6, y+4, v)
	}
	for i := range 5 {
		at := span * time.Duration(i) / 4
		anchor := "mid"
		if i == 4 {
			anchor = "end"
		}
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" class="%s">%s</text>`, p.X(at), chartTall-5, anchor,
			begin.Add(at).Local().Format("15:04"))
	}
	for _, c := range curves {
		values := make([]chart.Value, len(list))
		for i, s := range list {
			values[i] = chart.Value{At: max(s.at.Sub(begin), 0), Number: c.value(s)}
		}
		fmt.Fprintf(&b, `<path class="%s" d="%s"/>`, c.class, p.Stairs(values, span))
	}
	b.WriteString(`</svg></figure>`)
	return template.HTML(b.String()) //nolint:gosec // numbers, and texts that are escaped above
}

func (s *Server) addressCharts() []template.HTML {
	hour, _ := s.rings.samples("")
	return []template.HTML{
		drawn("Requests under way", "", hour, time.Hour, curve{"limit", "limit", func(s sample) float64 { return s.limit }},
			curve{"main", "running", func(s sample) float64 { return s.running }}),
		drawn("Requests a second", "/s", hour, time.Hour, curve{"main", "sent", func(s sample) float64 { return s.sent }}),
		drawn("429 answers", "", hour, time.Hour,
			curve{"bad", "429s in ten seconds", func(s sample) float64 { return s.throttled }}),
		drawn("Questions that wait", "", hour, time.Hour, curve{"main", "queue", func(s sample) float64 { return s.queue }}),
	}
}

// accountCharts are those of an account: the last hour and the last day.
func (s *Server) accountCharts(name string) []template.HTML {
	hour, day := s.rings.samples(name)
	used := curve{"main", "utilisation", func(s sample) float64 {
		if s.limit == 0 {
			return 0
		}
		return 100 * s.running / s.limit
	}}
	return []template.HTML{
		drawn("Utilisation, last hour", " %", hour, time.Hour, used),
		drawn("Utilisation, last day", " %", day, 24*time.Hour, used),
	}
}
