package tmdbfake

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"
)

func TestNameServersThatFail(t *testing.T) {
	for _, row := range []struct {
		name  string
		fault DNSFault
		want  func(*net.DNSError) bool
	}{
		{"NXDOMAIN", DNSNXDomain, func(e *net.DNSError) bool { return e.IsNotFound && !e.IsTimeout }},
		{"SERVFAIL", DNSServFail, func(e *net.DNSError) bool { return e.IsTemporary && !e.IsNotFound }},
		{"silence", DNSSilent, func(e *net.DNSError) bool { return e.IsTimeout }},
	} {
		t.Run(row.name, func(t *testing.T) {
			wait := time.Minute
			if row.fault == DNSSilent { // net's resolver cannot run in a bubble
				wait = 20 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			defer cancel()
			_, err := row.fault.Resolver().LookupHost(ctx, "api.themoviedb.test")
			var e *net.DNSError
			if !errors.As(err, &e) || !row.want(e) {
				t.Errorf("%#v", err)
			}
		})
	}
}
