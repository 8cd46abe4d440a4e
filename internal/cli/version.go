package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/version"
)

// attribution is the notice that TMDB's terms ask for.
const attribution = "This product uses the TMDB API but is not endorsed or certified by TMDB."

func (c *command) versionCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version and TMDB's notice",
		Example: "  anivault version\n  anivault version --format json",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			v := version.Get()
			if err := checkFormat(format, "text", "json"); err != nil {
				return err
			}
			if format == "json" {
				return json.NewEncoder(c.streams.Out).Encode(v)
			}
			return c.printVersion()
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "`FORM` of the output: text or json")
	completeWords(cmd, "format", "text", "json")
	return cmd
}

func (c *command) printVersion() error {
	v := version.Get()
	_, err := fmt.Fprintf(c.streams.Out, "anivault %s\ncommit %s, %s, %s\n%s\n", v.Version, v.Commit, v.Date, v.Go, attribution)
	return err
}
