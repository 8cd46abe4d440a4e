package cache

// A look at the first pages of a bbolt file without opening it: which
// transaction it is at, and whether it is all there. bbolt maps the file and
// trusts it, so a truncated one would kill the process with a bus error.
//
// A bbolt file begins with two meta pages of the same form; the valid one with
// the higher transaction is the current one. Page: id (8) · flags (2) ·
// count (2) · overflow (4). Meta: magic (4) · version (4) · page size (4) ·
// flags (4) · root (8) · sequence (8) · free list (8) · pages (8) ·
// transaction (8) · FNV-1a of the above (8), in the machine's byte order.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
)

const (
	metaAt      = 16
	metaSize    = 64
	boltMagic   = 0xED0CDAED
	boltVersion = 2
)

// dbState identifies one committed state of the database file. The zero value
// stands for "there is none". It is comparable.
type dbState struct {
	tx    uint64
	size  int64
	mtime int64
}

// fileState reads the state of the file at path; a corruptError when the file
// is not a whole bbolt file.
func fileState(path string) (dbState, error) {
	f, err := os.Open(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return dbState{}, nil
		}
		return dbState{}, err
	}
	defer f.Close()
	return stateOf(f)
}

func stateOf(f *os.File) (dbState, error) {
	info, err := f.Stat()
	if err != nil {
		return dbState{}, err
	}
	if !info.Mode().IsRegular() {
		return dbState{}, &corruptError{info, errors.New("not a regular file")}
	}
	if info.Size() == 0 {
		return dbState{}, nil
	}
	tx, pages, pageSize, err := readMetas(f, info.Size())
	if err != nil {
		return dbState{}, err
	}
	if pageSize == 0 {
		return dbState{}, &corruptError{info, errors.New("not a bbolt database")}
	}
	if need := int64(pages) * int64(pageSize); need > info.Size() {
		return dbState{}, &corruptError{info, fmt.Errorf("truncated: %d bytes of %d", info.Size(), need)}
	}
	return dbState{tx: tx, size: info.Size(), mtime: info.ModTime().UnixNano()}, nil
}

// readMetas finds the current meta. The second one lies one page in; the page
// size is a power of two that the first meta says, if it is sound.
func readMetas(f io.ReaderAt, size int64) (tx, pages uint64, pageSize uint32, err error) {
	var buf [metaAt + metaSize]byte
	at := func(off int64) (uint64, uint64, uint32, bool) {
		if off+int64(len(buf)) > size {
			return 0, 0, 0, false
		}
		if _, e := f.ReadAt(buf[:], off); e != nil {
			err = e
			return 0, 0, 0, false
		}
		return parseMeta(buf[metaAt:])
	}
	tx, pages, pageSize, ok := at(0)
	if ok {
		if t, p, s, ok := at(int64(pageSize)); ok && t > tx {
			tx, pages, pageSize = t, p, s
		}
		return tx, pages, pageSize, nil
	}
	for s := int64(1 << 10); s <= 16<<20; s <<= 1 {
		if t, p, ps, ok := at(s); ok && int64(ps) == s {
			return t, p, ps, nil
		}
	}
	return 0, 0, 0, err
}

func parseMeta(m []byte) (tx, pages uint64, pageSize uint32, ok bool) {
	order := binary.NativeEndian
	sum := fnv.New64a()
	_, _ = sum.Write(m[:metaSize-8])
	pageSize = order.Uint32(m[8:])
	ok = order.Uint32(m) == boltMagic && order.Uint32(m[4:]) == boltVersion &&
		order.Uint64(m[metaSize-8:]) == sum.Sum64() &&
		pageSize >= 1<<9 && pageSize <= 16<<20 && pageSize&(pageSize-1) == 0
	return order.Uint64(m[48:]), order.Uint64(m[40:]), pageSize, ok
}
