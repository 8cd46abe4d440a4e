package cache

// The envelope that every stored value has, in journals and in the database: what it needs to be checked, aged and
// ordered without knowing what is inside.
//
//	crc32c (4, over bucket, 0, key and all that follows) · flags (1) ·
//	stamp (8) · fetched (8) · expires (8) · payload
//
// Stamps order the writes of one key over all processes: the larger one wins, wherever and in whatever order records
// are merged. They follow the wall clock, but a writer never stamps below what it has read.
//
// A clock that was wrong once must not block anything until it is caught up with. So a stamp that lies ahead of the
// clock counts as older than every other one.

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
	ahead   bool // datedSensibly has changed its dates
}

// clockSlack is by how much the clocks of processes and machines may disagree.
const clockSlack = 5 * time.Minute

// isAhead reports whether a stamp can only come from a clock that was wrong.
func isAhead(stamp uint64, now time.Time) bool {
	return stamp > uint64(max(now.Add(clockSlack).UnixNano(), 0))
}

// isNewer reports whether the stamp a comes after b; 0 stands for a record that is not there.
func isNewer(a, b uint64, now time.Time) bool {
	if a == 0 || b == 0 {
		return a > b
	}
	if ahead := isAhead(a, now); ahead != isAhead(b, now) {
		return !ahead
	}
	return a > b
}

// isCleared reports whether a record was written before everything was cleared. What is stamped ahead of the clock may
// have been; and a clearing that is itself stamped so says nothing about what was written since.
func isCleared(stamp, cleared uint64, now time.Time) bool {
	return cleared > 0 && !isAhead(cleared, now) && (stamp <= cleared || isAhead(stamp, now))
}

// datedSensibly returns the record with dates that lie ahead of the clock brought back: fetched now, and expired.
func (r record) datedSensibly(now time.Time) record {
	if r.fetched.After(now.Add(clockSlack)) {
		r.fetched, r.expires, r.ahead = now, now, true
	}
	return r
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

// decodeRecord reads what encode wrote; the payload is a part of b. The checksum covers bucket and key: bytes that were
// moved to another key, or garbled, are an error.
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

// decodeHead reads the envelope without checking the sum, for decisions that must not touch the payload's pages.
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

// stampOf is the stamp in a value's head, 0 if it has none.
func stampOf(value []byte) uint64 {
	if len(value) < recordHead {
		return 0
	}
	return binary.BigEndian.Uint64(value[5:])
}
