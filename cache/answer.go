package cache

// An answer on its way to the callers that wait for it, each of which gets a response of its own.

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

type answer struct {
	status int
	header http.Header
	body   []byte
	info   *Info         // nil: the cache has nothing to say about it
	age    time.Duration // how long ago the upstream vouched for it
}

// readAnswer reads a response whole; the connection is free then. A body above the limit, or cut short, is an error.
func readAnswer(resp *http.Response, limit int64) (answer, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if e := resp.Body.Close(); err == nil {
		err = e
	}
	if err != nil {
		return answer{}, fmt.Errorf("read response: %w", err)
	}
	if int64(len(body)) > limit {
		return answer{}, fmt.Errorf("read response: body is longer than %d bytes", limit)
	}
	h := resp.Header.Clone()
	if h == nil {
		h = http.Header{}
	}
	eraseInfo(h)
	return answer{status: resp.StatusCode, header: h, body: body}, nil
}

// fromEntry makes an answer of a stored one.
func (t *Transport) fromEntry(e *Entry, from Source) answer {
	h := http.Header{"Content-Type": {"application/json;charset=utf-8"}}
	if e.ETag != "" {
		h.Set("ETag", e.ETag)
	}
	info := Info{Source: from, FetchedAt: e.FetchedAt, ExpiresAt: e.ExpiresAt}
	return answer{status: e.Status, header: h, body: e.Body, info: &info, age: info.Age(t.Store.db.now())}
}

// response makes one caller's response. The body bytes are shared and read only.
func (a answer) response(req *http.Request) *http.Response {
	h := a.header.Clone()
	if a.info != nil {
		a.info.write(h)
		h.Set("Age", strconv.Itoa(int(a.age/time.Second)))
	}
	return &http.Response{
		Status:     fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)),
		StatusCode: a.status,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        h,
		Body:          io.NopCloser(bytes.NewReader(a.body)),
		ContentLength: int64(len(a.body)),
		Request:       req,
	}
}
