package gateway

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// TestOpenAPIDescribesWhatIsAnswered asks for each path of /openapi.json, with and without a token, and validates the
// answers against its schemas.
func TestOpenAPIDescribesWhatIsAnswered(t *testing.T) {
	yaml, tokens := withClients(map[string]string{"ops": ", admin: true"})
	b := start(t, setup{yaml: yaml})
	get := func(path, token string) (status int, contentType string, body []byte) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if body, err = io.ReadAll(resp.Body); err != nil {
			t.Fatal(err)
		}
		contentType, _, _ = strings.Cut(resp.Header.Get("Content-Type"), ";")
		return resp.StatusCode, contentType, body
	}
	type response struct {
		Content map[string]struct{ Schema jsonschema.Schema }
	}
	var document struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			Security  []any
			Responses map[string]response
		}
	}
	_, _, body := get("/openapi.json", "")
	if err := json.Unmarshal(body, &document); err != nil || document.OpenAPI != "3.1.0" || len(document.Paths) != 8 {
		t.Fatalf("%v: %s", err, body)
	}
	for path, operations := range document.Paths {
		operation := operations["get"]
		for _, token := range []string{"", tokens["ops"]} {
			status, contentType, body := get(strings.Replace(path, "{path}", "configuration", 1), token)
			if refused := status == http.StatusUnauthorized; refused != (token == "" && operation.Security != nil) {
				t.Errorf("%s with the token %q: status %d", path, token, status)
			}
			of, ok := operation.Responses["200"]
			if status != http.StatusOK {
				of = operation.Responses["default"]
			}
			content, known := of.Content[contentType]
			if !ok || !known {
				t.Errorf("%s: %s is not described", path, contentType)
				continue
			}
			if contentType != "application/json" {
				continue
			}
			s, err := content.Schema.Resolve(nil)
			if err != nil {
				t.Fatal(err)
			}
			var value any
			if err := json.Unmarshal(body, &value); err != nil {
				t.Fatal(err)
			}
			if err := s.Validate(value); err != nil {
				t.Errorf("%s with the token %q: %v: %s", path, token, err, body)
			}
		}
	}
}
