package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/ratelimit"
)

// loadYAML reads a config file of this text, and returns it with "FILE" in place of its path.
func loadYAML(t *testing.T, text string, env ...string) (cfg *Config, warnings []lang.Text, told string, err error) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"main.token": "token-of-main\n", "empty": "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "DIR", dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, warnings, err = Load(
		Sources{File: path, Environ: append([]string{"HOME=" + dir, "AppData=" + dir, "LocalAppData=" + dir}, env...)})
	if err != nil {
		told = strings.ReplaceAll(err.Error(), path, "FILE")
	}
	return cfg, warnings, told, err
}

func TestAccounts(t *testing.T) {
	cfg, warnings, _, err := loadYAML(t, `accounts:
  - name: main
    priority: 10
    keys: [{token_file: ~/main.token}, {api_key: "0123456789abcdef0123456789abcdef"}]
    account_concurrency: 8
    concurrency: 4
    rate: 20
    quota: 5000/24h
    schedule: [{from: "08:00", to: "23:00", account_concurrency: 3}, {from: 23:00, to: 02:00, account_concurrency: 0}]
  - {name: spare, keys: [{token: spare-token}], enabled: false}
`)
	if err != nil || len(warnings) != 0 {
		t.Fatal(err, warnings)
	}
	main, spare := cfg.Accounts[0], cfg.Accounts[1]
	want := ratelimit.Account{
		Name: "main", Priority: 10, Slots: 8, KeySlots: 4, Rate: 20,
		Quota: ratelimit.Budget{Requests: 5000, Period: 24 * time.Hour},
		Keys: []ratelimit.Fingerprint{
			ratelimit.FingerprintOf("token-of-main"),
			ratelimit.FingerprintOf("0123456789abcdef0123456789abcdef"),
		},
		Schedule: []ratelimit.Period{
			{From: 8 * time.Hour, To: 23 * time.Hour, Slots: 3},
			{From: 23 * time.Hour, To: 2 * time.Hour},
		},
	}
	if fmt.Sprint(main.Account) != fmt.Sprint(want) {
		t.Errorf("%+v, want %+v", main.Account, want)
	}
	if !spare.Disabled || spare.Priority != 50 || !cfg.HasKey() || cfg.TMDB.HasKey() || len(cfg.Secrets()) != 3 {
		t.Errorf("%+v", spare)
	}
	if n := cfg.KeyNumber("main", want.Keys[1]); n != 2 {
		t.Errorf("key number %d", n)
	}
	if files := strings.Join(cfg.SourceFiles(), " "); !strings.Contains(files, "main.token") {
		t.Errorf("a reload does not look at %s", files)
	}
	if text := fmt.Sprintf("%+v %#v %v", cfg.Accounts, cfg.Accounts, cfg); strings.Contains(text, "token-of-main") ||
		strings.Contains(text, "spare-token") {
		t.Error("a key shows itself")
	}
}

func TestAccountsThatAreRefused(t *testing.T) {
	const key = "keys: [{token: abcdefgh}]"
	for _, tt := range []struct{ name, yaml, want string }{
		{"no list", "accounts: {main: 1}", `FILE:1: accounts: must be a list of accounts`},
		{"an empty list", "accounts: []", `FILE:1: accounts: must be a list of accounts`},
		{"text in the list", "accounts:\n  - main", `FILE:2: accounts: each account is a section`},
		{"too many", "accounts: [" + strings.Repeat("{}, ", 32) + "{}]", `FILE:1: accounts: "33": at most 32 accounts`},
		{"no name", "accounts:\n  - {" + key + "}", `FILE:2: accounts: an account needs name and keys`},
		{"no keys", "accounts:\n  - {name: a}", `FILE:2: accounts: "a": an account needs name and keys`},
		{
			"a name with capitals", "accounts:\n  - {name: Main, " + key + "}",
			`FILE:2: name: "Main": must be 1 to 32 characters: a-z, 0-9 and -, but not - first`,
		},
		{
			"an unknown setting", "accounts:\n  - {name: a, " + key + ", rates: 3}",
			`FILE:2: rates: is not a setting of an account; there are name, priority,`,
		},
		{
			"a rate that is none", "accounts:\n  - {name: a, " + key + ", rate: fast}",
			`FILE:2: rate: "fast": must be a number from 0.1 to 1000`,
		},
		{
			"a priority out of range", "accounts:\n  - {name: a, " + key + ", priority: -1}",
			`FILE:2: priority: "-1": must be a whole number from 0 to 1000`,
		},
		{
			"a negative limit", "accounts:\n  - {name: a, " + key + ", account_concurrency: -2}",
			`FILE:2: account_concurrency: "-2": must be a whole number from 0`,
		},
		{
			"a quota without a period", "accounts:\n  - {name: a, " + key + ", quota: 5000}",
			`FILE:2: quota: "5000": must be off, or a number of requests in a period`,
		},
		{
			"enabled perhaps", "accounts:\n  - {name: a, " + key + ", enabled: perhaps}",
			`FILE:2: enabled: "perhaps": must be true or false`,
		},
		{"no keys in the list", "accounts:\n  - {name: a, keys: []}", `FILE:2: keys: must be a list of 1 to 8 keys`},
		{
			"nine keys", "accounts:\n  - {name: a, keys: [" + strings.Repeat("{token: abcdefgh}, ", 9) + "]}",
			`FILE:2: keys: must be a list of 1 to 8 keys`,
		},
		{
			"a key of another form", "accounts:\n  - {name: a, keys: [{password: abcdefgh}]}",
			`FILE:2: password: is not a form of a key`,
		},
		{"a bare key", "accounts:\n  - {name: a, keys: [abcdefgh]}", `FILE:2: keys: each key is one of token, token_file`},
		{"an empty key", `accounts: [{name: a, keys: [{token: ""}]}]`, `FILE:1: token: is empty; write the key there`},
		{"a key with a space", `accounts: [{name: a, keys: [{token: "abcd efgh"}]}]`, `FILE:1: token: has a space`},
		{
			"a file that is missing", "accounts: [{name: a, keys: [{token_file: /nowhere/x}]}]",
			`FILE:1: token_file: "/nowhere/x": cannot be read:`,
		},
		{"a file that is empty", "accounts: [{name: a, keys: [{token_file: DIR/empty}]}]", `is empty; write the key there`},
		{
			"a name twice", "accounts:\n  - {name: a, " + key + "}\n  - {name: a, keys: [{token: other123}]}",
			`FILE:3: name: "a": is also the name of the account at FILE:2`,
		},
		{
			"a key twice", "accounts:\n  - {name: a, " + key + "}\n  - {name: b, " + key + "}",
			`FILE:3: keys: "key 1": is also key 1 of account a`,
		},
		{
			"each key more than all", "accounts:\n  - {name: a, " + key + ", account_concurrency: 2, concurrency: 3}",
			`FILE:2: concurrency: "3": is above account_concurrency 2`,
		},
		{
			"faster than the address", "accounts:\n  - {name: a, " + key + ", rate: 36}",
			`FILE:2: rate: "36": is above limiter.rate_base 35`,
		},
		{
			"more than the address", "accounts:\n  - {name: a, " + key + ", account_concurrency: 17}",
			`FILE:2: account_concurrency: "17": is above limiter.concurrency_total 16`,
		},
		{
			"a schedule that is none", "accounts:\n  - {name: a, " + key + ", schedule: always}",
			`FILE:2: schedule: must be a list of parts of the day`,
		},
		{
			"half a part of the day", `accounts: [{name: a, ` + key + `, schedule: [{from: "08:00"}]}]`,
			`FILE:1: schedule: each part of the day has from, to and account_concurrency`,
		},
		{
			"25 o'clock", `accounts: [{name: a, ` + key + `, schedule: [{from: "25:00", to: "08:00", account_concurrency: 1}]}]`,
			`FILE:1: schedule.from: "25:00": must be a time of the day`,
		},
		{
			"no time at all", `accounts: [{name: a, ` + key +
				`, schedule: [{from: "08:00", to: "08:00", account_concurrency: 1}]}]`,
			`FILE:1: schedule: from and to are the same`,
		},
		{
			"a token beside", "tmdb: {token: \"x1234567\"}\naccounts:\n  - {name: a, " + key + "}",
			`FILE:1: tmdb.token: cannot be combined with accounts`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, told, err := loadYAML(t, tt.yaml)
			if err == nil || !strings.Contains(told, tt.want) {
				t.Errorf("%s\nwant %s", told, tt.want)
			}
			if strings.Contains(told, "abcdefgh") {
				t.Errorf("it tells a key: %s", told)
			}
		})
	}
}

func TestATokenInTheEnvironmentWinsOverAccounts(t *testing.T) {
	cfg, warnings, _,
		err := loadYAML(t, "accounts: [{name: a, keys: [{token: abcdefgh}]}]", "ANIVAULT_TMDB_TOKEN=env-token")
	if err != nil || len(cfg.Accounts) != 0 || cfg.TMDB.Token.Reveal() != "env-token" {
		t.Fatal(err, cfg.Accounts)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0].String(), "ANIVAULT_TMDB_TOKEN overrides") {
		t.Errorf("%q", warnings)
	}
	if pool := cfg.EffectiveAccounts(); len(pool) != 1 || pool[0].Name != DefaultAccount {
		t.Errorf("%+v", pool)
	}
}

func TestASectionInPlaceOfAListIsRefused(t *testing.T) {
	for _, yaml := range []string{"accounts: {a: {b: 1}}", "serve: {clients: {a: {b: 1}}}"} {
		if _, _, told, err := loadYAML(t, yaml); err == nil || !strings.Contains(told, "must be a list") {
			t.Errorf("%s: %s", yaml, told)
		}
	}
}

func TestATildeMeansTheHomeFolderInTheListNotify(t *testing.T) {
	cfg, _, told, err := loadYAML(t, `notify:
  - {to: jellyfin, url: http://nas:8096, token_file: ~/main.token, paths: {~/Library: /media}}
`)
	if err != nil {
		t.Fatal(told)
	}
	home := cfg.file.home
	if n := cfg.Notify[0]; n.Token.Reveal() != "token-of-main" || n.Paths[0].From != home+"/Library" {
		t.Errorf("token set: %t, paths %v", n.Token.IsSet(), n.Paths)
	}
}
