package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/config"
)

func (c *command) configPathCommand() *cobra.Command {
	return leaf(&cobra.Command{
		Use:     "path",
		Short:   "Print where the config file is, or would be",
		Example: "  anivault config path",
	}, nil, func(*cobra.Command, []string, string) error {
		path, err := config.FilePath(c.configFile, c.environ)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(c.streams.Out, path)
		return err
	})
}
