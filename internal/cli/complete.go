package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/apply"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/pins"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/ratelimit"
)

// completeNames completes arguments that name a pin, run, client, account or cached answer. The command completion
// itself refuses unknown shells.
func completeNames(f *factory, root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		completion.Long = "" // cobra's text has no translation
		completion.Args, completion.RunE = noArgs, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	for path, namesIn := range map[string]func(*config.Config) ([]string, error){
		"unpin": pinnedNames, "undo": runIDs, "verify": runIDs, "history": runIDs, "history abandon": runIDs, "apply": runIDs,
		"serve token revoke": clientNames,
		"accounts test":      accountNames, "accounts enable": accountNames, "accounts disable": accountNames,
		"accounts tune": accountNames, "cache get": cachedURLs,
	} {
		cmd, _, err := root.Find(strings.Fields(path))
		if err != nil {
			panic(err) // a bug: the command does not exist
		}
		several := strings.Contains(cmd.Use, "NAME...") || strings.Contains(cmd.Use, "TITLE...")
		cmd.ValidArgsFunction = func(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
			if resume := cmd.Flags().Lookup("resume"); resume != nil && !resume.Changed {
				return nil, cobra.ShellCompDirectiveDefault // the file of a plan
			}
			cfg, err := f.load(cmd)
			if err != nil || len(given) > 0 && !several {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			names, _ := namesIn(cfg) // without the names there is nothing to complete
			return slices.DeleteFunc(names, func(name string) bool {
				return slices.Contains(given, name) || ui.Escaped(name) != name
			}), cobra.ShellCompDirectiveNoFileComp
		}
	}
}

func pinnedNames(cfg *config.Config) (names []string, err error) {
	set, err := pins.Open(cfg.Dirs.Data).Load()
	if err != nil {
		return nil, err
	}
	return mapped(set.All(), pins.Pin.PathOrTitle), nil
}

func runIDs(cfg *config.Config) (ids []string, err error) {
	e, err := openEngine(cfg)
	if err != nil {
		return nil, err
	}
	defer e.Journals.Close()
	runs, err := e.Runs()
	return mapped(runs, func(r apply.Run) string { return r.ID }), err
}

func cachedURLs(cfg *config.Config) (urls []string, err error) {
	store, err := app.OpenCache(cfg, 0, func(error) {})
	if err != nil {
		return nil, err
	}
	err = store.Range(context.Background(), func(e *cache.Entry) error {
		urls = append(urls, strings.TrimPrefix(e.Key, "GET "))
		return nil
	})
	return urls, errors.Join(err, store.Close())
}

func clientNames(cfg *config.Config) (names []string, err error) {
	clients, err := cfg.AllClients()
	return mapped(clients, func(c config.Client) string { return c.Name }), err
}

func accountNames(cfg *config.Config) (names []string, _ error) {
	return mapped(cfg.LimiterAccounts(), func(a ratelimit.Account) string { return a.Name }), nil
}
