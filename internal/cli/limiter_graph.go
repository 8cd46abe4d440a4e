package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/ratelimit"
)

func (c *command) limiterGraphCommand() *cobra.Command {
	return leaf(&cobra.Command{
		Use:     "graph",
		Short:   "Print the state diagram as Mermaid, generated from the transition table",
		Example: "  anivault limiter graph > limiter.mmd",
	}, nil, func(*cobra.Command, []string, string) error {
		_, err := io.WriteString(c.streams.Out, ratelimit.Graph())
		return err
	})
}
