package index

import (
	"bytes"
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
			k := key{r.bucket, string(r.key)}
			if old, ok := least[k]; !ok || bytes.Compare(r.value, old) < 0 {
				least[k] = r.value
			}
			if err := s.add(r); err != nil {
				t.Fatal(err)
			}
		}
		s.sort()
		if len(s.encoded) != len(least) {
			t.Fatalf("%d records of %d keys", len(s.encoded), len(least))
		}
		last := ""
		for _, r := range s.encoded {
			at := bucketAndKey(r)
			if want := least[key{bucket(at[0]), at[1:]}]; at <= last || string(want) != r[len(at):len(r)-2] {
				t.Errorf("%q after %q, want the value %q", r, last, want)
			}
			last = at
		}
	})
}

func TestAKeyThatTheIndexCannotHoldIsLeftOut(t *testing.T) {
	s := &records{}
	for _, key := range []string{strings.Repeat("x", maxKeyLength+1), "kept", strings.Repeat("x", maxKeyLength)} {
		if err := s.add(record{bucketAniDBTitles, []byte(key), nil}); err != nil {
			t.Fatal(err)
		}
	}
	s.sort()
	var lengths []int
	for _, r := range s.encoded {
		lengths = append(lengths, len(bucketAndKey(r))-1)
	}
	if diff := cmp.Diff([]int{4, maxKeyLength}, lengths); diff != "" {
		t.Error(diff)
	}
}
