// Package html writes the report page of `match --report FILE.html`: a single file that loads nothing and works without
// its script. All text from outside goes through html/template. The page's Content-Security-Policy allows only the
// style and script in the page, by their hashes.
package html

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/atomicfile"
	"github.com/anivault/anivault/internal/chart"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/title"
	"github.com/anivault/anivault/internal/ui"
)

// Page is the content of the report.
type Page struct {
	Arguments []string // the paths or names that were matched, as given
	NamesOnly bool     // names were matched, not files
	Started   time.Time
	Version   string          // the version of anivault
	Records   []report.Record // in the order of the files; the page shows their Reasons
	Gaps      [][]report.Gap  // missing episodes and duplicates, by series
	Summary   report.Summary
	Timeline  []chart.Point // in time order; may be empty
}

//go:embed page.gohtml
var pageText string

//go:embed style.css
var pageStyle string

var styleText = pageStyle + chart.Style

//go:embed script.js
var scriptText string

var templateFuncs = template.FuncMap{
	"url": url, "percent": report.Percent, "say": lang.Say[string], "sayf": lang.Sprintf,
	"number": func(n int) lang.Number { return lang.Number(n) },
	"lang":   lang.Current, "count": lang.Count, "printable": ui.Printable,
}

var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.Must(template.New("page").Funcs(templateFuncs).Parse(pageText)).Parse(chart.Template))
})

func cspHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Write writes the page to w.
func Write(w io.Writer, p Page) error {
	var b bytes.Buffer
	err := pageTemplate().Execute(&b, map[string]any{
		"Policy": "default-src 'none'; style-src 'sha256-" + cspHash(styleText) + "'; script-src 'sha256-" +
			cspHash(scriptText) + "'; base-uri 'none'; form-action 'none'",
		"Style":  template.CSS(styleText),
		"Script": template.JS(scriptText),
		"View":   newView(p),
	})
	if err != nil {
		return lang.Error("make report page: %w", err)
	}
	_, err = io.WriteString(w, ui.EscapedLines(b.String()))
	return err
}

// WriteFile writes the page to a file atomically. The mode follows the umask, because the page is to be shared.
func WriteFile(path string, p Page) error {
	return atomicfile.WriteKeepMode(path, func(w io.Writer) error { return Write(w, p) })
}

const missingFilter = "missing"

// shownGaps returns the seasons with missing or duplicate episodes, by series, and counts the missing episodes of
// seasons that have some files.
func shownGaps(all [][]report.Gap) (shown [][]report.Gap, missing int) {
	for _, gaps := range all {
		var some []report.Gap
		for _, g := range gaps {
			if g.Season != nil && len(g.Missing)+len(g.Duplicates) > 0 {
				some = append(some, g)
			}
			if !g.IsAbsent() {
				missing += len(g.Missing)
			}
		}
		if some != nil {
			shown = append(shown, some)
		}
	}
	return shown, missing
}

// folderSet tells which folders may be pinned as a whole: those whose files all have the same candidates.
type folderSet map[string]*folderEvidence

type folderEvidence struct {
	candidates    string
	fileCount     int
	hasOtherFiles bool
	isArgument    bool // the user gave it as an argument; it may hold other works later
}

func newFolderSet(records []report.Record, roots []string) folderSet {
	all := folderSet{}
	for i := range records {
		if records[i].Status == report.Skipped {
			continue
		}
		evidence := candidateKey(&records[i])
		dir, _ := records[i].SplitPath()
		for dir != "" {
			f := all[dir]
			if f == nil {
				f = &folderEvidence{candidates: evidence}
				all[dir] = f
			}
			f.fileCount++
			f.hasOtherFiles = f.hasOtherFiles || f.candidates != evidence
			up := filepath.Dir(dir)
			if up == dir || up == "." {
				break
			}
			dir = up
		}
	}
	for _, root := range roots {
		if f := all[filepath.Clean(root)]; f != nil {
			f.isArgument = true
		}
	}
	return all
}

func candidateKey(r *report.Record) string {
	if len(r.Candidates) == 0 {
		return r.Ref() + string(r.Reason)
	}
	var b strings.Builder
	for _, c := range r.Candidates {
		fmt.Fprintf(&b, "%s %g ", c.Ref(), c.Confidence)
	}
	return b.String()
}

// pinArguments returns the arguments of `anivault pin` for files with the same candidates. It uses folders that hold no
// other files; for the remaining files, their title if all names have it, otherwise each file. Paths stay as they were
// given, because the page may be shared.
func (all folderSet) pinArguments(records []*report.Record, namesOnly bool) []string {
	var words []string
	var loose []*report.Record
	last := ""
	for _, r := range records {
		dir, _ := r.SplitPath()
		f := all[dir]
		switch {
		case namesOnly || f == nil || f.hasOtherFiles || f.isArgument || f.fileCount < 2:
			loose = append(loose, r)
		case dir != last:
			last = dir
			words = append(words, ui.PathWord(strings.TrimSuffix(dir, "/")+"/")) // the slash tells `pin` that it is a folder
		}
	}
	if t := sharedTitle(loose); t != "" && (namesOnly || len(loose) > 1) {
		return append(words, ui.PathWord(t))
	}
	for _, r := range loose {
		words = append(words, ui.PathWord(r.Path))
	}
	return words
}

func sharedTitle(records []*report.Record) string {
	shared := ""
	for i, r := range records {
		if r.Parsed == nil || r.Parsed.Title == "" || i > 0 && r.Parsed.Title != shared {
			return ""
		}
		shared = r.Parsed.Title
		if _, name := r.SplitPath(); !strings.Contains(title.Compact(name), title.Compact(shared)) {
			return ""
		}
	}
	return shared
}
