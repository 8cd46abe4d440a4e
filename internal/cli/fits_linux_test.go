package cli_test

import (
	"strings"
	"testing"

	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/internal/upstream"
)

// What is read on a terminal is wrapped there. Only an address may be wider.
func TestTablesFitTheTerminal(t *testing.T) {
	s := newStand(t, upstream.Scenario{})
	for _, args := range [][]string{
		{"limiter", "rules"},
		{"limiter", "cache-only"},
		{"config", "show", "--origin"},
		{"help", "environment"},
		{"limiter", "resume"},
		{"watch", "--help"},
		{"missing", "--help"},
		{"search", "--help"},
	} {
		for _, language := range []string{"en", "ko"} {
			_, raw := onTerminal(t, 80, 24, append(s.env, "ANIVAULT_LANG="+language), args...).end()
			for line := range strings.SplitSeq(strings.ReplaceAll(raw, "\r", ""), "\n") {
				if ui.Width(line) > 80 && !strings.Contains(line, "https://") {
					t.Errorf("anivault %s, %s: %q", strings.Join(args, " "), language, line)
				}
			}
		}
	}
}
