package report

import (
	"bufio"
	"cmp"
	"io"
	"strings"

	"github.com/anivault/anivault/internal/lang"
)

// Format is how results are written: the value of --format.
type Format string

// The formats of --format.
const (
	FormatTable  Format = "table"
	FormatJSON   Format = "json"
	FormatNDJSON Format = "ndjson"
	FormatCSV    Format = "csv"
)

// Formats returns the names of all formats.
func Formats() []string {
	return []string{string(FormatTable), string(FormatJSON), string(FormatNDJSON), string(FormatCSV)}
}

// Options configure a Writer.
type Options struct {
	Width         int          // table: terminal width in cells; 0: lines are never cut
	Resized       func() int   // table: returns the current Width of the terminal; nil if it is constant
	ByteOrderMark bool         // csv: begins with a byte order mark, by which spreadsheets recognise UTF-8
	Terminal      bool         // csv: escape control and format characters; summary: the user has seen the table
	Color         bool         // table: use ANSI colours
	DefaultFolder string       // shown for a path without a folder: "." for files, "" for names
	Explain       bool         // include steps, scores and reasons; csv never has them
	Seasons       bool         // table: one line per season
	Filter        StatusFilter // table and summary: the selected statuses; the caller omits other records
	Ending        Ending       // for the summary: how the run ended
}

// Ending describes how a run ended. The zero value is a run that was neither interrupted nor stopped.
type Ending struct {
	Interrupted     bool
	FilesFound      int       // files found so far
	StillSearching  bool      // the search for files was not complete
	CacheOnlyReason lang.Text // since when and why only the cache is used; "" otherwise
	CacheOnlyEnd    lang.Text // how that ends
	StoppedGateway  string    // the address of the gateway that is asked, if it sends nothing
	Prompted        bool      // the user was asked about uncertain files
	KeyVariable     string    // the environment variable with the key; "" if it comes from a file
	Arguments       string    // the command line's paths or names; "" suggests no command
	Interactive     string    // the command that asks about uncertain files; "" is match --interactive
	NotRevalidated  int       // cached answers that could not be revalidated
}

// Writer writes records in order, then a summary. Callers that wait for more records should call Flush first. After the
// first error of the underlying writer, every call returns that error.
type Writer interface {
	// Match writes one record; it may be buffered until the next Flush or Close. A season's line follows at its end.
	Match(Record) error
	// Flush writes the buffered output.
	Flush() error
	// Close ends the output with the summary. It must be called after an interrupted run too, to complete the document.
	// It does not close the underlying writer.
	Close(Summary) error
}

// NewWriter returns the writer for a format, or an error if the format is unknown.
func NewWriter(format Format, w io.Writer, opts Options) (Writer, error) {
	switch format {
	case FormatTable:
		if opts.Seasons {
			return &seasonTable{table: newTable(w, opts), showSkipped: opts.Filter.contains(string(Skipped))}, nil
		}
		return newTable(w, opts), nil
	case FormatJSON:
		return &jsonWriter{
			bufferedWriter: newBufferedWriter(w, `{"matches":[`), explain: opts.Explain,
			beforeRecord: "\n", betweenRecords: ",\n", beforeSummary: "\n],\n\"summary\":", afterSummary: "}\n",
		}, nil
	case FormatNDJSON:
		return &jsonWriter{
			bufferedWriter: newBufferedWriter(w, ""), explain: opts.Explain, afterRecord: "\n", afterSummary: "\n",
		}, nil
	case FormatCSV:
		return newCSV(w, opts), nil
	}
	return nil, lang.Error("%q is not a format: allowed are %s", string(format), strings.Join(Formats(), ", "))
}

// bufferedWriter buffers output, and passes on whole writes only. After the first error, it writes no more and returns
// that error from every call.
type bufferedWriter struct{ buf *bufio.Writer }

const maxBuffered = 64 << 10

func newBufferedWriter(w io.Writer, head string) *bufferedWriter {
	s := &bufferedWriter{bufio.NewWriterSize(w, maxBuffered)}
	_, _ = s.buf.WriteString(head) // it fits the buffer
	return s
}

func (s *bufferedWriter) write(b []byte) error {
	if len(b) > s.buf.Available() {
		if err := s.Flush(); err != nil {
			return err
		}
	}
	_, err := s.buf.Write(b)
	return wrapWriteError(err)
}

// Close flushes the buffer. It writes no summary, because these formats have it on stderr.
func (s *bufferedWriter) Close(Summary) error { return s.Flush() }

func (s *bufferedWriter) writeLast(b []byte) error { return cmp.Or(s.write(b), s.Flush()) }

func (s *bufferedWriter) Flush() error { return wrapWriteError(s.buf.Flush()) }

func wrapWriteError(err error) error {
	if err == nil {
		return nil
	}
	return lang.Error("write results: %w", err)
}
