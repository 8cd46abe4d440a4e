package cache

// The form of a journal: what a process has written and not yet merged.
//
//	file:   magic (8) · record*
//	record: crc32c (4, over the rest) · length (4, of what follows) ·
//	        kind (1) · len(bucket) (1) · bucket · len(key) uvarint · key · value
//
// A record is appended with one write. A journal that ends inside a record is a write in progress, or was left by a
// process that was killed in it; what was never complete was never acknowledged.

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

const (
	journalMagic = "AVJRNL\r\x01"
	journalHead  = 8
	maxJournal   = 64 << 20 // longest single record
	kindPut      = 1        // the one kind of record: its value is a record (record.go), deletions included
	scanChunk    = 1 << 20
)

var (
	// errPartial: the bytes end before the record does.
	errPartial = errors.New("journal ends inside a record")
	errJournal = errors.New("journal record is damaged")
)

// journalRecord is one decoded record; value is a part of the input.
type journalRecord struct {
	bucket string
	key    string
	value  []byte
}

func (r journalRecord) append(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0, kindPut, byte(len(r.bucket)))
	dst = append(dst, r.bucket...)
	dst = binary.AppendUvarint(dst, uint64(len(r.key)))
	dst = append(dst, r.key...)
	dst = append(dst, r.value...)
	binary.BigEndian.PutUint32(dst[start+4:], uint32(len(dst)-start-8))
	binary.BigEndian.PutUint32(dst[start:], crc32.Checksum(dst[start+4:], castagnoli))
	return dst
}

// decodeJournal reads the first record of b and how many bytes it takes. Its error is errPartial when b may be the
// beginning of a record, and errJournal when not.
func decodeJournal(b []byte) (r journalRecord, n int, err error) {
	if len(b) < 8 {
		return r, 0, errPartial
	}
	length := binary.BigEndian.Uint32(b[4:])
	if length < 3 || length > maxJournal {
		return r, 0, fmt.Errorf("%w: length %d", errJournal, length)
	}
	if uint32(len(b)-8) < length {
		return r, 0, errPartial
	}
	n = 8 + int(length)
	if crc32.Checksum(b[4:n], castagnoli) != binary.BigEndian.Uint32(b) {
		return r, 0, fmt.Errorf("%w: checksum", errJournal)
	}
	p := b[8:n]
	bl := int(p[1])
	if p[0] != kindPut || bl > len(p)-2 {
		return r, 0, fmt.Errorf("%w: bucket", errJournal)
	}
	p = p[2:]
	r.bucket, p = string(p[:bl]), p[bl:]
	kl, w := binary.Uvarint(p)
	if w <= 0 || kl > uint64(len(p)-w) {
		return r, 0, fmt.Errorf("%w: key", errJournal)
	}
	r.key, r.value = string(p[w:w+int(kl)]), p[w+int(kl):]
	return r, n, nil
}

// scanJournal calls note for every sound record between off and end, with the offset of its value. It returns the
// offset after the last sound one; the error is nil when only an incomplete record follows, or nothing.
func scanJournal(f io.ReaderAt, off, end int64, note func(journalRecord, int64)) (int64, error) {
	var buf []byte
	want := int64(scanChunk)
	for off < end {
		n := min(want, end-off)
		if int64(cap(buf)) < n {
			buf = make([]byte, n)
		}
		buf = buf[:n]
		got, err := f.ReadAt(buf, off)
		if err != nil && err != io.EOF {
			return off, err
		}
		used := 0
		for used < got {
			r, n, err := decodeJournal(buf[used:got])
			if errors.Is(err, errPartial) {
				break
			}
			if err != nil {
				return off + int64(used), err
			}
			note(r, off+int64(used+n-len(r.value)))
			used += n
		}
		switch {
		case used > 0:
			want = scanChunk
		case int64(got) < want:
			return off, nil // the end, inside a record
		default:
			want *= 2 // one record is longer than the buffer
		}
		off += int64(used)
	}
	return off, nil
}

// maxSalvage is how far behind a damaged place records are looked for: more than journals hold.
const maxSalvage = 64 << 20

// salvage calls note for every sound record behind a damaged place at off: its checksum tells where one begins. What it
// reads is bounded, so that bytes that look like many long records can't keep it.
func salvage(f io.ReaderAt, off, end int64, note func(journalRecord, int64)) {
	end = min(end, off+maxSalvage)
	buf := make([]byte, 64<<10)
	for budget := int64(4 * maxSalvage); off < end && budget > 0; {
		head := buf[:min(int64(len(buf)), end-off)]
		if _, err := f.ReadAt(head, off); err != nil && err != io.EOF {
			return
		}
		i := nextRecord(head)
		switch {
		case i >= 0:
		case int64(len(head)) == end-off:
			return
		default:
			i = len(head) - recordStart // one may begin at the end of what was read
		}
		off += int64(i)
		budget -= int64(i) + maxJournal/1024
		next, _ := scanJournal(f, off, end, note)
		if next == off {
			if n := binary.BigEndian.Uint32(head[i+4:]); n <= maxJournal {
				budget -= int64(n) // its checksum was computed for nothing
			}
			next++
		}
		off = next
	}
}

// recordStart is the length of the longest beginning of a record that is looked at: up to the end of the bucket's name.
const recordStart = 10 + 32

// nextRecord is where the first thing in b lies that looks like a record, -1 if there is none.
func nextRecord(b []byte) int {
	for i := 0; ; i++ {
		j := bytes.IndexByte(b[min(i+8, len(b)):], kindPut)
		if j < 0 {
			return -1
		}
		i += j
		if n := i + 10; n < len(b) && bucketName.Match(b[n:min(n+int(b[n-1]), len(b))]) {
			return i
		}
	}
}
