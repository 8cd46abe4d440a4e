package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/ui"
)

func newMissing(f *factory) *cobra.Command {
	o := matchOptions{f: f}
	cmd := &cobra.Command{
		Use:   "missing PATH...",
		Short: "List aired episodes that are missing, and episodes that are there twice",
		Args:  atLeastOne("PATH", "for example: anivault missing ~/Anime"),
	}
	f.setRun(cmd, []string{"table", "json", "ndjson"}, func(c invocation) error {
		o.format = c.format
		if err := o.checkExcludes(); err != nil {
			return err
		}
		o.missingWriter = new(missingWriter)
		cfg, produce, err := o.open(c.Command, c.args)
		if err != nil {
			return err
		}
		return o.run(c.Context(), cfg, produce)
	})
	addMatchFlags(cmd, &o)
	addSettingFlags(cmd, cmd.Flags(), "match.min_confidence")
	return cmd
}

// missingWriter is the report.Writer of the command missing. It writes nothing for an interrupted run, which has not
// seen all files.
type missingWriter struct {
	ctx    context.Context
	run    *app.App
	out    io.Writer
	format string
	opts   report.Options
	say    func(format string, args ...any)

	holdings report.Holdings
	summary  report.GapSummary
	firstErr error // the first error of loading an episode list
}

func (m *missingWriter) Match(r report.Record) error {
	m.holdings.Add(&r)
	return nil
}

func (m *missingWriter) Flush() error { return nil }

func (m *missingWriter) Close(report.Summary) error {
	all := [][]report.Gap{}
	if m.ctx.Err() == nil {
		all = m.gaps(time.Now().Format(time.DateOnly))
	}
	var text []byte
	var err error
	if m.format == "table" {
		text = m.renderTable(all)
	} else {
		text, err = encodeList(m.format, "missing", slices.Concat(all...), &m.summary)
	}
	if err != nil {
		return err
	}
	if _, err := m.out.Write(text); err != nil {
		return lang.Error("write results: %w", err)
	}
	if m.ctx.Err() == nil {
		m.say("%s\n", ui.Escaped(lang.Say(m.headline())))
	}
	return nil
}

func (m *missingWriter) gaps(today string) [][]report.Gap {
	ids := m.holdings.Series()
	out := make([][]report.Gap, len(ids))
	var mu sync.Mutex
	var group errgroup.Group
	const parallel = 8
	group.SetLimit(parallel)
	for i, id := range ids {
		group.Go(func() error {
			seasons, err := m.run.Seasons(m.ctx, id)
			mu.Lock()
			defer mu.Unlock()
			m.firstErr = cmp.Or(m.firstErr, err)
			out[i] = m.holdings.Gaps(id, seasons, today)
			return nil
		})
	}
	_ = group.Wait() // no function returns an error: firstErr has it
	for _, g := range out {
		m.summary.Add(g)
	}
	return out
}

func (m *missingWriter) renderTable(all [][]report.Gap) []byte {
	var b strings.Builder
	for _, gaps := range all {
		if len(gaps) == 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		title, ref := ui.Printable(gaps[0].Entry()), "  "+gaps[0].Ref()
		if m.opts.Width > 0 {
			title = ui.Cut(title, max(m.opts.Width-len(ref), 12))
		}
		b.WriteString(ui.Style(m.opts.Color, ui.Bold, title) + ui.Style(m.opts.Color, ui.Dim, ref) + "\n")
		for i := range gaps {
			m.writeSeason(&b, &gaps[i])
		}
		if n := gaps[0].Unplaced; n > 0 {
			m.writeLine(&b, 2, "", lang.Textf("%s without an episode may be what is missing", lang.Count(n, "file")))
		}
	}
	return []byte(b.String())
}

// writeSeason writes "S02  11 of 12  missing 7", and the files of each episode that exists more than once.
func (m *missingWriter) writeSeason(b *strings.Builder, g *report.Gap) {
	if g.Season == nil {
		m.writeLine(b, 2, "", "TMDB's list of its episodes is not available")
		return
	}
	const counts = 12 // "1000 of 1200"
	head := fmt.Sprintf("  S%02d  ", *g.Season)
	switch {
	case g.Unknown:
		m.writeLine(b, len(head), head, "TMDB's list of its episodes is not available")
	case g.Present == 0 && len(g.Missing) > 0:
		m.writeLine(b, len(head), head, lang.Textf("missing: %s", lang.Count(g.Aired, "episode")))
	case len(g.Missing) > 0:
		have := ui.Pad(lang.Sprintf("%d of %d", g.Present, g.Aired), counts)
		m.writeLine(b, len(head)+counts+2, head+have+"  ", lang.Textf("missing %s", g.MissingRanges()))
	}
	for i, c := range g.Duplicates {
		if i > 0 && g.Duplicates[i-1].Episode == c.Episode {
			continue
		}
		m.writeLine(b, len(head), head, lang.Textf("E%02d is there more than once:", c.Episode))
		for _, same := range g.Duplicates {
			if same.Episode == c.Episode {
				fmt.Fprintf(b, "%s  %s\n", strings.Repeat(" ", len(head)),
					ui.CutLeft(ui.Printable(same.Path), max(m.opts.Width-len(head)-2, 0)))
			}
		}
	}
}

func (m *missingWriter) writeLine(b *strings.Builder, at int, head string, text lang.Text) {
	writeHanging(b, 0, head, at, text, m.opts.Width)
}

func (m *missingWriter) headline() lang.Text {
	s := m.summary
	if s.Series == 0 {
		return "no series was matched"
	}
	parts := []lang.Text{lang.Textf("%d complete", s.Complete)}
	for _, p := range []struct {
		n    int
		text lang.Text
	}{
		{s.Missing, lang.Textf("%s missing", lang.Count(s.Missing, "aired episode"))},
		{s.AbsentSeasons, lang.Textf("%s not there at all", lang.Count(s.AbsentSeasons, "season"))},
		{s.Duplicates, lang.Textf("%s there more than once", lang.Count(s.Duplicates, "episode"))},
		{s.Unplaced, lang.Textf("%s without an episode", lang.Count(s.Unplaced, "file"))},
	} {
		if p.n > 0 {
			parts = append(parts, p.text)
		}
	}
	switch {
	case s.Unknown > 0 && m.firstErr != nil:
		_, text := app.Explain(m.firstErr)
		parts = append(parts, lang.Textf("%d not compared: %s", s.Unknown, text))
	case s.Unknown > 0:
		parts = append(parts, lang.Textf("%d not compared", s.Unknown))
	}
	return lang.Textf("%d series: %s", s.Series, lang.Join(parts, ", "))
}
