package apply

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"testing"

	"github.com/cespare/xxhash/v2"
)

// ram is a file in memory that fails where it is told to.
type ram struct {
	File
	data            []byte
	written         [][2]int64
	failRead, stuck int64 // from this place on; 0: never
}

func (f *ram) ReadAt(p []byte, off int64) (int, error) {
	if f.failRead > 0 && off+int64(len(p)) > f.failRead {
		return 0, syscall.EIO
	}
	return bytes.NewReader(f.data).ReadAt(p, off)
}

func (f *ram) WriteAt(p []byte, off int64) (int, error) {
	if f.stuck > 0 && off+int64(len(p)) > f.stuck {
		return 0, syscall.ENOSPC
	}
	if need := int(off) + len(p); need > len(f.data) {
		f.data = append(f.data, make([]byte, need-len(f.data))...)
	}
	f.written = append(f.written, [2]int64{off, off + int64(len(p))})
	return copy(f.data[off:], p), nil
}

func (f *ram) Truncate(size int64) error {
	f.data = append(f.data, make([]byte, max(0, int(size)-len(f.data)))...)
	return nil
}

// Whatever the size, what is copied is what is read, in order, whole pieces of zeros are left out, and seen gets every
// piece once.
func TestPour(t *testing.T) {
	const whole = copyChunkSize
	for _, size := range []int{0, 1, whole - 1, whole, whole + 1, 3 * whole, 9*whole + 17} {
		data := make([]byte, size)
		for i := range data {
			if i/copyChunkSize != 4 {
				data[i] = byte(i/copyChunkSize) ^ byte(i) | 1
			}
		}
		from, to := &ram{data: data}, &ram{}
		var seen []byte
		sum, err := copyContent(context.Background(), from, to, int64(size), func(read []byte, at int64) {
			if seen = append(seen, read...); int64(len(seen)) != at {
				t.Errorf("%d: seen up to %d, told %d", size, len(seen), at)
			}
		})
		if err != nil || sum != xxhash.Sum64(data) || !bytes.Equal(to.data, data) || !bytes.Equal(seen, data) {
			t.Errorf("%d: %v, %d bytes, sum %x", size, err, len(to.data), sum)
		}
		for _, w := range to.written {
			if w[0] == 4*copyChunkSize {
				t.Errorf("%d: zeros were written: %v", size, to.written)
			}
		}
	}
}

// A disk that fails, or who gives up, ends it at that piece; nobody reads any more then.
func TestPourEnds(t *testing.T) {
	stopped := errors.New("given up")
	for name, row := range map[string]struct {
		read, write int64
		cancelAt    int64
		want        error
	}{
		"reading fails":   {read: 3 * copyChunkSize, want: syscall.EIO},
		"writing fails":   {write: 3 * copyChunkSize, want: syscall.ENOSPC},
		"given up":        {cancelAt: 2 * copyChunkSize, want: stopped},
		"the first fails": {read: 1, want: syscall.EIO},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			from := &ram{data: bytes.Repeat([]byte("x"), 8*copyChunkSize), failRead: row.read}
			_, err := copyContent(ctx, from, &ram{stuck: row.write}, 8*copyChunkSize, func(_ []byte, at int64) {
				if at == row.cancelAt {
					cancel(stopped)
				}
			})
			if !errors.Is(err, row.want) || errors.Is(err, io.EOF) {
				t.Error(fmt.Sprint(err))
			}
			from.data = nil // a reader that went on would race with this
		})
	}
}
