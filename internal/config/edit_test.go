package config

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A token is put into what a person has written; all else stays to the letter.
func TestATokenIsPutIntoAFile(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"an old token": {
			"# mine\ntmdb:\n    language: ko-KR   # own\n\n    token: \"old\" # the old " +
				"one\nlog:\n  level: debug\n",
			"# mine\ntmdb:\n    language: ko-KR   # own\n\n    token: \"new\"  # the old one\nlog:\n  level: debug\n",
		},
		"a token without quotes": {"tmdb:\n  token: old\n", "tmdb:\n  token: \"new\"\n"},
		"an empty one":           {"tmdb:\n  token:\n  language: ko-KR\n", "tmdb:\n  token: \"new\"\n  language: ko-KR\n"},
		"no token": {
			"tmdb:\n   # said once\n   language: ko-KR\n",
			"tmdb:\n   token: \"new\"\n   # said once\n   language: ko-KR\n",
		},
		"an empty section": {
			"tmdb:\n  # token: x\nlog:\n  level: debug\n",
			"tmdb:\n  token: \"new\"\n  # token: x\nlog:\n  level: debug\n",
		},
		"nothing but its name": {"tmdb:", "tmdb:\n  token: \"new\"\n"},
		"no section":           {"log:\n  level: debug", "log:\n  level: debug\ntmdb:\n  token: \"new\"\n"},
		"nothing":              {"", "tmdb:\n  token: \"new\"\n"},
		"comments":             {"# none yet\n", "# none yet\ntmdb:\n  token: \"new\"\n"},
		"Windows' line ends": {
			"tmdb:\r\n  token: old\r\nlog:\r\n  level: debug\r\n",
			"tmdb:\r\n  token: \"new\"\r\nlog:\r\n  level: debug\r\n",
		},
		"capitals":              {"TMDB:\n  Token: old\n", "TMDB:\n  token: \"new\"\n"},
		"a section on one line": {"tmdb: {token: old, language: ko-KR}\n", ""},
		"several lines":         {"tmdb:\n  token: >-\n    old\n    er\n", ""},
		"no YAML":               {"tmdb: [\n", ""},
		"a list":                {"- tmdb\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "config.yaml")
			if err := os.WriteFile(path, []byte(c.in), 0o644); err != nil {
				t.Fatal(err)
			}
			file, err := ReadExisting(path)
			if err != nil {
				t.Fatal(err)
			}
			fits, err := file.CheckPutKey(), file.PutKey(Key{Token: NewSecret("new")})
			got, _ := os.ReadFile(path)
			if c.want == "" {
				if fits == nil || err == nil || string(got) != c.in {
					t.Errorf("taken as %q", got)
				}
				return
			}
			if fits != nil || err != nil || string(got) != c.want {
				t.Errorf("%v %v\n got %q\nwant %q", fits, err, got, c.want)
			}
			if readableByOthers(path) {
				t.Error("others can read the token")
			}
		})
	}
	if file, err := ReadExisting(filepath.Join(t.TempDir(), "none.yaml")); file != nil || err != nil {
		t.Errorf("where there is none: %v %v", file, err)
	}
}

func TestAnAPIKeyIsPutIntoAFile(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"no key":        {"tmdb:\n  language: ko-KR\n", "tmdb:\n  api_key: \"new\"\n  language: ko-KR\n"},
		"a token":       {"tmdb:\n  token: old # mine\n", "tmdb:\n  api_key: \"new\"  # mine\n"},
		"an API key":    {"tmdb:\n  api_key: old\n", "tmdb:\n  api_key: \"new\"\n"},
		"a token_file":  {"tmdb:\n  token_file: /t\n", ""}, // would be used before the key
		"both of them":  {"tmdb:\n  token: old\n  api_key: old\n", ""},
		"no section":    {"log:\n  level: debug\n", "log:\n  level: debug\ntmdb:\n  api_key: \"new\"\n"},
		"several lines": {"tmdb:\n  api_key: >-\n    old\n    er\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "config.yaml")
			if err := os.WriteFile(path, []byte(c.in), 0o600); err != nil {
				t.Fatal(err)
			}
			file, err := ReadExisting(path)
			if err != nil {
				t.Fatal(err)
			}
			err = file.PutKey(Key{APIKey: NewSecret("new")})
			want := cmp.Or(c.want, c.in)
			if got, _ := os.ReadFile(path); string(got) != want || (err != nil) != (c.want == "") {
				t.Errorf("%v\n got %q\nwant %q", err, got, want)
			}
		})
	}
}

func TestABackupIsNeverReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	for i, text := range []string{"log:\n  level: debug\n", "tmdb:\n  token_file: /x\n", "tmdb: ["} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		file, err := ReadExisting(path)
		if err != nil {
			t.Fatal(err)
		}
		if file.HoldsKey() != (i > 0) {
			t.Errorf("%q: holds a key: %t", text, file.HoldsKey())
		}
		backup, err := file.Backup()
		got, _ := os.ReadFile(backup)
		if err != nil || string(got) != text || readableByOthers(backup) || !strings.HasPrefix(backup, path+".bak") {
			t.Errorf("%s: %q, %v", backup, got, err)
		}
	}
}

// Notepad on Windows begins a file with a byte order mark, which nobody sees.
func TestAByteOrderMarkIsNoPartOfAKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("\ufeffscript-token\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, _, err := Load(Sources{Environ: []string{"HOME=" + t.TempDir(), "ANIVAULT_TMDB_TOKEN_FILE=" + file}})
	if err != nil || cfg.TMDB.Token.Reveal() != "script-token" {
		t.Errorf("%q %v", cfg.TMDB.Token.Reveal(), err)
	}
}
