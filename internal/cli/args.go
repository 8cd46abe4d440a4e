package cli

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/ui"
)

// Checks of arguments that several commands share. Each failure is a usage error with a hint.

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.HasSubCommands() {
		hint := "see: " + cmd.CommandPath() + " --help"
		var names []string
		for _, sub := range cmd.Commands() {
			names = append(names, sub.Name())
		}
		if near, ok := config.Nearest(args[0], names); ok {
			hint = "did you mean " + cmd.CommandPath() + " " + near + "?"
		}
		return usagef(hint, "unknown command %q for %q", args[0], cmd.CommandPath())
	}
	return usagef("see: "+cmd.CommandPath()+" --help", "%s takes no arguments, got %q", cmd.CommandPath(), args[0])
}

// rootArgs is noArgs for the program itself, where a path is most likely meant to be matched.
func rootArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		if _, err := os.Lstat(args[0]); err == nil {
			return usagef("did you mean: anivault match "+ui.ShellWord(args[0])+"?", "unknown command %q for %q", args[0], cmd.CommandPath())
		}
	}
	return noArgs(cmd, args)
}

// exactArgs wants as many arguments as there are names.
func exactArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		return usagef("see: "+cmd.CommandPath()+" --help", "%s takes %s, got %d arguments", cmd.CommandPath(),
			strings.Join(names, " "), len(args))
	}
}

// atLeastOne wants an argument; the hint gives an example.
func atLeastOne(name, hint string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return usagef(hint, "no %s given", name)
	}
}

// atMostOne allows one argument or none.
func atMostOne(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= 1 {
			return nil
		}
		return usagef("see: "+cmd.CommandPath()+" --help", "%s takes at most one %s, got %d arguments", cmd.CommandPath(), name, len(args))
	}
}
