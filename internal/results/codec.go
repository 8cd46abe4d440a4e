package results

// This file decides how a remembered decision is stored: a version byte, then every field in a fixed order; numbers as
// varints, text with its length in front. Reading checks every length, so damage is an error and never a wrong answer
// of a wrong size.

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/anivault/anivault/internal/match"
)

// version is that of the layout below. A value of another one is not read.
const version = 1

const basisSize = 8

// remembered is one decision with what it holds for.
type remembered struct {
	basis      [basisSize]byte
	size       int64
	modTime    int64 // Unix nanoseconds
	at         time.Time
	freshUntil time.Time
	decision   match.Decision
}

var (
	errVersion = errors.New("remembered result is of another version")
	errDamaged = errors.New("remembered result is damaged")
)

func encode(r remembered) []byte {
	w := writer{make([]byte, 0, 256)}
	w.b = append(w.b, version)
	w.b = append(w.b, r.basis[:]...)
	w.int(r.size)
	w.int(r.modTime)
	w.time(r.at)
	w.time(r.freshUntil)

	d := r.decision
	w.text(string(d.Status))
	w.float(d.Confidence)
	w.text(string(d.Kind))
	w.int(int64(d.ID))
	w.text(d.Title)
	w.text(d.OriginalTitle)
	w.int(int64(d.Year))
	w.bool(d.Season != nil)
	if d.Season != nil {
		w.int(int64(*d.Season))
	}
	w.int(int64(len(d.Episodes)))
	for _, e := range d.Episodes {
		w.int(int64(e))
	}
	w.int(int64(len(d.EpisodeTitles)))
	for _, t := range d.EpisodeTitles {
		w.text(t)
	}
	w.int(int64(d.Origin.From))
	w.time(d.Origin.FetchedAt)
	w.text(d.Reason)
	w.int(int64(len(d.Candidates)))
	for _, c := range d.Candidates {
		w.text(string(c.Kind))
		w.int(int64(c.ID))
		w.text(c.Title)
		w.int(int64(c.Year))
		w.float(c.Confidence)
	}
	return w.b
}

func decode(b []byte) (remembered, error) {
	var r remembered
	if len(b) == 0 || b[0] != version {
		return r, errVersion
	}
	if len(b) < 1+basisSize {
		return r, errDamaged
	}
	copy(r.basis[:], b[1:])
	rd := reader{b: b[1+basisSize:]}
	r.size = rd.int()
	r.modTime = rd.int()
	r.at = rd.time()
	r.freshUntil = rd.time()

	d := &r.decision
	d.Status = match.Status(rd.text())
	d.Confidence = rd.float()
	d.Kind = match.Kind(rd.text())
	d.ID = int(rd.int())
	d.Title = rd.text()
	d.OriginalTitle = rd.text()
	d.Year = int(rd.int())
	if rd.bool() {
		n := int(rd.int())
		d.Season = &n
	}
	if n := rd.count(); n > 0 {
		d.Episodes = make([]int, n)
		for i := range d.Episodes {
			d.Episodes[i] = int(rd.int())
		}
	}
	if n := rd.count(); n > 0 {
		d.EpisodeTitles = make([]string, n)
		for i := range d.EpisodeTitles {
			d.EpisodeTitles[i] = rd.text()
		}
	}
	d.Origin.From = match.From(rd.int())
	d.Origin.FetchedAt = rd.time()
	d.Reason = rd.text()
	if n := rd.count(); n > 0 {
		d.Candidates = make([]match.Candidate, n)
		for i := range d.Candidates {
			d.Candidates[i] = match.Candidate{
				Kind: match.Kind(rd.text()), ID: int(rd.int()), Title: rd.text(), Year: int(rd.int()), Confidence: rd.float(),
			}
		}
	}
	if rd.bad || len(rd.b) > 0 {
		return remembered{}, errDamaged
	}
	if _, ok := lifetimes[d.Status]; !ok || d.Origin.From > match.FromPin || math.IsNaN(d.Confidence) {
		return remembered{}, errDamaged
	}
	return r, nil
}

// writer appends values.
type writer struct{ b []byte }

func (w *writer) int(n int64)     { w.b = binary.AppendVarint(w.b, n) }
func (w *writer) float(f float64) { w.b = binary.LittleEndian.AppendUint64(w.b, math.Float64bits(f)) }
func (w *writer) text(s string)   { w.int(int64(len(s))); w.b = append(w.b, s...) }

func (w *writer) bool(v bool) {
	if v {
		w.b = append(w.b, 1)
		return
	}
	w.b = append(w.b, 0)
}

// time keeps nanoseconds; the zero time is 0, which no decision was ever made at.
func (w *writer) time(t time.Time) {
	if t.IsZero() {
		w.int(0)
		return
	}
	w.int(t.UnixNano())
}

// reader takes values from the front; after the first that is not whole it is bad and gives zeros.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n int) []byte {
	if r.bad || n < 0 || n > len(r.b) {
		r.bad, r.b = true, nil
		return nil
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) int() int64 {
	v, n := binary.Varint(r.b)
	if r.take(n) == nil || n == 0 {
		r.bad, r.b = true, nil
		return 0
	}
	return v
}

// count is a length of a list, which can't be more than the bytes that are left: damage must not ask for memory.
func (r *reader) count() int {
	n := r.int()
	if n < 0 || n > int64(len(r.b)) {
		r.bad, r.b = true, nil
		return 0
	}
	return int(n)
}

func (r *reader) text() string { return string(r.take(r.count())) }

func (r *reader) bool() bool {
	v := r.take(1)
	if len(v) == 1 && v[0] > 1 {
		r.bad = true
	}
	return len(v) == 1 && v[0] == 1
}

func (r *reader) float() float64 {
	v := r.take(8)
	if v == nil {
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(v))
}

func (r *reader) time() time.Time {
	n := r.int()
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
