package report

// This file writes a record as JSON without reflection, which took a fifth of the time of matching again a library that
// has not changed. What it writes is, byte for byte, what encoding/json makes of wireRecord: a test holds the two
// together, so the names and their order still have one place.

import (
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// appendRecord appends the record as one object. ok is false for what is rare and left to encoding/json: what only
// --explain shows, and numbers that JSON does not have. dst is then worth nothing.
func appendRecord(dst []byte, r *Record) (out []byte, ok bool) {
	if len(r.Steps) > 0 {
		return dst, false
	}
	w := object{b: append(dst, `{"type":"match","path":`...)}
	path, exact := printablePath(r.Path)
	w.b = appendString(w.b, path)
	w.text(`,"path_base64":`, exact)
	w.b = appendString(append(w.b, `,"status":`...), string(r.Status))
	if r.Confidence != nil {
		w.key(`,"confidence":`)
		w.float(*r.Confidence)
	}
	w.text(`,"kind":`, r.Kind)
	w.int(`,"tmdb_id":`, r.TMDBID)
	w.text(`,"title":`, r.Title)
	w.text(`,"original_title":`, r.OriginalTitle)
	w.int(`,"year":`, r.Year)
	w.pointer(`,"season":`, r.Season)
	w.ints(`,"episodes":`, r.Episodes)
	w.texts(`,"episode_titles":`, r.EpisodeTitles)
	w.text(`,"source":`, r.Source)
	if !r.CachedAt.IsZero() {
		w.key(`,"cached_at":"`)
		w.b = append(r.CachedAt.UTC().AppendFormat(w.b, time.RFC3339), '"')
	}
	w.text(`,"reason":`, r.Reason)
	if r.Parsed != nil {
		w.key(`,"parsed":`)
		w.parsed(r.Parsed)
	}
	w.candidates(r.Candidates)
	if r.Error != nil {
		w.b = appendString(append(w.b, `,"error":{"code":`...), string(r.Error.Code))
		w.b = append(appendString(append(w.b, `,"message":`...), r.Error.Message), '}')
	}
	return append(w.b, '}'), !w.rare
}

// object appends fields that are left out when they are zero. Each name comes with the comma before it; the first field
// of an object that has no fixed one drops it.
type object struct {
	b    []byte
	rare bool // it holds something that encoding/json has to write, or refuse
}

// key appends a name, without its comma where it is the first in its object.
func (w *object) key(name string) {
	if w.b[len(w.b)-1] == '{' {
		name = name[1:]
	}
	w.b = append(w.b, name...)
}

func (w *object) text(name, s string) {
	if s != "" {
		w.key(name)
		w.b = appendString(w.b, s)
	}
}

func (w *object) int(name string, n int) {
	if n != 0 {
		w.pointer(name, &n)
	}
}

func (w *object) pointer(name string, n *int) {
	if n != nil {
		w.key(name)
		w.b = strconv.AppendInt(w.b, int64(*n), 10)
	}
}

func (w *object) ints(name string, list []int) {
	for i, n := range list {
		w.element(name, i)
		w.b = strconv.AppendInt(w.b, int64(n), 10)
	}
	w.end(len(list))
}

func (w *object) floats(name string, list []float64) {
	for i, f := range list {
		w.element(name, i)
		w.float(f)
	}
	w.end(len(list))
}

func (w *object) texts(name string, list []string) {
	for i, s := range list {
		w.element(name, i)
		w.b = appendString(w.b, s)
	}
	w.end(len(list))
}

// element begins the list before its first element and puts a comma before every other.
func (w *object) element(name string, i int) {
	if i > 0 {
		w.b = append(w.b, ',')
		return
	}
	w.key(name)
	w.b = append(w.b, '[')
}

func (w *object) end(elements int) {
	if elements > 0 {
		w.b = append(w.b, ']')
	}
}

func (w *object) float(f float64) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		w.rare = true
		return
	}
	w.b = appendFloat(w.b, f)
}

func (w *object) parsed(p *Parsed) {
	w.b = append(w.b, '{')
	w.text(`,"title":`, p.Title)
	w.texts(`,"titles":`, p.Titles)
	w.ints(`,"seasons":`, p.Seasons)
	w.pointer(`,"season":`, p.Season)
	w.floats(`,"episodes":`, p.Episodes)
	if p.Absolute {
		w.key(`,"absolute":true`)
	}
	w.int(`,"year":`, p.Year)
	w.text(`,"group":`, p.Group)
	w.text(`,"resolution":`, p.Resolution)
	w.int(`,"version":`, p.Version)
	w.text(`,"checksum":`, p.Checksum)
	w.text(`,"kind":`, p.Kind)
	w.text(`,"source":`, p.Source)
	w.text(`,"video":`, p.Video)
	w.text(`,"audio":`, p.Audio)
	w.text(`,"extension":`, p.Extension)
	w.b = append(w.b, '}')
}

func (w *object) candidates(list []Candidate) {
	for i := range list {
		c := &list[i]
		if c.Score != 0 || c.Reasons != nil {
			w.rare = true
			return
		}
		w.element(`,"candidates":`, i)
		w.b = appendString(append(w.b, `{"kind":`...), c.Kind)
		w.b = strconv.AppendInt(append(w.b, `,"tmdb_id":`...), int64(c.TMDBID), 10)
		w.text(`,"title":`, c.Title)
		w.int(`,"year":`, c.Year)
		w.b = append(w.b, `,"confidence":`...)
		w.float(c.Confidence)
		w.b = append(w.b, '}')
	}
	w.end(len(list))
}

const hexDigits = "0123456789abcdef"

// plain are the bytes that a JSON string holds as they are.
var plain = func() (t [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// appendString appends s in quotes, escaped as encoding/json does without HTML: control characters, and the two line
// separators that JavaScript once tripped over. A byte that is not UTF-8 becomes U+FFFD.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if plain[c] {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			b = append(b, s[start:i]...)
			b = appendEscaped(b, c)
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b = append(append(b, s[start:i]...), `\ufffd`...)
			start = i + size
		case r == '\u2028' || r == '\u2029':
			b = append(append(b, s[start:i]...), `\u202`...)
			b = append(b, hexDigits[r&0xf])
			start = i + size
		}
		i += size
	}
	return append(append(b, s[start:]...), '"')
}

func appendEscaped(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\b':
		return append(b, '\\', 'b')
	case '\f':
		return append(b, '\\', 'f')
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
}

// appendFloat writes a number as ECMAScript does (encoding/json's float encoder): plain, unless it is very large or
// very small, and then with the shortest exponent.
func appendFloat(b []byte, f float64) []byte {
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	b = strconv.AppendFloat(b, f, format, -1, 64)
	if n := len(b); format == 'e' && n >= 4 && b[n-4] == 'e' && (b[n-3] == '-' || b[n-3] == '+') && b[n-2] == '0' {
		b[n-2] = b[n-1] // e-09 becomes e-9
		b = b[:n-1]
	}
	return b
}
