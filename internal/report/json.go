package report

import (
	"encoding/base64"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/anivault/anivault/internal/lang"
)

// This file writes records as JSON, driven by struct tags. It takes a third of the time of encoding/json, which matters
// when an unchanged library is matched again, and it escapes every control character. Tags:
//
//	json:"name,omitempty"       as encoding/json has it
//	constant:"type=match"       on a blank field: a field with a constant value
//	json:"path" bytes:"path_b"  a string of any bytes: U+FFFD for invalid UTF-8, and then its bytes in base64
//	doc:"..."                   the description for help and documents
//	                            on a blank field: more of the description of the field above

// Field is a JSON field or CSV column with its documentation.
type Field struct{ Name, Doc string }

// FieldsOf returns the JSON fields of a struct in order. Fields of an inner struct are named a.b, those of a list's
// elements a[].b. It does not list the fields of the skippedTypes.
func FieldsOf(t reflect.Type, skippedTypes ...reflect.Type) []Field {
	return fieldsOf(t, "", skippedTypes)
}

func fieldsOf(t reflect.Type, prefix string, skippedTypes []reflect.Type) []Field {
	var out []Field
	for _, f := range encodingOf(t).fields {
		out = append(out, Field{prefix + f.name, f.doc})
		if f.bytesName != "" {
			out = append(out, Field{prefix + f.bytesName, "the " + f.name + "'s own bytes in base64, where they are not UTF-8"})
		}
		inner, within := f.encoding.Type, prefix+f.name
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Slice {
			inner, within = inner.Elem(), within+"[]"
		}
		if inner.Kind() == reflect.Struct && inner != timeType && inner.NumField() > 0 &&
			!slices.Contains(skippedTypes, inner) {
			out = append(out, fieldsOf(inner, within+".", skippedTypes)...)
		}
	}
	return out
}

// encoding describes how values of a type are written. The encoder reads values through their addresses, because
// reflection would take three times as long.
type encoding struct {
	reflect.Type
	kind   reflect.Kind
	size   uintptr
	elem   *encoding       // of the element of a pointer or list
	fields []fieldEncoding // of a struct
}

type fieldEncoding struct {
	name, bytesName, doc        string
	prefix                      string       // `,"name":`, or the whole text of a constant field
	constant, omitEmpty, isText bool         // isText: the type is lang.Text
	kind                        reflect.Kind // a copy of encoding.kind, which is faster to read here
	offset                      uintptr
	encoding                    *encoding
}

var (
	encodings sync.Map // maps reflect.Type to *encoding
	timeType  = reflect.TypeFor[time.Time]()
	textType  = reflect.TypeFor[lang.Text]() // written in English, because programs read it
)

func encodingOf(t reflect.Type) *encoding {
	if f, ok := encodings.Load(t); ok {
		return f.(*encoding)
	}
	f := &encoding{Type: t, kind: t.Kind(), size: t.Size()}
	switch {
	case f.kind == reflect.Pointer || f.kind == reflect.Slice:
		f.elem = encodingOf(t.Elem())
	case f.kind == reflect.Struct && t != timeType:
		f.readFields()
	}
	encodings.Store(t, f)
	return f
}

func (f *encoding) readFields() {
	for i := range f.NumField() {
		field := f.Field(i)
		if field.Anonymous {
			for _, inner := range encodingOf(field.Type).fields {
				inner.offset += field.Offset
				f.fields = append(f.fields, inner)
			}
			continue
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		fixed, constant := field.Tag.Lookup("constant")
		if n := len(f.fields); field.Name == "_" && !constant && n > 0 {
			f.fields[n-1].doc += " " + field.Tag.Get("doc")
			continue
		}
		if constant {
			name, fixed, _ = strings.Cut(fixed, "=")
			fixed = `"` + fixed + `"`
		}
		f.fields = append(f.fields, fieldEncoding{
			name: name, bytesName: field.Tag.Get("bytes"), doc: field.Tag.Get("doc"), prefix: `,"` + name + `":` + fixed,
			constant: constant, omitEmpty: options == "omitempty", isText: field.Type == textType,
			kind: field.Type.Kind(), offset: field.Offset,
			encoding: encodingOf(field.Type),
		})
	}
}

// AppendJSON appends the struct that v points to as one line. It fails on a number that JSON cannot express.
func AppendJSON(dst []byte, v any) ([]byte, error) {
	var w jsonEncoder
	dst = w.appendValue(dst, encodingOf(reflect.TypeOf(v).Elem()), reflect.ValueOf(v).UnsafePointer())
	return dst, w.err
}

type jsonEncoder struct{ err error }

func (w *jsonEncoder) appendValue(b []byte, f *encoding, p unsafe.Pointer) []byte {
	switch f.kind {
	case reflect.String:
		return appendString(b, *(*string)(p))
	case reflect.Int:
		return strconv.AppendInt(b, int64(*(*int)(p)), 10)
	case reflect.Int64:
		return strconv.AppendInt(b, *(*int64)(p), 10)
	case reflect.Float64:
		return w.appendFloat(b, *(*float64)(p))
	case reflect.Bool:
		return strconv.AppendBool(b, *(*bool)(p))
	case reflect.Pointer:
		return w.appendValue(b, f.elem, *(*unsafe.Pointer)(p))
	case reflect.Slice:
		return w.appendList(b, f.elem, unsafe.Pointer(unsafe.SliceData(*(*[]byte)(p))), listLen(p))
	case reflect.Struct:
		if f.Type == timeType {
			return append((*time.Time)(p).UTC().AppendFormat(append(b, '"'), time.RFC3339), '"')
		}
		return w.appendObject(b, f, p)
	default:
		w.err = fmt.Errorf("write JSON: no form for a %s", f)
		return b
	}
}

func listLen(p unsafe.Pointer) int { return len(*(*[]byte)(p)) }

func (w *jsonEncoder) appendList(b []byte, elem *encoding, first unsafe.Pointer, n int) []byte {
	b = append(b, '[')
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = w.appendValue(b, elem, unsafe.Add(first, uintptr(i)*elem.size))
	}
	return append(b, ']')
}

// appendObject appends a struct. It replaces the comma before the first field with the opening brace. Each field's kind
// is computed in advance, which saves a third of the time.
func (w *jsonEncoder) appendObject(b []byte, f *encoding, p unsafe.Pointer) []byte {
	start := len(b)
	for i := range f.fields {
		field := &f.fields[i]
		at := unsafe.Add(p, field.offset)
		switch {
		case field.constant:
			b = append(b, field.prefix...)
		case field.kind == reflect.String:
			s := *(*string)(at)
			if s == "" && field.omitEmpty {
				continue
			}
			if field.isText {
				s = lang.Text(s).String()
			}
			b = appendString(append(b, field.prefix...), s)
			if field.bytesName != "" && !utf8.ValidString(s) {
				b = append(b, `,"`+field.bytesName+`":"`...)
				b = base64.StdEncoding.AppendEncode(b, []byte(s))
				b = append(b, '"')
			}
		case field.kind == reflect.Int:
			if n := *(*int)(at); n != 0 || !field.omitEmpty {
				b = strconv.AppendInt(append(b, field.prefix...), int64(n), 10)
			}
		case !field.omitEmpty || !field.isEmpty(at):
			b = w.appendValue(append(b, field.prefix...), field.encoding, at)
		}
	}
	if len(b) == start {
		return append(b, "{}"...)
	}
	b[start] = '{'
	return append(b, '}')
}

func (t *fieldEncoding) isEmpty(p unsafe.Pointer) bool {
	switch t.kind {
	case reflect.Slice:
		return listLen(p) == 0
	case reflect.Pointer:
		return *(*unsafe.Pointer)(p) == nil
	case reflect.Bool:
		return !*(*bool)(p)
	case reflect.Float64:
		return *(*float64)(p) == 0
	case reflect.Struct:
		return t.encoding.Type == timeType && (*time.Time)(p).IsZero()
	default:
		return false
	}
}

func (w *jsonEncoder) appendFloat(b []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		w.err = fmt.Errorf("write JSON: no form for the number %v", f)
		return b
	}
	if n := int32(f); n != 0 && float64(n) == f { // a quick way for whole numbers, such as episodes
		return strconv.AppendInt(b, int64(n), 10)
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	b = strconv.AppendFloat(b, f, format, -1, 64)
	if n := len(b); format == 'e' && b[n-4] == 'e' && b[n-3] == '-' && b[n-2] == '0' {
		b[n-2] = b[n-1] // e-09 becomes e-9
		b = b[:n-1]
	}
	return b
}

const hexDigits = "0123456789abcdef"

var needsNoEscape = func() (t [256]bool) {
	for c := ' '; c < 0x7f; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// appendString appends s in quotes (RFC 8259 section 7). Control characters and the two Unicode line separators become
// \uXXXX, so that a line stays one line. Each byte that is not UTF-8 becomes U+FFFD.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		if needsNoEscape[s[i]] {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '"' || r == '\\':
			b = append(append(b, s[start:i]...), '\\', byte(r))
		case r == utf8.RuneError && size == 1:
			b = append(append(b, s[start:i]...), "\uFFFD"...)
		case r < ' ', r >= 0x7f && r < 0xa0, r == '\u2028', r == '\u2029':
			b = append(append(b, s[start:i]...), '\\', 'u')
			b = append(b, hexDigits[r>>12], hexDigits[r>>8&0xf], hexDigits[r>>4&0xf], hexDigits[r&0xf])
		default:
			i += size
			continue
		}
		i += size
		start = i
	}
	return append(append(b, s[start:]...), '"')
}

// AppendLine appends v, a pointer to a Record, Summary or ParseRecord, as one line of NDJSON.
func AppendLine(dst []byte, v any) ([]byte, error) {
	line, err := AppendJSON(dst, v)
	return append(line, '\n'), err
}

// jsonWriter writes NDJSON, or {"matches":[...],"summary":{...}}, and no partial object in any write.
type jsonWriter struct {
	*bufferedWriter
	explain                                   bool
	beforeRecord, betweenRecords, afterRecord string
	beforeSummary, afterSummary               string
	buf                                       []byte
}

func (w *jsonWriter) Match(r Record) error {
	if !w.explain {
		r.HideExplanation()
	}
	if err := w.encode(w.beforeRecord, &r, w.afterRecord); err != nil {
		return err
	}
	w.beforeRecord = w.betweenRecords
	return w.write(w.buf)
}

func (w *jsonWriter) Close(s Summary) error {
	if err := w.encode(w.beforeSummary, &s, w.afterSummary); err != nil {
		return err
	}
	return w.writeLast(w.buf)
}

func (w *jsonWriter) encode(before string, v any, after string) (err error) {
	w.buf, err = AppendJSON(append(w.buf[:0], before...), v)
	w.buf = append(w.buf, after...)
	return err
}

// HideExplanation removes what only --explain shows.
func (r *Record) HideExplanation() {
	r.Steps = nil
	if slices.ContainsFunc(r.Candidates, func(c Candidate) bool { return c.Score != 0 || c.Reasons != nil }) {
		r.Candidates = slices.Clone(r.Candidates)
		for i := range r.Candidates {
			r.Candidates[i].Score, r.Candidates[i].Reasons = 0, nil
		}
	}
}
