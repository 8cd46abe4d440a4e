// Package html writes the report page of `match --report FILE.html`: one self-contained file that shows a library the
// way a person looks at it. It loads nothing, runs only its own script, and reads well without it.
package html

// This file decides what the page is made of and how it is safe: everything that came from outside goes through
// html/template, and the page's policy lets nothing run or load but its own style and script, by their hashes.

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the page's template, style and script
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/atomicfile"
	"github.com/anivault/anivault/internal/report"
)

// Page is all that the report shows. Records come in the walk's order, with their reasons.
type Page struct {
	Roots    []string // what was matched, as it was given
	Started  time.Time
	Version  string // of anivault
	Records  []report.Record
	Summary  report.Summary
	Timeline []TimelinePoint // in time order; may be empty
}

// TimelinePoint is the limiter at one moment of the run: State and Rate (requests per second) hold from At on; Requests
// and Throttled count the answers, and among them the 429s, since the point before.
type TimelinePoint struct {
	At        time.Time
	State     string
	Rate      float64
	Requests  int
	Throttled int
}

//go:embed page.gohtml
var pageText string

//go:embed style.css
var styleText string

//go:embed script.js
var scriptText string

var page = template.Must(template.New("page").Parse(pageText))

// policy is the page's Content-Security-Policy: nothing but this style and this script.
var policy = "default-src 'none'; style-src 'sha256-" + hash(styleText) + "'; script-src 'sha256-" + hash(scriptText) +
	"'; base-uri 'none'; form-action 'none'"

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Write writes the page to w. Errors are the writer's.
func Write(w io.Writer, p Page) error {
	var b bytes.Buffer
	err := page.Execute(&b, map[string]any{
		"Policy": policy,
		"Style":  template.CSS(styleText),
		"Script": template.JS(scriptText),
		"View":   newView(p),
	})
	if err != nil {
		return fmt.Errorf("make report page: %w", err)
	}
	if _, err := overrides.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write report page: %w", err)
	}
	return nil
}

// overrides makes the characters visible that turn text around: a file name must not rearrange the page.
var overrides = strings.NewReplacer("\u202a", `\u202a`, "\u202b", `\u202b`, "\u202c", `\u202c`, "\u202d", `\u202d`, "\u202e", `\u202e`,
	"\u2066", `\u2066`, "\u2067", `\u2067`, "\u2068", `\u2068`, "\u2069", `\u2069`)

// WriteFile writes the page to a file, whole or not at all, readable by its owner.
func WriteFile(path string, p Page) error {
	return atomicfile.Write(path, 0o600, func(w io.Writer) error { return Write(w, p) })
}
