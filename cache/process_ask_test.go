//go:build unix

package cache

// Processes that ask: nothing is asked twice, and a claim is taken over when its owner is gone.

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// countingServer answers /3/tv/N and counts each path.
func countingServer(t testing.TB) (url string, asked func() map[string]int) {
	t.Helper()
	var mu sync.Mutex
	counts := map[string]int{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		counts[r.URL.Path]++
		mu.Unlock()
		time.Sleep(time.Millisecond) // the fake's latency
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"path":%q,"status":"Ended","pad":%q}`, r.URL.Path, strings.Repeat("x", 2000))
	}))
	t.Cleanup(srv.Close)
	return srv.URL, func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		out := map[string]int{}
		for k, v := range counts {
			out[k] = v
		}
		return out
	}
}

// askTask asks for its keys with four workers. It never takes another process for stopped, however little time the
// machine has for it.
func askTask(ctx context.Context, tk task) error {
	s, err := openStore(
		tk.Dir,
		Options{LockWait: time.Hour, ClaimTimeout: time.Hour, OnWarning: func(w Warning) { fmt.Fprintln(os.Stderr, w) }},
	)
	if err != nil {
		return err
	}
	tr := &Transport{Store: s, Next: http.DefaultTransport}
	todo := make(chan string)
	errs := make(chan error, 4)
	for range 4 {
		go func() {
			var first error
			for path := range todo {
				if err := askOne(ctx, tr, tk.URL+path); err != nil && first == nil {
					first = err
				}
			}
			errs <- first
		}()
	}
	for _, k := range tk.Keys {
		todo <- k
	}
	close(todo)
	for range 4 {
		if e := <-errs; e != nil && err == nil {
			err = e
		}
	}
	if e := s.Close(); err == nil {
		err = e
	}
	return err
}

func askOne(ctx context.Context, tr http.RoundTripper, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || !strings.Contains(string(body), req.URL.Path) {
		return fmt.Errorf("%s: %d %.60s", url, resp.StatusCode, body)
	}
	return nil
}

func TestProcessesNeverAskTheSameQuestionTwice(t *testing.T) {
	for _, n := range []int{2, 4, 8} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			dir := t.TempDir()
			url, asked := countingServer(t)
			const each = 120
			want := map[string]int{}
			children := make([]*child, n)
			for p := range n {
				keys := make([]string, 0, each)
				for i := range each / 2 {
					keys = append(keys, fmt.Sprintf("/3/tv/%d", i), fmt.Sprintf("/3/tv/%d", (p+1)*1000+i))
				}
				rand.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
				for _, k := range keys {
					want[k] = 1
				}
				children[p] = start(t, task{Name: "ask", Dir: dir, URL: url, Keys: keys})
			}
			for _, c := range children {
				c.wait(t)
				if c.errs.Len() > 0 {
					t.Errorf("child warned: %s", c.errs)
				}
			}
			got := asked()
			for k := range want {
				if got[k] != 1 {
					t.Errorf("%s was asked %d times", k, got[k])
				}
			}
			s := open(t, dir, Options{})
			st, err := s.Stats(t.Context())
			if err != nil || st.Entries != len(want) {
				t.Errorf("%d entries of %d are there: %v", st.Entries, len(want), err)
			}
		})
	}
}

func TestClaimOfDeadOrStoppedProcessIsTakenOver(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
		t.Run(sig.String(), func(t *testing.T) {
			dir := t.TempDir()
			holder := start(t, task{Name: "hold", Dir: dir, Keys: []string{tvURL}})
			if got := holder.line(t); got != "asking" {
				t.Fatal(got)
			}
			s := open(t, dir, Options{ClaimTimeout: time.Hour})
			up := &upstream{serve: always(200, endedBody)}
			// As long as it lives the others wait, for as long as they like.
			short := &Transport{Store: s, Next: up, MaxWait: 5 * time.Millisecond}
			if _, text, source := get(t, short, tvURL); source != "error" || text != ErrWait.Error() {
				t.Fatalf("while it is asked: %s %s", source, text)
			}
			if up.count() != 0 {
				t.Fatal("the question was asked twice")
			}
			holder.signal(t, sig)
			if sig == syscall.SIGSTOP { // the dead are known by their lock, those who are stopped by their silence
				s = open(t, dir, Options{ClaimTimeout: 10 * time.Millisecond})
			}
			if _, _, source := get(t, &Transport{Store: s, Next: up}, tvURL); source != "network" {
				t.Errorf("source %s", source)
			}
		})
	}
}
