package upstream

import (
	"fmt"
	"hash/fnv"
)

// Hash mixes a seed and what it is used for into 64 bits. The result depends on the arguments alone, so the order in
// which goroutines arrive changes nothing.
func Hash(seed uint64, about ...any) uint64 {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, seed)
	for _, a := range about {
		_, _ = fmt.Fprintf(h, "\x00%v", a)
	}
	x := h.Sum64()
	x ^= x >> 33 // FNV's high bits are poor for short inputs
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x
}

// Chance returns a number in [0, 1) that depends on its arguments alone.
func Chance(seed uint64, about ...any) float64 {
	return float64(Hash(seed, about...)>>11) / (1 << 53)
}
