//go:build unix

package cache

// Processes that are killed while they write.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/anivault/anivault/cache/internal/store"
)

// writeTask writes without end, and says what is on disk. What it has to keep in memory, because the other process has
// the lock for too long, it does not acknowledge.
func writeTask(ctx context.Context, tk task) error {
	s, err := openStore(tk.Dir, Options{LockWait: time.Duration(tk.Limit), OnWarning: func(w Warning) {
		if w.Kind != store.WarnLocked {
			fmt.Fprintln(os.Stderr, w)
		}
	}})
	if err != nil {
		return err
	}
	b, err := s.Bucket("results")
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		key := fmt.Sprintf("%s-%d", tk.Tag, i)
		e := &Entry{
			Key: "GET http://h:80/3/tv/" + key, Status: 200,
			Body:      fmt.Appendf(nil, `{"id":%q,"pad":%q}`, key, strings.Repeat("p", i%50*100)),
			FetchedAt: time.Now(), ExpiresAt: time.Now().Add(time.Hour),
		}
		answer := s.Put(ctx, e)
		value := b.Put(ctx, Item{Key: key, Value: []byte(key)})
		switch err := errors.Join(answer, value); {
		case err == nil:
			fmt.Println(key)
		case !errors.Is(err, ErrPending):
			return err
		}
	}
}

// With an impatient writer most puts have to wait in memory: those are lost, and none of them is acknowledged.
func TestKilledProcessesLoseNothingTheyHaveAcknowledged(t *testing.T) {
	for name, r := range map[string]struct {
		wait   time.Duration
		rounds int
	}{"patient": {time.Hour, 50}, "impatient": {100 * time.Microsecond, 10}} {
		t.Run(name, func(t *testing.T) { killWriters(t, r.wait, r.rounds) })
	}
}

func killWriters(t *testing.T, wait time.Duration, rounds int) {
	dir := t.TempDir()
	acked := map[string]bool{}
	for round := range rounds {
		var cs []*child
		for p := range 2 {
			cs = append(cs, start(t, task{Name: "write", Dir: dir, Tag: fmt.Sprintf("r%d-p%d", round, p), Limit: uint64(wait)}))
		}
		for _, c := range cs {
			acked[c.line(t)] = true
		}
		// At random: some lines later, wherever both are by then.
		for range rand.IntN(20) {
			acked[cs[round%2].line(t)] = true
		}
		for _, c := range cs {
			c.signal(t, syscall.SIGKILL)
		}
		for _, c := range cs {
			rest, _ := io.ReadAll(c.out)
			_ = c.cmd.Wait() // killed
			if c.errs.Len() > 0 {
				t.Errorf("child warned: %s", c.errs)
			}
			for line := range strings.Lines(string(rest)) {
				if key, whole := strings.CutSuffix(line, "\n"); whole {
					acked[key] = true
				}
			}
		}
		verifyDir(t, dir)
	}
	s := open(t, dir, Options{})
	b, err := s.Bucket("results")
	if err != nil {
		t.Fatal(err)
	}
	for key := range acked {
		e, ok, err := s.Get(t.Context(), "GET http://h:80/3/tv/"+key)
		if err != nil || !ok || !strings.HasPrefix(string(e.Body), fmt.Sprintf(`{"id":%q,`, key)) {
			t.Fatalf("answer %s: %v %v", key, ok, err)
		}
		it, ok, err := b.Get(t.Context(), key)
		if err != nil || !ok || string(it.Value) != key {
			t.Fatalf("value %s: %v %v", key, ok, err)
		}
	}
	t.Logf("%d acknowledged records", len(acked)*2)
}
