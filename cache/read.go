package cache

// Reading: what is newest of the own journals, the others' journals and the
// database. Journals first, then the database: a record moves from a journal
// into the database and is only then gone from the journal, so in this order
// it can't be missed.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	bolt "go.etcd.io/bbolt"
)

// batchKeys is how many keys one session reads at most: about 10 ms.
const batchKeys = 4096

// readRequest is one caller's part of a session.
type readRequest struct {
	bucket string
	keys   []string
	values [][]byte // by key; nil: not there
	meta   dbMeta
	err    error
	done   chan struct{}
	lead   chan struct{}
}

// batcher makes one session out of what many goroutines want at the same
// time: whoever comes first reads for all that have come meanwhile, and hands
// over to the first of those that came later.
type batcher struct {
	store *Store
	mu    sync.Mutex
	busy  bool
	queue []*readRequest
}

func (b *batcher) read(ctx context.Context, r *readRequest) {
	r.done, r.lead = make(chan struct{}), make(chan struct{})
	b.mu.Lock()
	b.queue = append(b.queue, r)
	if b.busy {
		b.mu.Unlock()
		select {
		case <-r.done:
			return
		case <-r.lead:
		}
		b.mu.Lock()
	}
	b.busy = true
	batch := b.queue
	b.queue = nil
	b.mu.Unlock()

	b.run(context.WithoutCancel(ctx), batch)

	b.mu.Lock()
	if len(b.queue) > 0 {
		close(b.queue[0].lead)
	} else {
		b.busy = false
	}
	b.mu.Unlock()
	for _, r := range batch {
		close(r.done)
	}
}

func (b *batcher) run(ctx context.Context, batch []*readRequest) {
	err := b.store.view(ctx, func(tx *bolt.Tx, meta dbMeta) error {
		for _, r := range batch {
			r.meta = meta
			r.values = make([][]byte, len(r.keys))
			bkt := tx.Bucket([]byte(r.bucket))
			if bkt == nil {
				continue
			}
			for i, k := range r.keys {
				r.values[i] = bytes.Clone(bkt.Get([]byte(k)))
			}
		}
		return nil
	})
	for _, r := range batch {
		if r.err = err; err != nil {
			r.values = make([][]byte, len(r.keys))
		}
	}
}

// lookup gives the newest sound record of each key; a record with stamp 0 is
// not there. It also tells which state of the database it has seen. With
// ErrLocked the records are those of the journals alone.
func (s *Store) lookup(ctx context.Context, bucket string, keys []string) ([]record, dbState, error) {
	out := make([]record, len(keys))
	var state dbState
	var firstErr error
	for from := 0; from < len(keys); from += batchKeys {
		if err := ctx.Err(); err != nil {
			return out, state, context.Cause(ctx)
		}
		to := min(from+batchKeys, len(keys))
		st, err := s.lookupChunk(ctx, bucket, keys[from:to], out[from:to])
		state = st
		if err != nil && firstErr == nil {
			firstErr = err
		}
	}
	return out, state, firstErr
}

func (s *Store) lookupChunk(ctx context.Context, bucket string, keys []string, out []record) (dbState, error) {
	written, err := s.fromJournals(bucket, keys)
	if err != nil {
		return dbState{}, err
	}
	req := &readRequest{bucket: bucket, keys: keys}
	s.batch.read(ctx, req)
	err = req.err
	switch {
	case errors.Is(err, errNoDB):
		err = nil
	case errors.Is(err, ErrLocked) && !errors.Is(err, errAtWork):
		s.warned.say(Warning{Kind: WarnLocked, Path: s.dir, Err: err})
	}
	s.mu.Lock()
	s.last = max(s.last, req.meta.Cleared) // what is written now is younger
	cleared := req.meta.Cleared > s.cleared
	s.cleared = max(s.cleared, req.meta.Cleared)
	s.pruneDue = s.pruneDue || isPruneDue(req.meta, s.now())
	s.mu.Unlock()
	if cleared { // by another process
		s.lru.forget(req.meta.Cleared)
	}
	for i, k := range keys {
		var j []byte
		if written != nil {
			j = written[i]
		}
		out[i] = s.newest(bucket, k, j, req.values[i], req.meta.Cleared)
	}
	return req.meta.state, err
}

// newest picks the sound value with the larger stamp. Deleted and cleared are
// as good as absent.
func (s *Store) newest(bucket, key string, a, b []byte, cleared uint64) record {
	if stampOf(a) < stampOf(b) {
		a, b = b, a
	}
	seen := stampOf(a)
	for _, v := range [...][]byte{a, b} {
		if v == nil {
			continue
		}
		r, err := decodeRecord(bucket, key, v)
		if err != nil {
			s.damagedRecord(bucket, key, err)
			continue
		}
		if r.deleted || r.stamp <= cleared {
			return record{seen: seen}
		}
		r.seen = seen
		return r
	}
	return record{seen: seen}
}

func (s *Store) damagedRecord(bucket, key string, err error) {
	s.count.damaged.Add(1)
	s.warned.say(Warning{Kind: WarnRecord, Path: s.dir, Err: fmt.Errorf("%q in %s: %w", key, bucket, err)})
}

// fromJournals reads the newest journalled value of each key, nil where none
// is; nil altogether when there is nothing at all.
func (s *Store) fromJournals(bucket string, keys []string) ([][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	s.refreshPeers()
	if s.proc == nil && len(s.peers) == 0 && len(s.private.values) == 0 {
		return nil, nil
	}
	values := make([][]byte, len(keys))
	for i, k := range keys {
		values[i] = s.journalled(slot(bucket, k))
	}
	return values, nil
}

// journalled reads the newest journalled value of a slot. s.mu is held.
func (s *Store) journalled(k string) []byte {
	best := s.private.values[k]
	take := func(j *journal) {
		p, ok := j.index[k]
		if !ok || p.head.stamp < stampOf(best) {
			return
		}
		// A file that is gone meanwhile has been merged: the database has it.
		if v, err := j.value(p); err == nil {
			best = v
		}
	}
	if s.proc != nil {
		for _, j := range s.proc.journals {
			take(j)
		}
	}
	for _, j := range s.peers {
		take(j)
	}
	return best
}

// refreshPeers reads what the other processes have written since the last
// time. s.mu is held.
func (s *Store) refreshPeers() {
	if s.how == modeMemory || s.closed {
		return
	}
	present := map[string]bool{}
	for _, name := range s.journalNames() {
		if s.proc != nil && name.owner == s.proc.owner {
			continue
		}
		text := name.String()
		j := s.peers[text]
		if j == nil {
			j = newJournal(s.journalDir(), name)
			j.shy = s.opts.shy
		}
		if err := j.refresh(); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		s.peers[text] = j
		present[text] = true
	}
	for text, j := range s.peers {
		if !present[text] {
			j.close()
			delete(s.peers, text)
		}
	}
}

// journalNames lists the journals of this version.
func (s *Store) journalNames() []journalName {
	d, err := os.Open(s.journalDir())
	if err != nil {
		return nil
	}
	defer d.Close()
	entries, err := d.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var names []journalName
	for _, e := range entries {
		if n, ok := parseJournalName(e); ok && n.version == formatVersion {
			names = append(names, n)
		}
	}
	return names
}
