package index

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// However the records come and however little memory there is, they leave sorted, each key once with its least value, and
// no scratch file stays.
func TestRecordsLeaveSorted(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		s := &sorter{dir: dir, limit: rapid.IntRange(1, 2000).Draw(t, "limit")}
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
		var got []record
		if err := s.each(func(r record) error { got = append(got, r); return nil }); err != nil {
			t.Fatal(err)
		}
		s.close()
		if !slices.IsSortedFunc(got, compareRecords) || len(got) != len(least) {
			t.Fatalf("%d records of %d keys: %v", len(got), len(least), got)
		}
		for _, r := range got {
			if diff := cmp.Diff(string(least[key{r.bucket, string(r.key)}]), string(r.value)); diff != "" {
				t.Error(diff)
			}
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
			t.Fatalf("left behind: %v, %v", left, err)
		}
	})
}
