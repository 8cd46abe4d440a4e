package report

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/orders"
)

// This file writes JSON as the tags of its structs say. It takes less time than encoding/json, which matters when an
// unchanged library is matched again, and it escapes every control character. Tags:
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
	for _, f := range encodingOf(t) {
		if f.embedded {
			out = append(out, fieldsOf(f.valueType, prefix, skippedTypes)...)
			continue
		}
		out = append(out, Field{prefix + f.name, f.doc})
		if f.bytesName != "" {
			out = append(out, Field{prefix + f.bytesName, "the " + f.name + "'s own bytes in base64, where they are not UTF-8"})
		}
		inner, within := f.valueType, prefix+f.name
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

type fieldEncoding struct {
	name, bytesName, doc string
	prefix               string // `,"name":`, or the whole text of a constant field
	constant, omitEmpty  bool
	embedded             bool // the fields of the struct in it are written in its place
	isText               bool // a lang.Text, or several: written in English, because programs read it
	index                int  // for reflect.Value.Field
	valueType            reflect.Type
	fields               []fieldEncoding // of the struct in valueType, or in its elements
}

var (
	encodings sync.Map // maps the reflect.Type of a struct to its []fieldEncoding
	timeType  = reflect.TypeFor[time.Time]()
	textType  = reflect.TypeFor[lang.Text]()
)

func encodingOf(t reflect.Type) []fieldEncoding {
	known, ok := encodings.Load(t)
	if !ok {
		known, _ = encodings.LoadOrStore(t, newEncoding(t))
	}
	return known.([]fieldEncoding)
}

func newEncoding(t reflect.Type) (fields []fieldEncoding) {
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		fixed, constant := field.Tag.Lookup("constant")
		if n := len(fields); field.Name == "_" && !constant && n > 0 {
			fields[n-1].doc += " " + field.Tag.Get("doc")
			continue
		}
		if constant {
			name, fixed, _ = strings.Cut(fixed, "=")
			fixed = `"` + fixed + `"`
		}
		elem := field.Type
		for elem.Kind() == reflect.Pointer || elem.Kind() == reflect.Slice {
			elem = elem.Elem()
		}
		var inner []fieldEncoding
		if elem.Kind() == reflect.Struct && elem != timeType {
			inner = encodingOf(elem)
		}
		fields = append(fields, fieldEncoding{
			name: name, bytesName: field.Tag.Get("bytes"), doc: field.Tag.Get("doc"), prefix: `,"` + name + `":` + fixed,
			constant: constant, omitEmpty: options == "omitempty", index: field.Index[0], valueType: field.Type,
			embedded: field.Anonymous, isText: elem == textType, fields: inner,
		})
	}
	return fields
}

// AppendJSON appends the struct that v points to as one line. It fails on a number that JSON cannot express.
func AppendJSON(dst []byte, v any) ([]byte, error) {
	var w jsonEncoder
	switch r := v.(type) {
	case *Record:
		return w.appendRecord(dst, r), w.err
	case *ParseRecord:
		dst = appendPath(dst, `{"name":`, "name_base64", r.Name)
		return append(w.appendParsedFields(dst, &r.Parsed), '}'), w.err
	}
	value := reflect.ValueOf(v).Elem()
	dst = w.appendObject(dst, value, encodingOf(value.Type()))
	return dst, w.err
}

// appendRecord writes by hand what appendObject would write by the tags, in a third of the time: a library has many
// records. It uses appendObject for what few records have. A test compares it with encoding/json.
func (w *jsonEncoder) appendRecord(b []byte, r *Record) []byte {
	b = appendPath(b, `{"type":"match","path":`, "path_base64", r.Path)
	b = appendString(append(b, `,"status":`...), string(r.Status))
	b = appendPointer(b, `,"confidence":`, r.Confidence, w.appendFloat)
	b = appendText(b, `,"kind":`, r.Kind)
	b = appendNumber(b, `,"tmdb_id":`, r.TMDBID)
	b = appendText(b, `,"title":`, r.Title)
	b = appendText(b, `,"original_title":`, r.OriginalTitle)
	b = appendNumber(b, `,"year":`, r.Year)
	b = appendPointer(b, `,"season":`, r.Season, appendInt)
	b = appendList(b, `,"episodes":`, r.Episodes, appendInt)
	b = appendText(b, `,"order":`, r.Order)
	b = appendPointer(b, `,"episode_confidence":`, r.EpisodeConfidence, w.appendFloat)
	b = appendList(b, `,"episode_titles":`, r.EpisodeTitles, appendString)
	b = appendText(b, `,"air_date":`, r.AirDate)
	b = appendList(b, `,"subtitles":`, r.Subtitles, appendString)
	b = appendPointer(b, `,"ids":`, r.IDs, appendStruct[WorkIDs](w))
	b = appendPointer(b, `,"orders":`, r.Orders, w.appendOrders)
	b = appendText(b, `,"source":`, r.Source)
	if !r.CachedAt.IsZero() {
		b = append(r.CachedAt.UTC().AppendFormat(append(b, `,"cached_at":"`...), time.RFC3339), '"')
	}
	b = appendText(b, `,"reason":`, r.Reason.String())
	b = appendPointer(b, `,"parsed":`, r.Parsed, w.appendParsed)
	b = appendList(b, `,"candidates":`, r.Candidates, w.appendCandidate)
	b = appendPointer(b, `,"error":`, r.Error, appendStruct[Error](w))
	return append(appendList(b, `,"explain":`, r.Steps, appendStruct[Step](w)), '}')
}

func (w *jsonEncoder) appendParsed(b []byte, p Parsed) []byte {
	return closeObject(w.appendParsedFields(b, &p), len(b))
}

func (w *jsonEncoder) appendParsedFields(b []byte, p *Parsed) []byte {
	b = appendText(b, `,"title":`, p.Title)
	b = appendList(b, `,"titles":`, p.Titles, appendString)
	b = appendList(b, `,"seasons":`, p.Seasons, appendInt)
	b = appendPointer(b, `,"season":`, p.Season, appendInt)
	b = appendList(b, `,"episodes":`, p.Episodes, w.appendFloat)
	if p.Absolute {
		b = append(b, `,"absolute":true`...)
	}
	b = appendNumber(b, `,"part":`, p.Part)
	b = appendText(b, `,"special":`, p.Special)
	b = appendText(b, `,"episode_title":`, p.EpisodeTitle)
	b = appendNumber(b, `,"year":`, p.Year)
	b = appendPointer(b, `,"ids":`, p.IDs, appendStruct[IDs](w))
	b = appendText(b, `,"group":`, p.Group)
	b = appendText(b, `,"resolution":`, p.Resolution)
	b = appendNumber(b, `,"version":`, p.Version)
	b = appendText(b, `,"checksum":`, p.Checksum)
	b = appendText(b, `,"kind":`, p.Kind)
	b = appendText(b, `,"source":`, p.Source)
	b = appendText(b, `,"video":`, p.Video)
	b = appendText(b, `,"audio":`, p.Audio)
	b = appendText(b, `,"edition":`, p.Edition)
	return appendText(b, `,"extension":`, p.Extension)
}

func (w *jsonEncoder) appendOrders(b []byte, o Orders) []byte {
	start := len(b)
	b = appendPointer(b, `,"tmdb":`, o.TMDB, appendPlace)
	b = appendList(b, `,"absolute":`, o.Absolute, appendInt)
	b = appendPointer(b, `,"tvdb":`, o.TVDB, appendPlace)
	return closeObject(appendPointer(b, `,"anidb":`, o.AniDB, appendStruct[orders.AniDBPlace](w)), start)
}

func appendPlace(b []byte, p orders.Place) []byte {
	b = appendInt(append(b, `{"season":`...), p.Season)
	return append(appendList(b, `,"episodes":`, p.Episodes, appendInt), '}')
}

func (w *jsonEncoder) appendCandidate(b []byte, c Candidate) []byte {
	b = appendString(append(b, `{"kind":`...), c.Kind)
	b = appendInt(append(b, `,"tmdb_id":`...), c.TMDBID)
	b = appendText(b, `,"title":`, c.Title)
	b = appendNumber(b, `,"year":`, c.Year)
	b = w.appendFloat(append(b, `,"confidence":`...), c.Confidence)
	if c.Score != 0 {
		b = w.appendFloat(append(b, `,"score":`...), c.Score)
	}
	return append(appendList(b, `,"reasons":`, c.Reasons, appendStruct[Reason](w)), '}')
}

// appendPath appends a field whose text may have any bytes, with its bytes in base64 unless it is UTF-8.
func appendPath(b []byte, prefix, bytesName, path string) []byte {
	b = appendString(append(b, prefix...), path)
	if !utf8.ValidString(path) {
		b = append(append(append(b, `,"`...), bytesName...), `":"`...)
		b = append(base64.StdEncoding.AppendEncode(b, []byte(path)), '"')
	}
	return b
}

func appendInt(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) }

func appendText(b []byte, name, s string) []byte {
	if s == "" {
		return b
	}
	return appendString(append(b, name...), s)
}

func appendNumber(b []byte, name string, n int) []byte {
	if n == 0 {
		return b
	}
	return appendInt(append(b, name...), n)
}

func appendPointer[T any](b []byte, name string, p *T, appendTo func([]byte, T) []byte) []byte {
	if p == nil {
		return b
	}
	return appendTo(append(b, name...), *p)
}

func appendList[T any](b []byte, name string, list []T, appendTo func([]byte, T) []byte) []byte {
	if len(list) == 0 {
		return b
	}
	b = append(append(b, name...), '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendTo(b, v)
	}
	return append(b, ']')
}

func appendStruct[T any](w *jsonEncoder) func([]byte, T) []byte {
	return func(b []byte, v T) []byte {
		value := reflect.ValueOf(&v).Elem()
		return w.appendObject(b, value, encodingOf(value.Type()))
	}
}

type jsonEncoder struct{ err error }

func (w *jsonEncoder) appendValue(b []byte, v reflect.Value, field *fieldEncoding) []byte {
	switch v.Kind() {
	case reflect.String:
		s := v.String()
		if field.isText {
			s = lang.Text(s).String()
		}
		return appendString(b, s)
	case reflect.Int, reflect.Int64:
		return strconv.AppendInt(b, v.Int(), 10)
	case reflect.Float64:
		return w.appendFloat(b, v.Float())
	case reflect.Bool:
		return strconv.AppendBool(b, v.Bool())
	case reflect.Pointer:
		return w.appendValue(b, v.Elem(), field)
	case reflect.Slice:
		b = append(b, '[')
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ',')
			}
			b = w.appendValue(b, v.Index(i), field)
		}
		return append(b, ']')
	case reflect.Struct:
		if v.Type() == timeType {
			return append(v.Addr().Interface().(*time.Time).UTC().AppendFormat(append(b, '"'), time.RFC3339), '"')
		}
		return w.appendObject(b, v, field.fields)
	default:
		w.err = fmt.Errorf("write JSON: no form for a %s", v.Type())
		return b
	}
}

// appendObject appends a struct. It replaces the comma before the first field with the opening brace.
func (w *jsonEncoder) appendObject(b []byte, v reflect.Value, fields []fieldEncoding) []byte {
	start := len(b)
	return closeObject(w.appendFields(b, v, fields), start)
}

func closeObject(b []byte, start int) []byte {
	if len(b) == start {
		return append(b, "{}"...)
	}
	b[start] = '{'
	return append(b, '}')
}

func (w *jsonEncoder) appendFields(b []byte, v reflect.Value, fields []fieldEncoding) []byte {
	for i := range fields {
		field := &fields[i]
		if field.constant {
			b = append(b, field.prefix...)
			continue
		}
		value := v.Field(field.index)
		if field.embedded {
			b = w.appendFields(b, value, field.fields)
			continue
		}
		empty := false // asked by kind, because IsZero takes longer
		switch value.Kind() {
		case reflect.String:
			empty = value.String() == ""
		case reflect.Slice:
			empty = value.Len() == 0
		case reflect.Pointer:
			empty = value.IsNil()
		default:
			empty = value.IsZero()
		}
		if empty && field.omitEmpty {
			continue
		}
		if field.bytesName != "" {
			b = appendPath(b, field.prefix, field.bytesName, value.String())
			continue
		}
		b = w.appendValue(append(b, field.prefix...), value, field)
	}
	return b
}

func (w *jsonEncoder) appendFloat(b []byte, f float64) []byte {
	if n := int64(f*1e4 + 0.5); n > 0 && n < 1e9 && float64(n)/1e4 == f { // most have up to four decimals
		b = strconv.AppendInt(b, n/1e4, 10)
		if n %= 1e4; n > 0 {
			b = bytes.TrimRight(append(b, '.', byte('0'+n/1000), byte('0'+n/100%10), byte('0'+n/10%10), byte('0'+n%10)), "0")
		}
		return b
	}
	if a := math.Abs(f); f == 0 || a >= 1e-6 && a < 1e21 { // a quick way for what has no exponent
		return strconv.AppendFloat(b, f, 'f', -1, 64)
	}
	text, err := json.Marshal(f)
	if err != nil {
		w.err = fmt.Errorf("write JSON: no form for the number %v", f)
	}
	return append(b, text...)
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
	for i := 0; ; {
		for i < len(s) && needsNoEscape[s[i]] {
			i++
		}
		if i == len(s) {
			return append(append(b, s[start:]...), '"')
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
}

// jsonWriter writes NDJSON, or {"matches":[...],"summary":{...}}, and no partial object in any write.
type jsonWriter struct {
	*bufferedWriter
	explain                                   bool
	beforeRecord, betweenRecords, afterRecord string
	beforeSummary, afterSummary               string
	record                                    Record // the one being written; allocated only once
}

func (w *jsonWriter) Match(r Record) error {
	if !w.explain {
		r.HideExplanation()
	}
	w.record = r
	line, err := w.encode(w.beforeRecord, &w.record, w.afterRecord)
	if err != nil {
		return err
	}
	w.beforeRecord = w.betweenRecords
	return w.write(line)
}

func (w *jsonWriter) Close(s Summary) error {
	line, err := w.encode(w.beforeSummary, &s, w.afterSummary)
	if err != nil {
		return err
	}
	return w.writeLast(line)
}

func (w *jsonWriter) encode(before string, v any, after string) ([]byte, error) {
	line, err := AppendJSON(append(w.buf.AvailableBuffer(), before...), v)
	return append(line, after...), err
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
