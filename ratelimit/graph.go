package ratelimit

import (
	"fmt"
	"strings"
)

// Graph returns the transition table as a Mermaid state diagram. Rows from any
// state are drawn from the four states they really lead out of.
func Graph() string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n    [*] --> Normal\n")
	for _, from := range States() {
		for _, to := range States() {
			var reasons []string
			for i := range rules {
				r := &rules[i]
				if from != to && r.to == to && r.leads(from) {
					reasons = append(reasons, r.reason.String())
				}
			}
			if len(reasons) > 0 {
				fmt.Fprintf(&b, "    %s --> %s: %s\n", from, to, strings.Join(reasons, ", "))
			}
		}
	}
	return b.String()
}

// leads reports whether the row can be an arrow from that state: answers of the present
// epoch only exist where requests pass.
func (r *rule) leads(from State) bool {
	return r.appliesIn(from) && (r.on != onAnswer || regimes[from].share > 0)
}
