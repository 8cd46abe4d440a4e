package filestore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/anivault/anivault/internal/lockfile"

	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/internal/core"
	"github.com/anivault/anivault/ratelimit/internal/filestore"
)

// wantCeiling checks that no rolling window of the merged log has seen more than the ceiling.
func wantCeiling(t *testing.T, log map[string][]time.Duration, tuning ratelimit.Tuning) {
	t.Helper()
	var all []time.Duration
	for _, times := range log {
		all = append(all, times...)
	}
	slices.Sort(all)
	most := 0
	for i, j := 0, 0; j < len(all); j++ {
		for all[j]-all[i] >= tuning.CeilingWindow {
			i++
		}
		most = max(most, j-i+1)
	}
	t.Logf("%d grants, at most %d in a window", len(all), most)
	if most > tuning.Ceiling {
		t.Errorf("%d grants within %v, the ceiling is %d", most, tuning.CeilingWindow, tuning.Ceiling)
	}
}

func TestProcessesShareOneRate(t *testing.T) {
	for _, n := range []int{2, 4, 8} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			each := 320 / n
			var children []*child
			for range n {
				children = append(children, startChild(t, "grants", dir, strconv.Itoa(each)))
			}
			for _, c := range children {
				c.expect("ready")
			}
			for _, c := range children {
				fmt.Fprintln(c.in, "go")
			}
			for _, c := range children {
				c.wait()
			}
			log := readGrants(t, dir)
			wantCeiling(t, log, fastTuning())
			// Nobody starves: when the first is done, nobody is at the beginning.
			first := time.Duration(1<<63 - 1)
			for _, times := range log {
				if len(times) != each {
					t.Errorf("one got %d permits, want %d", len(times), each)
				}
				first = min(first, times[len(times)-1])
			}
			for owner, times := range log {
				if got, _ := slices.BinarySearch(times, first); got < each/4 {
					t.Errorf("%s had %d of %d when the first was done", owner, got, each)
				}
			}
			st := openTest(t, dir, filestore.Options{Now: core.SystemInstant})
			snap, _ := st.look()
			if left := snap.Status(core.SystemInstant(), ratelimit.Default(),
				""); left.Running+left.Waiting+len(left.Processes) != 0 {
				t.Errorf("left behind: %d permits, %d tickets, %d processes", left.Running, left.Waiting, len(left.Processes))
			}
		})
	}
}

func TestSlotsOfAKilledProcessComeBack(t *testing.T) {
	dir := t.TempDir()
	tuning := fastTuning()
	var keepers []*child
	for range tuning.ConcurrencyTotal / tuning.Concurrency {
		keepers = append(keepers, startChild(t, "keeper", dir, strconv.Itoa(tuning.Concurrency)))
	}
	for _, k := range keepers {
		k.expect("keeping")
	}
	st, err := filestore.Open(dir, filestore.Options{Patience: time.Minute})
	must(t, err)
	defer st.Close()
	tuning.MaxWait = time.Minute
	l, err := ratelimit.New(ratelimit.Config{Store: st, Tuning: tuning})
	must(t, err)
	defer l.Close()
	keepers[1].kill()
	for range tuning.Concurrency {
		if _, err := l.Acquire(context.Background()); err != nil {
			t.Fatalf("a slot of the dead: %v", err)
		}
	}
	var snap ratelimit.Snapshot
	must(t, st.Update(context.Background(), func(_ ratelimit.Instant,
		s *ratelimit.Snapshot,
	) error {
		snap = s.Clone()
		return nil
	}))
	if got := snap.Status(core.SystemInstant(), tuning, "").Running; got != tuning.ConcurrencyTotal {
		t.Errorf("%d leases, want %d: only the dead one's may go", got, tuning.ConcurrencyTotal)
	}
}

// Fifty times two processes are killed while they write as fast as they can. What is
// left is always a whole snapshot, and never an older one than before.
func TestKilledWritersLoseNoValidCopy(t *testing.T) {
	dir := t.TempDir()
	st := openTest(t, dir, filestore.Options{Now: core.SystemInstant})
	last := 0
	for round := range 50 {
		a, b := startChild(t, "writer", dir, ""), startChild(t, "writer", dir, "")
		a.expect("writing")
		b.expect("writing")
		time.Sleep(rand.N(2 * time.Millisecond)) // somewhere within an update
		a.kill()
		b.kill()
		snap, parts := st.look()
		n, err := countIn(core.SystemInstant(), &snap)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if parts > 1 || n <= last {
			t.Fatalf("round %d: %d after %d, %d parts", round, n, last, parts)
		}
		last = n
	}
	st.wantEvents("")
	if found := corruptFiles(t, dir); len(found) != 0 {
		t.Errorf("set aside: %q", found)
	}
	t.Logf("%d updates", last)
}

func TestGarbageUnderLoadIsSurvived(t *testing.T) {
	dir := t.TempDir()
	writers := []*child{startChild(t, "writer", dir, ""), startChild(t, "writer", dir, "")}
	for _, w := range writers {
		w.expect("writing")
	}
	path := filepath.Join(dir, filestore.StateName)
	for round := range 20 {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		must(t, err)
		garbage := make([]byte, 3000)
		for i := range garbage {
			garbage[i] = byte(rand.Uint32())
		}
		for _, slot := range []int64{0, filestore.FrameSlot} {
			_, err = f.WriteAt(garbage, slot)
			must(t, err)
		}
		f.Close()
		// Both writers go on: the state changes until it has been valid twice.
		for valid := 0; valid < 2; {
			snap, err := peek(path)
			if err == nil {
				if n, err := countIn(core.SystemInstant(), &snap); err == nil && n > 0 {
					valid++
				}
			}
			if t.Context().Err() != nil {
				t.Fatalf("round %d: %v", round, err)
			}
		}
	}
	for _, w := range writers {
		w.in.Close()
		w.wait()
	}
	if found := corruptFiles(t, dir); len(found) > filestore.KeepCorrupt {
		t.Errorf("%d damaged states are kept", len(found))
	}
}

// peek reads the state without the lock.
func peek(path string) (ratelimit.Snapshot, error) {
	var snap ratelimit.Snapshot
	f, err := lockfile.OpenNoFollow(path, os.O_RDONLY, 0)
	if err != nil {
		return snap, err
	}
	defer f.Close()
	payload, err := filestore.Load(f.File)
	if err != nil {
		return snap, err
	}
	return snap, snap.Decode(payload)
}
