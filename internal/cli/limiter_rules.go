package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/ratelimit"
)

func (c *command) limiterRulesCommand() *cobra.Command {
	return leaf(&cobra.Command{
		Use:   "rules",
		Short: "Print the transition table",
		Long: `Print the transition table, in the order in which its rows are tried: the first that holds is the event's
only transition.`,
		Example: "  anivault limiter rules\n  anivault limiter rules --format json",
	}, textOrJSON, func(_ *cobra.Command, _ []string, format string) error {
		if format != "json" {
			return rulesText(c.streams.Out)
		}
		var rows []wireRule
		for _, r := range ratelimit.Rules() {
			rows = append(rows, wireRule{fromStates(r), r.To.String(), r.Condition, r.Confirmation, r.Reason.String()})
		}
		return c.printTidyJSON(rows)
	})
}

// fromStates returns the names of the states that a rule leads out of.
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
