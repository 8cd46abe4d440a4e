package report

import (
	"encoding/base64"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// This is the one writer of records as JSON, driven by the tags of their structs. It needs a third of the time of
// encoding/json, which matters where a library that has not changed is matched again, and unlike that it escapes every
// control character. Tags:
//
//	json:"name,omitempty"       as encoding/json has it
//	constant:"type=match"       on a blank field: a field that always says the same
//	json:"path" bytes:"path_b"  a string of any bytes: U+FFFD for what is not UTF-8, and then the bytes in base64 beside it
//	doc:"..."                   what the field says, for help and documents

// Field is one JSON field: its name, and when it is there and what it says.
type Field struct{ Name, Doc string }

// FieldsOf returns the fields of a struct in the order in which they are written: those of a struct within as a.b, those
// of a list's elements as a[].b. Structs of the types in opaque are not opened.
func FieldsOf(t reflect.Type, opaque ...reflect.Type) []Field { return fieldsOf(t, "", opaque) }

func fieldsOf(t reflect.Type, prefix string, opaque []reflect.Type) []Field {
	var out []Field
	for _, f := range planOf(t) {
		out = append(out, Field{prefix + f.name, f.doc})
		if f.bytesName != "" {
			out = append(out, Field{prefix + f.bytesName, "the " + f.name + "'s own bytes in base64, where they are not UTF-8"})
		}
		inner, within := f.kind, prefix+f.name
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Slice {
			inner, within = inner.Elem(), within+"[]"
		}
		if inner.Kind() == reflect.Struct && !closed(inner, opaque) {
			out = append(out, fieldsOf(inner, within+".", opaque)...)
		}
	}
	return out
}

func closed(t reflect.Type, opaque []reflect.Type) bool {
	for _, o := range opaque {
		if t == o {
			return true
		}
	}
	return t == timeType || t.NumField() == 0
}

// tagged is a field of a struct, as its tags have it.
type tagged struct {
	name, bytesName, constant, doc string
	key                            string // `"name":`
	index                          []int
	omit                           bool
	kind                           reflect.Type
}

var (
	plans    sync.Map // reflect.Type to []tagged
	timeType = reflect.TypeFor[time.Time]()
)

// planOf reads the tags of a struct. The fields of an embedded struct count as its own.
func planOf(t reflect.Type) []tagged {
	if plan, ok := plans.Load(t); ok {
		return plan.([]tagged)
	}
	var plan []tagged
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			for _, inner := range planOf(f.Type) {
				inner.index = append([]int{i}, inner.index...)
				plan = append(plan, inner)
			}
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		constant := ""
		if fixed, ok := f.Tag.Lookup("constant"); ok {
			name, constant, _ = strings.Cut(fixed, "=")
		}
		plan = append(plan, tagged{
			name: name, bytesName: f.Tag.Get("bytes"), constant: constant, doc: f.Tag.Get("doc"), key: `"` + name + `":`,
			index: f.Index, omit: options == "omitempty", kind: f.Type,
		})
	}
	plans.Store(t, plan)
	return plan
}

// AppendJSON appends the struct that v points to as one object on one line. The error is a number that JSON does not have;
// dst is then worth nothing.
func AppendJSON(dst []byte, v any) ([]byte, error) {
	w := jsonText{b: dst}
	w.value(reflect.ValueOf(v).Elem())
	return w.b, w.err
}

type jsonText struct {
	b   []byte
	err error
}

func (w *jsonText) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		w.b = appendString(w.b, v.String())
	case reflect.Int, reflect.Int64:
		w.b = strconv.AppendInt(w.b, v.Int(), 10)
	case reflect.Float64:
		w.float(v.Float())
	case reflect.Bool:
		w.b = strconv.AppendBool(w.b, v.Bool())
	case reflect.Pointer:
		w.value(v.Elem())
	case reflect.Slice:
		w.b = append(w.b, '[')
		for i := range v.Len() {
			if i > 0 {
				w.b = append(w.b, ',')
			}
			w.value(v.Index(i))
		}
		w.b = append(w.b, ']')
	case reflect.Struct:
		w.object(v)
	default:
		w.err = fmt.Errorf("write JSON: no form for a %s", v.Type())
	}
}

func (w *jsonText) object(v reflect.Value) {
	if v.Type() == timeType {
		w.b = append(w.b, '"')
		w.b = v.Addr().Interface().(*time.Time).UTC().AppendFormat(w.b, time.RFC3339)
		w.b = append(w.b, '"')
		return
	}
	w.b = append(w.b, '{')
	empty := true
	plan := planOf(v.Type())
	for i := range plan {
		f := &plan[i]
		value := v.Field(f.index[0])
		if len(f.index) > 1 {
			value = v.FieldByIndex(f.index)
		}
		if f.omit && isEmpty(value) {
			continue
		}
		if !empty {
			w.b = append(w.b, ',')
		}
		empty = false
		w.b = append(w.b, f.key...)
		if f.constant != "" {
			w.b = appendString(w.b, f.constant)
			continue
		}
		w.value(value)
		if f.bytesName != "" && !utf8.ValidString(value.String()) {
			w.b = append(w.b, `,"`+f.bytesName+`":"`...)
			w.b = base64.StdEncoding.AppendEncode(w.b, []byte(value.String()))
			w.b = append(w.b, '"')
		}
	}
	w.b = append(w.b, '}')
}

// isEmpty reports whether a field with omitempty is left out.
func isEmpty(v reflect.Value) bool {
	if v.Kind() == reflect.Slice {
		return v.Len() == 0
	}
	return v.IsZero()
}

// float writes a number as ECMAScript does: plain, unless it is very large or very small, and then with the shortest
// exponent.
func (w *jsonText) float(f float64) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		w.err = fmt.Errorf("write JSON: no form for the number %v", f)
		return
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	w.b = strconv.AppendFloat(w.b, f, format, -1, 64)
	if n := len(w.b); format == 'e' && w.b[n-4] == 'e' && w.b[n-3] == '-' && w.b[n-2] == '0' {
		w.b[n-2] = w.b[n-1] // e-09 becomes e-9
		w.b = w.b[:n-1]
	}
}

const hexDigits = "0123456789abcdef"

// plain are the bytes that a JSON string holds as they are.
var plain = func() (t [256]bool) {
	for c := ' '; c < 0x7f; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// appendString appends s in quotes (RFC 8259 section 7). Control characters become \u00XX; so do the two line separators,
// that a line stays one line to every reader. Each byte that is not UTF-8 becomes U+FFFD.
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
			b = append(append(b, s[start:i]...), '\\', 'u', hexDigits[r>>12], hexDigits[r>>8&0xf], hexDigits[r>>4&0xf], hexDigits[r&0xf])
		default:
			i += size
			continue
		}
		i += size
		start = i
	}
	return append(append(b, s[start:]...), '"')
}
