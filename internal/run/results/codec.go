package results

import (
	"math"
	"time"
	"unsafe"

	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/wire"
)

// version is that of the stored layout. It is a part of every key, so programs with different ones share a store.
const version = 10

// codec is a wire.Codec for which a text is a number: it counts the texts in the order in which they first came.
type codec struct {
	wire.Codec
	texts []string
	refs  map[string]int // the number of each text; nil: reading
	blocks
}

// blocks are the memory of what is read, shared by many records. A block that is full is left to the records that have a part
// of it, and another one begun.
type blocks struct {
	parsed     []report.Parsed
	ids        []report.IDs
	ints       []int
	floats     []float64
	lists      []string
	candidates []report.Candidate
	works      []report.WorkIDs
	seen       []match.Seen
}

func writer() *codec { return &codec{refs: map[string]int{}} }

func (c *codec) int(n *int) { wire.Int(&c.Codec, n) }

// count is the length of a list.
func (c *codec) count(n int) int { return c.Count(n, math.MaxInt) }

func (c *codec) bool(v *bool) { c.Bool(v) }

func (c *codec) float(f *float64) {
	c.Float(f)
	if c.Reading() && (math.IsNaN(*f) || math.IsInf(*f, 0)) { // no record has such a number, and JSON neither
		*f = 0
		c.Fail()
	}
}

// time keeps nanoseconds; the zero time is 0, at which nothing was ever decided.
func (c *codec) time(t *time.Time) {
	n := int64(0)
	if !t.IsZero() {
		n = t.UnixNano()
	}
	c.Int64(&n)
	if !c.Reading() {
		return
	}
	*t = time.Time{}
	if n != 0 {
		*t = time.Unix(0, n).UTC()
	}
}

func (c *codec) text(s *string) {
	n := uint64(0)
	if !c.Reading() && *s != "" {
		known := c.refs[*s]
		if known == 0 {
			c.texts = append(c.texts, *s)
			known = len(c.texts)
			c.refs[*s] = known
		}
		n = uint64(known)
	}
	c.Uint64(&n)
	if !c.Reading() {
		return
	}
	*s = ""
	switch {
	case n > uint64(len(c.texts)):
		c.Fail()
	case n > 0:
		*s = c.texts[n-1]
	}
}

// dictionary is the texts that the numbers stand for: their lengths, then all of them in one.
func (c *codec) dictionary(texts []string) []string {
	lengths := make([]int, c.count(len(texts)))
	size := 0
	for i := range lengths {
		if !c.Reading() {
			lengths[i] = len(texts[i])
		}
		lengths[i] = c.count(lengths[i])
		size += lengths[i]
	}
	if !c.Reading() {
		for _, s := range texts {
			c.Raw([]byte(s))
		}
		return texts
	}
	one := c.Take(size)
	all := unsafe.String(unsafe.SliceData(one), len(one)) // what was stored is not written to: a copy would be as big as all of it
	texts = make([]string, len(lengths))
	for i, n := range lengths {
		if c.Bad() {
			return nil
		}
		texts[i], all = all[:n], all[n:]
	}
	return texts
}

// list is a list of values, each coded by one.
func list[T any](c *codec, block *[]T, l *[]T, one func(*codec, *T)) {
	n := c.count(len(*l))
	if c.Reading() {
		*l = nil
		if n == 0 {
			return
		}
		*l = room(block, n)
	}
	for i := range *l {
		one(c, &(*l)[i])
	}
}

// optional is a value that may be missing.
func optional[T any](c *codec, block *[]T, p **T, one func(*codec, *T)) {
	there := *p != nil
	c.bool(&there)
	if c.Reading() {
		*p = nil
		if there {
			*p = &room(block, 1)[0]
		}
	}
	if *p != nil {
		one(c, *p)
	}
}

// room returns n zero values of a block.
func room[T any](block *[]T, n int) []T {
	reserve(block, n)
	start := len(*block)
	*block = (*block)[:start+n]
	values := (*block)[start : start+n : start+n]
	clear(values)
	return values
}

// reserve begins a block of twice the size where this one has no room for n values.
func reserve[T any](block *[]T, n int) {
	if cap(*block)-len(*block) < n {
		*block = make([]T, 0, max(n, 2*cap(*block)))
	}
}
