package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/ratelimit"
)

func (c *command) limiterCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "limiter",
		Short: "Look at the limiter, tune it, or tell it what to do",
		Long: `Look at the limiter that every request to TMDB has to pass, tune it, or tell it what to do. All of your processes
on this machine share it.`,
		Example: `  anivault limiter show
  anivault limiter tune rate_base=10 --for 2h
  anivault limiter resume`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		c.limiterShowCommand(), c.limiterTuneCommand(), c.limiterCacheOnlyCommand(), c.limiterResumeCommand(),
		c.limiterResetCommand(), c.limiterRulesCommand(), c.limiterGraphCommand(), c.limiterSimulateCommand(),
	)
	return cmd
}

func (c *command) limiterRulesCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "Print the transition table",
		Long: `Print the transition table, in the order in which its rows are tried: the first that holds is the event's
only transition.`,
		Example: "  anivault limiter rules\n  anivault limiter rules --format json",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := checkFormat(format, "text", "json"); err != nil {
				return err
			}
			if format == "json" {
				return rulesJSON(c.streams.Out)
			}
			return rulesText(c.streams.Out)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "`FORM` of the output: text or json")
	completeWords(cmd, "format", "text", "json")
	return cmd
}

// fromStates names where a rule leads from.
func fromStates(r ratelimit.Rule) []string {
	if r.From == nil {
		return []string{"any"}
	}
	names := make([]string, len(r.From))
	for i, s := range r.From {
		names[i] = s.String()
	}
	return names
}

func rulesText(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FROM\tTO\tCONDITION\tCONFIRMATION\tREASON")
	for _, r := range ratelimit.Rules() {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", strings.Join(fromStates(r), ", "), r.To, r.Condition, r.Confirmation, r.Reason)
	}
	return w.Flush()
}

// wireRule is a row of the transition table in JSON.
type wireRule struct {
	From         []string `json:"from" doc:"the states it leads out of"`
	To           string   `json:"to" doc:"the state it leads to"`
	Condition    string   `json:"condition" doc:"what has to hold"`
	Confirmation string   `json:"confirmation" doc:"how often or how long"`
	Reason       string   `json:"reason" doc:"its name in logs and status"`
}

func rulesJSON(out io.Writer) error {
	var rows []wireRule
	for _, r := range ratelimit.Rules() {
		rows = append(rows, wireRule{fromStates(r), r.To.String(), r.Condition, r.Confirmation, r.Reason.String()})
	}
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(rows)
}

func (c *command) limiterGraphCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "graph",
		Short:   "Print the state diagram as Mermaid, generated from the transition table",
		Example: "  anivault limiter graph > limiter.mmd",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(c.streams.Out, ratelimit.Graph())
			return err
		},
	}
}
