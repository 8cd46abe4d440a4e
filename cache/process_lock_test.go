//go:build unix

package cache

// A process that is stopped while it holds the lock.

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// holdTask takes the exclusive lock and keeps it, or claims a key and asks for it without ever being answered.
func holdTask(ctx context.Context, tk task) error {
	s, err := Open(tk.Dir, Options{})
	if err != nil {
		return err
	}
	if len(tk.Keys) > 0 {
		tr := &Transport{Store: s, Next: roundTrip(func(*http.Request) (*http.Response, error) {
			fmt.Println("asking")
			_, _ = io.ReadAll(os.Stdin)
			return reply(200, endedBody), nil
		})}
		if err := askOne(ctx, tr, tk.Keys[0]); err != nil && !strings.Contains(err.Error(), "200 ") {
			return err
		}
		return s.Close()
	}
	release, err := s.exclusive(ctx, time.Minute)
	if err != nil {
		return err
	}
	fmt.Println("held")
	_, _ = io.ReadAll(os.Stdin)
	release()
	return s.Close()
}

func TestStoppedLockHolderKeepsNobodyFromAnswering(t *testing.T) {
	dir := t.TempDir()
	clk := newClock()
	first := open(t, dir, Options{Now: clk.Now})
	up := &upstream{serve: always(200, endedBody)}
	get(t, &Transport{Store: first, Next: up}, tvURL)
	if _, err := first.Merge(t.Context()); err != nil {
		t.Fatal(err)
	}

	holder := start(t, task{Name: "hold", Dir: dir})
	if got := holder.line(t); got != "held" {
		t.Fatal(got)
	}
	holder.signal(t, syscall.SIGSTOP)

	var warned []WarningKind
	s := open(t, dir, Options{Now: clk.Now, LockWait: 20 * time.Millisecond, OnWarning: func(w Warning) { warned = append(warned, w.Kind) }})
	down := &Transport{Store: s, Next: &upstream{serve: func(*http.Request) (*http.Response, error) { return nil, errDown }}}
	if _, text, source := get(t, down, tvURL); source != "error" || text != errDown.Error() {
		t.Errorf("with the upstream down: %s %s", source, text)
	}
	live := &Transport{Store: s, Next: up}
	if _, _, source := get(t, live, strings.Replace(tvURL, "tv/1", "tv/2", 1)); source != "network" {
		t.Errorf("the network answers: %s", source)
	}
	if len(warned) != 1 || warned[0] != WarnLocked {
		t.Errorf("warned %v", warned)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	holder.signal(t, syscall.SIGCONT)
	holder.in.Close()
	holder.wait(t)
	again := open(t, dir, Options{Now: clk.Now})
	if _, ok, err := again.Get(t.Context(), "GET https://api.example.org:443/3/tv/2?language=en-US"); !ok || err != nil {
		t.Errorf("what was written meanwhile: %v %v", ok, err)
	}
}
