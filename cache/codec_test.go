package cache

import (
	"bytes"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func drawJournalRecord(t *rapid.T) journalRecord {
	return journalRecord{
		bucket: rapid.StringN(0, 20, 32).Draw(t, "bucket"),
		key:    rapid.String().Draw(t, "key"),
		value:  rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "value"),
	}
}

func TestJournalGivesBackWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		recs := rapid.SliceOfN(rapid.Custom(drawJournalRecord), 0, 20).Draw(t, "records")
		var buf []byte
		var ends []int
		for _, r := range recs {
			buf = r.append(buf)
			ends = append(ends, len(buf))
		}
		// Cut anywhere: what lies wholly before the cut is there, no more.
		cut := rapid.IntRange(0, len(buf)).Draw(t, "cut")
		whole := 0
		for whole < len(ends) && ends[whole] <= cut {
			whole++
		}
		var got []journalRecord
		off, err := scanJournal(bytes.NewReader(buf[:cut]), 0, int64(cut), func(r journalRecord, at int64) {
			if !bytes.Equal(buf[at:at+int64(len(r.value))], r.value) {
				t.Fatalf("value of %q is not at %d", r.key, at)
			}
			r.value = bytes.Clone(r.value)
			got = append(got, r)
		})
		if err != nil {
			t.Fatalf("a cut is no damage: %v", err)
		}
		if diff := cmp.Diff(recs[:whole], got, cmp.AllowUnexported(journalRecord{}), cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
		if whole > 0 && off != int64(ends[whole-1]) {
			t.Fatalf("stopped at %d, not at %d", off, ends[whole-1])
		}
	})
}

func TestJournalNoticesEveryChangedByte(t *testing.T) {
	r := journalRecord{bucket: "responses", key: "k", value: []byte("some value")}
	good := r.append(nil)
	for i := range good {
		for _, bit := range []byte{1, 0x80} {
			bad := bytes.Clone(good)
			bad[i] ^= bit
			if got, _, err := decodeJournal(bad); err == nil {
				t.Errorf("byte %d: read as %+v", i, got)
			}
		}
	}
}

func TestJournalLongerThanTheBufferIsRead(t *testing.T) {
	value := bytes.Repeat([]byte("x"), 3*scanChunk)
	var buf []byte
	for _, k := range []string{"a", "b"} {
		buf = journalRecord{bucket: "b", key: k, value: value}.append(buf)
	}
	n := 0
	off, err := scanJournal(bytes.NewReader(buf), 0, int64(len(buf)), func(r journalRecord, _ int64) {
		if len(r.value) == len(value) {
			n++
		}
	})
	if n != 2 || err != nil || off != int64(len(buf)) {
		t.Errorf("%d records, %d of %d bytes: %v", n, off, len(buf), err)
	}
}

func TestRecordBelongsToItsKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := record{
			deleted: rapid.Bool().Draw(t, "deleted"),
			stamp:   rapid.Uint64().Draw(t, "stamp"),
			fetched: fromMilli(rapid.Int64Range(0, 1e14).Draw(t, "fetched")),
			expires: fromMilli(rapid.Int64Range(0, 1e14).Draw(t, "expires")),
			payload: rapid.SliceOf(rapid.Byte()).Draw(t, "payload"),
		}
		b := want.encode(nil, "bucket", "key")
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
		got, err := entryOf(want.Key, record{stamp: 7, fetched: want.FetchedAt, expires: want.ExpiresAt, payload: payload})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}

func FuzzJournal(f *testing.F) {
	f.Add([]byte(journalMagic), uint8(3))
	f.Add(journalRecord{bucket: "b", key: "k", value: record{stamp: 1}.encode(nil, "b", "k")}.append([]byte(journalMagic)), uint8(0))
	f.Add([]byte(journalMagic+"\x00\x00\x00\x00\xff\xff\xff\xff"), uint8(1))
	f.Fuzz(func(t *testing.T, file []byte, split uint8) {
		name := journalName{owner: "x", seq: 1}
		dir := t.TempDir()
		// Read in two goes, as of a journal that grows.
		first := int(split) % (len(file) + 1)
		grown := newJournal(dir, name)
		defer grown.close()
		for _, part := range [][]byte{file[:first], file} {
			if err := os.WriteFile(grown.path, part, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := grown.refresh(); err != nil {
				t.Fatal(err)
			}
		}
		whole := newJournal(dir, name)
		defer whole.close()
		if err := whole.refresh(); err != nil {
			t.Fatal(err)
		}
		opts := cmp.AllowUnexported(place{}, record{})
		if diff := cmp.Diff(whole.index, grown.index, opts); diff != "" {
			t.Errorf("in two goes: %s", diff)
		}
		for k, p := range whole.index {
			if v, err := whole.value(p); err != nil || len(v) != p.size || stampOf(v) != p.head.stamp {
				t.Errorf("%q: %d bytes, %v", k, len(v), err)
			}
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
