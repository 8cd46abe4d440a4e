package cache

// Claims: "I am asking this key", a record in the own journal. Two processes
// never ask the same question: whoever wants to ask first looks, under a lock
// of a few microseconds, whether somebody else is asking, and writes its own
// claim before it lets the lock go. A claim ends with the answer's record, with
// a release, with a newer journal of its owner that does not carry it, with
// the owner's lock, or when the owner gives no sign of life.

import (
	"context"
	"errors"
	"hash/crc32"
	"os"
	"time"
)

// claimShards is how many locks the keys are spread over: with one, eight
// processes at 500 questions a second spent a fifth of their time waiting for
// it (bench/cache).
const claimShards = 16

func (s *Store) claimGate(k string) *gate {
	return s.claimGates[crc32.Checksum([]byte(k), castagnoli)%claimShards]
}

// claimResult says what came of wanting to ask.
type claimResult uint8

const (
	claimLook    claimResult = iota // something has changed: look again
	claimMine                       // ask; then put or release
	claimBusy                       // somebody else is asking: wait
	claimWithout                    // claims can't be kept here: ask
)

const (
	firstLook  = time.Millisecond
	lastLook   = 10 * time.Millisecond
	aliveEvery = 25 * time.Millisecond
)

// claim tries to become the one who asks for a slot. saw is what the caller
// knows. If there may be something newer it says claimLook.
func (s *Store) claim(ctx context.Context, k string, saw sight) (claimResult, error) {
	if s.mode() != modeShared {
		return claimWithout, nil
	}
	// It is held for microseconds, so a holder that was stopped is rare and one that
	// the machine has no time for is not: it is given as long as a silent claimant.
	release, err := s.claimGate(k).acquire(ctx, true, s.opts.ClaimTimeout)
	switch {
	case err == nil:
		defer release()
	case ctx.Err() != nil:
		return claimBusy, context.Cause(ctx)
	case errors.Is(err, ErrLocked):
		s.warned.say(Warning{Kind: WarnLocked, Path: s.dir, Err: err})
		return claimWithout, nil
	default:
		return claimWithout, s.workAround(err)
	}
	s.mu.Lock()
	res, err := s.claimLocked(k, saw)
	s.mu.Unlock()
	return res, s.workAround(err)
}

func (s *Store) claimLocked(k string, saw sight) (claimResult, error) {
	s.refreshPeers()
	if stampOf(s.journalled(k)) > saw.stamp {
		return claimLook, nil
	}
	if s.claimant(k) != nil {
		return claimBusy, nil
	}
	if info, _ := os.Stat(s.dbPath()); stateOf(info) != saw.state && !saw.blind {
		return claimLook, nil // somebody has merged since: it may be there now
	}
	bucket, key := cutSlot(k)
	kept, err := s.appendLocked(journalRecord{kind: kindClaim, bucket: bucket, key: key})
	if !kept {
		return claimWithout, err
	}
	if len(s.proc.current().claims) == 1 {
		s.worker.beaten = time.Now()
		s.worker.wake()
	}
	return claimMine, nil
}

// claimant is the newest journal of a process that is asking for the slot,
// lives and moves; nil if there is none. s.mu is held.
func (s *Store) claimant(k string) *journal {
	for _, j := range s.peers {
		if _, asks := j.claims[k]; !asks || !s.isNewest(j) {
			continue
		}
		if time.Since(j.grown) > s.opts.ClaimTimeout || !s.alive(j.name.owner) {
			continue
		}
		return j
	}
	return nil
}

// isNewest: only a process's newest journal says what it is asking.
func (s *Store) isNewest(j *journal) bool {
	for _, o := range s.peers {
		if o.name.owner == j.name.owner && o.name.seq > j.name.seq {
			return false
		}
	}
	return true
}

// alive tells whether a process holds its lock.
func (s *Store) alive(owner string) bool {
	release, ok, err := s.opts.try(lockPath(s.journalDir(), formatVersion, owner), false, false)
	if ok {
		release()
		return false
	}
	return !errors.Is(err, os.ErrNotExist)
}

// Awaiting is how many questions of this process wait now for another
// process's answer.
func (s *Store) Awaiting() int { return int(s.awaiting.Load()) }

// awaitClaim waits until nobody else is asking for the slot any more, or ctx
// ends.
func (s *Store) awaitClaim(ctx context.Context, k string) error {
	s.count.waits.Add(1)
	s.awaiting.Add(1)
	defer s.awaiting.Add(-1)
	pause := firstLook
	timer := time.NewTimer(pause)
	defer timer.Stop()
	checked := time.Now()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
		}
		s.mu.Lock()
		s.refreshPeers()
		busy := s.asked(k)
		if busy && time.Since(checked) > aliveEvery {
			checked = time.Now()
			busy = s.claimant(k) != nil
		}
		s.mu.Unlock()
		if !busy {
			return nil
		}
		pause = min(pause*3/2, lastLook)
		timer.Reset(pause)
	}
}

// awaitWork waits a moment for a holder of the database's lock that is at work,
// unless that goes on for longer than a silent claimant would be waited for.
func (s *Store) awaitWork(ctx context.Context, begun time.Time) bool {
	if time.Since(begun) >= s.opts.ClaimTimeout {
		return false
	}
	timer := time.NewTimer(lastLook)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// asked is claimant without asking whether the owner lives. s.mu is held.
func (s *Store) asked(k string) bool {
	for _, j := range s.peers {
		if _, ok := j.claims[k]; ok && s.isNewest(j) {
			return true
		}
	}
	return false
}

// release gives a claim up without an answer.
func (s *Store) release(k string) {
	s.mu.Lock()
	var err error
	if s.proc != nil && !s.closed {
		if _, mine := s.proc.current().claims[k]; mine {
			bucket, key := cutSlot(k)
			_, err = s.appendLocked(journalRecord{kind: kindRelease, bucket: bucket, key: key})
			// Also when it could not be written: the next journal won't have it.
			delete(s.proc.current().claims, k)
		}
	}
	s.mu.Unlock()
	_ = s.workAround(err) // a release is never too long
}
