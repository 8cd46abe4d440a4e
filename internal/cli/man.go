package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/version"
)

func newMan(f *factory) *cobra.Command {
	var dir string
	cmd := &cobra.Command{Use: "man", Short: "Print the manual page, or write one per command"}
	f.setRun(cmd, nil, func(c invocation) error {
		root := c.Root()
		root.DisableAutoGenTag = true
		if dir == "" {
			page, err := renderManPage(root)
			if err != nil {
				return err
			}
			_, err = f.streams.Out.Write(page)
			return err
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return lang.Error("make folder for man pages: %w", err)
		}
		return writeManPages(root, dir)
	})
	cmd.Flags().StringVar(&dir, "dir", "", "write a page per command into `FOLDER` instead")
	return cmd
}

// manHeader returns the header with the build date. It has no title, so each page is named after its command.
func manHeader() *doc.GenManHeader {
	v := version.Get()
	h := &doc.GenManHeader{Section: "1", Source: "anivault " + v.Version, Manual: "anivault"}
	if date, err := time.Parse(time.RFC3339, v.Date); err == nil {
		h.Date = &date
	}
	return h
}

func writeManPages(cmd *cobra.Command, dir string) error {
	page, err := renderManPage(cmd)
	if err != nil {
		return err
	}
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
	if err := os.WriteFile(filepath.Join(dir, name), page, 0o644); err != nil {
		return lang.Error("write man page: %w", err)
	}
	for _, sub := range cmd.Commands() {
		// The shells of cobra's command completion share one page.
		if !sub.IsAvailableCommand() || sub.IsAdditionalHelpTopicCommand() || cmd.Name() == "completion" {
			continue
		}
		if err := writeManPages(sub, dir); err != nil {
			return err
		}
	}
	return nil
}

func renderManPage(cmd *cobra.Command) ([]byte, error) {
	cmd.InitDefaultHelpFlag()
	var page bytes.Buffer
	if err := doc.GenMan(cmd, manHeader(), &page); err != nil {
		return nil, err
	}
	// Without justification, because long words would leave wide gaps.
	text := strings.Replace(replaceFlagSections(cmd, page.String()), ".nh\n", ".nh\n.ad l\n", 1)
	var m manText
	switch cmd.CommandPath() {
	case "anivault":
		m.commonSections()
		for _, o := range outputs() {
			m.section("OUTPUT OF " + strings.ToUpper(o.Name))
			for _, f := range o.Fields {
				m.row(f.Name, f.Doc)
			}
		}
	case "anivault match":
		m.commonSections()
	case "anivault completion":
		text = shellPageRefPattern.ReplaceAllString(text, "")
		m.section("SHELLS")
		for _, shell := range cmd.Commands() {
			if shell.Name() != "help" {
				m.row(shell.Name(), shell.Short+"; \"anivault completion "+shell.Name()+" --help\" says where to put it.")
			}
		}
	default:
		return []byte(text), nil
	}
	before, after, ok := strings.Cut(text, ".SH SEE ALSO")
	if !ok {
		return nil, errors.New("make man page: it has no SEE ALSO")
	}
	return []byte(before + m.String() + ".SH SEE ALSO" + after), nil
}

// shellPageRefs matches references to pages of the shells, which do not exist.
var shellPageRefPattern = regexp.MustCompile(`, \\fBanivault\\?-completion\\?-[a-z]+\(1\)\\fP`)

// replaceFlagSections replaces cobra's sections of flags, which lack the defaults.
func replaceFlagSections(cmd *cobra.Command, page string) string {
	for _, section := range []struct {
		title string
		flags *pflag.FlagSet
	}{{"OPTIONS", cmd.NonInheritedFlags()}, {"OPTIONS INHERITED FROM PARENT COMMANDS", cmd.InheritedFlags()}} {
		before, rest, found := strings.Cut(page, ".SH "+section.title+"\n")
		_, after, more := strings.Cut(rest, "\n.SH ")
		if !found || !more {
			continue
		}
		var m manText
		m.section(section.title)
		section.flags.VisitAll(m.flag)
		page = before + m.String() + ".SH " + after
	}
	return page
}

type manText struct{ strings.Builder }

func (m *manText) section(title string) { fmt.Fprintf(m, ".SH %s\n", title) }
func (m *manText) row(head, text string) {
	fmt.Fprintf(m, ".TP\n.B %s\n%s\n", escapeRoff(head), escapeRoff(text))
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
