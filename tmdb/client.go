package tmdb

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// DefaultBaseURL is the API's official address.
	DefaultBaseURL = "https://api.themoviedb.org"
	// MaxBody is the largest body that is accepted, before and after decompression, in bytes. The largest real one, a
	// series with twenty appended seasons and all their credits, is less than a fifth of it.
	MaxBody = 32 << 20

	defaultUserAgent = "anivault-tmdb"
	defaultTimeout   = 30 * time.Second
	apiPrefix        = "/3"
)

// Options are the address, the credential and the transport of a client. The zero value sends no credential, so TMDB
// answers 401; it is useful only if a cache answers.
type Options struct {
	// BaseURL is scheme and host, with an optional path and an optional trailing "/3"; "" means DefaultBaseURL. It must
	// not contain credentials, a query or a fragment.
	BaseURL string
	// Token is a v4 API read access token, sent as a Bearer header. Spaces around it are dropped.
	Token string
	// APIKey is a v3 key, sent as the query parameter api_key. It is ignored if Token is set.
	APIKey string
	// HTTPClient sends the requests; nil means one with KeyLatch, Wire and HTTPTransport and a timeout of 30 s. It is
	// copied; a nil CheckRedirect is replaced by this package's.
	HTTPClient *http.Client
	// UserAgent is sent with every request; "" means "anivault-tmdb".
	UserAgent string
	// OnUndecodable, if set, is called with a request whose 2xx response could not be decoded, so that a cache can drop
	// it. The request is a copy without credentials. The call happens before the method returns, on the same goroutine.
	OnUndecodable func(*http.Request)
}

// Format prints the options without their credentials, whatever the verb.
func (o Options) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, o.redactedString()) }

// MarshalJSON writes the options without their credentials.
func (o Options) MarshalJSON() ([]byte, error) { return json.Marshal(o.redactedString()) }

func (o Options) redactedString() string {
	credential := "none"
	switch {
	case strings.TrimSpace(o.Token) != "":
		credential = "token"
	case strings.TrimSpace(o.APIKey) != "":
		credential = "api_key"
	}
	host := "invalid"
	if base, err := parseBaseURL(o.BaseURL); err == nil {
		host = base.String()
	}
	return fmt.Sprintf("tmdb.Options{BaseURL:%s Credential:%s}", host, credential)
}

// Client calls TMDB's API. Make one with New; it is safe for concurrent use.
type Client struct {
	baseURL       *url.URL
	http          *http.Client
	userAgent     string
	credential    func() (token, key string) // a closure, so that no formatting of Client can reach it
	onUndecodable func(*http.Request)
}

// New makes a client. It sends nothing.
//
// It returns an *ArgumentError if the base URL is invalid or a credential has characters that cannot be sent; the error
// does not repeat the credential.
func New(o Options) (*Client, error) {
	base, err := parseBaseURL(o.BaseURL)
	if err != nil {
		return nil, err
	}
	token, key := strings.TrimSpace(o.Token), strings.TrimSpace(o.APIKey)
	const unsendable = "has characters that no key has (spaces, quotes, control characters?)"
	switch {
	case !isSendable(token):
		return nil, &ArgumentError{Field: "Token", Reason: unsendable}
	case !isSendable(key):
		return nil, &ArgumentError{Field: "APIKey", Reason: unsendable}
	}
	hc := http.Client{Timeout: defaultTimeout}
	if o.HTTPClient != nil {
		hc = *o.HTTPClient
	} else {
		hc.Transport = NewKeyLatch(NewWire(NewHTTPTransport(TransportOptions{})))
	}
	if hc.CheckRedirect == nil {
		hc.CheckRedirect = CheckRedirect
	}
	return &Client{
		baseURL:       base,
		http:          &hc,
		userAgent:     cmp.Or(o.UserAgent, defaultUserAgent),
		credential:    func() (string, string) { return token, key },
		onUndecodable: o.OnUndecodable,
	}, nil
}

func (c *Client) String() string { return "tmdb.Client(" + c.baseURL.String() + ")" }

// Format prints what String returns, whatever the verb.
func (c *Client) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// Response is the HTTP response behind a value. Its body is already read and closed, and its Request is a copy without
// credentials; the headers are unchanged.
type Response struct{ *http.Response }

// fetch requests path and returns the decoded value. The type T must be the one in the endpoints table.
func fetch[T any](ctx context.Context, c *Client, path string, q *query) (*T, *Response, error) {
	v, resp, err := c.get(ctx, path, q)
	if err != nil {
		return nil, resp, err
	}
	return v.(*T), resp, nil
}

func (c *Client) get(ctx context.Context, path string, q *query) (any, *Response, error) {
	req, err := c.request(ctx, path, q)
	if err != nil {
		return nil, nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, nil, c.wrapRequestError(req, err)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxBody+1))
	_ = resp.Body.Close()
	resp.Body = http.NoBody
	resp.Request = withoutCredentials(req)
	answer := &Response{resp}
	if err != nil && isSuccess(resp) {
		if !isCorruptGzip(err) {
			return nil, answer, c.wrapRequestError(req, fmt.Errorf("read answer: %w", err))
		}
		err = newDecodeError(req, resp, body, ReasonGzip, err)
	} else {
		// With an error status, an unreadable body means only that TMDB's message is lost.
		var v any
		if v, err = readResponse(req, resp, body); err == nil {
			return v, answer, nil
		}
	}
	if c.onUndecodable != nil && errors.As(err, new(*DecodeError)) {
		c.onUndecodable(withoutCredentials(req))
	}
	return nil, answer, err
}

func (c *Client) request(ctx context.Context, path string, q *query) (*http.Request, error) {
	if q.err != nil {
		return nil, q.err
	}
	token, key := c.credential()
	u := *c.baseURL
	u.Path += apiPrefix + path
	if token == "" && key != "" {
		q.set(keyParameter, key)
	}
	u.RawQuery = q.encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, &ArgumentError{Field: "request", Reason: "cannot be made"}
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", c.userAgent)
	if token != "" {
		req.Header.Set("Authorization", bearerPrefix+token)
	}
	return req, nil
}

const (
	keyParameter    = "api_key"
	appendParameter = "append_to_response"
	bearerPrefix    = "Bearer "
)

// parseBaseURL accepts scheme://host[:port][/path][/3][/].
func parseBaseURL(raw string) (*url.URL, error) {
	if strings.TrimSpace(raw) == "" {
		raw = DefaultBaseURL
	}
	refuse := func(reason string) (*url.URL, error) {
		return nil, &ArgumentError{Field: "BaseURL", Reason: reason}
	}
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil {
		return refuse("is not a URL") // the parser's text repeats the whole value, which may hold a key
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return refuse("must start with https:// or http://")
	case u.Hostname() == "":
		return refuse("has no host")
	case u.User != nil:
		return refuse("must not hold a user name or password")
	case u.RawQuery != "" || u.ForceQuery:
		return refuse("must not hold a query: give the key as the key, not in the address")
	case u.Fragment != "":
		return refuse("must not hold a fragment")
	}
	path := strings.TrimRight(u.Path, "/")
	if rest, ok := strings.CutSuffix(path, apiPrefix); ok {
		path = strings.TrimRight(rest, "/")
	}
	return &url.URL{Scheme: u.Scheme, Host: strings.ToLower(u.Host), Path: path}, nil
}

// isSendable reports whether a secret is "" or printable ASCII without spaces or quotes.
func isSendable(secret string) bool {
	return !strings.ContainsFunc(secret, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || r == '"' || r == '\''
	})
}

// query collects the parameters of a request. A value that TMDB would refuse, or that could change the path, sets err,
// and the request is not sent. Only the first error is kept.
type query struct {
	values map[string]string
	err    error
}

func newQuery() *query { return &query{values: map[string]string{}} }

func (q *query) set(name, value string) *query { q.values[name] = value; return q }

func (q *query) reject(field, reason string) *query {
	q.err = cmp.Or(q.err, error(&ArgumentError{Field: field, Reason: reason}))
	return q
}

func (q *query) setText(name, value string) *query {
	if value != "" {
		q.set(name, value)
	}
	return q
}

// setRequired rejects an empty value, because TMDB answers it with 422.
func (q *query) setRequired(field, name, value string) *query {
	if strings.TrimSpace(value) == "" {
		return q.reject(field, "must not be empty")
	}
	return q.set(name, value)
}

// setNumber sets a parameter unless n is 0, and rejects a number out of range.
func (q *query) setNumber(field, name string, n, low, high int) *query {
	switch {
	case n == 0:
		return q
	case n < low || n > high:
		return q.reject(field, fmt.Sprintf("must be %d to %d", low, high))
	}
	return q.set(name, strconv.Itoa(n))
}

// setPage accepts the pages that TMDB accepts: beyond 500 it answers 400 (code 22).
func (q *query) setPage(page int) *query { return q.setNumber("Page", "page", page, 1, 500) }

func (q *query) setFlag(name string, on bool) *query {
	if on {
		q.set(name, "true")
	}
	return q
}

// setLanguage accepts a tag such as "ko-KR"; with "" TMDB uses en-US.
func (q *query) setLanguage(tag string) *query {
	if strings.ContainsFunc(tag, func(r rune) bool { return !isWordRune(r) && r != '-' }) {
		return q.reject("Language", "must be a tag such as en-US")
	}
	return q.setText("language", tag)
}

func (q *query) setAppends(items []string) *query {
	if len(items) == 0 {
		return q
	}
	if len(items) > MaxAppends {
		return q.reject("Append", "holds more than "+strconv.Itoa(MaxAppends)+
			" items (TMDB answers 400); TVComplete makes several requests")
	}
	for _, item := range items {
		if item == "" || strings.ContainsFunc(item, func(r rune) bool { return !isWordRune(r) && r != '/' }) {
			return q.reject("Append", "has an item that is not a path (letters, digits, _ and / only)")
		}
	}
	return q.set(appendParameter, strings.Join(items, ","))
}

func (q *query) requireID(id int) *query {
	if id <= 0 {
		return q.reject("id", "must be positive")
	}
	return q
}

// requireSegment rejects values with separators: TMDB's edge decodes percent signs and then resolves "..".
func (q *query) requireSegment(field, value string) *query {
	if value == "" || strings.Trim(value, ".") == "" ||
		strings.ContainsFunc(value, func(r rune) bool { return !isWordRune(r) && r != '-' && r != '.' }) {
		return q.reject(field, "may hold letters, digits, '-', '_' and '.' only")
	}
	return q
}

func isWordRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_'
}

// encode writes the parameters sorted by name. It escapes all of them except append_to_response: url.Values would turn
// "season/1,season/2" into "season%2F1%2Cseason%2F2", and users reported that TMDB drops such items. setAppends has
// already checked its characters.
func (q *query) encode() string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(q.values)) {
		value := q.values[name]
		if name != appendParameter {
			value = url.QueryEscape(value)
		}
		pairs = append(pairs, name+"="+value)
	}
	return strings.Join(pairs, "&")
}
