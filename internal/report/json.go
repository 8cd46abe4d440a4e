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

// This is the one writer of records as JSON, driven by the tags of their structs. It needs a third of the time of
// encoding/json, which matters where a library that has not changed is matched again, and unlike that it escapes every
// control character. Tags:
//
//	json:"name,omitempty"       as encoding/json has it
//	constant:"type=match"       on a blank field: a field that always says the same
//	json:"path" bytes:"path_b"  a string of any bytes: U+FFFD for what is not UTF-8, and then its bytes in base64
//	doc:"..."                   what the field says, for help and documents
//	                            on a blank field: how the doc of the field above goes on

// Field is one JSON field: its name, and when it is there and what it says.
type Field struct{ Name, Doc string }

// FieldsOf returns the fields of a struct in their order: inner ones as a.b, those of list elements as a[].b. Structs
// of the types in opaque are not opened.
func FieldsOf(t reflect.Type, opaque ...reflect.Type) []Field { return fieldsOf(t, "", opaque) }

func fieldsOf(t reflect.Type, prefix string, opaque []reflect.Type) []Field {
	var out []Field
	for _, f := range formOf(t).fields {
		out = append(out, Field{prefix + f.name, f.doc})
		if f.bytesName != "" {
			out = append(out, Field{prefix + f.bytesName, "the " + f.name + "'s own bytes in base64, where they are not UTF-8"})
		}
		inner, within := f.form.Type, prefix+f.name
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Slice {
			inner, within = inner.Elem(), within+"[]"
		}
		if inner.Kind() == reflect.Struct && inner != timeType && inner.NumField() > 0 && !slices.Contains(opaque, inner) {
			out = append(out, fieldsOf(inner, within+".", opaque)...)
		}
	}
	return out
}

// form is how values of a type are written: by their addresses, since reflecting on each of them takes three times as
// long.
type form struct {
	reflect.Type
	kind   reflect.Kind
	size   uintptr
	elem   *form    // of a pointer or a list
	fields []tagged // of a struct
}

type tagged struct {
	name, bytesName, doc string
	before               string       // `,"name":`, or all of a constant field
	constant, omit, text bool         // text: a lang.Text
	kind                 reflect.Kind // of form, which most values need not be asked for
	offset               uintptr
	form                 *form
}

var (
	forms    sync.Map // reflect.Type to *form
	timeType = reflect.TypeFor[time.Time]()
	textType = reflect.TypeFor[lang.Text]() // what people are told: programs get the English
)

func formOf(t reflect.Type) *form {
	if f, ok := forms.Load(t); ok {
		return f.(*form)
	}
	f := &form{Type: t, kind: t.Kind(), size: t.Size()}
	switch {
	case f.kind == reflect.Pointer || f.kind == reflect.Slice:
		f.elem = formOf(t.Elem())
	case f.kind == reflect.Struct && t != timeType:
		f.readTags()
	}
	forms.Store(t, f)
	return f
}

func (f *form) readTags() {
	for i := range f.NumField() {
		field := f.Field(i)
		if field.Anonymous {
			for _, inner := range formOf(field.Type).fields {
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
		f.fields = append(f.fields, tagged{
			name: name, bytesName: field.Tag.Get("bytes"), doc: field.Tag.Get("doc"), before: `,"` + name + `":` + fixed,
			constant: constant, omit: options == "omitempty", text: field.Type == textType,
			kind: field.Type.Kind(), offset: field.Offset,
			form: formOf(field.Type),
		})
	}
}

// AppendJSON appends the struct that v points to as one object on one line. The error is a number that JSON lacks.
func AppendJSON(dst []byte, v any) ([]byte, error) {
	var w jsonText
	dst = w.value(dst, formOf(reflect.TypeOf(v).Elem()), reflect.ValueOf(v).UnsafePointer())
	return dst, w.err
}

type jsonText struct{ err error }

func (w *jsonText) value(b []byte, f *form, p unsafe.Pointer) []byte {
	switch f.kind {
	case reflect.String:
		return appendString(b, *(*string)(p))
	case reflect.Int:
		return strconv.AppendInt(b, int64(*(*int)(p)), 10)
	case reflect.Int64:
		return strconv.AppendInt(b, *(*int64)(p), 10)
	case reflect.Float64:
		return w.float(b, *(*float64)(p))
	case reflect.Bool:
		return strconv.AppendBool(b, *(*bool)(p))
	case reflect.Pointer:
		return w.value(b, f.elem, *(*unsafe.Pointer)(p))
	case reflect.Slice:
		return w.list(b, f.elem, unsafe.Pointer(unsafe.SliceData(*(*[]byte)(p))), listLen(p))
	case reflect.Struct:
		if f.Type == timeType {
			return append((*time.Time)(p).UTC().AppendFormat(append(b, '"'), time.RFC3339), '"')
		}
		return w.object(b, f, p)
	default:
		w.err = fmt.Errorf("write JSON: no form for a %s", f)
		return b
	}
}

func listLen(p unsafe.Pointer) int { return len(*(*[]byte)(p)) }

func (w *jsonText) list(b []byte, elem *form, first unsafe.Pointer, n int) []byte {
	b = append(b, '[')
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = w.value(b, elem, unsafe.Add(first, uintptr(i)*elem.size))
	}
	return append(b, ']')
}

// object writes a struct. The first comma becomes the brace. Asking each field's kind only once saves a third of the
// time.
func (w *jsonText) object(b []byte, f *form, p unsafe.Pointer) []byte {
	start := len(b)
	for i := range f.fields {
		field := &f.fields[i]
		at := unsafe.Add(p, field.offset)
		switch {
		case field.constant:
			b = append(b, field.before...)
		case field.kind == reflect.String:
			s := *(*string)(at)
			if s == "" && field.omit {
				continue
			}
			if field.text {
				s = lang.Text(s).String()
			}
			b = appendString(append(b, field.before...), s)
			if field.bytesName != "" && !utf8.ValidString(s) {
				b = append(b, `,"`+field.bytesName+`":"`...)
				b = base64.StdEncoding.AppendEncode(b, []byte(s))
				b = append(b, '"')
			}
		case field.kind == reflect.Int:
			if n := *(*int)(at); n != 0 || !field.omit {
				b = strconv.AppendInt(append(b, field.before...), int64(n), 10)
			}
		case !field.omit || !field.empty(at):
			b = w.value(append(b, field.before...), field.form, at)
		}
	}
	if len(b) == start {
		return append(b, "{}"...)
	}
	b[start] = '{'
	return append(b, '}')
}

func (t *tagged) empty(p unsafe.Pointer) bool {
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
		return t.form.Type == timeType && (*time.Time)(p).IsZero()
	default:
		return false
	}
}

func (w *jsonText) float(b []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		w.err = fmt.Errorf("write JSON: no form for the number %v", f)
		return b
	}
	if n := int32(f); n != 0 && float64(n) == f { // an episode, as most numbers are
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

var plain = func() (t [256]bool) {
	for c := ' '; c < 0x7f; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// appendString appends s in quotes (RFC 8259 section 7). Control characters become \u00XX; so do the two line
// separators, that a line stays one line to every reader. Each byte that is not UTF-8 becomes U+FFFD.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		if plain[s[i]] {
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

// jsonWriter writes an object a line: NDJSON, or {"matches":[...],"summary":{...}}. A reader never sees half an object.
type jsonWriter struct {
	*sink
	explain                            bool
	before, between, after, above, end string // a record, two, a record again; the summary
	buf                                []byte
}

func (w *jsonWriter) Match(r Record) error {
	if !w.explain {
		r.hide()
	}
	if err := w.form(w.before, &r, w.after); err != nil {
		return err
	}
	w.before = w.between
	return w.write(w.buf)
}

func (w *jsonWriter) Close(s Summary) error {
	if err := w.form(w.above, &s, w.end); err != nil {
		return err
	}
	return w.writeLast(w.buf)
}

func (w *jsonWriter) form(before string, v any, after string) (err error) {
	w.buf, err = AppendJSON(append(w.buf[:0], before...), v)
	w.buf = append(w.buf, after...)
	return err
}

func (r *Record) hide() {
	r.Steps = nil
	if slices.ContainsFunc(r.Candidates, func(c Candidate) bool { return c.Score != 0 || c.Reasons != nil }) {
		r.Candidates = slices.Clone(r.Candidates)
		for i := range r.Candidates {
			r.Candidates[i].Score, r.Candidates[i].Reasons = 0, nil
		}
	}
}
