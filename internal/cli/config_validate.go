package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/config"
)

func (c *command) configValidateCommand() *cobra.Command {
	return leaf(&cobra.Command{
		Use:     "validate",
		Short:   "Check flags, environment and config file, and name all that is wrong; exit 2 then",
		Example: "  anivault config validate",
	}, nil, func(cmd *cobra.Command, _ []string, _ string) error {
		cfg, err := c.load(cmd)
		if bad, ok := errors.AsType[*config.Error](err); ok {
			for _, e := range bad.Others { // the first comes last, as any command's error
				complain(c.streams, e.Error())
			}
		}
		if err == nil {
			c.say("configuration is valid (%s)\n", cfg.Dirs.ConfigFile)
		}
		return err
	})
}
