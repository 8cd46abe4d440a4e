package store

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"time"
)

const day = 24 * time.Hour

// KeepLimit is the longest time anything is kept, whatever the settings say, also offline: TMDB's terms allow six
// months.
const KeepLimit = 180 * day

// ClockSlack is by how much the clocks of processes and machines may disagree.
const ClockSlack = 5 * time.Minute

// Item is one value of a Bucket. A missing one has an empty Key.
type Item struct {
	Key   string // 1 to 32768 bytes
	Value []byte // at most 32 MiB; must not be modified after Put, nor after Get
	// FetchedAt is how old the value counts; zero in Put means now. It is deleted 180 days later at the latest.
	FetchedAt time.Time
	// ExpiresAt is until when the value is of use; zero: no date. Only pruning looks at it: an expired value is got
	// until then.
	ExpiresAt time.Time
	// Ahead: the stored date lay ahead of the clock, so the value counts as fetched now, and as expired. Put ignores it.
	Ahead bool
}

// datedSensibly returns the item with dates that lie ahead of the clock brought back: fetched now, and expired.
func (it Item) datedSensibly(now time.Time) Item {
	if it.FetchedAt.After(now.Add(ClockSlack)) {
		it.FetchedAt, it.ExpiresAt, it.Ahead = now, now, true
	}
	return it
}

// The envelope of every stored value can be checked and aged without knowing what is inside:
//
//	crc32c (4, over bucket, 0, key and all that follows) · fetched (8) · expires (8) · value
const itemHead = 4 + 8 + 8

var (
	castagnoli   = crc32.MakeTable(crc32.Castagnoli)
	errItemShort = errors.New("record is shorter than its head")
	errItemSum   = errors.New("record does not match its checksum")
)

func (it Item) encode(bucket string) []byte {
	b := make([]byte, 4, itemHead+len(it.Value))
	b = binary.BigEndian.AppendUint64(b, uint64(ToMilli(it.FetchedAt)))
	b = binary.BigEndian.AppendUint64(b, uint64(ToMilli(it.ExpiresAt)))
	b = append(b, it.Value...)
	binary.BigEndian.PutUint32(b, itemSum(bucket, it.Key, b[4:]))
	return b
}

// decodeItem reads what encode wrote; the value is a part of b. The checksum covers bucket and key: bytes that were
// moved to another key, or garbled, are an error.
func decodeItem(bucket, key string, b []byte) (Item, error) {
	it, err := decodeHead(b)
	if err != nil {
		return Item{}, err
	}
	if binary.BigEndian.Uint32(b) != itemSum(bucket, key, b[4:]) {
		return Item{}, errItemSum
	}
	it.Key, it.Value = key, b[itemHead:]
	return it, nil
}

// decodeHead reads the dates without checking the sum, for decisions that must not touch the value's pages.
func decodeHead(b []byte) (Item, error) {
	if len(b) < itemHead {
		return Item{}, errItemShort
	}
	return Item{
		FetchedAt: FromMilli(int64(binary.BigEndian.Uint64(b[4:]))),
		ExpiresAt: FromMilli(int64(binary.BigEndian.Uint64(b[12:]))),
	}, nil
}

func itemSum(bucket, key string, rest []byte) uint32 {
	sum := crc32.Checksum([]byte(bucket+"\x00"+key), castagnoli)
	return crc32.Update(sum, castagnoli, rest)
}

// ToMilli returns a time in Unix milliseconds; the zero time is 0.
func ToMilli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// FromMilli is the inverse of ToMilli.
func FromMilli(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
