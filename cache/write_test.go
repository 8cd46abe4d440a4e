package cache

// Group commit: who shares a transaction, what a write waits for, and what becomes of what can't be written.

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anivault/anivault/internal/lockfile"
)

// slowDisk makes every transaction wait until it is told to go on, and counts them.
type slowDisk struct {
	begun atomic.Int32
	end   chan struct{}
}

func (d *slowDisk) committed() {
	d.begun.Add(1)
	<-d.end
}

// However slow the disk is, those who write meanwhile wait for one more transaction, all together; and no write returns
// before its own is through.
func TestWritesThatWaitShareATransaction(t *testing.T) {
	const n = 50
	disk := &slowDisk{end: make(chan struct{})}
	s := open(t, t.TempDir(), Options{committed: disk.committed})
	var returned atomic.Int32
	var all sync.WaitGroup
	write := func(i int) {
		all.Go(func() {
			putAnswer(t, s, tvKey(fmt.Sprint(i)), time.Now(), day, 10)
			returned.Add(1)
		})
	}
	write(0)
	eventually(t, "the first transaction has begun", func() bool { return disk.begun.Load() == 1 })
	for i := 1; i < n; i++ {
		write(i)
	}
	eventually(t, "the others wait", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.pending.last == n
	})
	if returned.Load() != 0 {
		t.Error("a write returned before its transaction was through")
	}
	disk.end <- struct{}{}
	eventually(t, "the second transaction has begun", func() bool { return disk.begun.Load() == 2 })
	if got := returned.Load(); got > 1 {
		t.Errorf("%d writes have returned after the first transaction", got)
	}
	disk.end <- struct{}{}
	all.Wait()
	if got := disk.begun.Load(); got != 2 {
		t.Errorf("%d transactions", got)
	}
	if got := keysOf(t, s); len(got) != n || len(s.pending.values) != 0 || s.pending.size != 0 {
		t.Errorf("%d answers, %d pending", len(got), len(s.pending.values))
	}
}

// A claim is held until the answer is written: whoever waits for it finds the answer.
func TestAClaimIsHeldUntilItsAnswerIsWritten(t *testing.T) {
	disk := &slowDisk{end: make(chan struct{})}
	dir := t.TempDir()
	a, b := open(t, dir, Options{committed: disk.committed, LockWait: time.Hour}), open(t, dir, Options{LockWait: time.Hour})
	up := &upstream{serve: always(200, endedBody)}
	first := ask(t.Context(), &Transport{Store: a, Next: up}, tvURL)
	eventually(t, "the answer is being written", func() bool { return disk.begun.Load() == 1 })
	c, err := b.claims.take(t.Context(), KeyOf("GET", mustURL(t, tvURL)), func() { disk.end <- struct{}{} })
	if err != nil || c.waited == 0 {
		t.Fatalf("the claim was free: %v", err)
	}
	c.release()
	<-first.done
	if _, _, source := get(t, &Transport{Store: b, Next: up}, tvURL); source != "fresh" || up.count() != 1 {
		t.Errorf("%s after %d questions", source, up.count())
	}
}

// What can't be written because a lock is not free is used from memory, and goes with the next transaction, or with the
// last one.
func TestWhatCannotBeWrittenGoesLater(t *testing.T) {
	for name, later := range map[string]func(*testing.T, *Store){
		"with the next write": func(t *testing.T, s *Store) { putAnswer(t, s, tvKey("3"), time.Now(), day, 10) },
		"at the end": func(t *testing.T, s *Store) {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var h heard
			dir := t.TempDir()
			a := open(t, dir, Options{LockWait: time.Millisecond, OnWarning: h.hear})
			b := open(t, dir, Options{})
			putAnswer(t, a, tvKey("0"), time.Now(), day, 10)
			putAnswer(t, a, tvKey("1"), time.Now(), day, 10)
			release, err := lockfile.Acquire(t.Context(), a.db.lock.lock.Path(), lockfile.Exclusive, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * a.opts.LockWait) // the holder has shown no sign of life
			putAnswer(t, a, tvKey("2"), time.Now(), day, 10)
			if err := a.Delete(t.Context(), tvKey("1")); err != nil {
				t.Fatal(err)
			}
			for key, want := range map[string]bool{"1": false, "2": true} {
				if _, ok, err := a.Get(t.Context(), tvKey(key)); ok != want || err != nil && !errors.Is(err, ErrLocked) {
					t.Errorf("from memory: %s %v %v", key, ok, err)
				}
			}
			if h.kinds() != "locked" {
				t.Errorf("warned %q", h.kinds())
			}
			release()
			if got := keysOf(t, b); !slices.Equal(got, []string{"0", "1"}) {
				t.Errorf("before: %v", got)
			}
			later(t, a)
			if got := keysOf(t, b); slices.Contains(got, "1") || !slices.Contains(got, "2") {
				t.Errorf("after: %v", got)
			}
		})
	}
}

func TestTheLastWriteWaitsForTheLockForFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h heard
		s, err := openStore(t.TempDir(), Options{OnWarning: h.hear})
		if err != nil {
			t.Fatal(err)
		}
		release, err := lockfile.Acquire(t.Context(), s.db.lock.lock.Path(), lockfile.Exclusive, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		s.pending.add(slot("results", "k"), []byte("v"))
		begun := time.Now()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took < closeWait || took > closeWait+time.Second || h.kinds() != "locked" {
			t.Errorf("took %v, warned %q", took, h.kinds())
		}
	})
}

func TestWhatIsPendingIsBounded(t *testing.T) {
	p := newPending()
	for i := range 40 {
		p.add(fmt.Sprintf("k%02d", i), make([]byte, pendingBytes/20))
	}
	_, first := p.values["k00"]
	_, last := p.values["k39"]
	if p.size > pendingBytes || first || !last {
		t.Errorf("%d bytes, the first is there: %v, the last: %v", p.size, first, last)
	}
	p.written(p.take())
	if p.size != 0 || len(p.values) != 0 {
		t.Errorf("%d bytes are left in %d values", p.size, len(p.values))
	}
}

// The session's byte is set while a session is under way. Two that read at the same time are no sign of a death.
func TestASessionIsMarkedWhileItIsUnderWay(t *testing.T) {
	a, b := pair(t)
	putAnswer(t, a, tvKey("1"), time.Now(), day, 10)
	marked := func() bool {
		was, err := a.db.lock.mark(false)
		if err == nil && was {
			_, err = a.db.lock.mark(true)
		}
		if err != nil {
			t.Fatal(err)
		}
		return was
	}
	release, walk, err := a.db.beginReading(t.Context())
	if err != nil || walk || !marked() {
		t.Fatalf("walk %v, marked %v: %v", walk, marked(), err)
	}
	other, walk, err := b.db.beginReading(t.Context())
	if err != nil || walk {
		t.Fatalf("beside another reader: walk %v: %v", walk, err)
	}
	other()
	if !marked() {
		t.Error("the second reader has cleared the first one's mark")
	}
	release()
	if marked() {
		t.Error("marked after the session")
	}
	died(t, a)
	release, walk, err = b.db.beginReading(t.Context())
	if err != nil || !walk {
		t.Fatalf("after a death: walk %v: %v", walk, err)
	}
	release()
	if marked() {
		t.Error("still marked after the walk")
	}
}
