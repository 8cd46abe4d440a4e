package cache

// An Entry is one answer of the upstream. Its binary form is
//
//	version (1) · compression (1) · status (2) · len(etag) uvarint · etag ·
//	len(body) uvarint · body (raw, or a flate stream)
//
// Bodies are compressed at the fastest level: 60 KB of details become about 12 KB. Short bodies stay uncompressed,
// because compression hardly makes them shorter.

import (
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/anivault/anivault/cache/internal/store"
)

const (
	entryVersion      = 1
	bodyRaw           = 0
	bodyFlate         = 1
	minCompressedBody = 256
)

var errBadEntry = errors.New("stored answer can't be read")

// Entry is one stored answer.
type Entry struct {
	Key    string // see KeyOf
	Status int    // 200 or 404
	ETag   string // as sent by the upstream; "" if it sent none
	Body   []byte // decompressed; must not be modified
	// FetchedAt is when the upstream last sent the answer or confirmed it with a 304.
	FetchedAt time.Time
	// ExpiresAt is when the answer stops being fresh.
	ExpiresAt time.Time
}

// Fresh reports whether the entry may be served without asking the upstream. An entry whose fetch time is in the
// future, because a machine had a wrong clock, is not fresh.
func (e *Entry) Fresh(now time.Time) bool {
	return now.Before(e.ExpiresAt) && !e.FetchedAt.After(now.Add(store.ClockSlack))
}

// Usable reports whether the entry, fresh or stale, may be served: it was fetched less than keep and 180 days ago.
func (e *Entry) Usable(now time.Time, keep time.Duration) bool {
	return now.Sub(e.FetchedAt) < min(keep, KeepLimit)
}

var compressors = sync.Pool{New: func() any {
	w, err := flate.NewWriter(io.Discard, flate.BestSpeed)
	if err != nil {
		panic(err) // NewWriter fails only for an invalid level
	}
	return w
}}

// decompressors is a pool because creating a reader takes longer than decompressing most answers.
var decompressors = sync.Pool{New: func() any { return flate.NewReader(nil) }}

func (e *Entry) toItem() Item {
	return Item{Key: e.Key, Value: e.encode(), FetchedAt: e.FetchedAt, ExpiresAt: e.ExpiresAt}
}

func (e *Entry) encode() []byte {
	b := make([]byte, 0, 64+len(e.ETag)+len(e.Body)/3)
	b = append(b, entryVersion, bodyRaw)
	b = binary.BigEndian.AppendUint16(b, uint16(e.Status))
	b = binary.AppendUvarint(b, uint64(len(e.ETag)))
	b = append(b, e.ETag...)
	b = binary.AppendUvarint(b, uint64(len(e.Body)))
	if len(e.Body) > minCompressedBody {
		packed := bytes.NewBuffer(b)
		w := compressors.Get().(*flate.Writer)
		w.Reset(packed)
		_, err1 := w.Write(e.Body)
		err2 := w.Close()
		compressors.Put(w)
		if err1 == nil && err2 == nil && packed.Len()-len(b) < len(e.Body) {
			p := packed.Bytes()
			p[1] = bodyFlate
			return p
		}
	}
	return append(b, e.Body...)
}

func decodeStatus(payload []byte) (int, error) {
	if len(payload) < 4 || payload[0] != entryVersion {
		return 0, fmt.Errorf("%w: unknown form", errBadEntry)
	}
	return int(binary.BigEndian.Uint16(payload[2:])), nil
}

func decodeEntry(it Item) (*Entry, error) {
	p := it.Value
	status, err := decodeStatus(p)
	if err != nil {
		return nil, err
	}
	e := &Entry{Key: it.Key, Status: status, FetchedAt: it.FetchedAt, ExpiresAt: it.ExpiresAt}
	packing, p := p[1], p[4:]
	n, w := binary.Uvarint(p)
	if w <= 0 || n > uint64(len(p)-w) {
		return nil, fmt.Errorf("%w: etag", errBadEntry)
	}
	e.ETag, p = string(p[w:w+int(n)]), p[w+int(n):]
	size, w := binary.Uvarint(p)
	if w <= 0 || size > store.MaxValue {
		return nil, fmt.Errorf("%w: body length", errBadEntry)
	}
	p = p[w:]
	switch packing {
	case bodyRaw:
		if uint64(len(p)) != size {
			return nil, fmt.Errorf("%w: body has %d bytes instead of %d", errBadEntry, len(p), size)
		}
		e.Body = bytes.Clone(p)
	case bodyFlate:
		e.Body = make([]byte, size)
		zr := decompressors.Get().(io.ReadCloser)
		defer decompressors.Put(zr)
		if err := zr.(flate.Resetter).Reset(bytes.NewReader(p), nil); err != nil {
			return nil, fmt.Errorf("%w: %w", errBadEntry, err)
		}
		if _, err := io.ReadFull(zr, e.Body); err != nil {
			return nil, fmt.Errorf("%w: %w", errBadEntry, err)
		}
		if n, err := zr.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			return nil, fmt.Errorf("%w: body is longer than %d bytes", errBadEntry, size)
		}
	default:
		return nil, fmt.Errorf("%w: packing %d", errBadEntry, packing)
	}
	return e, nil
}

// A cache key contains the parts of a request that determine its answer: method, scheme, host, port, path and query. It
// omits everything that identifies the user.

// secretParams are names of query parameters, in lower case. A key omits these parameters, and all whose names contain
// one of these names. Two different requests may thus share a key, but no secret reaches the disk.
var secretParams = []string{
	"api_key", "apikey", "session", "token", "secret", "password",
}

// KeyOf returns the cache key of a request: "GET https://host:port/path?query".
//
// The scheme and host are in lower case, the port is always present, and the path is escaped as in the HTTP request.
// The query is sorted by name. It keeps the order of values with the same name, and upper and lower case. The key omits
// API keys, tokens, sessions, user information and the fragment.
func KeyOf(method string, u *url.URL) string {
	scheme := strings.ToLower(u.Scheme)
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[scheme])
	host := strings.ToLower(u.Hostname())
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	key := strings.ToUpper(cmp.Or(method, http.MethodGet)) + " " + scheme + "://" + host + ":" + port +
		cmp.Or(u.EscapedPath(), "/")
	if q := publicQuery(u.RawQuery); q != "" {
		key += "?" + q
	}
	return key
}

// ParseKey turns a key or URL that a user has typed into a key without secrets. ok is false if text is neither.
func ParseKey(text string) (key string, ok bool) {
	method, rest, found := strings.Cut(strings.TrimSpace(text), " ")
	if !found {
		method, rest = http.MethodGet, method
	}
	u, err := url.Parse(rest)
	if err != nil || u.Host == "" || u.Scheme == "" || !isMethodName(method) {
		return "", false
	}
	return KeyOf(method, u), true
}

func keyURL(key string) (*url.URL, bool) {
	_, rest, found := strings.Cut(key, " ")
	if !found {
		return nil, false
	}
	u, err := url.Parse(rest)
	return u, err == nil
}

func isMethodName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// publicQuery sorts a raw query and removes its secrets. It splits at ';' as well as '&', because some servers do so,
// and a secret could follow the ';'.
func publicQuery(raw string) string {
	type pair struct{ name, text string }
	var pairs []pair
	for part := range strings.FieldsFuncSeq(raw, func(r rune) bool { return r == '&' || r == ';' }) {
		rawName, rawValue, hasValue := strings.Cut(part, "=")
		name := unescape(rawName)
		isPart := func(secret string) bool { return strings.Contains(strings.ToLower(name), secret) }
		if slices.ContainsFunc(secretParams, isPart) {
			continue
		}
		text := url.QueryEscape(name)
		if hasValue {
			text += "=" + url.QueryEscape(unescape(rawValue))
		}
		pairs = append(pairs, pair{name, text})
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return strings.Compare(a.name, b.name) })
	texts := make([]string, len(pairs))
	for i, p := range pairs {
		texts[i] = p.text
	}
	return strings.Join(texts, "&")
}

// unescape decodes a component of a query. It returns invalid input unchanged.
func unescape(s string) string {
	if t, err := url.QueryUnescape(s); err == nil {
		return t
	}
	return s
}

// answer is what several callers can wait for; each gets its own response. The cache describes it in headers, which all
// wrappers around a response preserve, and removes such headers from the upstream.
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
		Status: fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)), StatusCode: a.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)), Request: req,
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
