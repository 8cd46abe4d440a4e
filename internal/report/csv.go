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
	"github.com/anivault/anivault/internal/slicesx"
	"github.com/anivault/anivault/internal/ui"
)

func formatConfidence(c *float64) string {
	if c == nil {
		return ""
	}
	return strconv.FormatFloat(*c, 'f', -1, 64)
}

var csvColumns = strings.Fields(`path status confidence kind tmdb_id title original_title year season episodes
	episode_titles source cached_at reason candidates error_code error_message path_base64 episode_confidence air_date
	order`)

// csvCells returns a record's cells in the order of csvColumns.
func csvCells(r *Record) []string {
	season, problem := "", r.errorOrZero()
	if r.Season != nil {
		season = strconv.Itoa(*r.Season)
	}
	candidates := slicesx.Map(r.Candidates, func(c Candidate) string { // each "tv/123 0.41"
		return c.Ref() + " " + formatConfidence(&c.Confidence)
	})
	return []string{
		r.Path, string(r.Status), formatConfidence(r.Confidence), r.Kind, ui.Number(r.TMDBID), r.Title, r.OriginalTitle,
		ui.Number(r.Year), season, ui.Numbers(r.Episodes, " "), // a dash would make a date of them, a comma two cells
		strings.Join(r.EpisodeTitles, " / "), r.Source, ui.Timestamp(r.CachedAt), r.Reason.String(),
		strings.Join(candidates, "; "), string(problem.Code), problem.Message.String(), pathBase64(r.Path),
		formatConfidence(r.EpisodeConfidence), r.AirDate, r.Order,
	}
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
	return slicesx.Map(csvColumns, func(name string) Field { return Field{name, docs[name]} })
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
	return &csvWriter{newBufferedWriter(w, head+strings.Join(csvColumns, ",")+"\r\n"), opts.Terminal}
}

func (w *csvWriter) Match(r Record) error { return w.write([]byte(csvLine(csvCells(&r), w.escape))) }

func csvLine(cells []string, escape bool) string {
	for i, cell := range cells {
		cells[i] = formatCell(cell, escape)
	}
	return strings.Join(cells, ",") + "\r\n"
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
		b.WriteString(csvLine([]string{
			status, strconv.Itoa(g.TMDBID), g.Title, g.OriginalTitle, ui.Number(g.Year), season, episode, e.Title, e.AirDate,
			path, better.String(), pathBase64(path),
		}, escape))
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

// formatCell returns the text of a cell. A spreadsheet runs a cell that begins with = + - @, a tab or CR as a formula,
// and file names come from strangers, so such a cell gets a leading '; path_base64 has the exact path. The cell is
// quoted only if RFC 4180 requires it or if it has outer spaces, which some readers drop. It keeps line breaks, which
// encoding/csv would turn into CRLF.
func formatCell(s string, escape bool) string {
	s = string([]rune(s)) // each byte that is not UTF-8 becomes U+FFFD
	if isFormula(s) {
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
