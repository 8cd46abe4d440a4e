//go:build unix

package cache

// A process that is stopped while it holds the lock.

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/anivault/anivault/internal/lockfile"
	"github.com/anivault/anivault/internal/testing/boltdamage"
)

// holdTask takes the exclusive lock and keeps it, or claims a key and asks for it without ever being answered.
func holdTask(ctx context.Context, tk task) error {
	s, err := openStore(tk.Dir, Options{})
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
	release, err := lockfile.Acquire(ctx, lockPath(s), lockfile.Exclusive, time.Minute)
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

	holder := start(t, task{Name: "hold", Dir: dir})
	if got := holder.line(t); got != "held" {
		t.Fatal(got)
	}
	holder.signal(t, syscall.SIGSTOP)

	var h heard
	s := open(t, dir, Options{Now: clk.Now, LockWait: 20 * time.Millisecond, OnWarning: h.hear})
	down := &Transport{Store: s, Next: &upstream{
		serve: func(*http.Request) (*http.Response, error) { return nil, errDown },
	}}
	if _, text, source := get(t, down, tvURL); source != "error" || text != errDown.Error() {
		t.Errorf("with the upstream down: %s %s", source, text)
	}
	live := &Transport{Store: s, Next: up}
	second := strings.Replace(tvURL, "tv/1", "tv/2", 1)
	for _, want := range []string{"network", "fresh"} { // what can't be written answers from memory
		if _, _, source := get(t, live, second); source != want {
			t.Errorf("answered from %s, want %s", source, want)
		}
	}
	if h.kinds() != "locked" {
		t.Errorf("warned %q", h.kinds())
	}

	holder.signal(t, syscall.SIGCONT)
	holder.in.Close()
	holder.wait(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, dir, Options{Now: clk.Now})
	if _, ok, err := again.Get(t.Context(), KeyOf("GET", mustURL(t, second))); !ok || err != nil {
		t.Errorf("what was written meanwhile: %v %v", ok, err)
	}
}

// dieTask reads a database in which bbolt goes in circles until the stack is full.
func dieTask(ctx context.Context, tk task) error {
	s, err := openStore(tk.Dir, Options{})
	if err != nil {
		return err
	}
	debug.SetMaxStack(1 << 20) // so that it takes no time
	_, _, err = s.Get(ctx, tvKey("500"))
	return err
}

// A page that leads to itself ends the first process that follows it. The next one knows that, and looks before it
// reads.
func TestAfterASessionThatDiedThePagesAreLookedThrough(t *testing.T) {
	dir := t.TempDir()
	var h heard
	s := open(t, dir, Options{OnWarning: h.hear})
	_, file := manyPages(t, time.Now())
	boltdamage.ReferenceDamages["branch pages refer to themselves"](t, file)
	overwrite(t, dbPath(s), file)
	first := start(t, task{Name: "die", Dir: dir})
	if err := first.cmd.Wait(); err == nil || !strings.Contains(first.errs.String(), "stack overflow") {
		t.Fatalf("it did not die: %v", err)
	}
	if _, ok, err := s.Get(t.Context(), tvKey("500")); ok || err != nil || h.kinds() != "corrupt" {
		t.Errorf("got %v %v, warned %q", ok, err, h.kinds())
	}
}
