package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/anivault/anivault/internal/cli"
	"github.com/anivault/anivault/internal/ui"
)

// schemaOf returns a schema as the program prints it, but here no object may have further fields: each field that the
// scripts see has to be in its schema.
func schemaOf(name string) (*jsonschema.Resolved, error) {
	var out, errs bytes.Buffer
	if status := cli.Main(context.Background(), []string{"schema", name}, ui.Streams{
		In: strings.NewReader(""), Out: &out, Err: &errs,
	}); status != 0 {
		return nil, fmt.Errorf("anivault schema %s: exit status %d: %s", name, status, &errs)
	}
	var s any
	if err := json.Unmarshal(out.Bytes(), &s); err != nil {
		return nil, err
	}
	closeObjects(s)
	closed, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(closed, &schema); err != nil {
		return nil, err
	}
	return schema.Resolve(&jsonschema.ResolveOptions{BaseURI: "https://schemas.test/"}) // "match/1" is relative
}

func closeObjects(s any) {
	switch s := s.(type) {
	case map[string]any:
		if s["properties"] != nil {
			s["additionalProperties"] = false
		}
		for _, inner := range s {
			closeObjects(inner)
		}
	case []any:
		for _, inner := range s {
			closeObjects(inner)
		}
	}
}

// validator passes an output on and keeps it, for check.
type validator struct {
	io.Writer
	seen bytes.Buffer
}

func (v *validator) Write(b []byte) (int, error) {
	v.seen.Write(b)
	return v.Writer.Write(b)
}

// check validates an output whose first object names a schema. It does not check others.
func (v *validator) check() error {
	out := v.seen.Bytes()
	if !bytes.HasPrefix(out, []byte(`{"schema":"`)) {
		return nil
	}
	var schema *jsonschema.Resolved
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var object map[string]any
		switch err := d.Decode(&object); {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF): // a command that was interrupted
			return nil
		case err != nil:
			return err
		}
		if schema == nil {
			name, _, _ := strings.Cut(object["schema"].(string), "/")
			var err error
			if schema, err = schemaOf(name); err != nil {
				return err
			}
		}
		if err := schema.Validate(object); err != nil {
			return fmt.Errorf("%w: %v", err, object)
		}
	}
}

func TestAnOutputThatDoesNotFitItsSchemaIsRefused(t *testing.T) {
	const good = `"files":1,"matched":1,"ambiguous":0,"unmatched":0,"pending":0,"skipped":0,"errors":0,"requests":0,` +
		`"retries":0,"http_429":0,"cache_hits":0,"cache_misses":0,"elapsed_ms":1,"limiter_state":"Normal"}`
	for _, c := range []struct {
		line string
		fits bool
	}{
		{`{"schema":"match/1","type":"summary",` + good, true},
		{`{"schema":"match/1","type":"summary","new":1,` + good, false},
		{`{"schema":"match/1","type":"summary","files":"1",` + good[10:], false},
		{`{"schema":"match/1","type":"summary",` + good[10:], false}, // without files
		{`{"schema":"match/1","type":"end",` + good, false},
		{`{"schema":"match/2","type":"summary",` + good, false},
		{`{"schema":"match/1","matches":[{"type":"match","path":"a","status":"skipped"}],"summary":{"type":"summary",` +
			good + "}", true},
		{`{"schema":"match/1","matches":[{"type":"match","path":"a"}],"summary":{"type":"summary",` + good + "}", false},
		{`{"files":1}`, true}, // names no schema
	} {
		v := validator{Writer: io.Discard}
		_, _ = io.WriteString(&v, c.line)
		if err := v.check(); (err == nil) != c.fits {
			t.Errorf("%s: %v, fits should be %v", c.line, err, c.fits)
		}
	}
}
