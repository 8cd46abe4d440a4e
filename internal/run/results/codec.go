package results

import (
	"encoding/binary"
	"math"
	"time"
	"unsafe"

	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/report"
)

// version is that of the stored layout. It is a part of every key, so programs with different ones share a store.
const version = 9

// codec writes values to the end of b, or reads them from its front, by one list of fields for both ways. Numbers are varints;
// a text is a number that counts the texts in the order in which they first came. Reading checks every length: after the
// first value that is not whole the codec is bad and reads zeros. Writing leaves the values alone: others may be reading them.
type codec struct {
	b     []byte
	at    int // how much of b has been read
	texts []string
	refs  map[string]int // the number of each text; nil: reading
	bad   bool
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

func (c *codec) reading() bool { return c.refs == nil }

func (c *codec) fail() { c.bad, c.b, c.at = true, nil, 0 }

// left is what has not been read.
func (c *codec) left() []byte { return c.b[c.at:] }

// take returns the next n bytes; nil where there are fewer.
func (c *codec) take(n int) []byte {
	if c.bad || n < 0 || n > len(c.b)-c.at {
		c.fail()
		return nil
	}
	c.at += n
	return c.b[c.at-n : c.at : c.at]
}

func (c *codec) int64(n *int64) {
	if !c.reading() {
		c.b = binary.AppendVarint(c.b, *n)
		return
	}
	if c.at < len(c.b) && c.b[c.at] < 0x80 { // most numbers are one byte
		v := int64(c.b[c.at])
		*n = v>>1 ^ -(v & 1)
		c.at++
		return
	}
	v, size := binary.Varint(c.left())
	if size <= 0 {
		c.fail()
		*n = 0
		return
	}
	*n = v
	c.at += size
}

func (c *codec) int(n *int) {
	v := int64(*n)
	c.int64(&v)
	if c.reading() {
		*n = int(v)
	}
}

// count is the length of a list. It can't be more than the bytes that are left: damage must not ask for memory.
func (c *codec) count(n int) int {
	c.int(&n)
	if c.reading() && (n < 0 || n > len(c.b)-c.at) {
		c.fail()
		return 0
	}
	return n
}

func (c *codec) bool(v *bool) {
	n := 0
	if *v {
		n = 1
	}
	c.int(&n)
	if !c.reading() {
		return
	}
	if n < 0 || n > 1 {
		c.fail()
	}
	*v = n == 1
}

func (c *codec) float(f *float64) {
	if !c.reading() {
		c.b = binary.LittleEndian.AppendUint64(c.b, math.Float64bits(*f))
		return
	}
	*f = 0
	if v := c.take(8); v != nil {
		*f = math.Float64frombits(binary.LittleEndian.Uint64(v))
	}
	if math.IsNaN(*f) || math.IsInf(*f, 0) { // no record has such a number, and JSON neither
		*f = 0
		c.fail()
	}
}

// time keeps nanoseconds; the zero time is 0, at which nothing was ever decided.
func (c *codec) time(t *time.Time) {
	n := int64(0)
	if !t.IsZero() {
		n = t.UnixNano()
	}
	c.int64(&n)
	if !c.reading() {
		return
	}
	*t = time.Time{}
	if n != 0 {
		*t = time.Unix(0, n).UTC()
	}
}

func (c *codec) text(s *string) {
	if c.reading() && c.at < len(c.b) && c.b[c.at] < 0x80 { // most are none, or one of the first
		if n := int(c.b[c.at]); n == 0 {
			c.at++
			*s = ""
			return
		} else if n /= 2; n > 0 && n <= len(c.texts) && c.b[c.at]&1 == 0 {
			c.at++
			*s = c.texts[n-1]
			return
		}
	}
	n := 0
	if !c.reading() && *s != "" {
		if n = c.refs[*s]; n == 0 {
			c.texts = append(c.texts, *s)
			n = len(c.texts)
			c.refs[*s] = n
		}
	}
	c.int(&n)
	if !c.reading() {
		return
	}
	*s = ""
	switch {
	case n < 0 || n > len(c.texts):
		c.fail()
	case n > 0:
		*s = c.texts[n-1]
	}
}

// dictionary is the texts that the numbers stand for: their lengths, then all of them in one.
func (c *codec) dictionary(texts []string) []string {
	lengths := make([]int, c.count(len(texts)))
	size := 0
	for i := range lengths {
		if !c.reading() {
			lengths[i] = len(texts[i])
		}
		lengths[i] = c.count(lengths[i])
		size += lengths[i]
	}
	if !c.reading() {
		for _, s := range texts {
			c.b = append(c.b, s...)
		}
		return texts
	}
	one := c.take(size)
	all := unsafe.String(unsafe.SliceData(one), len(one)) // what was stored is not written to: a copy would be as big as all of it
	texts = make([]string, len(lengths))
	for i, n := range lengths {
		if c.bad {
			return nil
		}
		texts[i], all = all[:n], all[n:]
	}
	return texts
}

// list is a list of values, each coded by one.
func list[T any](c *codec, block *[]T, l *[]T, one func(*codec, *T)) {
	n := c.count(len(*l))
	if c.reading() {
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
	if c.reading() {
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
