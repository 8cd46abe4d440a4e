package main

import (
	"testing"
	"time"
)

func TestQuantilesAreWithinOneBucket(t *testing.T) {
	var a, b histogram
	for i := range 1000 {
		h := &a
		if i%2 == 1 {
			h = &b
		}
		h.add(time.Duration(i+1) * time.Microsecond)
	}
	a.merge(&b)
	for q, want := range map[float64]time.Duration{0: time.Microsecond, 0.5: 500 * time.Microsecond, 0.99: 990 * time.Microsecond} {
		got := a.quantile(q)
		if got < want || float64(got) > float64(want)*1.07 {
			t.Errorf("quantile %v is %v, want about %v", q, got, want)
		}
	}
}

func TestBucketsFollowEachOther(t *testing.T) {
	last := -1
	for _, v := range []uint64{0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 1000, 1 << 20, 1<<62 - 1, 1<<63 - 1} {
		i := bucketOf(v)
		if i < last || endOf(i) < v || (i > 0 && endOf(i-1) >= v) {
			t.Errorf("%d is in bucket %d, which ends at %d; the one before at %d", v, i, endOf(i), endOf(max(i-1, 0)))
		}
		last = i
	}
}
