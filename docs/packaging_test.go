package docs

import (
	"os"
	"strings"
	"testing"
)

// The units of the packages are those that the documents show, from their first section on.
func TestDocumentsShowThePackagesUnits(t *testing.T) {
	for unit, doc := range map[string]string{
		"anivault.service": "scripting.md", "anivault.timer": "scripting.md",
	} {
		t.Run(unit, func(t *testing.T) {
			b, err := os.ReadFile("../packaging/" + unit)
			if err != nil {
				t.Fatal(err)
			}
			shown, err := os.ReadFile(doc)
			if err != nil {
				t.Fatal(err)
			}
			_, text, _ := strings.Cut("\n"+string(b), "\n[Unit]\n")
			if block := "```ini\n[Unit]\n" + text + "```\n"; !strings.Contains(string(shown), block) {
				t.Errorf("docs/%s does not show packaging/%s", doc, unit)
			}
			release, err := os.ReadFile("../.goreleaser.yaml")
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(release), "dst: /usr/lib/systemd/system/"+unit+"\n") {
				t.Errorf("the packages don't have %s", unit)
			}
		})
	}
}
