package cache

// What the cache says about an answer. It travels in response headers: they survive every wrapper around a response,
// and a header of the same name that comes from the upstream is removed.

import (
	"net/http"
	"strconv"
	"time"
)

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

// write puts the info into a response's header.
func (i Info) write(h http.Header) {
	h.Set(headerSource, i.Source.String())
	h.Set(headerFetched, strconv.FormatInt(toMilli(i.FetchedAt), 10))
	h.Set(headerExpires, strconv.FormatInt(toMilli(i.ExpiresAt), 10))
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
	return fromMilli(ms)
}
