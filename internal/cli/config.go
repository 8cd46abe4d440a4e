package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/ui"
)

func (c *command) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "config",
		Short:   "Show, check or start the configuration",
		Example: "  anivault config init\n  anivault config show --origin",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.configShowCommand(), c.configPathCommand(), c.configValidateCommand(), c.configInitCommand())
	return cmd
}

func (c *command) configShowCommand() *cobra.Command {
	var origin bool
	var format string
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Print the effective settings",
		Long: `Print the effective settings, in the order flag, environment, config file, default. Keys and tokens are
shown as [set], never themselves.`,
		Example: "  anivault config show\n  anivault config show --origin",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkFormat(format, "text", "json"); err != nil {
				return err
			}
			cfg, err := c.load(cmd)
			if err != nil {
				return err
			}
			if format == "json" {
				return settingsJSON(c.streams.Out, cfg)
			}
			return settingsText(c.streams.Out, cfg, origin)
		},
	}
	cmd.Flags().BoolVar(&origin, "origin", false, "say where each value came from")
	cmd.Flags().StringVar(&format, "format", "text", "`FORM` of the output: text or json")
	completeWords(cmd, "format", "text", "json")
	return cmd
}

// shownValue is the text of a setting, with the folders that defaults stand for.
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
		text := shownValue(cfg, v)
		if text == "" {
			text = "-"
		}
		fmt.Fprintf(w, "%s\t%s", v.Setting.Key, ui.Printable(text))
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

func settingsJSON(out io.Writer, cfg *config.Config) error {
	rows := []wireSetting{}
	for _, v := range cfg.Values() {
		rows = append(rows, wireSetting{v.Setting.Key, shownValue(cfg, v), v.Origin, v.Setting.Env})
	}
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(rows)
}

func (c *command) configPathCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "path",
		Short:   "Print where the config file is, or would be",
		Example: "  anivault config path",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			path, err := config.FilePath(c.configFile, c.environ)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.streams.Out, path)
			return err
		},
	}
}

func (c *command) configValidateCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "validate",
		Short:   "Check flags, environment and config file, and name all that is wrong; exit 2 then",
		Example: "  anivault config validate",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.load(cmd)
			var bad *config.Error
			if errors.As(err, &bad) {
				for _, e := range bad.Others { // the first comes last, as any command's error
					complain(c.streams, e.Error())
				}
			}
			if err != nil {
				return err
			}
			if !c.quiet {
				fmt.Fprintf(c.streams.Err, "configuration is valid (%s)\n", cfg.Dirs.ConfigFile)
			}
			return nil
		},
	}
}
