package store

// Group commit: who shares a transaction, what a write waits for, and what happens to changes that can't be written.

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
	s := open(t, t.TempDir(), Options{OnCommit: disk.committed})
	var returned atomic.Int32
	var all sync.WaitGroup
	write := func(i int) {
		all.Go(func() {
			put(t, s, fmt.Sprint(i))
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
		return s.pending.lastNumber == n
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

// What can't be written because a lock is not free is used from memory, and goes with the next transaction, or with the
// last one.
func TestChangesThatCannotBeWrittenAreWrittenLater(t *testing.T) {
	for name, later := range map[string]func(*testing.T, *Store){
		"with the next write": func(t *testing.T, s *Store) { put(t, s, "3") },
		"at the end":          func(_ *testing.T, s *Store) { s.Close() },
	} {
		t.Run(name, func(t *testing.T) { whatCannotBeWritten(t, later) })
	}
}

// whatCannotBeWritten lets a process hold the lock and give no sign of life, while another one writes.
func whatCannotBeWritten(t *testing.T, later func(*testing.T, *Store)) {
	var h heard
	dir := t.TempDir()
	a := open(t, dir, Options{LockWait: time.Millisecond, OnWarning: h.hear})
	b := open(t, dir, Options{})
	put(t, a, "0")
	put(t, a, "1")
	release, err := lockfile.Acquire(t.Context(), a.db.lock.lock.Path(), lockfile.Exclusive, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := putNow(a, "2"); !errors.Is(err, ErrPending) {
		t.Errorf("put says %v", err)
	}
	if err := a.Answers().Delete(t.Context(), "1"); !errors.Is(err, ErrPending) {
		t.Errorf("delete says %v", err)
	}
	for key, want := range map[string]bool{"1": false, "2": true} {
		if _, ok, err := a.Answers().Get(t.Context(), key); ok != want || err != nil && !errors.Is(err, ErrLocked) {
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
}

func TestTheLastWriteWaitsForTheLockForFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h heard
		s := openStore(t.TempDir(), Options{OnWarning: h.hear})
		release, err := lockfile.Acquire(t.Context(), s.db.lock.lock.Path(), lockfile.Exclusive, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		s.pending.add(valueKey{"results", "k"}, []byte("v"))
		begun := time.Now()
		s.Close()
		if took := time.Since(begun); took < closeWait || took > closeWait+time.Second || h.kinds() != "locked" {
			t.Errorf("took %v, warned %q", took, h.kinds())
		}
	})
}

func TestPendingChangesAreBounded(t *testing.T) {
	p := newPending()
	for i := range 40 {
		p.add(valueKey{"b", fmt.Sprintf("k%02d", i)}, make([]byte, maxPendingBytes/20))
	}
	_, first := p.values[valueKey{"b", "k00"}]
	_, last := p.values[valueKey{"b", "k39"}]
	if p.size > maxPendingBytes || first || !last {
		t.Errorf("%d bytes, the first is there: %v, the last: %v", p.size, first, last)
	}
	p.markCommitted(p.takeBatch())
	if p.size != 0 || len(p.values) != 0 {
		t.Errorf("%d bytes are left in %d values", p.size, len(p.values))
	}
}

// The session's byte is set while a session is under way. Two that read at the same time are no sign of a death.
func TestASessionIsMarkedWhileItIsUnderWay(t *testing.T) {
	a, b := pair(t)
	put(t, a, "1")
	marked := func() bool {
		was, err := a.db.lock.setSessionByte(false)
		if err == nil && was {
			_, err = a.db.lock.setSessionByte(true)
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
	if _, err := a.db.lock.setSessionByte(true); err != nil { // as a process leaves it that dies in a session
		t.Fatal(err)
	}
	release, walk, err = b.db.beginReading(t.Context())
	if err != nil || !walk {
		t.Fatalf("after a death: walk %v: %v", walk, err)
	}
	release()
	if marked() {
		t.Error("still marked after the walk")
	}
}
