package store

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"time"
)

const day = 24 * time.Hour

// KeepLimit is the maximum time that anything is kept, even offline: the terms of TMDB allow six months.
const KeepLimit = 180 * day

// ClockSlack is how much the clocks of processes and machines may differ.
const ClockSlack = 5 * time.Minute

// Item is one value of a Bucket. An Item with an empty Key stands for a missing value.
type Item struct {
	Key   string // 1 to 32768 bytes
	Value []byte // at most 32 MiB; must not be modified after Put or Get
	// FetchedAt is when the value was fetched; in Put, zero means now. The value is deleted within 180 days.
	FetchedAt time.Time
	// ExpiresAt is when the value expires; zero means never. Get returns an expired value until it is pruned.
	ExpiresAt time.Time
	// HadFutureDate is set if the stored date was in the future: the value counts as fetched now and expired.
	HadFutureDate bool
}

// withoutFutureDates corrects an item whose date is in the future, so that it counts as fetched now and expired.
func (it Item) withoutFutureDates(now time.Time) Item {
	if it.FetchedAt.After(now.Add(ClockSlack)) {
		it.FetchedAt, it.ExpiresAt, it.HadFutureDate = now, now, true
	}
	return it
}

// itemHeaderSize is the length of what precedes each stored value:
//
//	crc32c (4, of bucket, 0, key and all that follows) · fetched (8) · expires (8) · value
const itemHeaderSize = 4 + 8 + 8

var (
	crc32cTable     = crc32.MakeTable(crc32.Castagnoli)
	errItemShort    = errors.New("record is shorter than its head")
	errItemChecksum = errors.New("record does not match its checksum")
)

func (it Item) encode(bucket string) []byte {
	b := make([]byte, 4, itemHeaderSize+len(it.Value))
	b = binary.BigEndian.AppendUint64(b, uint64(ToMilli(it.FetchedAt)))
	b = binary.BigEndian.AppendUint64(b, uint64(ToMilli(it.ExpiresAt)))
	b = append(b, it.Value...)
	binary.BigEndian.PutUint32(b, itemChecksum(bucket, it.Key, b[4:]))
	return b
}

// decodeItem decodes the result of encode. The value of the item aliases b. The checksum covers bucket and key too, so
// it reveals values under a wrong key as well as damaged bytes.
func decodeItem(bucket, key string, b []byte) (Item, error) {
	it, err := decodeItemHeader(b)
	if err != nil {
		return Item{}, err
	}
	if binary.BigEndian.Uint32(b) != itemChecksum(bucket, key, b[4:]) {
		return Item{}, errItemChecksum
	}
	it.Key, it.Value = key, b[itemHeaderSize:]
	return it, nil
}

// decodeItemHeader reads only the dates. Verifying the checksum would require all pages of the value.
func decodeItemHeader(b []byte) (Item, error) {
	if len(b) < itemHeaderSize {
		return Item{}, errItemShort
	}
	return Item{
		FetchedAt: FromMilli(int64(binary.BigEndian.Uint64(b[4:]))),
		ExpiresAt: FromMilli(int64(binary.BigEndian.Uint64(b[12:]))),
	}, nil
}

func itemChecksum(bucket, key string, rest []byte) uint32 {
	sum := crc32.Checksum([]byte(bucket+"\x00"+key), crc32cTable)
	return crc32.Update(sum, crc32cTable, rest)
}

// ToMilli returns t in Unix milliseconds, or 0 for the zero time.
func ToMilli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// FromMilli reverses ToMilli.
func FromMilli(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
