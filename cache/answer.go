package cache

// Several callers can wait for the same answer, and each gets its own response. The cache describes the answer in
// headers, which all wrappers around a response preserve, and removes such headers from the upstream.

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/anivault/anivault/cache/internal/store"
)

type answer struct {
	status int
	header http.Header
	body   []byte
	info   *Info         // nil if the cache adds no headers
	age    time.Duration // time since the upstream sent or confirmed the answer
}

// readAnswer reads the whole response, which frees its connection. A truncated or too long body is an error.
func readAnswer(resp *http.Response, limit int64) (answer, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err = cmp.Or(err, resp.Body.Close()); err != nil {
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

func (t *Transport) answerFromEntry(e *Entry, from Source) answer {
	h := http.Header{"Content-Type": {"application/json;charset=utf-8"}}
	if e.ETag != "" {
		h.Set("ETag", e.ETag)
	}
	info := Info{Source: from, FetchedAt: e.FetchedAt, ExpiresAt: e.ExpiresAt}
	return answer{status: e.Status, header: h, body: e.Body, info: &info, age: info.Age(t.Store.opts.Now())}
}

// response returns the response for one caller. All callers share the bytes of the body, which are read-only.
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

// Source says where an answer came from.
type Source uint8

// The sources, freshest first.
const (
	Network     Source = iota // just sent by the upstream, or by another cache in front of it
	Revalidated               // stored, and just confirmed by the upstream with a 304
	Fresh                     // stored and not expired
	Stale                     // stored and expired; the upstream gave no usable answer
)

var sourceNames = [...]string{Network: "network", Revalidated: "revalidated", Fresh: "fresh", Stale: "stale"}

func (s Source) String() string {
	if int(s) < len(sourceNames) {
		return sourceNames[s]
	}
	return "unknown"
}

// Info says where an answer came from and how old it is.
type Info struct {
	Source    Source
	FetchedAt time.Time // when the upstream last sent or confirmed it
	ExpiresAt time.Time // zero if the answer is not stored
}

// Age returns how long ago the upstream sent or confirmed the answer. It is never negative.
func (i Info) Age(now time.Time) time.Duration { return max(0, now.Sub(i.FetchedAt)) }

const (
	headerSource  = "X-Cache-Source"
	headerFetched = "X-Cache-Fetched"
	headerExpires = "X-Cache-Expires"
)

// InfoFrom reads the Info of a response. ok is false without a [Transport], or if its request is not cacheable.
func InfoFrom(resp *http.Response) (info Info, ok bool) {
	if resp == nil {
		return Info{}, false
	}
	name := resp.Header.Get(headerSource)
	for s, n := range sourceNames {
		if n == name {
			return Info{
				Source:    Source(s),
				FetchedAt: headerTime(resp.Header.Get(headerFetched)),
				ExpiresAt: headerTime(resp.Header.Get(headerExpires)),
			}, true
		}
	}
	return Info{}, false
}

func (i Info) write(h http.Header) {
	h.Set(headerSource, i.Source.String())
	h.Set(headerFetched, strconv.FormatInt(store.ToMilli(i.FetchedAt), 10))
	h.Set(headerExpires, strconv.FormatInt(store.ToMilli(i.ExpiresAt), 10))
}

func eraseInfo(h http.Header) {
	h.Del(headerSource)
	h.Del(headerFetched)
	h.Del(headerExpires)
}

func headerTime(s string) time.Time {
	ms, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return store.FromMilli(ms)
}
