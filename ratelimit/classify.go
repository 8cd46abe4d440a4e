package ratelimit

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"strings"
)

// Classify says what an answer, or an error instead of one, counts as. resp is
// nil if err is not; body is the whole body. It must not keep what it is given.
type Classify func(req *http.Request, resp *http.Response, body []byte, err error) Outcome

// ClassifyStatus is the Classify of a service of which nothing else is known: 2xx
// and 304 are OK, 429 is Throttled, 5xx and 408 are Server, any other status is Client, a
// connection that cannot be trusted is Misconfigured, any other error is Network.
func ClassifyStatus(_ *http.Request, resp *http.Response, _ []byte, err error) Outcome {
	if err != nil {
		return classifyError(err)
	}
	switch code := resp.StatusCode; {
	case code >= 200 && code <= 299, code == http.StatusNotModified:
		return OK
	case code == http.StatusTooManyRequests:
		return Throttled
	case code >= 500, code == http.StatusRequestTimeout:
		return Server
	default:
		return Client
	}
}

func classifyError(err error) Outcome {
	var (
		tooLarge   *BodyTooLargeError
		verify     *tls.CertificateVerificationError
		authority  x509.UnknownAuthorityError
		hostname   x509.HostnameError
		invalid    x509.CertificateInvalidError
		notTLS     tls.RecordHeaderError
		plainReply = "server gave HTTP response to HTTPS client"
	)
	switch {
	case errors.As(err, &tooLarge):
		return Server
	case errors.Is(err, context.Canceled):
		return Cancelled
	case errors.As(err, &verify), errors.As(err, &authority), errors.As(err, &hostname),
		errors.As(err, &invalid), errors.As(err, &notTLS), strings.Contains(err.Error(), plainReply):
		return Misconfigured
	default:
		return Network
	}
}
