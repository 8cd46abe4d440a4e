package cache

// The envelope of every stored value, which can be checked and aged without knowing what is inside:
//
//	crc32c (4, over bucket, 0, key and all that follows) · fetched (8) · expires (8) · payload

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"time"
)

const recordHead = 4 + 8 + 8

var (
	castagnoli     = crc32.MakeTable(crc32.Castagnoli)
	errRecordShort = errors.New("record is shorter than its head")
	errRecordSum   = errors.New("record does not match its checksum")
)

// record is one value with its envelope, decoded.
type record struct {
	found   bool // in answers to a question: it is there
	fetched time.Time
	expires time.Time // zero: no date of its own
	payload []byte
	ahead   bool // datedSensibly has changed its dates
}

// clockSlack is by how much the clocks of processes and machines may disagree.
const clockSlack = 5 * time.Minute

// datedSensibly returns the record with dates that lie ahead of the clock brought back: fetched now, and expired.
func (r record) datedSensibly(now time.Time) record {
	if r.fetched.After(now.Add(clockSlack)) {
		r.fetched, r.expires, r.ahead = now, now, true
	}
	return r
}

// encode returns the record's bytes for bucket and key.
func (r record) encode(bucket, key string) []byte {
	b := make([]byte, 4, recordHead+len(r.payload))
	b = binary.BigEndian.AppendUint64(b, uint64(toMilli(r.fetched)))
	b = binary.BigEndian.AppendUint64(b, uint64(toMilli(r.expires)))
	b = append(b, r.payload...)
	binary.BigEndian.PutUint32(b, recordSum(bucket, key, b[4:]))
	return b
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
	return record{
		found:   true,
		fetched: fromMilli(int64(binary.BigEndian.Uint64(b[4:]))),
		expires: fromMilli(int64(binary.BigEndian.Uint64(b[12:]))),
	}, nil
}

func recordSum(bucket, key string, rest []byte) uint32 {
	sum := crc32.Checksum([]byte(bucket+"\x00"+key), castagnoli)
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
