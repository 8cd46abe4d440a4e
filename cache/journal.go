package cache

// The form of a journal: what a process has written and not yet merged.
//
//	file:   magic (8) · record*
//	record: crc32c (4, over the rest) · length (4, of what follows) ·
//	        kind (1) · len(bucket) (1) · bucket · len(key) uvarint · key · value
//
// A record is appended with one write. A journal that ends inside a record is
// a write in progress, or the last breath of a process that was killed; what
// was never complete was never acknowledged.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// kind is what a journal record says.
type kind uint8

const (
	kindPut     kind = 1 // value is a record (record.go), deletions included
	kindClaim   kind = 2 // "I am asking this key"
	kindRelease kind = 3 // "I am no longer asking this key"
	kindBeat    kind = 4 // "I am still here", while claims are held
)

const (
	journalMagic = "AVJRNL\r\x01"
	journalHead  = 8
	maxJournal   = 64 << 20 // longest single record
)

var (
	// errPartial: the bytes end before the record does.
	errPartial = errors.New("journal ends inside a record")
	errJournal = errors.New("journal record is damaged")
)

// journalRecord is one decoded record; value is a part of the input.
type journalRecord struct {
	kind   kind
	bucket string
	key    string
	value  []byte
}

func (r journalRecord) append(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0, byte(r.kind), byte(len(r.bucket)))
	dst = append(dst, r.bucket...)
	dst = binary.AppendUvarint(dst, uint64(len(r.key)))
	dst = append(dst, r.key...)
	dst = append(dst, r.value...)
	binary.BigEndian.PutUint32(dst[start+4:], uint32(len(dst)-start-8))
	binary.BigEndian.PutUint32(dst[start:], crc32.Checksum(dst[start+4:], castagnoli))
	return dst
}

// decodeJournal reads the first record of b and how many bytes it takes.
// errPartial when b may be the beginning of a record, errJournal when not.
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
	r.kind = kind(p[0])
	bl := int(p[1])
	p = p[2:]
	if bl > len(p) {
		return r, 0, fmt.Errorf("%w: bucket", errJournal)
	}
	r.bucket, p = string(p[:bl]), p[bl:]
	kl, w := binary.Uvarint(p)
	if w <= 0 || kl > uint64(len(p)-w) {
		return r, 0, fmt.Errorf("%w: key", errJournal)
	}
	r.key, r.value = string(p[w:w+int(kl)]), p[w+int(kl):]
	return r, n, nil
}
