package cli

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/tmdb"
)

func TestErrorsThatAPersonCanMendAreHinted(t *testing.T) {
	for name, row := range map[string]struct {
		err  error
		hint string // "" means none
	}{
		"unknown authority": {&tmdb.ConfigError{Kind: tmdb.ConfigUnknownCA}, "ANIVAULT_TMDB_CA_FILE"},
		"wrong name":        {&tmdb.ConfigError{Kind: tmdb.ConfigWrongName}, "base_url"},
		"expired":           {&tmdb.ConfigError{Kind: tmdb.ConfigExpired}, "clock"},
		"certificate": {
			&tmdb.ConfigError{Kind: tmdb.ConfigCertificate, Err: &tls.CertificateVerificationError{}},
			"ANIVAULT_TMDB_CA_FILE",
		},
		"plain port": {fmt.Errorf("ask: %w", &tmdb.ConfigError{Kind: tmdb.ConfigPlainPort}), "http://"},
		"not HTTP":   {&tmdb.ConfigError{Kind: tmdb.ConfigNotHTTP}, "port"},
		"TLS":        {&tmdb.ConfigError{Kind: tmdb.ConfigTLS}, "base_url"},
		"redirect":   {&tmdb.ConfigError{Kind: tmdb.ConfigRedirect}, "the key was not sent there"},
		"downgrade":  {&tmdb.ConfigError{Kind: tmdb.ConfigDowngrade}, "the key was not sent there"},
		"proxy":      {&tmdb.ConfigError{Kind: tmdb.ConfigProxy}, "HTTPS_PROXY"},
		"refused key": {
			&tmdb.UnauthorizedError{Cause: &tmdb.Error{HTTPStatus: 401, Code: 7}},
			"ANIVAULT_TMDB_TOKEN",
		},
		"a client's token": {&tmdb.UnauthorizedError{
			Cause:      &tmdb.Error{HTTPStatus: 401, Code: 7, Gateway: "unauthorized"},
			KeyAsToken: true,
		}, "serve token new"},
		"suspended key":          {&tmdb.UnauthorizedError{Cause: &tmdb.Error{HTTPStatus: 401, Code: 10}}, "suspended"},
		"a key in token's place": {&tmdb.UnauthorizedError{KeyAsToken: true}, "ANIVAULT_TMDB_API_KEY"},
		"unknown name": {&net.OpError{
			Op:  "dial",
			Err: &net.DNSError{Name: "api.themoviedb.ogr", IsNotFound: true},
		}, "api.themoviedb.ogr"},
		"resolver in trouble":     {&net.DNSError{Err: "server misbehaving", IsTemporary: true}, ""},
		"login page with 200":     {&tmdb.DecodeError{Reason: tmdb.ReasonHTML}, "web page"},
		"page of an edge":         {&tmdb.Error{HTTPStatus: 403, Foreign: tmdb.ReasonHTML}, "web page"},
		"gzip that can't be read": {&tmdb.DecodeError{Reason: tmdb.ReasonGzip}, ""},
		"a spent budget":          {fmt.Errorf("ask: %w", ratelimit.ErrBudget), "quota"},
		"a gateway's budget":      {&tmdb.Error{HTTPStatus: 503, Gateway: "quota"}, "quota"},
		"a gateway that is offline": {
			&tmdb.Error{HTTPStatus: 503, Code: 9, Gateway: "offline", Host: "gw:7373"}, "the operator of gw:7373",
		},
		"a gateway that will ask again": {&tmdb.Error{HTTPStatus: 503, Code: 9, Gateway: "sleep"}, ""},
		"TMDB's own 404":                {&tmdb.Error{HTTPStatus: 404, Code: 34}, ""},
		"anything else":                 {errors.New("something else"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tmdbHint(row.err); !strings.Contains(got.String(), row.hint) || (got == "") != (row.hint == "") {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestAFullDiskHasAHint(t *testing.T) {
	for path, want := range map[string]string{
		"/media/reports/r.html": "free some space on the disk of /media/reports and run the command again; " +
			"what was there is unchanged",
		os.Stdout.Name(): "the output is incomplete: free some space on its disk, and run the command again",
	} {
		err := fmt.Errorf("write the report: %w", &fs.PathError{Op: "write", Path: path, Err: syscall.ENOSPC})
		if got := hintForError(err).String(); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
}
