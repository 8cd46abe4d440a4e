package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/ui"
)

func newConfig(f *factory) *cobra.Command {
	return group(&cobra.Command{
		Use:     "config",
		Short:   "Show, check or start the configuration",
		Example: "  anivault config init\n  anivault config show --origin",
	}, newConfigShow(f), newConfigPath(f), newConfigValidate(f), newConfigInit(f))
}

func newConfigPath(f *factory) *cobra.Command {
	return leaf(&cobra.Command{
		Use:     "path",
		Short:   "Print where the config file is, or would be",
		Example: "  anivault config path",
	}, nil, func(*cobra.Command, []string, string) error {
		path, err := config.FilePath(f.configFile, f.environ)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(f.streams.Out, path)
		return err
	})
}

func newConfigValidate(f *factory) *cobra.Command {
	return leaf(&cobra.Command{
		Use:     "validate",
		Short:   "Check flags, environment and config file, and name all that is wrong; exit 2 then",
		Example: "  anivault config validate",
	}, nil, func(cmd *cobra.Command, _ []string, _ string) error {
		cfg, err := f.load(cmd)
		if bad, ok := errors.AsType[*config.Error](err); ok {
			for _, e := range bad.Others { // the first comes last, as any command's error
				complain(f.streams, e.Text())
			}
		}
		if err == nil {
			f.say("configuration is valid (%s)\n", cfg.Dirs.ConfigFile)
		}
		return err
	})
}

func newConfigShow(f *factory) *cobra.Command {
	var origin bool
	cmd := f.configured(&cobra.Command{
		Use:   "show",
		Short: "Print the effective settings",
		Long: `Print the effective settings, in the order flag, environment, config file, default. Keys and tokens are
shown as [set], never themselves.`,
		Example: "  anivault config show\n  anivault config show --origin",
	}, textOrJSON, func(_ context.Context, cfg *config.Config, _ []string, format string) error {
		rows := []wireSetting{}
		for _, v := range cfg.Values() {
			rows = append(rows, wireSetting{v.Setting.Key, shownValue(cfg, v), v.Origin, v.Setting.Env})
		}
		if format == "json" {
			return f.printTidyJSON(rows)
		}
		w := tabwriter.NewWriter(f.streams.Out, 0, 0, 2, ' ', 0)
		for _, r := range rows {
			fmt.Fprintf(w, "%s\t%s", r.Key, ui.Printable(cmp.Or(r.Value, "-")))
			if origin {
				fmt.Fprintf(w, "\t%s", r.Origin)
			}
			fmt.Fprintln(w)
		}
		return w.Flush()
	})
	cmd.Flags().BoolVar(&origin, "origin", false, "say where each value came from")
	return cmd
}

// shownValue returns the text of a setting, and the folder that is used where none is set.
func shownValue(cfg *config.Config, v config.Value) string {
	used := map[string]string{"state_dir": cfg.Dirs.State, "cache_dir": cfg.Dirs.Cache, "data_dir": cfg.Dirs.Data}
	return cmp.Or(v.Text, used[v.Setting.Key])
}

// wireSetting is a setting in JSON.
type wireSetting struct {
	Key    string `json:"key" doc:"its place in the config file"`
	Value  string `json:"value" doc:"what is in force; [set] for a key or token"`
	Origin string `json:"origin" doc:"default, config file, environment NAME or flag --name"`
	Env    string `json:"env" doc:"its variable"`
}
