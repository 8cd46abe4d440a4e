package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/atomicfile"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lockfile"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/pins"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/title"
	"github.com/anivault/anivault/internal/ui"
)

func newMissing(f *factory) *cobra.Command {
	o, m := matchOptions{f: f}, missingWriter{}
	var unignore []string
	cmd := f.setRun(command("missing"), []string{"table", "json", "ndjson", "csv", "ics"}, func(c invocation) error {
		o.format = c.format
		if err := o.checkExcludes(); err != nil {
			return err
		}
		if len(m.added)+len(unignore) > 0 {
			cfg, err := f.load(c.cmd)
			if err != nil {
				return err
			}
			err = changeIgnored(c.cmd.Context(), f, ignoredPath(cfg.Dirs.Data), m.added, unignore)
			if err != nil || len(c.args) == 0 {
				return err
			}
		}
		if err := atLeastOne("PATH", "for example: anivault missing ~/Anime")(c.cmd, c.args); err != nil {
			return err
		}
		o.missingWriter = &m
		cfg, produce, err := o.open(c.cmd, c.args)
		switch {
		case err != nil:
			return err
		case cfg.Match.Order == orders.AniDB:
			return usagef("choose another order", "AniDB has no seasons to compare with")
		}
		return o.run(c.cmd.Context(), cfg, produce)
	})
	addMatchFlags(cmd, &o)
	flags := cmd.Flags()
	addSettingFlags(cmd, flags, "match.min_confidence")
	flags.BoolVar(&m.wholeSeasons, "whole-seasons", false, "list seasons without any file one by one")
	flags.StringArrayVar(&m.added, "ignore", nil, "ignore `SERIES`, a title or tv/ID, from now on (may be repeated)")
	flags.StringArrayVar(&unignore, "no-ignore", nil, "no longer ignore `SERIES` (may be repeated)")
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

	ignored  ignoredSeries
	added    []string
	holdings report.Holdings
	upcoming []report.Gap // what airs next, for the format ics alone
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
	switch m.format {
	case "table":
		text = m.renderTable(all)
	case "csv":
		text = report.GapsCSV(slices.Concat(all...), m.opts.Terminal)
	case "ics":
		text = report.Calendar(m.upcoming, time.Now())
	default:
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
	for _, text := range m.added {
		n := m.holdings.Remove(ignoredSeries{text}.has)
		if m.summary.Ignored += n; n == 0 {
			m.say("no series here is %q; anivault missing --no-ignore %s takes it back\n", text, ui.ShellWord(text))
		}
	}
	m.summary.Ignored += m.holdings.Remove(m.ignored.has)
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
			if m.format == "ics" {
				m.upcoming = append(m.upcoming, m.holdings.Upcoming(id, seasons, today)...)
			}
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
			b.WriteString(lang.Say("Seasons without any file (--whole-seasons lists them):") + "\n")
		}
		if absent && !m.wholeSeasons {
			m.writeAbsent(&b, gaps)
		} else {
			title, ref := ui.Printable(gaps[0].Entry()), "  "+gaps[0].Ref()
			if m.opts.Width > 0 {
				title = ui.Cut(title, max(m.opts.Width-len(ref), 12))
			}
			b.WriteString(ui.Style(m.opts.Color, ui.Bold, title) + ui.Style(m.opts.Color, ui.Dim, ref) + "\n")
			for i := range gaps {
				m.writeSeason(&b, &gaps[i])
			}
		}
		if n := gaps[0].Unplaced; n > 0 && !seen[gaps[0].TMDBID] {
			note := lang.Textf("%s without an episode may be what is missing", lang.Count(n, "file"))
			writeHanging(&b, 0, "", 4, note, m.opts.Width)
		}
		seen[gaps[0].TMDBID] = true
	}
	return []byte(b.String())
}

// writeAbsent writes "  Title (1999)  S02-S04, S06  24 episodes": the seasons of a series that have no files.
func (m *missingWriter) writeAbsent(b *strings.Builder, gaps []report.Gap) {
	var seasons []int
	episodes := 0
	for _, g := range gaps {
		seasons = append(seasons, *g.Season)
		episodes += len(g.Missing)
	}
	ranges := strings.ReplaceAll(report.FormatRanges("S%02d", seasons), ",", ", ")
	tail := ranges + "  " + lang.Say(lang.Count(episodes, "episode"))
	title := ui.Printable(gaps[0].Entry())
	if m.opts.Width > 0 {
		const spaces, minTitle = 4, 12
		title = ui.Cut(title, max(m.opts.Width-spaces-ui.Width(tail), minTitle))
	}
	writeHanging(b, 0, "  "+title, 2+ui.Width(title)+2, lang.Textf("%s", tail), m.opts.Width)
}

// writeSeason writes "S02  11 of 12  missing 7", and the files of each episode that exists more than once.
func (m *missingWriter) writeSeason(b *strings.Builder, g *report.Gap) {
	const counts = 12 // "1000 of 1200"
	head := "  "
	if g.Season != nil {
		head += g.Label() + "  "
	}
	switch {
	case g.Season == nil, g.Unknown:
		writeHanging(b, 0, head, len(head), "the list of its episodes is not available", m.opts.Width)
	case g.IsAbsent():
		writeHanging(b, 0, head, len(head), lang.Textf("missing: %s", lang.Count(g.Aired, "episode")), m.opts.Width)
	case len(g.Missing) > 0:
		have := ui.Pad(lang.Sprintf("%d of %d", g.Present, g.Aired), counts)
		writeHanging(b, 0, head+have+"  ", len(head)+counts+2, lang.Textf("missing %s", g.MissingRanges()), m.opts.Width)
	}
	indent := strings.Repeat(" ", len(head)+2)
	for i, d := range g.Duplicates {
		if i == 0 || g.Duplicates[i-1].Episode != d.Episode {
			writeHanging(b, 0, head, len(head), lang.Textf("E%02d exists more than once:", d.Episode), m.opts.Width)
		}
		b.WriteString(indent + ui.CutLeft(ui.Printable(d.Path), max(m.opts.Width-len(indent), 0)) + "\n")
		if d.Better != "" {
			writeHanging(b, 0, indent+"  ", len(indent)+2, lang.Textf("better: %s", d.Better), m.opts.Width)
		}
	}
}

func (m *missingWriter) headline() lang.Text {
	s := m.summary
	switch {
	case s.Series+s.Ignored == 0:
		return "no series was matched"
	case m.format == "ics":
		n := 0
		for _, g := range m.upcoming {
			n += len(g.Missing)
		}
		return lang.Textf("%d series: %s to come", s.Series, lang.Count(n, "episode"))
	}
	parts := []lang.Text{lang.Textf("%d complete", s.Complete)}
	add := func(n int, text lang.Text) {
		if n > 0 {
			parts = append(parts, text)
		}
	}
	add(s.Missing, lang.Textf("%s missing", lang.Count(s.Missing, "aired episode")))
	add(s.AbsentSeasons, lang.Textf("%s completely missing", lang.Count(s.AbsentSeasons, "season")))
	add(s.Duplicates, lang.Textf("%s more than once", lang.Count(s.Duplicates, "episode")))
	add(s.Unplaced, lang.Textf("%s without an episode", lang.Count(s.Unplaced, "file")))
	add(s.Ignored, lang.Textf("%d ignored", s.Ignored))
	switch {
	case s.Unknown > 0 && m.firstErr != nil:
		_, text := app.Explain(m.firstErr)
		parts = append(parts, lang.Textf("%d not compared: %s", s.Unknown, text))
	case s.Unknown > 0:
		parts = append(parts, lang.Textf("%d not compared", s.Unknown))
	}
	return lang.Textf("%d series: %s", s.Series, lang.Join(parts, ", "))
}

// ignoredSeries are the lines of the file of ignored series, which is beside the pins: tv/ID, a title, or a comment.
type ignoredSeries []string

func ignoredPath(dataDir string) string { return filepath.Join(dataDir, "ignored.txt") }

// loadIgnored reads the file of ignored series, and warns of lines that it does not understand.
func loadIgnored(path string, warn func(format string, args ...any)) (ignoredSeries, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, lang.Error("read the ignored series: %w", err)
	}
	lines := strings.Split(strings.Trim(string(content), "\ufeff\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
		if _, err := ignoredKey(lines[i]); err != nil {
			warn("%s: line %d: %s", path, i+1, lang.TextOf(err))
		}
	}
	return lines, nil
}

// ignoredKey returns what a series is compared by, tv/26209 or a title without case and punctuation; "" for a comment.
func ignoredKey(text string) (string, error) {
	kind, id, err := pins.ParseEntry(text)
	key := title.Normalize(text)
	switch {
	case text == "", text[0] == '#':
		return "", nil
	case err == nil && kind == match.Movie:
		return "", lang.Error("%s is a film, and films have no episodes", text)
	case err == nil:
		return pins.Pin{Kind: kind, ID: id}.Entry(), nil
	case strings.HasPrefix(text, "tv/"), strings.HasPrefix(text, "movie/"), strings.Contains(text, "://"), key == "":
		return "", err
	}
	return key, nil
}

// index returns the index of the first line whose key is one of the keys; -1 if there is none.
func (s ignoredSeries) index(keys ...string) int {
	return slices.IndexFunc(s, func(line string) bool {
		key, _ := ignoredKey(line)
		return key != "" && slices.Contains(keys, key)
	})
}

// has reports whether a series is ignored, by its id, or by a title with or without its year.
func (s ignoredSeries) has(g *report.Gap) bool {
	return s.index(g.Ref(), title.Normalize(g.Title), title.Normalize(g.OriginalTitle), title.Normalize(g.Entry())) >= 0
}

// changeIgnored adds and removes series in the file, which stays as it is if one of them is wrong.
func changeIgnored(ctx context.Context, f *factory, path string, add, remove []string) error {
	if err := lockfile.MkdirAll(filepath.Dir(path)); err != nil {
		return lang.Error("make the data folder: %w", err)
	}
	unlock, err := lockfile.Acquire(ctx, path+".lock", lockfile.Exclusive, 10*time.Second)
	if err != nil {
		return lang.Error("lock the ignored series: %w", err)
	}
	defer unlock()
	s, err := loadIgnored(path, func(string, ...any) {})
	if err != nil {
		return err
	}
	for i, text := range slices.Concat(remove, add) {
		key, err := ignoredKey(text)
		at := s.index(key)
		switch {
		case err != nil:
			return usagef("for example: anivault missing --ignore tv/26209 ~/Anime", "%s", lang.TextOf(err))
		case key == "":
			return usagef("write tv/ID, or the title of a series", "%q is not a series", text)
		case i >= len(remove) && at < 0:
			s = append(s, text)
		case i < len(remove) && at < 0:
			return usagef(lang.Textf("%s lists them", path), "%s is not ignored", ui.Printable(text))
		case i < len(remove):
			s = slices.Delete(s, at, at+1)
		}
	}
	defer lockfile.Adopt(path)
	err = atomicfile.WriteText(path, 0o600, []byte(strings.Join(append(s, ""), "\n")))
	if err == nil {
		f.say("saved: %s\n", ui.Printable(path))
	}
	return err
}
