package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/pins"
	"github.com/anivault/anivault/internal/ui"
)

func (c *command) unpinCommand() *cobra.Command {
	return leaf(&cobra.Command{
		Use:     "unpin PATH|TITLE...",
		Short:   "Take back a pin",
		Example: "  anivault unpin ~/Anime/Monster\n  anivault unpin \"Monster\"",
		Args:    atLeastOne("PATH or TITLE", "anivault pins lists what is pinned"),
	}, nil, func(cmd *cobra.Command, args []string, _ string) error {
		return c.changePins(cmd, func(s *pins.Set) (string, error) {
			var said []string
			for _, arg := range args {
				old, err := removePin(s, c.expandHome(arg))
				if err != nil {
					return "", err
				}
				said = append(said, "unpinned "+describePin(*old))
			}
			return strings.Join(said, "\n"), nil
		})
	})
}

// removePin takes back what is pinned for the argument as a path or as a title, whichever there is.
func removePin(s *pins.Set, arg string) (*pins.Pin, error) {
	if path, err := pinPath(arg); err == nil {
		if old := s.Remove(pins.Pin{Path: path}); old != nil {
			return old, nil
		}
	}
	if old := s.Remove(pins.Pin{Title: arg}); old != nil {
		return old, nil
	}
	return nil, usagef("anivault pins lists what is pinned", "nothing is pinned for %s", ui.Printable(arg))
}
