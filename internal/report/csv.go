package report

import (
	"cmp"
	"encoding/base64"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/ui"
)

func formatConfidence(c *float64) string {
	if c == nil {
		return ""
	}
	return strconv.FormatFloat(*c, 'f', -1, 64)
}

// csvColumns are the columns, each with a function that returns its cell. A spreadsheet runs a cell that begins with =
// + - @, a tab or CR as a formula, and file names come from strangers. Such a text cell gets a leading ', and
// path_base64 has the exact path.
var csvColumns = []struct {
	name string
	text bool // free text, guarded against formulas
	cell func(*Record) string
}{
	{"path", true, func(r *Record) string { return r.Path }},
	{"status", false, func(r *Record) string { return string(r.Status) }},
	{"confidence", false, func(r *Record) string { return formatConfidence(r.Confidence) }},
	{"kind", false, func(r *Record) string { return r.Kind }},
	{"tmdb_id", false, func(r *Record) string { return ui.Number(r.TMDBID) }},
	{"title", true, func(r *Record) string { return r.Title }},
	{"original_title", true, func(r *Record) string { return r.OriginalTitle }},
	{"year", false, func(r *Record) string { return ui.Number(r.Year) }},
	{"season", false, func(r *Record) string {
		if r.Season == nil {
			return ""
		}
		return strconv.Itoa(*r.Season)
	}},
	// "3 4": a dash or a comma would become a date or two cells
	{"episodes", false, func(r *Record) string { return ui.Numbers(r.Episodes, " ") }},
	{"episode_titles", true, func(r *Record) string { return strings.Join(r.EpisodeTitles, " / ") }},
	{"source", false, func(r *Record) string { return r.Source }},
	{"cached_at", false, func(r *Record) string { return ui.Timestamp(r.CachedAt) }},
	{"reason", true, func(r *Record) string { return r.Reason.String() }},
	{"candidates", true, func(r *Record) string { // "tv/123 0.41; movie/5 0.2"
		var c []string
		for _, x := range r.Candidates {
			c = append(c, x.Ref()+" "+formatConfidence(&x.Confidence))
		}
		return strings.Join(c, "; ")
	}},
	{"error_code", false, func(r *Record) string { return string(r.errorOrZero().Code) }},
	{"error_message", true, func(r *Record) string { return r.errorOrZero().Message.String() }},
	{"path_base64", false, func(r *Record) string { return pathBase64(r.Path) }},
	{"episode_confidence", false, func(r *Record) string { return formatConfidence(r.EpisodeConfidence) }},
	{"air_date", false, func(r *Record) string { return r.AirDate }},
	{"order", true, func(r *Record) string { return r.Order }},
}

// CSVFields returns the columns in order. A column with the name of a record's field has the same documentation.
func CSVFields() []Field {
	docs := map[string]string{
		"episodes": "the episode numbers, separated by spaces", "episode_titles": "their titles, separated by \" / \"",
		"candidates":    "the entries that were weighed, each as tv/ID and confidence, separated by semicolons",
		"error_code":    "with pending and error: the code",
		"error_message": "with pending and error: the message",
		"path_base64":   "the path's own bytes, where they are not UTF-8 or a spreadsheet would run the path as a formula",
	}
	for _, f := range FieldsOf(reflect.TypeFor[Record]()) {
		if _, own := docs[f.Name]; !own {
			docs[f.Name] = f.Doc
		}
	}
	var out []Field
	for _, c := range csvColumns {
		out = append(out, Field{c.name, docs[c.name]})
	}
	return out
}

func (r *Record) errorOrZero() Error { return *cmp.Or(r.Error, new(Error)) }

type csvWriter struct {
	*bufferedWriter
	escape bool // escape characters that move the cursor or reorder a line
}

func newCSV(w io.Writer, opts Options) *csvWriter {
	head := ""
	if opts.ByteOrderMark {
		head = "\ufeff"
	}
	names := make([]string, len(csvColumns))
	for i, c := range csvColumns {
		names[i] = c.name
	}
	return &csvWriter{newBufferedWriter(w, head+strings.Join(names, ",")+"\r\n"), opts.Terminal}
}

func (w *csvWriter) Match(r Record) error {
	cells := make([]string, len(csvColumns))
	for i, c := range csvColumns {
		cells[i] = formatCell(c.cell(&r), c.text, w.escape)
	}
	return w.write([]byte(strings.Join(cells, ",") + "\r\n"))
}

// GapsCSV returns a row for each missing episode, each file of an episode with several files, and each season whose
// list is not available. escape is for a terminal: see csvWriter.
func GapsCSV(gaps []Gap, escape bool) []byte {
	var b strings.Builder
	b.WriteString("status,tmdb_id,title,original_title,year,season,episode,episode_title,air_date,path,better," +
		"path_base64\r\n")
	write := func(g *Gap, status string, e MissingEpisode, path string, better lang.Text) {
		season, episode := "", ""
		if g.Season != nil {
			season, episode = strconv.Itoa(*g.Season), strconv.Itoa(e.Episode)
		}
		if status == "unknown" {
			episode = ""
		}
		cells := []string{
			status, strconv.Itoa(g.TMDBID), g.Title, g.OriginalTitle, ui.Number(g.Year), season, episode, e.Title, e.AirDate,
			path, better.String(), pathBase64(path),
		}
		for i, cell := range cells {
			cells[i] = formatCell(cell, true, escape)
		}
		b.WriteString(strings.Join(cells, ",") + "\r\n")
	}
	for i := range gaps {
		g := &gaps[i]
		if g.Unknown {
			write(g, "unknown", MissingEpisode{}, "", "")
		}
		for _, e := range g.Missing {
			write(g, "missing", e, "", "")
		}
		for _, d := range g.Duplicates {
			write(g, "twice", MissingEpisode{Episode: d.Episode}, d.Path, d.Better)
		}
	}
	return []byte(b.String())
}

func pathBase64(path string) string {
	if utf8.ValidString(path) && !isFormula(path) {
		return ""
	}
	return base64.StdEncoding.EncodeToString([]byte(path))
}

func isFormula(s string) bool { return s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) }

// formatCell returns the text of a cell. Free text is guarded against formulas. The cell is quoted only if RFC 4180
// requires it or if it has outer spaces, which some readers drop. It keeps line breaks, which encoding/csv would turn
// into CRLF.
func formatCell(s string, freeText, escape bool) string {
	s = string([]rune(s)) // each byte that is not UTF-8 becomes U+FFFD
	if freeText && isFormula(s) {
		s = "'" + s
	}
	if escape {
		s = ui.Escaped(s)
	}
	if !strings.ContainsAny(s, ",\"\r\n") && strings.TrimSpace(s) == s {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
