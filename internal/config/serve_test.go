package config

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// Every setting of the gateway that is wrong in the file is refused with file, line, value and what is allowed.
func TestEverySettingOfServeIsRefusedWithItsPlace(t *testing.T) {
	for _, s := range Settings() {
		if !strings.HasPrefix(s.Key, "serve.") {
			continue
		}
		t.Run(s.Key, func(t *testing.T) {
			if s.Allowed == "a path" || strings.HasPrefix(s.Key, "serve.tls.") {
				t.Skip("any text is a path; serve check opens it")
			}
			yaml, lines := "", 0
			parts := strings.Split(s.Key, ".")
			for depth, part := range parts {
				yaml += strings.Repeat("  ", depth) + part + ":"
				if lines++; depth < len(parts)-1 {
					yaml += "\n"
				}
			}
			const value = "Two words/@"
			_, _, told, err := loadYAML(t, yaml+" "+value+"\n")
			if err == nil {
				t.Fatal("it is taken")
			}
			if want := fmt.Sprintf("FILE:%d: %s: %q: ", lines, s.Key, value); !strings.Contains(told, want) ||
				!strings.Contains(told, "must be ") {
				t.Errorf("%s\nwant %s... must be ...", told, want)
			}
			if _, _, told, err := loadYAML(t, yaml+" \"\"\n"); err == nil && s.Default != "" ||
				err != nil && !strings.Contains(told, fmt.Sprintf("FILE:%d: %s: ", lines, s.Key)) {
				t.Errorf("where it is empty: %q", told)
			}
			env := "ANIVAULT_" + strings.ToUpper(strings.ReplaceAll(s.Key, ".", "_"))
			if _, _, told,
				_ = loadYAML(t, "", env+"="+value); !strings.Contains(told, env+": ") || !strings.Contains(told, "must be ") {
				t.Errorf("by its variable: %s", told)
			}
		})
	}
}

// A Host that is none in particular would undo what the names are for.
func TestHostsAreNamedInFull(t *testing.T) {
	for host, ok := range map[string]bool{
		"gateway.lan": true, "*": false, "*.lan": false, "Gateway.lan": false,
		"gateway.lan:80": false,
	} {
		_, _, told, err := loadYAML(t, "serve: {hosts: ["+strconv.Quote(host)+"]}\n")
		if (err == nil) != ok || !ok && !strings.Contains(told, "without scheme, port or *") {
			t.Errorf("%s: %s", host, told)
		}
	}
}

func TestClientsThatAreRefused(t *testing.T) {
	const hash = `token_sha256: "0000000000000000000000000000000000000000000000000000000000000000"`
	for _, tt := range []struct{ name, yaml, want string }{
		{"no list", "serve:\n  clients: {a: 1}", "FILE:2: clients: must be a list of clients"},
		{
			"text in the list", "serve:\n  clients:\n    - bitmagnet",
			"FILE:3: clients: each client is a section with name and token_sha256",
		},
		{"no name", "serve:\n  clients:\n    - {" + hash + "}", "FILE:3: clients: a client needs name and token_sha256"},
		{"no token", "serve:\n  clients:\n    - {name: a}", `FILE:3: clients: "a": a client needs name and token_sha256`},
		{
			"the token itself", "serve:\n  clients:\n    - {name: a, token_sha256: anv_secret-secret}",
			"FILE:3: token_sha256: must be 64 lower-case hex digits",
		},
		{
			"a name with capitals", "serve:\n  clients:\n    - {name: Big, " + hash + "}",
			`FILE:3: name: "Big": must be 1 to 32 characters: a-z, 0-9 and -, but not - first, not anonymous`,
		},
		{
			"a name that the log has for nobody", "serve:\n  clients:\n    - {name: \"-\", " + hash + "}",
			`FILE:3: name: "-": must be 1 to 32 characters: a-z, 0-9 and -, but not - first, not anonymous`,
		},
		{
			"everybody's name", "serve:\n  clients:\n    - {name: anonymous, " + hash + "}",
			`FILE:3: name: "anonymous": must be`,
		},
		{
			"class", "serve:\n  clients:\n    - {name: a, " + hash + ", class: urgent}",
			`FILE:3: class: "urgent": must be interactive or batch`,
		},
		{
			"weight", "serve:\n  clients:\n    - {name: a, " + hash + ", weight: 101}",
			`FILE:3: weight: "101": must be a whole number from 1 to 100`,
		},
		{
			"requests", "serve:\n  clients:\n    - {name: a, " + hash + ", requests: many}",
			`FILE:3: requests: "many": must be off, or a number of requests in a period of at least 1s, as in 6000/1m`,
		},
		{
			"period", "serve:\n  clients:\n    - {name: a, " + hash + ", requests: 5/1ns}",
			`FILE:3: requests: "5/1ns": must be off, or a number of requests in a period of at least 1s, as in 6000/1m`,
		},
		{
			"upstream", "serve:\n  clients:\n    - {name: a, " + hash + ", upstream: 5}",
			`FILE:3: upstream: "5": must be off, or a number of requests`,
		},
		{
			"admin", "serve:\n  clients:\n    - {name: a, " + hash + ", admin: perhaps}",
			`FILE:3: admin: "perhaps": must be true or false`,
		},
		{
			"made", "serve:\n  clients:\n    - {name: a, " + hash + ", made: today}",
			`FILE:3: made: "today": must be a time such as 2026-`,
		},
		{
			"an unknown setting", "serve:\n  clients:\n    - {name: a, " + hash + ", wieght: 2}",
			"FILE:3: wieght: is not a setting of a client; there are name, token_sha256,",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, told, err := loadYAML(t, tt.yaml)
			if err == nil || !strings.Contains(told, tt.want) {
				t.Errorf("%s\nwant %s", told, tt.want)
			}
			if strings.Contains(told, "secret-secret") {
				t.Errorf("it tells a token: %s", told)
			}
		})
	}
}

func TestAListOfClientsThatCouldNotBeReadIsNotWritten(t *testing.T) {
	dir := t.TempDir()
	fill := func(n int) error {
		return EditClients(t.Context(), dir, func([]Client) (all []Client, _ error) {
			for i := range n {
				name := strconv.Itoa(i)
				all = append(all, Client{Name: name, TokenSHA256: TokenHash(name), Class: "interactive", Weight: 1})
			}
			return all, nil
		})
	}
	if err := fill(2); err != nil {
		t.Fatal(err)
	}
	if err := fill(10_000); err == nil || !strings.Contains(err.Error(), "revoke clients") {
		t.Errorf("10,000 clients: %v", err)
	}
	left := 0
	err := EditClients(t.Context(), dir, func(list []Client) ([]Client, error) {
		left = len(list)
		return list, nil
	})
	if err != nil || left != 2 {
		t.Errorf("%d clients are left, %v", left, err)
	}
}

func TestQueueLimitsThatCross(t *testing.T) {
	for yaml, want := range map[string]string{
		"serve:\n  queue:\n    max: 10\n    per_client: 11\n": `config.yaml:4: serve.queue.per_client: "11": is above `,
		"serve:\n  queue: {max: 10}\n":                        "", // the other one is a default
		"serve:\n  queue: {max: 10, per_client: 10}\n":        "",
	} {
		cfg, _, _, err := loadYAML(t, yaml)
		if err != nil {
			t.Fatal(err)
		}
		told := ""
		if err := cfg.PrepareServe(); err != nil {
			told = err.Error()
		}
		if want == "" && told != "" || !strings.Contains(told, want) {
			t.Errorf("%s: %q\nwant %q", yaml, told, want)
		}
	}
}
