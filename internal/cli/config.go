package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/ui"
)

func (c *command) configCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:     "config",
		Short:   "Show, check or start the configuration",
		Example: "  anivault config init\n  anivault config show --origin",
	}, c.configShowCommand(), c.configPathCommand(), c.configValidateCommand(), c.configInitCommand())
}

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

func (c *command) configShowCommand() *cobra.Command {
	var origin bool
	cmd := c.configured(&cobra.Command{
		Use:   "show",
		Short: "Print the effective settings",
		Long: `Print the effective settings, in the order flag, environment, config file, default. Keys and tokens are
shown as [set], never themselves.`,
		Example: "  anivault config show\n  anivault config show --origin",
	}, textOrJSON, func(_ context.Context, cfg *config.Config, _ []string, format string) error {
		if format == "text" {
			return settingsText(c.streams.Out, cfg, origin)
		}
		rows := []wireSetting{}
		for _, v := range cfg.Values() {
			rows = append(rows, wireSetting{v.Setting.Key, shownValue(cfg, v), v.Origin, v.Setting.Env})
		}
		return c.printTidyJSON(rows)
	})
	cmd.Flags().BoolVar(&origin, "origin", false, "say where each value came from")
	return cmd
}

// shownValue returns the text of a setting, and the folder that is used where none is set.
func shownValue(cfg *config.Config, v config.Value) string {
	if v.Text != "" {
		return v.Text
	}
	switch v.Setting.Key {
	case "state_dir":
		return cfg.Dirs.State
	case "cache_dir":
		return cfg.Dirs.Cache
	case "data_dir":
		return cfg.Dirs.Data
	}
	return ""
}

func settingsText(out io.Writer, cfg *config.Config, origin bool) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, v := range cfg.Values() {
		fmt.Fprintf(w, "%s\t%s", v.Setting.Key, ui.Printable(cmp.Or(shownValue(cfg, v), "-")))
		if origin {
			fmt.Fprintf(w, "\t%s", v.Origin)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// wireSetting is a setting in JSON.
type wireSetting struct {
	Key    string `json:"key" doc:"its place in the config file"`
	Value  string `json:"value" doc:"what is in force; [set] for a key or token"`
	Origin string `json:"origin" doc:"default, config file, environment NAME or flag --name"`
	Env    string `json:"env" doc:"its variable"`
}
