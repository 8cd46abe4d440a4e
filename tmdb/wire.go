package tmdb

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// NewWire wraps the transport that does the sending; nil means http.DefaultTransport.
//
// Every body is read to its end, at most MaxBody bytes, so what comes back holds no connection. A transfer that broke
// off is an error (it unwraps to io.ErrUnexpectedEOF or the network's error). A body that starts with gzip's magic
// bytes though no header announced it is unpacked once, within the same bound; one that is still compressed then, too
// large, or damaged is a *DecodeError for a 2xx. For any other status the status is worth more than the body: what
// could be read of it comes back. A redirect to another host or from https to http is a *ConfigError, as are
// certificate and TLS errors.
func NewWire(next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return &wire{next: next}
}

type wire struct{ next http.RoundTripper }

// CloseIdleConnections passes the call on, so that http.Client's works.
func (w *wire) CloseIdleConnections() { closeIdle(w.next) }

func closeIdle(rt http.RoundTripper) {
	if c, ok := rt.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip sends req and reads the whole answer.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := w.next.RoundTrip(req)
	if err != nil {
		if config, ok := asConfigError(req.URL.Host, err); ok {
			err = config
		}
		return nil, err
	}
	if to := redirectTarget(req, resp); to != nil {
		if refused := refuseRedirect(req.URL, to); refused != nil {
			_ = resp.Body.Close()
			return nil, refused
		}
	}
	body, err := readBody(req, resp)
	_ = resp.Body.Close()
	if err != nil && (isSuccess(resp) || errors.Is(req.Context().Err(), context.Canceled)) {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if req.Method != http.MethodHead && resp.StatusCode != http.StatusNotModified {
		resp.ContentLength = int64(len(body))
		resp.TransferEncoding = nil
		if resp.Header.Get("Content-Length") != "" {
			resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
		}
	}
	return resp, nil
}

// readBody returns the body unpacked; with an error, what was read of it.
func readBody(req *http.Request, resp *http.Response) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(resp.Body, MaxBody+1))
	refuse := func(reason Reason, cause error) error { return undecodable(req, resp, raw, reason, cause) }
	switch {
	case err != nil && isGarbledGzip(err):
		return raw, refuse(ReasonGzip, err) // announced as gzip, but not gzip
	case err != nil:
		return raw, fmt.Errorf("read answer: %w", err)
	case len(raw) > MaxBody:
		return raw[:MaxBody], refuse(ReasonTooLarge, nil)
	case !isGzip(raw):
		return raw, nil
	case resp.Uncompressed:
		return raw, refuse(ReasonGzip, errTwice) // net/http has unpacked it once already
	}
	text, err := gunzip(raw)
	switch {
	case errors.Is(err, errBomb):
		return raw, refuse(ReasonTooLarge, err)
	case err != nil:
		return raw, refuse(ReasonGzip, err)
	}
	resp.Header.Del("Content-Encoding")
	resp.Header.Del("Content-Length")
	resp.Uncompressed = true
	return text, nil
}

var (
	errTwice = errors.New("compressed twice")
	errBomb  = fmt.Errorf("more than %d bytes when unpacked", MaxBody)
)

// isGzip reports whether a body starts with gzip's magic bytes and its one method (RFC 1952, section 2.3.1). No JSON
// text does.
func isGzip(body []byte) bool {
	return len(body) >= 3 && body[0] == 0x1f && body[1] == 0x8b && body[2] == 8
}

// gunzip unpacks a body once, to at most MaxBody bytes.
func gunzip(raw []byte) ([]byte, error) {
	zr, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(zr, MaxBody+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > MaxBody:
		return nil, errBomb
	case isGzip(text):
		return nil, errTwice
	}
	return text, nil
}

// isGarbledGzip reports whether gzip data are damaged. A transfer that broke off is io.ErrUnexpectedEOF instead.
func isGarbledGzip(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.As(err, &corrupt)
}
