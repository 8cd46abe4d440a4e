package main

import (
	"math/bits"
	"time"
)

// histogram counts durations in buckets that are at most 1/16 wide.
type histogram struct {
	Counts [64 * 16]uint64
	N      uint64
}

func (h *histogram) add(d time.Duration) {
	h.Counts[bucketOf(uint64(max(d, 0)))]++
	h.N++
}

func (h *histogram) merge(o *histogram) {
	for i, n := range o.Counts {
		h.Counts[i] += n
	}
	h.N += o.N
}

// quantile returns the upper end of the bucket in which the q-th part of all ends.
func (h *histogram) quantile(q float64) time.Duration {
	left := uint64(q * float64(h.N))
	for i, n := range h.Counts {
		if n > left {
			return time.Duration(endOf(i))
		}
		left -= n
	}
	return 0
}

func bucketOf(v uint64) int {
	if v < 16 {
		return int(v)
	}
	shift := bits.Len64(v) - 5
	return (shift+1)*16 + int(v>>shift)&15
}

func endOf(i int) uint64 {
	if i < 16 {
		return uint64(i)
	}
	shift := i/16 - 1
	return (uint64(i%16)+17)<<shift - 1
}
