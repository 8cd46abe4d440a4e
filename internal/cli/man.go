package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/anivault/anivault/internal/version"
)

// manCommand writes man pages: packages are made with it, and a person who built from source can read them.
func (c *command) manCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:     "man",
		Short:   "Print the manual page, or write one per command",
		Example: "  anivault man | man -l -\n  anivault man --dir ~/.local/share/man/man1",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			header := &doc.GenManHeader{Title: "ANIVAULT", Section: "1", Source: "anivault " + version.Get().Version, Manual: "anivault"}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			if dir == "" {
				return doc.GenMan(root, header, c.streams.Out)
			}
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return fmt.Errorf("make folder for man pages: %w", err)
			}
			return doc.GenManTree(root, header, dir)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "write a page per command into `FOLDER` instead")
	return cmd
}
