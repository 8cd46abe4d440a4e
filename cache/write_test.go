package cache

// Group commit: who shares a transaction, what a write waits for, and what happens to changes that can't be written.

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/anivault/anivault/cache/internal/store"
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

// A claim is held until the answer is written: whoever waits for it finds the answer.
func TestAClaimIsHeldUntilItsAnswerIsWritten(t *testing.T) {
	disk := &slowDisk{end: make(chan struct{})}
	dir := t.TempDir()
	a, b := open(
		t, dir, Options{testOptions: store.Options{OnCommit: disk.committed}, LockWait: time.Hour},
	), open(t, dir, Options{LockWait: time.Hour})
	t.Cleanup(func() { close(disk.end) }) // so that a failure does not wait for the disk
	up := &upstream{serve: always(200, endedBody)}
	first := ask(t.Context(), &Transport{Store: a, Next: up}, tvURL)
	eventually(t, "the answer is being written", func() bool { return disk.begun.Load() == 1 })
	c, err := b.disk.Claim(t.Context(), KeyOf("GET", mustURL(t, tvURL)), func() { disk.end <- struct{}{} })
	if err != nil || c.Waited == 0 {
		t.Fatalf("the claim was free: %v", err)
	}
	c.Release()
	<-first.done
	if _, _, source := get(t, &Transport{Store: b, Next: up}, tvURL); source != "fresh" || up.count() != 1 {
		t.Errorf("%s after %d questions", source, up.count())
	}
}
