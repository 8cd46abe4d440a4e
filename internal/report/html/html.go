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
	"slices"
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
	Gaps      []report.Gap    // missing episodes and duplicates, grouped by series
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
	"lang":   lang.Current,
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
		"Policy": "default-src 'none'; style-src 'sha256-" + cspHash(
			styleText,
		) + "'; script-src 'sha256-" + cspHash(
			scriptText,
		) +
			"'; base-uri 'none'; form-action 'none'",
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

// WriteFile writes the page to a file atomically. The mode follows the umask, because the page is to be shared.
func WriteFile(path string, p Page) error {
	return atomicfile.WriteKeepMode(path, func(w io.Writer) error { return Write(w, p) })
}

const missingFilter = "missing"

const maxMissingTitles = 12

type gapCard struct {
	Title, Ref, URL, Note string
	Rows                  []gapRow
}

type gapRow struct {
	Label string   // S02
	Text  string   // "11 of 12, missing 7"
	Lines []string // titles of missing episodes, files of duplicates
}

func countMissing(gaps []report.Gap) (episodes int, shown bool) {
	for _, g := range gaps {
		if !g.IsAbsent() {
			episodes += len(g.Missing)
		}
		shown = shown || hasGap(&g)
	}
	return episodes, shown
}

func hasGap(g *report.Gap) bool { return g.Season != nil && len(g.Missing)+len(g.Duplicates) > 0 }

func gapCards(gaps []report.Gap) []*gapCard {
	var out []*gapCard
	for i := range gaps {
		g := &gaps[i]
		if !hasGap(g) {
			continue
		}
		if len(out) == 0 || out[len(out)-1].Ref != g.Ref() {
			c := &gapCard{Title: g.Entry(), Ref: g.Ref(), URL: url("tv", g.TMDBID)}
			if g.Unplaced > 0 && !slices.ContainsFunc(out, func(o *gapCard) bool { return o.Ref == c.Ref }) {
				c.Note = lang.Sprintf("%s without an episode may be what is missing", lang.Count(g.Unplaced, "file"))
			}
			out = append(out, c)
		}
		c := out[len(out)-1]
		c.Rows = append(c.Rows, newGapRow(g))
	}
	return out
}

func newGapRow(g *report.Gap) gapRow {
	row := gapRow{Label: fmt.Sprintf("S%02d", *g.Season)}
	switch {
	case g.IsAbsent():
		row.Text = lang.Sprintf("missing: %s", lang.Count(g.Aired, "episode"))
	case len(g.Missing) > 0:
		row.Text = lang.Sprintf("%d of %d", g.Present, g.Aired) + ", " + lang.Sprintf("missing %s", g.MissingRanges())
	}
	if n := len(g.Missing); n <= maxMissingTitles && g.Present > 0 {
		for _, e := range g.Missing {
			line := fmt.Sprintf("E%02d", e.Episode)
			for _, more := range []string{e.Title, e.AirDate} {
				if more != "" {
					line += "  " + ui.Printable(more)
				}
			}
			row.Lines = append(row.Lines, line)
		}
	}
	for i, c := range g.Duplicates {
		if i == 0 || g.Duplicates[i-1].Episode != c.Episode {
			row.Lines = append(row.Lines, lang.Sprintf("E%02d is there more than once:", c.Episode))
		}
		row.Lines = append(row.Lines, ui.Printable(c.Path))
	}
	return row
}

// folderSet tells which folders may be pinned as a whole: those whose files all have the same candidates.
type folderSet map[string]*folderEvidence

type folderEvidence struct {
	candidates string
	fileCount  int
	mixed      bool
	isArgument bool // the user gave it as an argument; it may hold other works later
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
			f.mixed = f.mixed || f.candidates != evidence
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
func (all folderSet) pinArguments(records []*report.Record, names bool) []string {
	var words []string
	var loose []*report.Record
	last := ""
	for _, r := range records {
		dir, _ := r.SplitPath()
		f := all[dir]
		switch {
		case names || f == nil || f.mixed || f.isArgument || f.fileCount < 2:
			loose = append(loose, r)
		case dir != last:
			last = dir
			words = append(words, shellArgument(dir, true))
		}
	}
	if t := sharedTitle(loose); t != "" && (names || len(loose) > 1) {
		return append(words, shellArgument(t, false))
	}
	for _, r := range loose {
		words = append(words, shellArgument(r.Path, false))
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

// shellArgument quotes s for a shell, never as a flag. A folder gets the slash by which `pin` recognises it.
func shellArgument(s string, dir bool) string {
	if strings.HasPrefix(s, "-") {
		s = "./" + s
	}
	if dir && !strings.HasSuffix(s, "/") {
		s += "/"
	}
	return ui.ShellWord(s)
}
