package results

// This file decides how a folder is stored: a version byte, what it stands on, the groups' terms, every text once, then the
// files, each with its record. Numbers are varints, text has its length in front. Reading checks every length, so
// damage is an error and never a wrong answer of a wrong size.

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/anivault/anivault/internal/report"
)

// version is that of the layout below; it is a part of every key, so programs with different ones share a store.
const version = 3

const basisSize = 8

// keeping is a folder to be stored.
type keeping struct {
	folder  Folder
	basis   [basisSize]byte
	records []report.Record // by file
	groupOf []int           // by file, from 1; 0: none
	terms   []Term          // by group
}

var (
	errVersion = errors.New("remembered result is of another version")
	errDamaged = errors.New("remembered result is damaged")
)

// encode writes a folder down. Files that are neither in a group nor left out by the walk are not known and not in it.
func encode(k keeping, now time.Time) []byte {
	body := writer{refs: map[string]int{}}
	files := 0
	for i := range k.folder.Files {
		f := &k.folder.Files[i]
		if k.groupOf[i] == 0 && f.Skip == "" {
			continue
		}
		files++
		body.int(k.groupOf[i])
		body.ref(f.Name)
		body.ref(f.Skip)
		body.int64(f.Size)
		body.int64(f.ModTime.UnixNano())
		rec := writer{refs: body.refs, texts: body.texts}
		rec.record(&k.records[i], now)
		body.texts = rec.texts
		body.int(len(rec.b))
		body.b = append(body.b, rec.b...)
	}
	w := writer{b: make([]byte, 0, 64+len(body.b)*2)}
	w.b = append(w.b, version)
	w.b = append(w.b, k.basis[:]...)
	w.int(len(k.terms))
	for _, t := range k.terms {
		w.time(t.at)
		w.time(t.fetched)
		w.time(t.until)
	}
	size := 0
	w.int(len(body.texts))
	for _, s := range body.texts {
		w.int(len(s))
		size += len(s)
	}
	w.int(size)
	for _, s := range body.texts {
		w.b = append(w.b, s...)
	}
	w.int(files)
	w.b = append(w.b, body.b...)
	return w.b
}

func decode(b []byte) (*Known, error) {
	if len(b) == 0 || b[0] != version {
		return nil, errVersion
	}
	if len(b) < 1+basisSize {
		return nil, errDamaged
	}
	k := &Known{raw: b}
	copy(k.basis[:], b[1:])
	r := reader{b: b[1+basisSize:]}
	k.terms = make([]Term, r.count())
	k.sizes = make([]int, len(k.terms))
	for i := range k.terms {
		k.terms[i] = Term{r.time(), r.time(), r.time()}
	}
	k.texts = r.dictionary()
	r.texts = k.texts
	k.files = make([]knownFile, r.count())
	for i := range k.files {
		f := &k.files[i]
		f.group, f.name, f.skip = r.int(), r.ref(), r.ref()
		f.size, f.modTime = r.int64(), r.int64()
		f.record = r.take(r.int())
		if f.group < 0 || f.group > len(k.terms) {
			return nil, errDamaged
		}
		if f.group > 0 {
			k.sizes[f.group-1]++
		}
	}
	if r.bad || len(r.b) > 0 {
		return nil, errDamaged
	}
	return k, nil
}

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

// time keeps nanoseconds; the zero time is 0, at which nothing was ever decided.
func (w *writer) time(t time.Time) {
	if t.IsZero() {
		w.int(0)
		return
	}
	w.int64(t.UnixNano())
}

// reader takes values from the front; after the first that is not whole it is bad and gives zeros.
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
