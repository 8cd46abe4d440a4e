package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func TestRecordBelongsToItsKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Item{
			Key:       "key",
			FetchedAt: FromMilli(rapid.Int64Range(0, 1e14).Draw(t, "fetched")),
			ExpiresAt: FromMilli(rapid.Int64Range(0, 1e14).Draw(t, "expires")),
			Value:     rapid.SliceOf(rapid.Byte()).Draw(t, "payload"),
		}
		b := want.encode("bucket")
		got, err := decodeItem("bucket", "key", b)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
		for _, other := range [][2]string{{"bucket", "kez"}, {"bucke", "tkey"}, {"other", "key"}} {
			if _, err := decodeItem(other[0], other[1], b); err == nil {
				t.Fatalf("it passes as a record of %v", other)
			}
		}
		at := rapid.IntRange(0, len(b)-1).Draw(t, "at")
		b[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
		if _, err := decodeItem("bucket", "key", b); err == nil {
			t.Fatalf("byte %d was changed and nobody noticed", at)
		}
	})
}

func TestTimesKeepTheirZero(t *testing.T) {
	for _, want := range []time.Time{{}, time.UnixMilli(1).UTC(), time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)} {
		if got := FromMilli(ToMilli(want)); !got.Equal(want) || got.IsZero() != want.IsZero() {
			t.Errorf("%v became %v", want, got)
		}
	}
}
