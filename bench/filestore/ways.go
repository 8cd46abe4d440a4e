package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/anivault/anivault/ratelimit"
	"github.com/gofrs/flock"
)

// way is one way to read, change and write shared state under a lock between processes.
type way struct {
	name string
	open func(dir string) (op func() error, err error)
}

var ways = []way{
	{"floor: flock kept, pread, pwrite", openFloor},
	{"FileStore.Update", openStore},
	{"Limiter Acquire+Done (2 updates)", openLimiter},
	{"gofrs/flock Lock, reopened", openReopening},
	{"gofrs/flock TryLockContext 10ms", openPolling},
}

const (
	lockFile  = "bench.lock"
	stateFile = "bench.state"
)

// prepare fills the folder: a limiter state with a full window, and a plain file of
// the same size for the others. It returns that size.
func prepare(dir string) (int, error) {
	st, err := ratelimit.OpenFileStore(dir, ratelimit.FileOptions{})
	if err != nil {
		return 0, err
	}
	defer st.Close()
	l, err := ratelimit.New(ratelimit.Config{Store: st, Tuning: unbounded()})
	if err != nil {
		return 0, err
	}
	for range unbounded().WindowRecords {
		p, err := l.Acquire(context.Background())
		if err != nil {
			return 0, err
		}
		p.Done(ratelimit.Event{Outcome: ratelimit.OK, Status: 200})
	}
	var size int
	err = st.Update(context.Background(), func(_ ratelimit.Instant, s *ratelimit.Snapshot) error {
		b, err := s.AppendBinary(nil)
		size = len(b)
		return err
	})
	if err != nil {
		return 0, err
	}
	return size, os.WriteFile(filepath.Join(dir, stateFile), make([]byte, size), 0o600)
}

// unbounded is a tuning that lets everything through, so that only the cost is left.
func unbounded() ratelimit.Tuning {
	t := ratelimit.Default()
	t.Ceiling, t.CeilingWindow = 400, time.Millisecond
	t.RateBase = 400
	return t
}

func rewrite(f *os.File, buf []byte) error {
	if _, err := f.ReadAt(buf, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	buf[0]++
	_, err := f.WriteAt(buf, 0)
	return err
}

func openState(dir string) (*os.File, []byte, error) {
	f, err := os.OpenFile(filepath.Join(dir, stateFile), os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	fi, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	return f, make([]byte, fi.Size()), nil
}

func openStore(dir string) (func() error, error) {
	st, err := ratelimit.OpenFileStore(dir, ratelimit.FileOptions{OnWarning: warn})
	if err != nil {
		return nil, err
	}
	ctx, n := context.Background(), 0
	return func() error {
		return st.Update(ctx, func(at ratelimit.Instant, s *ratelimit.Snapshot) error {
			n += len(s.Owners())
			return nil
		})
	}, nil
}

func openLimiter(dir string) (func() error, error) {
	st, err := ratelimit.OpenFileStore(dir, ratelimit.FileOptions{OnWarning: warn, Now: fastForward})
	if err != nil {
		return nil, err
	}
	l, err := ratelimit.New(ratelimit.Config{Store: st, Tuning: unbounded()})
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	return func() error {
		p, err := l.Acquire(ctx)
		if err != nil {
			return err
		}
		p.Done(ratelimit.Event{Outcome: ratelimit.OK, Status: 200, Latency: time.Millisecond})
		return nil
	}, nil
}

// fastForward is a clock that runs a thousand times too fast, so that no request ever has
// to wait for a token.
func fastForward() ratelimit.Instant {
	at := ratelimit.SystemInstant()
	at.Boot += (at.Boot - base) * 1000
	return at
}

// base is when the fast clock and the real one agree; all processes have the same.
var base time.Duration

func openReopening(dir string) (func() error, error) {
	f, buf, err := openState(dir)
	if err != nil {
		return nil, err
	}
	l := flock.New(filepath.Join(dir, lockFile))
	return func() error {
		if err := l.Lock(); err != nil {
			return err
		}
		return errors.Join(rewrite(f, buf), l.Unlock())
	}, nil
}

func openPolling(dir string) (func() error, error) {
	f, buf, err := openState(dir)
	if err != nil {
		return nil, err
	}
	l := flock.New(filepath.Join(dir, lockFile))
	ctx := context.Background()
	return func() error {
		if _, err := l.TryLockContext(ctx, 10*time.Millisecond); err != nil {
			return err
		}
		return errors.Join(rewrite(f, buf), l.Unlock())
	}, nil
}

func warn(err error) { fmt.Fprintln(os.Stderr, "warning:", err) }
