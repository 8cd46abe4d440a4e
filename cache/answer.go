package cache

// An answer on its way to the callers that wait for it, each of which gets a response of its own; and what the cache
// says about it. That travels in response headers: they survive every wrapper around a response, and a header of the
// same name that comes from the upstream is removed.

import (
	"bytes"
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

func (t *Transport) fromEntry(e *Entry, from Source) answer {
	h := http.Header{"Content-Type": {"application/json;charset=utf-8"}}
	if e.ETag != "" {
		h.Set("ETag", e.ETag)
	}
	info := Info{Source: from, FetchedAt: e.FetchedAt, ExpiresAt: e.ExpiresAt}
	return answer{status: e.Status, header: h, body: e.Body, info: &info, age: info.Age(t.Store.opts.Now())}
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

// Source is where an answer came from.
type Source uint8

// The sources, the freshest first.
const (
	Network     Source = iota // the upstream, or another cache before it, has just sent it
	Revalidated               // stored, and the upstream has just said that it still holds (304)
	Fresh                     // stored, and not yet expired
	Stale                     // expired; the upstream could not be asked, here or by another cache before it
)

var sourceNames = [...]string{Network: "network", Revalidated: "revalidated", Fresh: "fresh", Stale: "stale"}

// String returns the source in one word.
func (s Source) String() string {
	if int(s) < len(sourceNames) {
		return sourceNames[s]
	}
	return "unknown"
}

// Info is what the cache says about a response.
type Info struct {
	Source    Source
	FetchedAt time.Time // when the upstream last vouched for it
	ExpiresAt time.Time // until when it is fresh; zero: it is not stored
}

// Age is how long ago the upstream vouched for the answer, never negative.
func (i Info) Age(now time.Time) time.Duration { return max(0, now.Sub(i.FetchedAt)) }

const (
	headerSource  = "X-Cache-Source"
	headerFetched = "X-Cache-Fetched"
	headerExpires = "X-Cache-Expires"
)

// InfoFrom returns what the cache said about resp. ok is false for a response that did not come through a [Transport],
// or whose request is not cached.
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
