// Package wire encodes and decodes values as varints. One function lists the fields for both directions, so that they
// cannot disagree. It passes each field to a [Codec]:
//
//	func (p *point) code(c *wire.Codec) {
//		wire.Int(c, &p.x)
//		c.Text(&p.name, 80)
//	}
package wire

import (
	"encoding/binary"
	"math"
	"slices"
)

// Codec either encodes or decodes. Encoding does not change the values, so other goroutines may read them. Decoding
// checks every length. After the first invalid value the codec is bad and decodes only zeros.
type Codec struct {
	b       []byte
	offset  int // number of bytes of b that have been read
	reading bool
	bad     bool
}

// Writer returns a codec that appends to b.
func Writer(b []byte) Codec { return Codec{b: b} }

// Reader returns a codec that reads b.
func Reader(b []byte) Codec { return Codec{b: b, reading: true} }

// Reading reports whether the codec decodes, that is, whether Reader made it.
func (c *Codec) Reading() bool { return c.reading }

// Bytes returns the encoded bytes.
func (c *Codec) Bytes() []byte { return c.b }

// Remaining returns the bytes not read yet.
func (c *Codec) Remaining() []byte { return c.b[c.offset:] }

// Bad reports whether decoding failed.
func (c *Codec) Bad() bool { return c.bad }

// Fail makes the codec bad. Callers use it for a value that makes no sense.
func (c *Codec) Fail() { c.bad, c.b, c.offset = true, nil, 0 }

// Raw appends bytes unchanged.
func (c *Codec) Raw(b []byte) { c.b = append(c.b, b...) }

// Take reads the next n bytes, or returns nil if there are fewer.
func (c *Codec) Take(n int) []byte {
	if c.bad || n < 0 || n > len(c.b)-c.offset {
		c.Fail()
		return nil
	}
	c.offset += n
	return c.b[c.offset-n : c.offset : c.offset]
}

// Uint64 codes a number. Small ones take fewer bytes.
func (c *Codec) Uint64(v *uint64) {
	if c.reading {
		*v = c.nextVarint()
		return
	}
	c.b = binary.AppendUvarint(c.b, *v)
}

// Int64 codes a number. Those near zero take fewer bytes.
func (c *Codec) Int64(v *int64) {
	if c.reading {
		x := c.nextVarint()
		*v = int64(x>>1) ^ -int64(x&1)
		return
	}
	c.b = binary.AppendVarint(c.b, *v)
}

func (c *Codec) nextVarint() uint64 {
	if c.offset < len(c.b) && c.b[c.offset] < 0x80 { // most numbers take one byte
		c.offset++
		return uint64(c.b[c.offset-1])
	}
	x, n := binary.Uvarint(c.b[c.offset:])
	if n <= 0 {
		c.Fail()
		return 0
	}
	c.offset += n
	return x
}

// Int codes an integer of any signed type.
func Int[T ~int | ~int64](c *Codec, v *T) {
	x := int64(*v)
	c.Int64(&x)
	if c.reading {
		*v = T(x)
	}
}

// Enum codes a small number. A value that is too large decodes as the largest one.
func Enum[T ~uint8](c *Codec, v *T) {
	x := uint64(*v)
	c.Uint64(&x)
	if c.reading {
		*v = T(min(x, math.MaxUint8))
	}
}

// Bool codes a boolean.
func (c *Codec) Bool(v *bool) {
	var x uint64
	if *v {
		x = 1
	}
	c.Uint64(&x)
	if !c.reading {
		return
	}
	if x > 1 {
		c.Fail()
	}
	*v = x == 1
}

// Float codes a float64 in eight bytes.
func (c *Codec) Float(v *float64) {
	if !c.reading {
		c.b = binary.LittleEndian.AppendUint64(c.b, math.Float64bits(*v))
		return
	}
	*v = 0
	if b := c.Take(8); b != nil {
		*v = math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
}

// Count codes the number of elements or bytes, at most limit. An element takes at least one byte, so a damaged count
// can't exceed the bytes left, nor make the caller allocate more.
func (c *Codec) Count(n, limit int) int {
	x := uint64(n)
	c.Uint64(&x)
	if c.reading && (x > uint64(limit) || x > uint64(len(c.b)-c.offset)) {
		c.Fail()
		return 0
	}
	return int(x)
}

// Text codes a string. It cuts the string after limit bytes.
func (c *Codec) Text(v *string, limit int) {
	if !c.reading {
		s := (*v)[:min(len(*v), limit)]
		c.Count(len(s), limit)
		c.b = append(c.b, s...)
		return
	}
	if b := c.Take(c.Count(0, limit)); string(b) != *v { // reuse equal strings: names repeat a lot
		*v = string(b)
	}
}

// List codes a list of at most limit elements, each with code. Decoding reuses the list's memory if possible.
func List[T any](c *Codec, v *[]T, limit int, code func(*T)) {
	n := c.Count(len(*v), limit)
	if c.reading {
		*v = slices.Grow((*v)[:0], n)[:n]
	}
	for i := range *v {
		code(&(*v)[i])
	}
}
