package logging

import (
	"encoding/base64"
	"log/slog"
	"net/url"
	"strings"
	"testing"
)

// Canaries: whatever way a secret takes into a log line, it does not come out.
func TestSecretsNeverComeOut(t *testing.T) {
	const (
		token = "eyJhbGciOiJIUzI1NiJ9.eyJhdWQiOiJjYW5hcnkifQ.c2lnbmF0dXJlLWNhbmFyeQ"
		key   = "0123456789abcdef0123456789abcdef"
		odd   = "pa ss+wo/rd&\"\n\\ü"
	)
	for _, format := range []Format{Logfmt, JSON} {
		opts := Options{Format: format, Redactor: NewRedactor(token, key, odd, "", "a")}
		for _, text := range []string{
			token, key, odd, "Bearer " + token, "GET https://api.themoviedb.org/3/tv/1?api_key=" + key + "&page=1: EOF",
			"q=" + url.QueryEscape(odd), "p=" + url.PathEscape(odd), base64.StdEncoding.EncodeToString([]byte(odd)), "x" + odd +
				"y" + odd,
		} {
			line := logged(t, opts, slog.LevelInfo, text, nil, slog.String("v", text), slog.Any("any", []string{text}),
				slog.String("comp", text))
			for _, secret := range []string{
				token, "signature", "c2lnbmF0dXJl", key, odd, url.QueryEscape(odd),
				url.PathEscape(odd), base64.StdEncoding.EncodeToString([]byte(odd)), "pa ss",
			} {
				if strings.Contains(line, secret) {
					t.Errorf("%s: %q came out of %q: %s", format, secret, text, line)
				}
			}
			if !strings.Contains(line, redacted) {
				t.Errorf("%s: nothing marks the place of the secret: %s", format, line)
			}
			if n := strings.Count(line, "\n"); n != 1 {
				t.Errorf("%d lines: %q", n, line)
			}
		}
	}
}

func TestUnknownSecrets(t *testing.T) {
	r := NewRedactor()
	for in, want := range map[string]string{
		"GET /3/tv/1?api_key=abc123def&language=en":         "GET /3/tv/1?api_key=[redacted]&language=en",
		`{"access_token":"abc123def","x":1}`:                `{"access_token":"[redacted]","x":1}`,
		"Authorization: Bearer abc.def-ghi":                 "Authorization: Bearer [redacted]",
		"dial http://user:hunter22@proxy:3128":              "dial http://user:[redacted]@proxy:3128",
		"token: [set]":                                      "token: [set]",
		"token: abc123def":                                  "token: [redacted]",
		"tmdb.token: cannot be combined with accounts":      "tmdb.token: cannot be combined with accounts",
		"{'password' : 'abc123def'}":                        "{'password' : '[redacted]'}",
		`"/etc/main.token": cannot be read`:                 `"/etc/main.token": cannot be read`,
		"title=Token Knight, year=2020":                     "title=Token Knight, year=2020",
		"https://api.themoviedb.org:443/3/tv":               "https://api.themoviedb.org:443/3/tv",
		"Show - 03: the bearer of news":                     "Show - 03: the bearer of news",
		"key eyJhbGciOiJI.eyJhdWQi.c2lnbmF0":                "key [redacted]",
		"/anv_" + strings.Repeat("aZ0_-", 8) + "123/3/tv/1": "/[redacted]/3/tv/1",
	} {
		t.Run(want, func(t *testing.T) {
			if got := r.String(in); got != want {
				t.Errorf("%q\n got %q\nwant %q", in, got, want)
			}
		})
	}
	if got := NewRedactor("a", "abcde").String("abcde banana"); got != "abcde banana" {
		t.Errorf("a secret too short to be one was searched for: %q", got)
	}
	if got := NewRedactor("secret-long", "secret-long-er").String("x secret-long-er y"); got != "x [redacted] y" {
		t.Errorf("of two secrets the longer must go first: %q", got)
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("api_key=", "&x=1")
	f.Add("Bearer ", "\"")
	f.Add("://u:", "@host")
	const secret = "canary-0123456789"
	r := NewRedactor(secret)
	f.Fuzz(func(t *testing.T, before, after string) {
		if strings.Contains(before+after, secret) {
			t.Skip("the canary must be ours")
		}
		if got := r.String(before + secret + after); strings.Contains(got, secret) {
			t.Errorf("%q came through in %q", secret, got)
		}
	})
}
