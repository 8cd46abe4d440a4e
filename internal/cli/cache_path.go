package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (c *command) cachePathCommand() *cobra.Command {
	return leaf(&cobra.Command{
		Use:     "path",
		Short:   "Print the cache's folder",
		Example: "  anivault cache path",
	}, nil, func(cmd *cobra.Command, _ []string, _ string) error {
		cfg, err := c.load(cmd)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(c.streams.Out, cfg.Dirs.Cache)
		return err
	})
}
