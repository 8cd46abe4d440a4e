package docs_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/anivault/anivault/internal/config"
)

// TestTuningPageIsAccepted loads the configuration with each block of settings on the tuning page.
func TestTuningPageIsAccepted(t *testing.T) {
	raw, err := os.ReadFile("tuning.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.ReplaceAll(string(raw), "\r\n", "\n")
	line := regexp.MustCompile(`(?m)^export ([A-Z_]+)=(\S+)`)
	blocks := 0
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(page, -1) {
		dir := t.TempDir()
		environ := []string{"HOME=" + dir, "AppData=" + dir, "LocalAppData=" + dir}
		settings := line.FindAllStringSubmatch(block[1], -1)
		for _, s := range settings {
			environ = append(environ, s[1]+"="+s[2])
		}
		if len(settings) == 0 {
			continue
		}
		blocks++
		cfg, warnings, err := config.Load(config.Sources{Environ: environ})
		if err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v %v", block[1], err, warnings)
			continue
		}
		for _, s := range settings {
			for _, v := range cfg.Values() {
				if v.Setting.Env == s[1] && v.Setting.Default == s[2] {
					t.Errorf("%s=%s is the default", s[1], s[2])
				}
			}
		}
	}
	if blocks < 8 {
		t.Errorf("only %d blocks of settings", blocks)
	}
}
