// Package docs_test holds the documents to the code.
package docs_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/anivault/anivault/internal/config"
)

// TestEachBlockOfSettingsIsAccepted loads the configuration with each block of settings on the limiter's page.
func TestEachBlockOfSettingsIsAccepted(t *testing.T) {
	page := read(t, "limiter.md")
	line := regexp.MustCompile(`(?m)^export ([A-Z_]+)=(\S+)`)
	blocks := 0
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(page, -1) {
		settings := line.FindAllStringSubmatch(block[1], -1)
		if len(settings) == 0 {
			continue
		}
		blocks++
		t.Run(settings[0][0], func(t *testing.T) {
			dir := t.TempDir()
			environ := []string{"HOME=" + dir, "AppData=" + dir, "LocalAppData=" + dir}
			for _, s := range settings {
				environ = append(environ, s[1]+"="+s[2])
			}
			cfg, warnings, err := config.Load(config.Sources{Environ: environ})
			if err != nil || len(warnings) > 0 {
				t.Fatalf("%s: %v %v", block[1], err, warnings)
			}
			for _, s := range settings {
				for _, v := range cfg.Values() {
					if v.Setting.Env == s[1] && v.Setting.Default == s[2] {
						t.Errorf("%s=%s is the default", s[1], s[2])
					}
				}
			}
		})
	}
	if blocks < 8 {
		t.Errorf("only %d blocks of settings", blocks)
	}
}

// read returns a document, relative to this folder, with plain line ends.
func read(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(raw), "\r\n", "\n")
}
