package ratelimit

import (
	"net/http"
	"strings"
	"testing"
)

func TestClassifyStatus(t *testing.T) {
	for status, want := range map[int]Outcome{
		200: OK, 204: OK, 304: OK, 301: Client, 400: Client, 401: Client, 403: Client, 404: Client, 405: Client, 422: Client,
		408: Server, 429: Throttled, 500: Server, 502: Server, 503: Server, 599: Server,
	} {
		if got := ClassifyStatus(nil, &http.Response{StatusCode: status}, nil, nil); got != want {
			t.Errorf("%d is %s, want %s", status, got, want)
		}
	}
	for o := Cancelled; o <= Deferred; o++ {
		if strings.Contains(o.String(), "(") || o.Retryable() != (o == Throttled || o == Server || o == Network ||
			o == Deferred) {
			t.Errorf("%s", o)
		}
	}
}
