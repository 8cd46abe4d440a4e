package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// anyText draws text with everything in it that JSON treats in its own way, and bytes that are no text.
var anyText = rapid.OneOf(
	rapid.String(),
	rapid.SampledFrom([]string{"", "<a href=\"x\">&</a>", "\u2028\u2029\ufffd", "\x00\x1f\x7f\b\f\n\r\t\"\\/", "a\xffb\xe2\x80", "千と千尋", "👨‍👩‍👧\xf0\x9f"}),
	rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) }),
)

var anyFloat = rapid.OneOf(
	rapid.Float64(), rapid.Float64Range(0, 1),
	rapid.SampledFrom([]float64{0, 1, 12.5, 1e-6, 9.99e-7, 1e-9, 1e-10, -1e-7, 1e20, 1e21, 1e100, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Copysign(0, -1)}),
)

// fill draws a value for every field, so that a field that is added is tested without anybody thinking of it.
func fill(t *rapid.T, v reflect.Value, label string) {
	switch v.Interface().(type) {
	case time.Time:
		if rapid.Bool().Draw(t, label) {
			v.Set(reflect.ValueOf(time.Unix(rapid.Int64Range(-1e10, 1e11).Draw(t, label), 5)))
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), label+"."+v.Type().Field(i).Name)
		}
	case reflect.Pointer:
		if rapid.Bool().Draw(t, label) {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem(), label)
		}
	case reflect.Slice:
		n := rapid.SampledFrom([]int{-1, 0, 1, 3}).Draw(t, label)
		if n < 0 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(t, v.Index(i), label)
		}
	case reflect.String:
		v.SetString(anyText.Draw(t, label))
	case reflect.Int:
		v.SetInt(rapid.Int64().Draw(t, label) * int64(rapid.IntRange(0, 1).Draw(t, label)))
	case reflect.Float64:
		v.SetFloat(anyFloat.Draw(t, label))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, label))
	default:
		t.Fatalf("%s is a %s: teach this test and appendRecord about it", label, v.Type())
	}
}

// What is written by hand is what encoding/json writes.
func TestARecordIsWrittenAsEncodingJSONWould(t *testing.T) {
	byHand := 0
	rapid.Check(t, func(t *rapid.T) {
		var r Record
		fill(t, reflect.ValueOf(&r).Elem(), "record")
		for _, explain := range []bool{false, true} {
			shown := r
			if !explain {
				shown = r.brief()
			}
			var want, got bytes.Buffer
			if err := encode(&want, shown.wire()); err != nil {
				t.Fatal(err)
			}
			if err := encodeRecord(&got, r, explain); err != nil {
				t.Fatal(err)
			}
			if got.String() != want.String() {
				t.Fatalf("explain %v:\n got %s\nwant %s", explain, got.String(), want.String())
			}
			if _, ok := appendRecord(nil, &shown); ok {
				byHand++
			} else if !explain {
				t.Fatalf("left to encoding/json: %s", want.String())
			}
		}
	})
	if byHand == 0 {
		t.Error("nothing was written by hand")
	}
}

// A number that JSON does not have is refused, as encoding/json does.
func TestANumberThatIsNoneIsRefused(t *testing.T) {
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for _, r := range []Record{{Confidence: &f}, {Parsed: &Parsed{Episodes: []float64{f}}}, {Candidates: []Candidate{{Confidence: f}}}} {
			w, err := NewWriter(FormatNDJSON, io.Discard, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var unsupported *json.UnsupportedValueError
			if err := w.Match(r); err == nil {
				t.Errorf("%v was written", f)
			} else if !errors.As(err, &unsupported) {
				t.Errorf("%v: %v", f, err)
			}
		}
	}
}
