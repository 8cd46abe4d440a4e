package cli_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anivault/anivault/internal/upstream"
)

// However a run is killed, a server that answers gets the notice of its folder once or twice.
func TestNoticesComeOnceOrTwiceAfterKills(t *testing.T) {
	s := newStand(t, upstream.Scenario{})
	var mu sync.Mutex
	var bodies bytes.Buffer
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		bodies.Write(append(body, '\n'))
	}))
	defer hook.Close()
	configFile := filepath.Join(s.dir, "notify.yaml")
	text := fmt.Sprintf("notify: [{to: webhook, url: %q, on: [changed]}]\n", hook.URL)
	if err := os.WriteFile(configFile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := append(s.env, "ANIVAULT_CONFIG="+configFile)
	start := func(args ...string) *exec.Cmd {
		t.Helper()
		cmd := exec.Command("anivault", args...)
		cmd.Dir, cmd.Env = s.dir, env
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	organize := func(n int) []string {
		return []string{"organize", "--yes", "lib/Cowboy Bebop - 05.mkv", "--to", fmt.Sprintf("library%03d", n)}
	}
	run := func(n int) time.Duration {
		t.Helper()
		if err := os.Mkdir(filepath.Join(s.dir, fmt.Sprintf("library%03d", n)), 0o755); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if err := start(organize(n)...).Wait(); err != nil {
			t.Fatal(err)
		}
		return time.Since(begun)
	}
	run(0) // fills the cache
	whole := run(1)

	rounds := 40
	if testing.Short() {
		rounds = 8
	}
	for n := 2; n < rounds+2; n++ {
		if err := os.Mkdir(filepath.Join(s.dir, fmt.Sprintf("library%03d", n)), 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := start(organize(n)...)
		time.Sleep(whole * time.Duration(n-1) / time.Duration(rounds)) // each round is killed a little later
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = start("apply", "--resume").Wait() // if it was killed in between
		if err := start(organize(n)...).Wait(); err != nil {
			t.Fatalf("round %d: %v", n, err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	count := map[string]int{}
	for _, library := range regexp.MustCompile(`library[0-9]{3}`).FindAllString(bodies.String(), -1) {
		count[library]++
	}
	for n := range rounds + 2 {
		if c := count[fmt.Sprintf("library%03d", n)]; c < 1 || c > 2 {
			t.Errorf("the notice of library %d came %d times", n, c)
		}
	}
	if t.Failed() {
		t.Log(strings.TrimSpace(bodies.String()))
	}
}
