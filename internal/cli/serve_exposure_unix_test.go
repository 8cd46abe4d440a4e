//go:build unix

package cli_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anivault/anivault/internal/tmdbfake/cert"
)

// The page for admins: every combination of address, certificate, plain_http and token. What is not refused listens,
// over TLS wherever others reach it, and shows a stranger a form to log in and nothing else.
func TestEveryExposureOfTheAdminPage(t *testing.T) {
	pair, err := cert.New(time.Now(), cert.Good)
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(pair.Leaf.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	certs := t.TempDir()
	for name, block := range map[string]*pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: pair.Leaf.Certificate[0]},
		"key.pem":  {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(filepath.Join(certs, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, addr := range []string{"127.0.0.1:0", "localhost:0", "0.0.0.0:0", "[::]:0"} {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Logf("this machine has no %s", addr)
			continue
		}
		l.Close()
		for _, encrypted := range []string{"", "tls", "plain_http"} {
			for _, admin := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %s admin %v", addr, encrypted, admin), func(t *testing.T) {
					yaml := "tmdb: {token: a-token-of-tests, base_url: \"http://127.0.0.1:9\"}\nserve:\n  anonymous: true\n" +
						map[string]string{
							"": "", "tls": "  tls: {cert: " + certs + "/cert.pem, key: " + certs +
								"/key.pem}\n", "plain_http": "  plain_http: true\n",
						}[encrypted]
					local := !strings.HasPrefix(addr, "0.0.0.0") && !strings.HasPrefix(addr, "[::]")
					a := adminPage(t, yaml, addr, admin, local || encrypted == "tls")
					if a == nil {
						return
					}
					if got := strings.HasPrefix(a.url, "https://"); got == local {
						t.Errorf("it is at %s", a.url)
					}
					for path, want := range map[string]int{
						"/": 303, "/accounts": 303, "/log": 303, "/api/v1/status": 401,
						"/api/v1/clients": 401,
					} {
						if got, _ := a.get(path, ""); got != want {
							t.Errorf("a stranger at %s: %d", path, got)
						}
					}
					if status, body := a.get("/login", ""); status != 200 || strings.Contains(body, `name="token"`) != admin {
						t.Errorf("the form: %d, an admin %v", status, admin)
					}
					if admin {
						if status, _ := a.get("/api/v1/status", a.token); status != 200 {
							t.Errorf("the admin: %d", status)
						}
						if status, _ := a.get("/api/v1/status", "anv_0000000000000000000000000000000000000000000"); status != 401 {
							t.Errorf("a token that nobody has: %d", status)
						}
					}
				})
			}
		}
	}
}

// shownPage is the page of a gateway that runs.
type shownPage struct {
	t          *testing.T
	url, token string
	client     *http.Client
}

// adminPage starts a gateway with the page at an address; nil where it was rightly refused.
func adminPage(t *testing.T, yaml, addr string, admin, safe bool) *shownPage {
	t.Helper()
	home := t.TempDir()
	env := append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "ANIVAULT_") || strings.HasPrefix(v, "XDG_") || strings.HasPrefix(v, "HOME=")
	}), "HOME="+home, "ANIVAULT_CONFIG="+filepath.Join(home, "config.yaml"))
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	a := &shownPage{t: t}
	if admin {
		cmd := exec.Command("anivault", "serve", "token", "new", "me", "--admin")
		cmd.Env = env
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		a.token = strings.TrimSpace(string(out))
	}
	cmd := exec.Command("anivault", "serve", "--offline", "--listen", "127.0.0.1:0", "--admin-listen", addr)
	cmd.Env = env
	said, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for lines := bufio.NewScanner(said); a.url == "" && lines.Scan(); {
		text.WriteString(lines.Text() + "\n")
		a.url, _ = strings.CutPrefix(lines.Text(), "admin page on ")
		if !strings.HasPrefix(lines.Text(), "admin page on ") {
			a.url = ""
		}
	}
	if a.url == "" {
		_ = cmd.Wait()
		if safe || cmd.ProcessState.ExitCode() != 2 || !strings.Contains(text.String(),
			"--admin-listen: \""+addr+"\": is not loopback: name a certificate") {
			t.Errorf("exit status %d: %s", cmd.ProcessState.ExitCode(), text.String())
		}
		return nil
	}
	go func() { _, _ = io.Copy(io.Discard, said) }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if !safe {
		t.Errorf("it listens on %s", a.url)
		return nil
	}
	_, port, err := net.SplitHostPort(a.url[strings.Index(a.url, "://")+3:])
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // whether it is TLS is the question
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", "127.0.0.1:"+port)
		},
	}
	t.Cleanup(tr.CloseIdleConnections)
	a.client = &http.Client{Transport: tr, CheckRedirect: func(*http.Request,
		[]*http.Request,
	) error {
		return http.ErrUseLastResponse
	}}
	return a
}

func (a *shownPage) get(path, token string) (status int, body string) {
	a.t.Helper()
	req, err := http.NewRequest(http.MethodGet, a.url+path, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := a.client.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}
