package cache

// The envelope that every stored value has, in journals and in the database:
// what it needs to be checked, aged and ordered without knowing what is inside.
//
//	crc32c (4, over bucket, 0, key and all that follows) · flags (1) ·
//	stamp (8) · fetched (8) · expires (8) · payload
//
// Stamps order the writes of one key over all processes: the larger one wins,
// wherever and in whatever order records are merged. They follow the wall
// clock, but a writer never stamps below what it has seen.

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"time"
)

const (
	recordHead  = 4 + 1 + 8 + 8 + 8
	flagDeleted = 1 << 0
)

var (
	castagnoli      = crc32.MakeTable(crc32.Castagnoli)
	errRecordShort  = errors.New("record is shorter than its head")
	errRecordSum    = errors.New("record does not match its checksum")
	errRecordFuture = errors.New("record has flags of a newer version")
)

// record is one value with its envelope, decoded.
type record struct {
	deleted bool
	stamp   uint64
	fetched time.Time
	expires time.Time // zero: no date of its own
	payload []byte

	seen uint64 // when read: the largest stamp that was met, sound or not
}

// encode appends the record's bytes for bucket and key to dst.
func (r record) encode(dst []byte, bucket, key string) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	var flags byte
	if r.deleted {
		flags |= flagDeleted
	}
	dst = append(dst, flags)
	dst = binary.BigEndian.AppendUint64(dst, r.stamp)
	dst = binary.BigEndian.AppendUint64(dst, uint64(toMilli(r.fetched)))
	dst = binary.BigEndian.AppendUint64(dst, uint64(toMilli(r.expires)))
	dst = append(dst, r.payload...)
	binary.BigEndian.PutUint32(dst[start:], recordSum(bucket, key, dst[start+4:]))
	return dst
}

// decodeRecord reads what encode wrote; the payload is a part of b. The
// checksum covers bucket and key: bytes that were moved to another key, or
// garbled, are an error.
func decodeRecord(bucket, key string, b []byte) (record, error) {
	r, err := decodeHead(b)
	if err != nil {
		return record{}, err
	}
	if binary.BigEndian.Uint32(b) != recordSum(bucket, key, b[4:]) {
		return record{}, errRecordSum
	}
	r.payload = b[recordHead:]
	return r, nil
}

// decodeHead reads the envelope without checking the sum, for decisions that
// must not touch the payload's pages.
func decodeHead(b []byte) (record, error) {
	if len(b) < recordHead {
		return record{}, errRecordShort
	}
	if b[4]&^flagDeleted != 0 {
		return record{}, errRecordFuture
	}
	return record{
		deleted: b[4]&flagDeleted != 0,
		stamp:   binary.BigEndian.Uint64(b[5:]),
		fetched: fromMilli(int64(binary.BigEndian.Uint64(b[13:]))),
		expires: fromMilli(int64(binary.BigEndian.Uint64(b[21:]))),
	}, nil
}

func recordSum(bucket, key string, rest []byte) uint32 {
	sum := crc32.Update(0, castagnoli, []byte(bucket))
	sum = crc32.Update(sum, castagnoli, []byte{0})
	sum = crc32.Update(sum, castagnoli, []byte(key))
	return crc32.Update(sum, castagnoli, rest)
}

// toMilli and fromMilli keep the zero time zero.
func toMilli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMilli(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
