package index

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// However the records come, they leave sorted, each key once with its least value.
func TestRecordsLeaveSorted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &records{}
		type key struct {
			b bucket
			k string
		}
		least := map[key][]byte{}
		for range rapid.IntRange(0, 60).Draw(t, "records") {
			r := record{
				bucket: bucket(rapid.IntRange(1, 3).Draw(t, "bucket")),
				key:    rapid.SliceOfN(rapid.ByteRange('a', 'd'), 1, 3).Draw(t, "key"),
				value:  rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "value"),
			}
			if rapid.IntRange(0, 9).Draw(t, "size") == 0 { // as large as the rest of a chunk, and larger
				r.value = append(bytes.Repeat([]byte("x"), rapid.SampledFrom([]int{chunkSize / 2, chunkSize, 2 * chunkSize}).Draw(t,
					"long")), r.value...)
			}
			k := key{r.bucket, string(r.key)}
			if old, ok := least[k]; !ok || bytes.Compare(r.value, old) < 0 {
				least[k] = r.value
			}
			if err := s.add(r); err != nil {
				t.Fatal(err)
			}
		}
		var got []record
		if err := s.each(func(r record) error { got = append(got, r); return nil }); err != nil {
			t.Fatal(err)
		}
		if !slices.IsSortedFunc(got, compareRecords) || len(got) != len(least) {
			t.Fatalf("%d records of %d keys", len(got), len(least))
		}
		for _, r := range got {
			if want := least[key{r.bucket, string(r.key)}]; !bytes.Equal(want, r.value) {
				t.Error(cmp.Diff(want, r.value))
			}
		}
	})
}

func TestAKeyThatTheIndexCannotHoldIsLeftOut(t *testing.T) {
	s := &records{}
	for _, key := range []string{strings.Repeat("x", maxKey+1), "kept", strings.Repeat("x", maxKey)} {
		if err := s.add(record{bucketTitles, []byte(key), nil}); err != nil {
			t.Fatal(err)
		}
	}
	var lengths []int
	if err := s.each(func(r record) error { lengths = append(lengths, len(r.key)); return nil }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{4, maxKey}, lengths); diff != "" {
		t.Error(diff)
	}
}
