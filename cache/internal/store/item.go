package store

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"time"
)

const day = 24 * time.Hour

// KeepLimit is the longest time that anything is kept, whatever the settings, even offline: TMDB's terms allow six
// months.
const KeepLimit = 180 * day

// ClockSlack is how far the clocks of processes and machines may differ.
const ClockSlack = 5 * time.Minute

// Item is one value of a Bucket. An Item with an empty Key means that there is none.
type Item struct {
	Key   string // 1 to 32768 bytes
	Value []byte // at most 32 MiB; must not be modified after Put, nor after Get
	// FetchedAt is when the value was fetched; zero in Put means now. The store deletes the value at most 180 days later.
	FetchedAt time.Time
	// ExpiresAt is when the value expires; zero means never. Only pruning looks at it: until then Get returns expired
	// values.
	ExpiresAt time.Time
	// Ahead reports that the stored date was in the future, so the value counts as fetched now and expired. Put ignores
	// it.
	Ahead bool
}

// withoutFutureDates corrects an item dated in the future: it counts as fetched now and expired.
func (it Item) withoutFutureDates(now time.Time) Item {
	if it.FetchedAt.After(now.Add(ClockSlack)) {
		it.FetchedAt, it.ExpiresAt, it.Ahead = now, now, true
	}
	return it
}

// The envelope of every stored value can be checked and aged without knowing what is inside:
//
//	crc32c (4, over bucket, 0, key and all that follows) · fetched (8) · expires (8) · value
const itemHeaderSize = 4 + 8 + 8

var (
	castagnoli   = crc32.MakeTable(crc32.Castagnoli)
	errItemShort = errors.New("record is shorter than its head")
	errItemSum   = errors.New("record does not match its checksum")
)

func (it Item) encode(bucket string) []byte {
	b := make([]byte, 4, itemHeaderSize+len(it.Value))
	b = binary.BigEndian.AppendUint64(b, uint64(ToMilli(it.FetchedAt)))
	b = binary.BigEndian.AppendUint64(b, uint64(ToMilli(it.ExpiresAt)))
	b = append(b, it.Value...)
	binary.BigEndian.PutUint32(b, itemSum(bucket, it.Key, b[4:]))
	return b
}

// decodeItem decodes the output of encode; the value aliases b. The checksum covers bucket and key, so it detects
// values moved to another key as well as damaged bytes.
func decodeItem(bucket, key string, b []byte) (Item, error) {
	it, err := decodeItemHeader(b)
	if err != nil {
		return Item{}, err
	}
	if binary.BigEndian.Uint32(b) != itemSum(bucket, key, b[4:]) {
		return Item{}, errItemSum
	}
	it.Key, it.Value = key, b[itemHeaderSize:]
	return it, nil
}

// decodeItemHeader reads the dates without the checksum, so that it need not touch the value's pages.
func decodeItemHeader(b []byte) (Item, error) {
	if len(b) < itemHeaderSize {
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

// ToMilli returns t in Unix milliseconds, and 0 for the zero time.
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
