package cache

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func TestRecordBelongsToItsKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := record{
			found:   true,
			fetched: fromMilli(rapid.Int64Range(0, 1e14).Draw(t, "fetched")),
			expires: fromMilli(rapid.Int64Range(0, 1e14).Draw(t, "expires")),
			payload: rapid.SliceOf(rapid.Byte()).Draw(t, "payload"),
		}
		b := want.encode("bucket", "key")
		got, err := decodeRecord("bucket", "key", b)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(record{}), cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
		for _, other := range [][2]string{{"bucket", "kez"}, {"bucke", "tkey"}, {"other", "key"}} {
			if _, err := decodeRecord(other[0], other[1], b); err == nil {
				t.Fatalf("it passes as a record of %v", other)
			}
		}
		at := rapid.IntRange(0, len(b)-1).Draw(t, "at")
		b[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
		if _, err := decodeRecord("bucket", "key", b); err == nil {
			t.Fatalf("byte %d was changed and nobody noticed", at)
		}
	})
}

func TestEntryGivesBackItsAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Entry{
			Key:    "GET http://h:80/",
			Status: rapid.SampledFrom([]int{200, 404}).Draw(t, "status"),
			ETag:   rapid.String().Draw(t, "etag"),
			Body: rapid.OneOf(
				rapid.SliceOf(rapid.Byte()),
				rapid.Map(rapid.IntRange(0, 5000), func(n int) []byte { return bytes.Repeat([]byte("ab"), n) }),
			).Draw(t, "body"),
			FetchedAt: fromMilli(5), ExpiresAt: fromMilli(6),
		}
		payload := want.payload()
		if len(want.Body) > 1000 && bytes.HasPrefix(want.Body, []byte("abab")) && len(payload) > len(want.Body)/2 {
			t.Fatalf("%d bytes were packed into %d", len(want.Body), len(payload))
		}
		got, err := entryOf(want.Key, record{fetched: want.FetchedAt, expires: want.ExpiresAt, payload: payload})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}

func FuzzEntry(f *testing.F) {
	e := Entry{Status: 200, ETag: "x", Body: bytes.Repeat([]byte("ab"), 500)}
	f.Add(e.payload())
	f.Add([]byte{entryVersion, packFlate, 0, 200, 0, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, payload []byte) {
		e, err := entryOf("k", record{payload: payload})
		if err != nil {
			if !errors.Is(err, errEntry) {
				t.Fatal(err)
			}
			return
		}
		again, err := entryOf("k", record{payload: e.payload()})
		if err != nil || !bytes.Equal(again.Body, e.Body) || again.ETag != e.ETag || again.Status != e.Status {
			t.Fatalf("%+v became %+v: %v", e, again, err)
		}
	})
}

func TestTimesKeepTheirZero(t *testing.T) {
	for _, want := range []time.Time{{}, time.UnixMilli(1).UTC(), time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)} {
		if got := fromMilli(toMilli(want)); !got.Equal(want) || got.IsZero() != want.IsZero() {
			t.Errorf("%v became %v", want, got)
		}
	}
}
