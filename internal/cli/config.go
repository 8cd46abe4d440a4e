package cli

import (
	"github.com/spf13/cobra"
)

func (c *command) configCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:     "config",
		Short:   "Show, check or start the configuration",
		Example: "  anivault config init\n  anivault config show --origin",
	}, c.configShowCommand(), c.configPathCommand(), c.configValidateCommand(), c.configInitCommand())
}
