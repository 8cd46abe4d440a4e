package results

import (
	"encoding/binary"
	"math"
	"time"
)

// version is that of the stored layout. It is a part of every key, so programs with different ones share a store.
const version = 4

// writer appends values; texts are numbered in the order in which they first come, the empty one is 0.
type writer struct {
	b     []byte
	refs  map[string]int
	texts []string
}

func (w *writer) int64(n int64)   { w.b = binary.AppendVarint(w.b, n) }
func (w *writer) int(n int)       { w.int64(int64(n)) }
func (w *writer) float(f float64) { w.b = binary.LittleEndian.AppendUint64(w.b, math.Float64bits(f)) }

func (w *writer) ref(s string) {
	n := 0
	if s != "" {
		if n = w.refs[s]; n == 0 {
			w.texts = append(w.texts, s)
			n = len(w.texts)
			w.refs[s] = n
		}
	}
	w.int(n)
}

func (w *writer) bool(v bool) {
	if v {
		w.b = append(w.b, 1)
		return
	}
	w.b = append(w.b, 0)
}

// dictionary writes texts: their lengths, then all of them in one.
func (w *writer) dictionary(texts []string) {
	w.int(len(texts))
	size := 0
	for _, s := range texts {
		w.int(len(s))
		size += len(s)
	}
	w.int(size)
	for _, s := range texts {
		w.b = append(w.b, s...)
	}
}

// time keeps nanoseconds; the zero time is 0, at which nothing was ever decided.
func (w *writer) time(t time.Time) {
	if t.IsZero() {
		w.int(0)
		return
	}
	w.int64(t.UnixNano())
}

// reader takes values from the front and checks every length. After the first value that is not whole it is bad and returns
// zeros.
type reader struct {
	b     []byte
	texts []string
	bad   bool
}

func (r *reader) fail() {
	r.bad, r.b = true, nil
}

func (r *reader) take(n int) []byte {
	if r.bad || n < 0 || n > len(r.b) {
		r.fail()
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) int64() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) int() int { return int(r.int64()) }

// count is a length of a list, which can't be more than the bytes that are left: damage must not ask for memory.
func (r *reader) count() int {
	n := r.int64()
	if n < 0 || n > int64(len(r.b)) {
		r.fail()
		return 0
	}
	return int(n)
}

func (r *reader) dictionary() []string {
	lengths := make([]int, r.count())
	for i := range lengths {
		lengths[i] = r.count()
	}
	all := string(r.take(r.count()))
	texts := make([]string, len(lengths))
	for i, n := range lengths {
		if n > len(all) {
			r.fail()
			return nil
		}
		texts[i], all = all[:n], all[n:]
	}
	return texts
}

func (r *reader) ref() string {
	n := r.int64()
	if n == 0 {
		return ""
	}
	if n < 0 || n > int64(len(r.texts)) {
		r.fail()
		return ""
	}
	return r.texts[n-1]
}

func (r *reader) bool() bool {
	v := r.take(1)
	if len(v) == 1 && v[0] > 1 {
		r.fail()
	}
	return len(v) == 1 && v[0] == 1
}

func (r *reader) float() float64 {
	v := r.take(8)
	if v == nil {
		return 0
	}
	f := math.Float64frombits(binary.LittleEndian.Uint64(v))
	if math.IsNaN(f) || math.IsInf(f, 0) { // no record has such a number, and JSON neither
		r.fail()
		return 0
	}
	return f
}

func (r *reader) time() time.Time {
	n := r.int64()
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
