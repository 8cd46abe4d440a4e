// This file decides where chance comes from: hashes and generators keyed by
// the seed and by what is being decided, so that the order in which goroutines
// arrive changes nothing.

package tmdbfake

import (
	"crypto/md5" //nolint:gosec // TMDB's ETags and ids look like this; nothing is protected by it
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
)

// hash mixes a seed and the things it is about into 64 bits.
func hash(seed uint64, about ...any) uint64 {
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

// chance gives a number in [0, 1) that depends on its arguments only.
func chance(seed uint64, about ...any) float64 {
	return float64(hash(seed, about...)>>11) / (1 << 53)
}

// pcg gives a generator for one decision.
func pcg(seed uint64, about ...any) *rand.Rand {
	return rand.New(rand.NewPCG(seed, hash(seed, about...))) //nolint:gosec // determinism is the point
}

// hexID gives n hexadecimal digits (at most 32) that depend on the arguments.
func hexID(n int, about ...any) string {
	sum := md5.Sum(fmt.Appendln(nil, about...)) //nolint:gosec // an id, not a secret
	return hex.EncodeToString(sum[:])[:n]
}
