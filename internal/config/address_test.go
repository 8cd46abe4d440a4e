package config

import (
	"strings"
	"testing"
)

func TestAddressesAreShownWithoutSecrets(t *testing.T) {
	for text, want := range map[string]string{
		"https://api.themoviedb.org":           "https://api.themoviedb.org",
		"http://127.0.0.1:9/path/3":            "http://127.0.0.1:9/path/3",
		"http://u:SECRET@127.0.0.1:9":          "http://[redacted]@127.0.0.1:9",
		"http://u:SE/C?R@ET@127.0.0.1:9/x":     "http://[redacted]@127.0.0.1:9/x",
		"u:SECRET@host":                        "[redacted]@host",
		"http://127.0.0.1:9/x?api_key=SECRET":  "http://127.0.0.1:9/x?[redacted]",
		"http://127.0.0.1:9/#SECRET":           "http://127.0.0.1:9/#[redacted]",
		"https://u:SECRET@h/?a=SECRET@b#c":     "https://[redacted]@b#[redacted]",
		"https://u:SECRET@h/?api_key=SECRET#c": "https://[redacted]@h/?[redacted]",
		"off":                                  "off",
	} {
		if got := redactAddress(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

// Neither a refusal nor a value that is in force tells what was in an address besides its place.
func TestNoAddressIsShownInFull(t *testing.T) {
	for _, env := range []string{
		"ANIVAULT_TMDB_BASE_URL=http://u:SECRET@127.0.0.1:9", "ANIVAULT_TMDB_BASE_URL=http://127.0.0.1:9?api_key=SECRET",
		"ANIVAULT_TMDB_BASE_URL=ftp://u:SECRET@h", "ANIVAULT_TMDB_BASE_URL=http://u:SECRET%zz@h",
		"ANIVAULT_INDEX_ANIME_LISTS_URL=https://u:SECRET@h/x", "ANIVAULT_INDEX_ANIME_LISTS_URL=https://h/x?token=SECRET",
	} {
		cfg, _, err := Load(
			Sources{Environ: []string{"HOME=" + t.TempDir(), "LocalAppData=" + t.TempDir(), "AppData=" + t.TempDir(), env}})
		if err != nil {
			if text := err.Error(); strings.Contains(text, "SECRET") || !strings.Contains(text, redactedText) {
				t.Errorf("%s: %s", env, text)
			}
			continue
		}
		for _, v := range cfg.Values() {
			if strings.Contains(v.Text, "SECRET") {
				t.Errorf("%s is shown as %q", v.Setting.Key, v.Text)
			}
		}
		if got := strings.Join(cfg.Index.AnimeLists, ","); !strings.HasSuffix(env, got) {
			t.Errorf("%q is in force, want that of %s", got, env)
		}
	}
}
