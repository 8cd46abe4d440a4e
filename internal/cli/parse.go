package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/ui"
)

func newParse(f *factory) *cobra.Command {
	return f.setRun(command("parse"), organizeFormats, func(c invocation) error {
		if len(c.args) == 0 && f.streams.InTTY {
			return usagef(`for example: anivault parse "Some Title S2 - 03.mkv"`, "no NAME given, and stdin is a terminal")
		}
		out := bufio.NewWriterSize(f.streams.Out, 64<<10)
		render := func(out *bufio.Writer, name string) error {
			lines := jsonLines{out: out}
			lines.put(&report.ParseRecord{Name: name, Parsed: report.ParsedOf(release.Parse(name))})
			return lines.err
		}
		if c.format == "table" {
			render = writeParsedTable
		}
		// What a name allocates is soon garbage: fewer collections take less time, for 4 MB of memory.
		defer debug.SetGCPercent(debug.SetGCPercent(200))
		in := func() io.Reader { return f.untilSignal(io.NopCloser(f.streams.In)) } // begins to read
		return errors.Join(parseNames(c.args, in, out, render), out.Flush())
	})
}

// parseNames renders the arguments; only if there are none, it opens in and renders its lines. It flushes whenever the
// input buffer is empty, so that a program can send a line and wait for its result.
func parseNames(args []string, in func() io.Reader, out *bufio.Writer, render func(*bufio.Writer, string) error) error {
	for _, name := range args {
		if err := render(out, name); err != nil {
			return err
		}
	}
	if len(args) > 0 {
		return nil
	}
	lines := bufio.NewReaderSize(in(), 64<<10)
	for {
		line, err := lines.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return lang.Error("read names: %w", err)
		}
		if line != "" {
			if err := render(out, strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if lines.Buffered() == 0 {
			_ = out.Flush() // if it fails, so does render
		}
	}
}

func writeParsedTable(out *bufio.Writer, name string) error {
	p := report.ParsedOf(release.Parse(name))
	fmt.Fprintln(out, ui.Printable(name))
	var fields rows
	add := func(labelsAndValues ...string) {
		for pair := range slices.Chunk(labelsAndValues, 2) {
			if pair[1] != "" {
				fields.add("  "+lang.Say(pair[0]), "%s", ui.Printable(pair[1]))
			}
		}
	}
	add("title", p.Title)
	for _, title := range p.Titles {
		if title != p.Title {
			add("also", title)
		}
	}
	add("kind", lang.Say(p.Kind), "season", ui.Numbers(p.Seasons, ", "), "episode", ui.Numbers(p.Episodes, ", "),
		"part", ui.Number(p.Part), "special", p.Special, "episode title", p.EpisodeTitle, "year", ui.Number(p.Year),
		"release group", p.Group, "resolution", p.Resolution, "source", p.Source, "video", p.Video, "audio", p.Audio,
		"edition", p.Edition, "checksum", p.Checksum, "version", ui.Number(p.Version))
	return fields.write(out, 0)
}
