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
	o, wholeSeasons := matchOptions{f: f}, false
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
		o.missingWriter = &missingWriter{wholeSeasons: wholeSeasons}
		cfg, produce, err := o.open(c.Command, c.args)
		if err != nil {
			return err
		}
		return o.run(c.Context(), cfg, produce)
	})
	addMatchFlags(cmd, &o)
	addSettingFlags(cmd, cmd.Flags(), "match.min_confidence")
	cmd.Flags().BoolVar(&wholeSeasons, "whole-seasons", false, "list the seasons of which nothing is there one by one")
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

	wholeSeasons bool

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
	return report.SortGaps(out)
}

func (m *missingWriter) renderTable(all [][]report.Gap) []byte {
	var b strings.Builder
	seen := map[int]bool{}
	for i, gaps := range all {
		absent := gaps[0].IsAbsent()
		startsAbsent := absent && (i == 0 || !all[i-1][0].IsAbsent())
		if b.Len() > 0 && (!absent || startsAbsent || m.wholeSeasons) {
			b.WriteByte('\n')
		}
		if startsAbsent && !m.wholeSeasons {
			b.WriteString(lang.Say("Seasons of which nothing is there (--whole-seasons lists them):") + "\n")
		}
		if absent && !m.wholeSeasons {
			m.writeAbsent(&b, gaps)
			continue
		}
		title, ref := ui.Printable(gaps[0].Entry()), "  "+gaps[0].Ref()
		if m.opts.Width > 0 {
			title = ui.Cut(title, max(m.opts.Width-len(ref), 12))
		}
		b.WriteString(ui.Style(m.opts.Color, ui.Bold, title) + ui.Style(m.opts.Color, ui.Dim, ref) + "\n")
		for i := range gaps {
			m.writeSeason(&b, &gaps[i])
		}
		if n := gaps[0].Unplaced; n > 0 && !seen[gaps[0].TMDBID] {
			m.writeLine(&b, 2, "", lang.Textf("%s without an episode may be what is missing", lang.Count(n, "file")))
		}
		seen[gaps[0].TMDBID] = true
	}
	return []byte(b.String())
}

// writeAbsent writes "  Title (1999)  S02, S04  24 episodes": the seasons of a series of which nothing is there.
func (m *missingWriter) writeAbsent(b *strings.Builder, gaps []report.Gap) {
	var seasons []string
	episodes := 0
	for _, g := range gaps {
		seasons = append(seasons, fmt.Sprintf("S%02d", *g.Season))
		episodes += len(g.Missing)
	}
	tail := strings.Join(seasons, ", ") + "  " + lang.Say(lang.Count(episodes, "episode"))
	title := ui.Printable(gaps[0].Entry())
	if m.opts.Width > 0 {
		const spaces, minTitle = 4, 12
		title = ui.Cut(title, max(m.opts.Width-spaces-ui.Width(tail), minTitle))
	}
	m.writeLine(b, 2+ui.Width(title)+2, "  "+title, lang.Textf("%s", tail))
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
	case g.IsAbsent():
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
