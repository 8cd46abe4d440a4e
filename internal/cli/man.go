package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/version"
)

func newMan(f *factory) *cobra.Command {
	var dir string
	cmd := f.setRun(command("man"), nil, func(c invocation) error {
		if dir == "" {
			_, err := io.WriteString(f.streams.Out, manPage(c.cmd.Root()))
			return err
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return lang.Error("make folder for man pages: %w", err)
		}
		return writeManPages(c.cmd.Root(), dir)
	})
	cmd.Flags().StringVar(&dir, "dir", "", "write a page per command into `FOLDER` instead")
	return cmd
}

func writeManPages(cmd *cobra.Command, dir string) error {
	if err := os.WriteFile(filepath.Join(dir, manName(cmd)+".1"), []byte(manPage(cmd)), 0o644); err != nil {
		return lang.Error("write man page: %w", err)
	}
	for _, sub := range availableCommands(cmd) {
		if err := writeManPages(sub, dir); err != nil {
			return err
		}
	}
	return nil
}

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// availableCommands returns the commands below cmd, without help topics, which can't be run.
func availableCommands(cmd *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(cmd.Commands()), func(sub *cobra.Command) bool {
		return !sub.IsAvailableCommand()
	})
}

// manPage returns the manual page of a command, in English and in the macros of man(7).
func manPage(cmd *cobra.Command) string {
	cmd.InitDefaultHelpFlag()
	var m manText
	v, built := version.Get(), ""
	if date, err := time.Parse(time.RFC3339, v.Date); err == nil {
		built = date.Format("Jan 2006")
	}
	// Without justification, because long words would leave wide gaps.
	fmt.Fprintf(&m, ".nh\n.ad l\n.TH %q 1 %q %q anivault\n", strings.ToUpper(manName(cmd)), built, "anivault "+v.Version)
	m.section("NAME")
	m.text(manName(cmd) + " - " + cmd.Short)
	m.section("SYNOPSIS")
	fmt.Fprintf(&m, ".B %s\n", escapeRoff(cmd.UseLine()))
	m.section("DESCRIPTION")
	m.text(cmp.Or(longHelp(cmd, lang.English), cmd.Long, cmd.Short))
	m.section("OPTIONS")
	cmd.NonInheritedFlags().VisitAll(m.flag)
	if cmd.HasAvailableInheritedFlags() {
		m.section("OPTIONS INHERITED FROM PARENT COMMANDS")
		cmd.InheritedFlags().VisitAll(m.flag)
	}
	if examples := exampleText(cmd, lang.English); examples != "" {
		m.section("EXAMPLE")
		m.WriteString(".EX\n")
		m.text(examples)
		m.WriteString(".EE\n")
	}
	if !cmd.HasParent() || cmd.Name() == "match" {
		m.commonSections()
	}
	if !cmd.HasParent() {
		for _, o := range outputs() {
			m.section("OUTPUT OF " + strings.ToUpper(o.Name))
			for _, f := range o.Fields {
				m.row(f.Name, f.Doc)
			}
		}
	}
	m.seeAlso(cmd)
	return m.String()
}

type manText struct{ strings.Builder }

func (m *manText) section(title string) { fmt.Fprintf(m, ".SH %s\n", title) }

func (m *manText) row(head, text string) {
	fmt.Fprintf(m, ".TP\n.B %s\n%s\n", escapeRoff(head), escapeRoff(text))
}

// text writes paragraphs. A line that begins with a space stays a line of its own, as man(7) has it.
func (m *manText) text(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		m.WriteString(cmp.Or(escapeRoff(line), ".PP") + "\n")
	}
}

func (m *manText) seeAlso(cmd *cobra.Command) {
	related := availableCommands(cmd)
	if cmd.HasParent() {
		related = append([]*cobra.Command{cmd.Parent()}, related...)
	}
	pages := mapped(related, func(c *cobra.Command) string { return escapeRoff(manName(c) + "(1)") })
	m.section("SEE ALSO")
	m.WriteString(`\fB` + strings.Join(pages, `\fP, \fB`) + "\\fP\n")
}

func (m *manText) flag(f *pflag.Flag) {
	if f.Hidden {
		return
	}
	value, text := pflag.UnquoteUsage(f)
	head := `\fB\-\-` + escapeRoff(f.Name) + `\fP`
	if f.Shorthand != "" {
		head = `\fB\-` + f.Shorthand + `\fP, ` + head
	}
	if value != "" && f.Value.Type() != "count" {
		head += ` \fI` + escapeRoff(value) + `\fP`
	}
	if f.DefValue != "" && !slices.Contains(omittedDefaults, f.DefValue) {
		text += " (default: " + f.DefValue + ")"
	}
	fmt.Fprintf(m, ".TP\n%s\n%s\n", head, escapeRoff(text))
}

func (m *manText) commonSections() {
	m.section("EXIT STATUS")
	for _, e := range exitCodes() {
		m.row(fmt.Sprint(e.Code), e.Meaning)
	}
	m.section("ENVIRONMENT")
	for _, s := range config.Settings() {
		text := s.Doc
		if s.Default != "" {
			text += " Default: " + s.Default + "."
		}
		m.row(s.Env, text+" In the config file: "+s.Key+".")
	}
	for _, v := range config.OtherVariables() {
		m.row(v.Name, v.Doc)
	}
	m.section("FILES")
	for _, f := range manFiles {
		m.row(f[0], f[1])
	}
}

var manFiles = [][2]string{
	{"~/.config/anivault/config.yaml", "The configuration."},
	{"~/.local/state/anivault", "The limiter's state, which all processes share."},
	{"~/.cache/anivault", "TMDB's answers and decisions based on them."},
	{"~/.local/share/anivault", "Pins and the title index."},
	{library.IgnoreFile, "In any folder: what is left out there and below, in the syntax of .gitignore."},
}

func escapeRoff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}
