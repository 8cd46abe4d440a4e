package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/anivault/anivault/internal/apply"
	"github.com/anivault/anivault/internal/ui"
)

func TestTheLineOfARun(t *testing.T) {
	const gb = 1 << 30
	for name, row := range map[string]struct {
		p       apply.Progress
		elapsed time.Duration
		room    int
		want    string
	}{
		"links": {apply.Progress{Files: 300, FilesTotal: 1200}, 300 * time.Millisecond, 80, "300/1200 files"},
		"many of them": {
			apply.Progress{Files: 300, FilesTotal: 1200},
			10 * time.Second, 80,
			"300/1200 files · 10 s · about 30 s left",
		},
		"copies": {
			apply.Progress{Files: 1, FilesTotal: 4, Bytes: gb, BytesTotal: 4 * gb},
			10 * time.Second, 80,
			"1/4 files · 1.1 GB of 4.3 GB copied · 107.4 MB/s · 10 s · about 30 s left",
		},
		"in a narrow one": {
			apply.Progress{Files: 1, FilesTotal: 4, Bytes: gb, BytesTotal: 4 * gb},
			10 * time.Second, 40,
			"1/4 files · 1.1 GB of 4.3 GB copied",
		},
		"before the first": {
			apply.Progress{FilesTotal: 4, BytesTotal: 4 * gb},
			10 * time.Second, 80,
			"0/4 files · 0 B of 4.3 GB copied · 0 B/s · 10 s",
		},
		"nowhere": {apply.Progress{Files: 1, FilesTotal: 4}, time.Second, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := applyProgressText(row.p, row.elapsed, row.room); got != row.want {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}

// A person sees how far a run is, nobody else does, and nothing stays of it.
func TestTheLineOfARunIsForTerminals(t *testing.T) {
	for name, row := range map[string]struct {
		streams ui.Streams
		quiet   bool
		drawn   bool
	}{
		"a terminal":        {ui.Streams{ErrTTY: true, OutTTY: true, Width: 80}, false, true},
		"a quiet one":       {ui.Streams{ErrTTY: true, OutTTY: true, Width: 80}, true, false},
		"a pipe":            {ui.Streams{}, false, false},
		"a dumb one":        {ui.Streams{ErrTTY: true, Dumb: true, Width: 80}, false, false},
		"results in a pipe": {ui.Streams{ErrTTY: true, Width: 80}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs strings.Builder
			row.streams.Out, row.streams.Err = &out, &errs
			f := &factory{streams: row.streams, quiet: row.quiet}
			a := applyRun{
				f: f, format: "table", started: time.Now().Add(-time.Second), lastProgress: time.Now().Add(-time.Second),
				statusLine: ui.NewStatus(f.streams, !f.quiet),
			}
			a.showProgress(apply.Progress{Files: 7, FilesTotal: 9})
			a.statusLine.Clear()
			if drawn := strings.Contains(errs.String(), "7/9 files"); drawn != row.drawn || out.Len() > 0 {
				t.Errorf("drawn: %v, on stdout: %q", drawn, out.String())
			}
			if row.drawn && !strings.HasSuffix(errs.String(), "\r\x1b[K") {
				t.Errorf("something stays: %q", errs.String())
			}
		})
	}
}

// A run that changed nothing leaves no history, so the notice itself says what is wrong.
func TestTheNoticeOfFilesNotPutInPlaceSaysWhy(t *testing.T) {
	out := &apply.Outcome{Run: "20261122-020431-k3f9", Results: []apply.Result{
		{Status: apply.StatusPlanned, Source: "/in/a.mkv"},
		{Status: apply.StatusRefused, Source: "/in/b.mkv", Problem: &apply.Problem{Code: apply.CodeNoSpace}},
		{Status: apply.StatusFailed, Source: "/in/c.mkv", Problem: &apply.Problem{Code: apply.CodeNoSpace}},
	}}
	notices := (&applyRun{}).noticesOf(out)
	want := "2 files not put in place; the first is /in/b.mkv: the disk or the quota is full"
	if len(notices) != 1 || notices[0].Text != want {
		t.Errorf("%+v, want %q", notices, want)
	}
}
