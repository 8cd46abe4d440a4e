package report

import (
	"io"
	"strings"

	"github.com/anivault/anivault/internal/lang"
)

// Format names a form of output.
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

// Options adapt a Writer to where it writes and to what was asked for.
type Options struct {
	Width    int        // table: of the terminal in cells; 0: lines are never cut
	Resized  func() int // table: Width at this moment, for a terminal that is made narrower or wider; nil: it stays
	Mark     bool       // csv: begins with a byte order mark, by which spreadsheets know UTF-8
	Terminal bool       // csv: control and format characters are escaped, as the table always does
	Color    bool       // table: ANSI colours, which never carry meaning alone
	Here     string     // shown as the folder of a path that has none: "." where files were looked for, "" for mere names
	Explain  bool       // steps, scores and reasons too; csv has no place for them
	Seasons  bool       // table: a line a season
	Only     Only       // table and summary for people: what was asked for; the caller leaves out the rest of the records
	Ending   Ending     // summary for people: how the run ended
}

// Ending says how a run ended, beside its counts. The zero value is a run that was neither interrupted nor stopped.
type Ending struct {
	Interrupted bool
	Found       int       // files found until then
	Searching   bool      // there may be more of them
	Stopped     lang.Text // since when and why only the cache answers; "" where the limiter is in another state
	Asked       bool      // the person was asked about what is in doubt
	Names       bool      // mere names were matched: their folders need not exist
	KeyVariable string    // the variable that the key in force comes from; "" where it comes from a file
	Given       string    // what was to be matched, as words of the command line; "" where that can't be typed again
	Unrefreshed int       // answers that were to be revalidated and could not be
}

// Writer writes records in order, and a summary at the end. A caller that is about to wait calls Flush first. After the
// first error of the underlying writer every call returns it.
type Writer interface {
	// Match writes one record, at the latest with the next Flush or Close; a season's line waits for the season's end.
	Match(Record) error
	// Flush writes what was gathered.
	Flush() error
	// Close ends the output with the summary. It does not close the underlying writer. A run that was cut short
	// closes as well: the document stays whole.
	Close(Summary) error
}

// NewWriter returns the writer of a format; an unknown format is an error.
func NewWriter(format Format, w io.Writer, opts Options) (Writer, error) {
	switch format {
	case FormatTable:
		if opts.Seasons {
			return &seasons{table: newTable(w, opts), left: opts.Only.names(string(Skipped))}, nil
		}
		return newTable(w, opts), nil
	case FormatJSON:
		return &jsonWriter{
			sink: newSink(w, `{"matches":[`), explain: opts.Explain,
			before: "\n", between: ",\n", above: "\n],\n\"summary\":", end: "}\n",
		}, nil
	case FormatNDJSON:
		return &jsonWriter{sink: newSink(w, ""), explain: opts.Explain, after: "\n", end: "\n"}, nil
	case FormatCSV:
		return newCSV(w, opts), nil
	}
	return nil, lang.Error("%q is not a format: allowed are %s", string(format), strings.Join(Formats(), ", "))
}

// sink gathers what is written, and keeps the first error, so that a run whose reader is gone stops writing.
type sink struct {
	w    io.Writer
	held []byte
	err  error
}

func newSink(w io.Writer, head string) *sink { return &sink{w: w, held: []byte(head)} }

const heldBytes = 64 << 10

func (s *sink) write(b []byte) error {
	if s.err != nil {
		return s.err
	}
	if len(s.held)+len(b) > heldBytes {
		if err := s.Flush(); err != nil {
			return err
		}
	}
	s.held = append(s.held, b...)
	return nil
}

// Close writes no summary: where formats have none, people read it on stderr.
func (s *sink) Close(Summary) error { return s.Flush() }

func (s *sink) writeLast(b []byte) error {
	if err := s.write(b); err != nil {
		return err
	}
	return s.Flush()
}

func (s *sink) Flush() error {
	if s.err != nil || len(s.held) == 0 {
		return s.err
	}
	n, err := s.w.Write(s.held)
	if err == nil && n < len(s.held) {
		err = io.ErrShortWrite
	}
	if err != nil {
		s.err = lang.Error("write results: %w", err)
	}
	s.held = s.held[:0]
	return s.err
}
