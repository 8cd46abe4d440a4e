// Command hello is the least that a program with cobra does: a root command and "version". The startup benchmark
// measures it beside anivault.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func main() {
	root := &cobra.Command{Use: "hello", SilenceUsage: true}
	root.AddCommand(&cobra.Command{
		Use: "version",
		Run: func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), "hello 1.0.0") },
	})
	if err := root.Execute(); err != nil {
		os.Exit(1)
	}
}
