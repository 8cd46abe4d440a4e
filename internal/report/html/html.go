// Package html writes the report page of `match --report FILE.html`: one self-contained file that shows a library the
// way a person looks at it. It loads nothing, runs only its own script, and reads well without it. All text from
// outside goes through html/template, and the page's policy allows only its own style and script, by their hashes.
package html

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the page's template, style and script
	"encoding/base64"
	"html/template"
	"io"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/atomicfile"
	"github.com/anivault/anivault/internal/chart"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/ui"
)

// Page is all that the report shows. Records come in the walk's order, with their reasons.
type Page struct {
	Roots    []string // what was matched, as it was given
	Names    bool     // names were matched of which nothing has to exist
	Started  time.Time
	Version  string // of anivault
	Records  []report.Record
	Gaps     []report.Gap // by series: what is missing, or there twice
	Summary  report.Summary
	Timeline []chart.Point // in time order; may be empty
}

//go:embed page.gohtml
var pageText string

//go:embed style.css
var ownStyle string

var styleText = ownStyle + chart.Style

//go:embed script.js
var scriptText string

var functions = template.FuncMap{
	"url": url, "percent": report.Percent, "say": lang.Say[string], "word": lang.Word, "sayf": lang.Sprintf, "lang": lang.Current,
}

// page is parsed when it is first needed: most runs write none.
var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.Must(template.New("page").Funcs(functions).Parse(pageText)).Parse(chart.Template))
})

// policy is the page's Content-Security-Policy: nothing but this style and this script.
func policy() string {
	return "default-src 'none'; style-src 'sha256-" + hash(styleText) + "'; script-src 'sha256-" + hash(scriptText) +
		"'; base-uri 'none'; form-action 'none'"
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Write writes the page to w. Errors are the writer's.
func Write(w io.Writer, p Page) error {
	var b bytes.Buffer
	err := page().Execute(&b, map[string]any{
		"Policy": policy(),
		"Style":  template.CSS(styleText),
		"Script": template.JS(scriptText),
		"View":   newView(p),
	})
	if err != nil {
		return lang.Error("make report page: %w", err)
	}
	if _, err := io.WriteString(w, ui.EscapedLines(b.String())); err != nil {
		return lang.Error("write report page: %w", err)
	}
	return nil
}

// WriteFile writes the page to a file, whole or not at all, readable by whom the umask lets: it is to be sent on.
func WriteFile(path string, p Page) error {
	return atomicfile.WriteByUmask(path, func(w io.Writer) error { return Write(w, p) })
}
