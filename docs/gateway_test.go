package docs_test

import (
	"regexp"
	"testing"

	"github.com/anivault/anivault/internal/metrics"
)

// TestAlertsUseMetricsThatExist holds the rules for Prometheus to the table of metrics.
func TestAlertsUseMetricsThatExist(t *testing.T) {
	known := map[string]bool{}
	for _, d := range metrics.Table {
		known["anivault_"+d.Name] = true
	}
	names := regexp.MustCompile(`anivault_\w+`).FindAllString(read(t, "gateway.md"), -1)
	for _, name := range names {
		if !known[name] {
			t.Errorf("there is no %s", name)
		}
	}
	if len(names) < 5 {
		t.Errorf("%d metrics in the rules", len(names))
	}
}
