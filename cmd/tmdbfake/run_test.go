package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anivault/anivault/internal/tmdbfake"
)

// lines passes what is written on, a write at a time.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

// serve runs the program until the test ends and gives its addresses.
func serve(t *testing.T, args ...string) (api, admin string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "addr")
	ctx, cancel := context.WithCancel(t.Context())
	out, ended := make(lines, 1), make(chan int, 1)
	var stderr bytes.Buffer
	go func() { ended <- run(ctx, append(args, "-addr-file", file), out, &stderr) }()
	t.Cleanup(func() {
		cancel()
		if code := <-ended; code != exitOK {
			t.Errorf("exit %d: %s", code, stderr.String())
		}
	})
	select {
	case said := <-out:
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		addrs := strings.Split(string(b), "\n")
		if len(addrs) != 3 || addrs[2] != "" || !strings.Contains(said, addrs[0]) || !strings.Contains(said, addrs[1]) {
			t.Fatalf("address file %q, said %q", b, said)
		}
		return addrs[0], addrs[1]
	case code := <-ended:
		ended <- code
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	return "", ""
}

func get(t *testing.T, c *http.Client, url string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer any.token")
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func TestServesAndReportsItsAddress(t *testing.T) {
	catalog := filepath.Join(t.TempDir(), "c.jsonl")
	if err := os.WriteFile(catalog,
		[]byte(`{"kind":"tv","tmdb_id":5,"titles":[{"lang":"ja","type":"main","title":"Toudai"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	scenario := filepath.Join(t.TempDir(), "s.json")
	if err := os.WriteFile(scenario,
		[]byte(`{"faults":[{"match":{"nth":2},"do":{"kind":"status","status":502,"body":"html"}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	api, admin := serve(t, "--catalog", catalog, "--scenario", scenario, "--seed", "7", "--limit", "sliding:2/1h",
		"--rank", "text", "--latency", "1ms")
	for _, want := range []int{200, 502, 429} {
		if status, body := get(t, http.DefaultClient, "http://"+api+"/3/search/tv?query=toudai"); status != want {
			t.Errorf("%d %s, want %d", status, body, want)
		}
	}
	if status, body := get(t, http.DefaultClient, "http://"+admin+"/__fake/state"); status != 200 ||
		!strings.Contains(body, `"works": 1,`) || !strings.Contains(body, `"requests": 3,`) {
		t.Errorf("%d %s", status, body)
	}
}

func TestPresetAndKeys(t *testing.T) {
	api, _ := serve(t, "-preset", "maintenance-20m", "-keys", "other")
	if status, body := get(t, http.DefaultClient, "http://"+api+"/3/configuration"); status != 503 ||
		!strings.Contains(body, `"status_code":46`) {
		t.Errorf("%d %s", status, body)
	}
}

func TestFlagsChooseTheModel(t *testing.T) {
	o, err := parse(strings.Fields("-rank namesake -finds shown -rows 20 -plain seasons,specials -without 3/8"),
		io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	got, err := o.model()
	want := tmdbfake.Model{
		Rank: tmdbfake.RankNamesake, Finds: tmdbfake.FindsShown, MaxRows: 20, PlainSeasons: true, PlainSpecials: true,
		Without: tmdbfake.Share{Part: 3, Of: 8},
	}
	if err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}

func TestTLSWritesItsAuthority(t *testing.T) {
	ca := filepath.Join(t.TempDir(), "ca.pem")
	api, _ := serve(t, "-tls", "-ca-file", ca)
	pem, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	t.Cleanup(tr.CloseIdleConnections)
	if status, _ := get(t, &http.Client{Transport: tr}, "https://"+api+"/3/configuration"); status != 200 {
		t.Errorf("%d", status)
	}
}

func TestCommandLinesThatAreRefused(t *testing.T) {
	for _, row := range []struct{ args, want string }{
		{"-adr x", "-adr"},
		{"-limit slidin", `-limit: limit model "slidin" is unknown: use`},
		{"-rank best", `-rank: rank mode "best" is unknown: use`},
		{"-finds luck", `-finds: way to find works "luck" is unknown: use`},
		{"-rows -1", "-rows -1: want"},
		{"-plain films", `-plain "films": want seasons`},
		{"-without 9/8", `-without: share "9/8": want a part`},
		{"-latency soon", `-latency: latency "soon": write`},
		{"-preset sun", `-preset: preset "sun" is unknown: use`},
		{"-catalog /no/such", "-catalog /no/such: open"},
		{"-scenario /no/such", "-scenario /no/such: open"},
		{"-seed x", `"x"`},
		{"-tls", "needs -ca-file"},
		{"serve", `unexpected argument "serve"`},
	} {
		t.Run(row.args, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := run(t.Context(), strings.Fields(row.args), &out, &errs)
			if code != exitUsage || !strings.Contains(errs.String(), row.want) || out.Len() > 0 {
				t.Errorf("%s: exit %d, %q; want %d and %q", row.args, code, errs.String(), exitUsage, row.want)
			}
		})
	}
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"-h"}, &out, &errs); code != exitOK ||
		!strings.Contains(errs.String(), "-addr-file") {
		t.Errorf("-h: exit %d, %q", code, errs.String())
	}
	if code := run(t.Context(), []string{"-addr", "256.0.0.1:x"}, &out, &errs); code != exitInternal {
		t.Errorf("a bad address: exit %d", code)
	}
}
