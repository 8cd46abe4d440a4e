package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/version"
)

// attribution is the notice that TMDB's terms ask for.
const attribution = "This product uses the TMDB API but is not endorsed or certified by TMDB."

func (c *command) versionCommand() *cobra.Command {
	return leaf(&cobra.Command{
		Use:     "version",
		Short:   "Print the version and TMDB's notice",
		Example: "  anivault version\n  anivault version --format json",
	}, textOrJSON, func(_ *cobra.Command, _ []string, format string) error {
		if format == "json" {
			return c.printJSON(version.Get())
		}
		return c.printVersion()
	})
}

func (c *command) printVersion() error {
	v := version.Get()
	_, err := fmt.Fprintf(c.streams.Out, "anivault %s\ncommit %s, %s, %s\n%s\n", v.Version, v.Commit, v.Date, v.Go, attribution)
	return err
}
