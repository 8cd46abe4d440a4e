package apply

import (
	"context"
	"errors"
	"io"

	"github.com/cespare/xxhash/v2"
)

// chunk is how much is copied at a time.
const chunk = 1 << 20

// pour copies the content, leaves holes out, and returns its XXH64. seen gets each piece, and where it ends. The holes of zeros that
// no file system tells of are left as they are.
func pour(ctx context.Context, from, to File, size int64, seen func(read []byte, at int64)) (uint64, error) {
	sum := xxhash.New()
	buffer := make([]byte, min(chunk, max(size, 1)))
	at := int64(0)
	for {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		n, err := from.ReadAt(buffer, at)
		_, _ = sum.Write(buffer[:n])
		if n > 0 && !isZero(buffer[:n]) {
			if written, err := to.WriteAt(buffer[:n], at); err != nil || written < n {
				return 0, errors.Join(err, shortWrite(written, n))
			}
		}
		at += int64(n)
		seen(buffer[:n], at)
		if errors.Is(err, io.EOF) {
			return sum.Sum64(), to.Extend(at)
		}
		if err != nil {
			return 0, err
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
