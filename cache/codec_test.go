package cache

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/anivault/anivault/cache/internal/store"
)

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
			FetchedAt: store.FromMilli(5), ExpiresAt: store.FromMilli(6),
		}
		payload := want.encode()
		if len(want.Body) > 1000 && bytes.HasPrefix(want.Body, []byte("abab")) && len(payload) > len(want.Body)/2 {
			t.Fatalf("%d bytes were packed into %d", len(want.Body), len(payload))
		}
		got, err := decodeEntry(Item{Key: want.Key, Value: payload, FetchedAt: want.FetchedAt, ExpiresAt: want.ExpiresAt})
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
	f.Add(e.encode())
	f.Add([]byte{entryVersion, bodyFlate, 0, 200, 0, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, payload []byte) {
		e, err := decodeEntry(Item{Key: "k", Value: payload})
		if err != nil {
			if !errors.Is(err, errBadEntry) {
				t.Fatal(err)
			}
			return
		}
		again, err := decodeEntry(Item{Key: "k", Value: e.encode()})
		if err != nil || !bytes.Equal(again.Body, e.Body) || again.ETag != e.ETag || again.Status != e.Status {
			t.Fatalf("%+v became %+v: %v", e, again, err)
		}
	})
}
