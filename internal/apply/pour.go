package apply

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/cespare/xxhash/v2"
)

// chunk is how much is copied at a time.
const chunk = 256 << 10 // what the caches of a processor hold of it: with 1 MiB copying takes half as long again

// pour copies the content, leaves holes out, and returns its XXH64. seen gets each piece, and where it ends. The holes of zeros that
// no file system tells of are left as they are. Of a file of several pieces the next is read while one is written.
func pour(ctx context.Context, from, to File, size int64, seen func(read []byte, at int64)) (uint64, error) {
	r := reading{from: from, sum: xxhash.New()}
	for i := range r.buffers {
		if i == 0 || size > chunk {
			r.buffers[i] = make([]byte, min(chunk, max(size, 1)))
		}
	}
	next := func() piece { return r.next(0) }
	if size > chunk {
		ahead, stop := r.ahead()
		defer stop()
		next = ahead
	}
	for {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		p := next()
		if n := len(p.data); n > 0 && !p.zero {
			if written, err := to.WriteAt(p.data, p.at); err != nil || written < n {
				return 0, cmp.Or(err, shortWrite(written, n))
			}
		}
		end := p.at + int64(len(p.data))
		seen(p.data, end)
		if errors.Is(p.err, io.EOF) {
			return r.sum.Sum64(), to.Extend(end)
		}
		if p.err != nil {
			return 0, p.err
		}
	}
}

// reading reads a file piece by piece.
type reading struct {
	from    File
	at      int64
	sum     *xxhash.Digest
	buffers [3][]byte // one is read, one waits, one is written
}

// piece is a part of a file; with an error nothing comes behind it.
type piece struct {
	data []byte
	at   int64
	zero bool
	err  error
}

func (r *reading) next(buffer int) piece {
	n, err := r.from.ReadAt(r.buffers[buffer], r.at)
	p := piece{data: r.buffers[buffer][:n], at: r.at, zero: isZero(r.buffers[buffer][:n]), err: err}
	_, _ = r.sum.Write(p.data)
	r.at += int64(n)
	return p
}

// ahead reads one piece ahead of who asks for the next. stop ends that.
func (r *reading) ahead() (next func() piece, stop func()) {
	pieces, done := make(chan piece, 1), make(chan struct{})
	go func() {
		defer close(pieces)
		for i := 0; ; i++ {
			p := r.next(i % len(r.buffers))
			select {
			case pieces <- p:
			case <-done:
				return
			}
			if p.err != nil {
				return
			}
		}
	}()
	return func() piece { return <-pieces }, func() {
		close(done)
		for range pieces { // until it has ended, and the file may be closed
		}
	}
}

func shortWrite(written, wanted int) error {
	if written < wanted {
		return io.ErrShortWrite
	}
	return nil
}

func isZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
