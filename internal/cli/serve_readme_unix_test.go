//go:build unix

package cli_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/anivault/anivault/internal/tmdbfake"
)

var (
	serveLine = regexp.MustCompile(`(?m)^anivault serve\b[^#\n]*`)
	curlLine  = regexp.MustCompile(`(?m)^curl '?(http://127\.0\.0\.1:7373/[^' ]*)`)
)

// Whoever types what the pages say has a first answer, and the second from the cache. The port alone is another one:
// the pages' may be taken here.
func TestTheFirstAnswerOfThePagesIsOne(t *testing.T) {
	for _, page := range []string{"README.md", "README.ko.md", "docs/gateway.md"} {
		t.Run(page, func(t *testing.T) {
			raw, err := os.ReadFile(filepath.Join("..", "..", page))
			if err != nil {
				t.Fatal(err)
			}
			curl := curlLine.FindSubmatch(raw)
			if curl == nil || strings.TrimSpace(string(serveLine.Find(raw))) != "anivault serve" {
				t.Fatal("it shows no first answer")
			}
			fake, err := tmdbfake.New(tmdbfake.Config{})
			if err != nil {
				t.Fatal(err)
			}
			server, err := fake.Listen("127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = server.Close() })
			k := newKillable(t, "tmdb: {token: a-token-of-tests}\n", server.URL())
			url := k.url + strings.TrimPrefix(string(curl[1]), "http://127.0.0.1:7373")
			for i, want := range []string{"fwd=miss; stored", "hit; ttl="} {
				begun := time.Now()
				resp, err := http.Get(url)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(resp.Header.Get("Cache-Status"), want) ||
					!strings.Contains(string(body), "Frieren") {
					t.Errorf("answer %d after %s: %s %s %.200s", i+1, time.Since(begun), resp.Status, resp.Header.Get("Cache-Status"),
						body)
				}
			}
		})
	}
}
