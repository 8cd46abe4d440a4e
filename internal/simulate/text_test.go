package simulate

import (
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTextFitsEightyColumns(t *testing.T) {
	for _, name := range Presets() {
		c := config(t, name, "sliding:50/1s,count_rejected=true,penalty=500/1m,retry_after=delta", 12)
		c.Length = 10 * time.Minute
		var b strings.Builder
		if err := run(t, c).WriteText(&b); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > textWidth {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
		}
	}
}

func TestTextNamesPhasesAndTransitions(t *testing.T) {
	var b strings.Builder
	if err := run(t, config(t, `{"from": 5, "to": 8, "do": {"kind": "status", "status": 503}}`, "none",
		1)).WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"-- normal --", "      5s -- status 503 --", "Normal -> Sleep: consecutive_failures", "HalfOpen -> Normal: probe_ok",
		"good answers", "0 refused (429)",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
}

func TestCSVSumsUpToTheTotals(t *testing.T) {
	r := run(t, config(t, "gauntlet", "sliding:50/1s", 2))
	var b strings.Builder
	if err := r.WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(csvHeader, rows[0]); diff != "" {
		t.Error(diff)
	}
	sent, moves := 0, 0
	for _, row := range rows[1:] {
		n := 0
		if _, err := fmt.Sscan(row[4], &n); err != nil {
			t.Fatal(err)
		}
		sent += n
		if row[10] != "" {
			moves += len(strings.Split(row[10], "; "))
		}
	}
	if sent != r.Totals.Sent || moves != len(r.Transitions) || len(rows) != len(r.Steps)+1 {
		t.Errorf("%d sent, %d transitions in %d rows; the totals say %d, %d, %d", sent, moves, len(rows), r.Totals.Sent,
			len(r.Transitions), len(r.Steps)+1)
	}
}

// TestSVG checks that the picture is XML, refers to nothing elsewhere, and has its labels.
func TestSVG(t *testing.T) {
	for _, name := range append(Presets(), `{"to": 1, "p": 0.05, "do": {"kind": "status", "status": 500}}`) {
		var b strings.Builder
		if err := run(t, config(t, name, "sliding:50/1s", 2)).WriteSVG(&b); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		dec := xml.NewDecoder(strings.NewReader(text))
		for {
			token, err := dec.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			start, ok := token.(xml.StartElement)
			if !ok {
				continue
			}
			for _, a := range start.Attr {
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") || a.Name.Local == "href" {
					t.Errorf("%s: <%s %s=%q>", name, start.Name.Local, a.Name.Local, a.Value)
				}
			}
		}
		for _, want := range []string{
			"prefers-color-scheme:dark", ">HalfOpen<", ">CacheOnly<", "requests a second",
			"good answers", "rate allowed", "<title",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is missing", name, want)
			}
		}
		if strings.Count(text, "http") != 1 { // the namespace
			t.Errorf("%s: it refers to something elsewhere", name)
		}
	}
}
