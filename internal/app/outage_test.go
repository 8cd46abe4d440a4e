package app

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/run"
)

// A nightly run that finds one new title while the router reconnects must not leave it to the next night.
func TestARunWithOneNewTitleWaitsAnOutageOut(t *testing.T) {
	const outage = 10 * time.Minute
	for autoRecover, want := range map[string]string{"15m": "unmatched", "off": "pending"} {
		t.Run(autoRecover, func(t *testing.T) {
			dir := t.TempDir()
			cfg, _, err := config.Load(config.Sources{Environ: []string{
				"HOME=" + dir, "AppData=" + dir, "LocalAppData=" + dir, "ANIVAULT_TMDB_TOKEN=0123456789abcdef0123456789abcdef",
				"ANIVAULT_AUTO_RECOVER=" + autoRecover, "ANIVAULT_COORDINATOR=memory",
			}})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				start, sent := time.Now(), 0
				wire := roundTripper(func(req *http.Request) (*http.Response, error) {
					if sent++; time.Since(start) < outage {
						return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
					}
					return &http.Response{
						StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: req,
						Body: io.NopCloser(strings.NewReader(`{"page":1,"results":[],"total_pages":1,"total_results":0}`)),
					}, nil
				})
				a, err := Open(cfg, Options{
					Warn: func(err error) { t.Error(err) }, WrapWire: func(http.RoundTripper) http.RoundTripper { return wire },
				})
				if err != nil {
					t.Fatal(err)
				}
				var got []report.Record
				names := run.Names(io.NopCloser(strings.NewReader("Frieren - 01.mkv\n")))
				err = a.Match(context.Background(), names, func(r report.Record) error {
					got = append(got, r)
					return nil
				}, nil)
				took := time.Since(start)
				if err = errors.Join(err, a.Close()); err != nil || len(got) != 1 || string(got[0].Status) != want {
					t.Errorf("%+v after %s, %v; want %s", got, took, err, want)
				}
				if most := 20 + int(took/(10*time.Second)); sent > most || took > outage+time.Minute {
					t.Errorf("%d requests in %s", sent, took)
				}
			})
		})
	}
}
