package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/version"
)

// manCommand writes man pages: packages are made with it, and a person who built from source can read them.
func (c *command) manCommand() *cobra.Command {
	var dir string
	cmd := leaf(&cobra.Command{
		Use:     "man",
		Short:   "Print the manual page, or write one per command",
		Example: "  anivault man | man -l -\n  anivault man --dir ~/.local/share/man/man1",
	}, nil, func(cmd *cobra.Command, _ []string, _ string) error {
		root := cmd.Root()
		root.DisableAutoGenTag = true
		page, err := manPage(root)
		if err != nil {
			return err
		}
		if dir == "" {
			_, err := c.streams.Out.Write(page)
			return err
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make folder for man pages: %w", err)
		}
		if err := doc.GenManTree(root, manHeader(), dir); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, root.Name()+".1"), page, 0o644) // with its tables
	})
	cmd.Flags().StringVar(&dir, "dir", "", "write a page per command into `FOLDER` instead")
	return cmd
}

// manHeader has no title: each page is called after its command. Its date is the build's.
func manHeader() *doc.GenManHeader {
	v := version.Get()
	h := &doc.GenManHeader{Section: "1", Source: "anivault " + v.Version, Manual: "anivault"}
	if date, err := time.Parse(time.RFC3339, v.Date); err == nil {
		h.Date = &date
	}
	return h
}

// manPage is the program's own page: cobra's, with what belongs to no command from the tables of the code.
func manPage(root *cobra.Command) ([]byte, error) {
	var page bytes.Buffer
	if err := doc.GenMan(root, manHeader(), &page); err != nil {
		return nil, err
	}
	before, after, ok := bytes.Cut(page.Bytes(), []byte(".SH SEE ALSO"))
	if !ok {
		return nil, errors.New("make man page: it has no SEE ALSO")
	}
	var tables strings.Builder
	section := func(title string) { fmt.Fprintf(&tables, ".SH %s\n", title) }
	row := func(head, text string) { fmt.Fprintf(&tables, ".TP\n.B %s\n%s\n", roff(head), roff(text)) }
	section("EXIT STATUS")
	for _, e := range exitCodes {
		row(fmt.Sprint(e.Code), e.Meaning)
	}
	section("ENVIRONMENT")
	for _, s := range config.Settings() {
		text := s.Doc
		if s.Default != "" {
			text += " Default: " + s.Default + "."
		}
		row(s.Env, text+" In the config file: "+s.Key+".")
	}
	for _, v := range config.OtherVariables() {
		row(v.Name, v.Doc)
	}
	for _, o := range outputs() {
		section("OUTPUT OF " + strings.ToUpper(o.Name))
		for _, f := range o.Fields {
			row(f.Name, f.Doc)
		}
	}
	return []byte(string(before) + tables.String() + ".SH SEE ALSO" + string(after)), nil
}

// roff escapes what has a meaning to man.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}
