package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/ui"
)

func write(t testing.TB, format Format, opts Options, records []Record, s Summary) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(format, &b, opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := w.Match(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(s); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestOutputOfEveryFormat(t *testing.T) {
	var tally Tally
	s := sampleSummary(&tally)
	for _, c := range []struct {
		name   string
		format Format
		opts   Options
	}{
		{"table80.txt", FormatTable, Options{Width: 80}},
		{"table40.txt", FormatTable, Options{Width: 40}},
		{"table200.txt", FormatTable, Options{Width: 200}},
		{"table_pipe.txt", FormatTable, Options{}},
		{"table_color.txt", FormatTable, Options{Width: 80, Color: true}},
		{"table_explain.txt", FormatTable, Options{Width: 80, Explain: true}},
		{"records.ndjson", FormatNDJSON, Options{}},
		{"records_explain.ndjson", FormatNDJSON, Options{Explain: true}},
		{"document.json", FormatJSON, Options{}},
		{"rows.csv", FormatCSV, Options{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			golden(t, c.name, write(t, c.format, c.opts, sample(), s))
		})
	}
}

func TestSummaryForPeople(t *testing.T) {
	for _, c := range []struct {
		name string
		opts Options
	}{{"summary80.txt", Options{Width: 80}}, {"summary40.txt", Options{Width: 40, Color: true}}} {
		var tally Tally
		var b bytes.Buffer
		if err := tally.Write(&b, sampleSummary(&tally), c.opts); err != nil {
			t.Fatal(err)
		}
		golden(t, c.name, b.Bytes())
	}
}

func TestSummarySaysOfAFolderOnlyWhatHoldsForAllOfIt(t *testing.T) {
	unmatched := func(path, why string) Record { return Record{Path: path, Status: Unmatched, Reason: lang.Text(why)} }
	for name, c := range map[string]struct {
		records []Record
		want    string
	}{
		"one reason": {
			[]Record{unmatched("/d/a.mkv", "no title"), unmatched("/d/b.mkv", "no title")},
			"  /d (2 files)\n    for example a.mkv: no title\nnext",
		},
		"two reasons": {
			[]Record{
				unmatched("/d/a.mkv", "no title"), unmatched("/d/b.mkv", "nothing like it"),
				unmatched("/d/c.mkv", "no title"),
			},
			"  /d (3 files)\n    for example a.mkv: no title\nnext",
		},
		"the same reason in the next folder": {
			[]Record{unmatched("/d/a.mkv", "no title"), unmatched("/d/b.mkv", "else"), unmatched("/e/a.mkv", "no title")},
			"  /d (2 files)\n    for example a.mkv: no title\n  /e/a.mkv\n    no title\nnext",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var tally Tally
			for _, r := range c.records {
				tally.Add(r)
			}
			var b strings.Builder
			if err := tally.Write(&b, tally.Counts(), Options{Ending: Ending{Arguments: "."}}); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(b.String(), c.want) {
				t.Errorf("want %q in:\n%s", c.want, b.String())
			}
		})
	}
}

// The summary says how a run ended, and what the user can do about it, if anything.
func TestSummarySaysHowTheRunEnded(t *testing.T) {
	matched := Record{Path: "/d/a.mkv", Status: Matched, Kind: "movie", TMDBID: 1, Confidence: ptr(1.0)}
	blocked := Record{Path: "/d/b.mkv", Status: Pending, Error: &Error{CodeBlocked, "nothing is asked"}}
	const stopped = "requests were stopped at 12:00:00"
	for name, c := range map[string]struct {
		records []Record
		ending  Ending
		has     []string
		lacks   []string
	}{
		"to its end": {
			[]Record{matched},
			Ending{FilesFound: 1},
			[]string{"1 file: 1 matched\n"},
			[]string{"interrupted", "hint", "revalidated"},
		},
		"interrupted": {
			[]Record{matched},
			Ending{Interrupted: true, FilesFound: 9},
			[]string{"1 file: 1 matched\ninterrupted after 1 of 9 files; the same command continues from here\n"},
			nil,
		},
		"interrupted in the walk": {
			nil,
			Ending{Interrupted: true, FilesFound: 9, StillSearching: true},
			[]string{"no file was matched yet\ninterrupted after 0 of 9 or more files"},
			[]string{"no media"},
		},
		"stopped": {
			[]Record{blocked},
			Ending{CacheOnlyReason: stopped, CacheOnlyEnd: "it ends at noon"},
			[]string{
				"1 pending (blocked): " + stopped + ", and nothing is cached\n",
				"next: it ends at noon; then run the same command again",
			},
			[]string{"until when", "hint"},
		},
		"stopped, and all is cached": {
			[]Record{matched},
			Ending{CacheOnlyReason: stopped, CacheOnlyEnd: "it ends at noon"},
			[]string{"\nhint: " + stopped + "; it ends at noon\n"},
			nil,
		},
		"not revalidated": {
			[]Record{matched},
			Ending{NotRevalidated: 2},
			[]string{"2 answers of 38 could not be revalidated"},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var tally Tally
			for _, r := range c.records {
				tally.Add(r)
			}
			s := tally.Counts()
			s.CacheHits, s.CacheMisses = 30, 8
			var b strings.Builder
			if err := tally.Write(&b, s, Options{Ending: c.ending}); err != nil {
				t.Fatal(err)
			}
			for _, want := range c.has {
				if !strings.Contains(b.String(), want) {
					t.Errorf("want %q in:\n%s", want, b.String())
				}
			}
			for _, not := range c.lacks {
				if strings.Contains(b.String(), not) {
					t.Errorf("%q is in:\n%s", not, b.String())
				}
			}
		})
	}
}

// Of a skipped file the name tells why it is, and the reason says so: neither is cut for the other.
func TestASkippedFileKeepsItsNameAndItsReason(t *testing.T) {
	skipped := func(name string) Record {
		return Record{Path: "/d/" + name, Status: Skipped, Reason: "creditless opening or ending"}
	}
	records := []Record{
		skipped("[Group] Sousou no Frieren - NCOP1 (1080p) [F02B9643].mkv"),
		skipped("[Group] Sousou no Frieren - NCED1 (1080p) [F02B9643].mkv"), skipped("NCOP.mkv"),
	}
	want := `/d
  skipped             [Group] Sousou no Frieren - NCOP1 (1080p) [F02B9643].mkv
    creditless opening or ending
  skipped             [Group] Sousou no Frieren - NCED1 (1080p) [F02B9643].mkv
  skipped             NCOP.mkv  (creditless opening or ending)
`
	if diff := cmp.Diff(want, string(write(t, FormatTable, Options{Width: 80}, records, Summary{}))); diff != "" {
		t.Error(diff)
	}
}

// Colour says nothing that the words do not say: without its escapes the coloured table is the plain one.
func TestColourCarriesNoMeaningAlone(t *testing.T) {
	plain := write(t, FormatTable, Options{Width: 80}, sample(), Summary{})
	coloured := write(t, FormatTable, Options{Width: 80, Color: true}, sample(), Summary{})
	if bytes.Equal(plain, coloured) {
		t.Fatal("no colour in the coloured table")
	}
	if diff := cmp.Diff(string(plain),
		regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(string(coloured), "")); diff != "" {
		t.Error(diff)
	}
}

func TestTableHoldsItsWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(minWidth, 220).Draw(t, "width")
		var records []Record
		for range rapid.IntRange(1, 5).Draw(t, "n") {
			records = append(records, anyRecord(t))
		}
		var b bytes.Buffer
		w, err := NewWriter(FormatTable, &b, Options{Width: width, Explain: rapid.Bool().Draw(t, "explain")})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if err := w.Match(r); err != nil {
				t.Fatal(err)
			}
		}
		for _, line := range strings.Split(b.String(), "\n") {
			if n := ui.Width(line); n > width {
				t.Fatalf("line of %d cells in a terminal of %d: %q", n, width, line)
			}
			if strings.ContainsFunc(line, ui.Dangerous) {
				t.Fatalf("a control character reached the terminal: %q", line)
			}
		}
	})
}

// anyRecord draws a record that keeps the rules of the contract, with text of every kind in it.
func anyRecord(t *rapid.T) Record {
	text := rapid.OneOf(
		rapid.StringN(0, 60, -1),
		rapid.SampledFrom([]string{
			"Cowboy Bebop", "千と千尋の神隠し", "비밀의 숲", "a\nb", "\x1b[2J", "\u202egnp",
			"e\u0301 👨‍👩‍👧 ﾊﾝｶｸ",
		}),
	)
	r := Record{
		Path: strings.ReplaceAll(text.Draw(t, "dir"), "\x00", "") + "/" +
			string(rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "name")),
		Status: rapid.SampledFrom([]Status{Matched, Ambiguous, Unmatched, Pending, Skipped, Failed}).Draw(t, "status"),
		Reason: lang.Text(text.Draw(t, "reason")),
	}
	switch r.Status {
	case Matched:
		r.Confidence = ptr(rapid.Float64Range(0, 1).Draw(t, "confidence"))
		r.Kind = rapid.SampledFrom([]string{"tv", "movie"}).Draw(t, "kind")
		r.TMDBID = rapid.IntRange(1, 2_000_000).Draw(t, "id")
		r.Title, r.OriginalTitle = text.Draw(t, "title"), text.Draw(t, "original")
		r.Year = rapid.IntRange(0, 2030).Draw(t, "year")
		if rapid.Bool().Draw(t, "placed") {
			r.Season = ptr(rapid.IntRange(0, 40).Draw(t, "season"))
			r.Episodes = rapid.SliceOfN(rapid.IntRange(0, 1200), 1, 6).Draw(t, "episodes")
			r.EpisodeTitles = []string{text.Draw(t, "episode title")}
		}
		r.Source = rapid.SampledFrom([]string{"network", "stale", "index", "pin"}).Draw(t, "source")
		if r.Source == "stale" {
			r.CachedAt = fetched
		}
	case Ambiguous:
		r.Candidates = []Candidate{{Kind: "tv", TMDBID: 3, Title: text.Draw(t, "candidate"), Confidence: 0.5}}
	case Pending, Failed:
		r.Error = &Error{rapid.SampledFrom(Codes()).Draw(t, "code").Code, lang.Text(text.Draw(t, "message"))}
	case Unmatched, Skipped:
	}
	r.Steps = []Step{{Stage: "query", Detail: lang.Text(text.Draw(t, "step"))}}
	return r
}

// A document and its NDJSON hold the same objects.
func TestDocumentHoldsTheSameRecords(t *testing.T) {
	for _, n := range []int{0, 1, len(sample())} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			records := sample()[:n]
			lines := strings.Split(strings.TrimSuffix(string(write(t, FormatNDJSON, Options{Explain: true}, records,
				Summary{Files: n})), "\n"), "\n")
			want := `{"matches":[` + strings.Join(lines[:n], ",") + `],"summary":` + lines[n] + `}`
			got := strings.ReplaceAll(string(write(t, FormatJSON, Options{Explain: true}, records, Summary{Files: n})), "\n", "")
			if diff := cmp.Diff(want, got); diff != "" || !json.Valid([]byte(got)) {
				t.Error(diff)
			}
		})
	}
}

func TestFlushWritesWholeLines(t *testing.T) {
	for _, format := range Formats() {
		var b bytes.Buffer
		w, err := NewWriter(Format(format), &b, Options{Width: 80})
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range sample() {
			before := b.Len()
			if err := errors.Join(w.Match(r), w.Flush()); err != nil {
				t.Fatal(err)
			}
			if b.Len() == before {
				t.Errorf("%s: record %d is held back", format, i)
			}
			if format == string(FormatNDJSON) && !bytes.HasSuffix(b.Bytes(), []byte("}\n")) {
				t.Errorf("record %d is not a whole line", i)
			}
		}
	}
}

// chunks remembers every write.
type chunks [][]byte

func (c *chunks) Write(b []byte) (int, error) {
	*c = append(*c, bytes.Clone(b))
	return len(b), nil
}

// However many records come at once, little is held, and no write ends inside a line.
func TestManyRecordsLeaveInWholeLinesAndFewWrites(t *testing.T) {
	var out chunks
	w, err := NewWriter(FormatNDJSON, &out, Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for range 1000 {
		for _, r := range sample() {
			if err := w.Match(r); err != nil {
				t.Fatal(err)
			}
			n++
		}
	}
	if err := w.Close(Summary{}); err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, c := range out {
		if len(c) > maxBuffered || !bytes.HasSuffix(c, []byte("}\n")) {
			t.Errorf("a write of %d bytes ends in %q", len(c), c[len(c)-3:])
		}
		lines += bytes.Count(c, []byte("\n"))
	}
	if lines != n+1 || len(out) > n/10 {
		t.Errorf("%d lines in %d writes for %d records", lines, len(out), n)
	}
}

func TestCSVReadsBack(t *testing.T) {
	out := write(t, FormatCSV, Options{}, sample(), Summary{})
	rows, err := csv.NewReader(bytes.NewReader(out)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1+len(sample()) {
		t.Fatalf("%d rows for %d records", len(rows), len(sample()))
	}
	for i, r := range sample() {
		row := map[string]string{}
		for j, name := range csvColumns {
			row[name] = rows[i+1][j]
		}
		if row["status"] != string(r.Status) {
			t.Errorf("row %d: status %q, want %q", i, row["status"], r.Status)
		}
		for name, cell := range row {
			if isFormula(cell) {
				t.Errorf("row %d: a spreadsheet would run %s: %q", i, name, cell)
			}
		}
	}
	if rows := write(t, FormatCSV, Options{}, nil, Summary{}); !bytes.HasPrefix(rows, []byte("path,status,")) ||
		bytes.Count(rows, []byte("\n")) != 1 {
		t.Errorf("an empty run has no header: %q", rows)
	}
}

func TestUnknownFormatIsRefusedByName(t *testing.T) {
	_, err := NewWriter("xml", io.Discard, Options{})
	if err == nil || !strings.Contains(err.Error(), `"xml"`) || !strings.Contains(err.Error(), "ndjson") {
		t.Errorf("error %v names neither the value nor what is allowed", err)
	}
}

// limited fails as a full disk or a closed pipe does, after n bytes.
type limited struct {
	n   int
	err error
}

func (l *limited) Write(b []byte) (int, error) {
	if l.n -= len(b); l.n < 0 {
		return 0, l.err
	}
	return len(b), nil
}

func TestWriteErrorsAreReturnedAndStay(t *testing.T) {
	for _, format := range Formats() {
		for _, cause := range []error{syscall.EPIPE, syscall.ENOSPC} {
			w, err := NewWriter(Format(format), &limited{300, cause}, Options{Width: 80})
			if err != nil {
				t.Fatal(err)
			}
			var first error
			for _, r := range sample() {
				if err := errors.Join(w.Match(r), w.Flush()); err != nil && first == nil {
					first = err
				} else if first != nil && err == nil {
					t.Errorf("%s: a later record was written after %v", format, first)
				}
			}
			if !errors.Is(first, cause) {
				t.Errorf("%s: error %v does not wrap %v", format, first, cause)
			}
			if err := w.Close(Summary{}); !errors.Is(err, cause) {
				t.Errorf("%s: Close returned %v", format, err)
			}
		}
	}
	var tally Tally
	if err := tally.Write(&limited{0, syscall.EPIPE}, Summary{}, Options{}); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("the human summary's error is %v", err)
	}
}

// On a terminal no cell can move the cursor or turn the line around; elsewhere the bytes stay.
func TestCSVIsHarmlessOnATerminal(t *testing.T) {
	records := []Record{{
		Path: "a\x1b[31m\u202e\u009b\u061c\nb.mkv", Status: Matched, Kind: "tv", TMDBID: 1,
		Title: "bell\x07 \u2066x", Reason: "two\rlines",
	}}
	shown := string(write(t, FormatCSV, Options{Terminal: true}, records, Summary{}))
	if i := strings.IndexFunc(strings.ReplaceAll(shown, "\r\n", ""), ui.Dangerous); i >= 0 {
		t.Errorf("a terminal gets %q", shown)
	}
	if want := `a\x1b[31m\u202e\u009b\u061c\nb.mkv,matched,,tv,1,bell\a \u2066x,`; !strings.Contains(shown, want) {
		t.Errorf("%q lacks %q", shown, want)
	}
	if plain := string(write(t, FormatCSV, Options{}, records, Summary{})); !strings.Contains(plain, "bell\x07 \u2066x") {
		t.Errorf("a pipe gets %q", plain)
	}
}
