package report

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/anivault/anivault/internal/lang"
)

// anyText draws text with everything in it that JSON treats in its own way, and bytes that are no text.
var anyText = rapid.OneOf(
	rapid.String(),
	rapid.SampledFrom([]string{
		"", "<a href=\"x\">&</a>", "\u2028\u2029\ufffd", "\x00\x1f\x7f\b\f\n\r\t\"\\/",
		"a\xffb\xe2\x80", "千と千尋", "👨‍👩‍👧\xf0\x9f",
	}),
	rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) }),
)

var anyFloat = rapid.OneOf(
	rapid.Float64(), rapid.Float64Range(0, 1),
	rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.IntRange(0, 10000).Draw(t, "n")) / 1e4 }),
	rapid.SampledFrom([]float64{
		0, 1, 12.5, 1e-6, 9.99e-7, 1e-9, 1e-10, -1e-7, 1e20, 1e21, 1e100, math.MaxFloat64,
		math.SmallestNonzeroFloat64, math.Copysign(0, -1),
	}),
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
			if v.Type().Field(i).Name != "_" {
				fill(t, v.Field(i), label+"."+v.Type().Field(i).Name)
			}
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
		t.Fatalf("%s is a %s: teach this test and AppendJSON about it", label, v.Type())
	}
}

// The writer says what encoding/json says of the same struct; beside that it has the constant, the path's bytes, and
// times without fractions of a second, which are left out when there are none.
func TestARecordSaysWhatEncodingJSONWouldSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r Record
		fill(t, reflect.ValueOf(&r).Elem(), "record")
		want := decoded(t, r)
		want["type"] = "match"
		delete(want, "cached_at")
		if !r.CachedAt.IsZero() {
			want["cached_at"] = r.CachedAt.UTC().Format(time.RFC3339)
		}
		checkLine(t, &r, want, "path_base64", r.Path)

		var p ParseRecord
		fill(t, reflect.ValueOf(&p).Elem(), "parsed")
		checkLine(t, &p, decoded(t, p), "name_base64", p.Name)
	})
}

func checkLine(t *rapid.T, v any, want map[string]any, bytesName, path string) {
	line, err := AppendJSON([]byte("before "), v)
	if err != nil {
		t.Fatal(err)
	}
	if i := strings.IndexFunc(string(line),
		func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }); i >= 0 {
		t.Fatalf("a control character is in %q", line)
	}
	if !utf8.ValidString(path) {
		want[bytesName] = base64.StdEncoding.EncodeToString([]byte(path))
	}
	var got map[string]any
	if err := json.Unmarshal(line[len("before "):], &got); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

func decoded(t *rapid.T, v any) (out map[string]any) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestNumbersHaveTheBytesOfEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyFloat.Draw(t, "number")
		var w jsonEncoder
		want, err := json.Marshal(f)
		if got := w.appendFloat(nil, f); err != nil || w.err != nil || string(got) != string(want) {
			t.Fatalf("%s instead of %s", got, want)
		}
	})
}

// parse and match write a name the same way: they have one writer.
func TestStringsAreWrittenInOneWay(t *testing.T) {
	for in, want := range map[string]string{
		"a<b>&c/d":                 `"a<b>&c/d"`,
		"q\"b\\":                   `"q\"b\\"`,
		"a\x7fb\bc":                `"a\u007fb\u0008c"`,
		"\x00\n\r\t\x1f":           `"\u0000\u000a\u000d\u0009\u001f"`,
		"\u0080\u009b2J":           `"\u0080\u009b2J"`,
		"\u2028\u2029":             `"\u2028\u2029"`,
		"bad \xff\xfe real \ufffd": "\"bad \ufffd\ufffd real \ufffd\"",
		"千と千尋 👨‍👩‍👧":               `"千と千尋 👨‍👩‍👧"`,
	} {
		t.Run(want, func(t *testing.T) {
			record, err := AppendJSON(nil, &Record{Path: "p", Reason: lang.Text(in), Parsed: &Parsed{Title: in}})
			if err != nil {
				t.Fatal(err)
			}
			parse, err := AppendJSON(nil, &ParseRecord{Name: "n", Parsed: Parsed{Title: in}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(`{"type":"match","path":"p","status":"","reason":`+want+`,"parsed":{"title":`+want+`}}`,
				string(record)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(`{"name":"n","title":`+want+`}`, string(parse)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A number that JSON does not have is refused.
func TestANumberThatJSONDoesNotHaveIsRefused(t *testing.T) {
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for name, r := range map[string]Record{
			"confidence": {Confidence: &f}, "episode": {Parsed: &Parsed{Episodes: []float64{f}}},
			"candidate": {Candidates: []Candidate{{Confidence: f}}},
		} {
			t.Run(fmt.Sprint(name, " ", f), func(t *testing.T) {
				for _, format := range []Format{FormatNDJSON, FormatJSON} {
					w, err := NewWriter(format, io.Discard, Options{})
					if err != nil {
						t.Fatal(err)
					}
					if err := w.Match(r); err == nil {
						t.Errorf("%v was written as %s", f, format)
					}
				}
			})
		}
	}
}

// The documents' fields are those that are written, each with words.
func TestFieldsAreReadFromTheTags(t *testing.T) {
	names := func(fields []Field) (out []string) {
		for _, f := range fields {
			if f.Doc == "" {
				t.Errorf("%s has no explanation", f.Name)
			}
			out = append(out, f.Name)
		}
		return out
	}
	record := names(FieldsOf(reflect.TypeFor[Record](), reflect.TypeFor[Parsed]()))
	if diff := cmp.Diff([]string{
		"type", "path", "path_base64", "status", "confidence", "kind", "tmdb_id", "title", "original_title", "year", "season",
		"episodes", "order", "episode_confidence", "episode_titles", "air_date", "subtitles", "ids", "ids.imdb",
		"ids.tvdb",
		"ids.anidb", "ids.anilist", "ids.mal", "orders", "orders.tmdb", "orders.tmdb.season", "orders.tmdb.episodes",
		"orders.absolute", "orders.tvdb", "orders.tvdb.season", "orders.tvdb.episodes", "orders.anidb",
		"orders.anidb.id", "orders.anidb.special", "orders.anidb.episodes", "source", "cached_at", "reason",
		"parsed", "candidates", "candidates[].kind",
		"candidates[].tmdb_id", "candidates[].title", "candidates[].year", "candidates[].confidence",
		"candidates[].score", "candidates[].reasons", "candidates[].reasons[].name", "candidates[].reasons[].weight",
		"candidates[].reasons[].detail", "error", "error.code", "error.message", "explain", "explain[].stage",
		"explain[].detail", "explain[].source", "explain[].cached_at",
	}, record); diff != "" {
		t.Error(diff)
	}
	parse := names(FieldsOf(reflect.TypeFor[ParseRecord]()))
	if diff := cmp.Diff([]string{
		"name", "name_base64", "title", "titles", "seasons", "season", "episodes", "absolute", "part", "special",
		"episode_title", "year", "ids", "ids.tmdb", "ids.imdb", "ids.tvdb", "ids.anidb", "group", "resolution", "version",
		"checksum", "kind", "source", "video", "audio", "edition", "extension",
	}, parse); diff != "" {
		t.Error(diff)
	}
}
