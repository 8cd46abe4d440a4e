package tmdb

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
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

// LogValue gives log/slog the options without their credentials.
func (o Options) LogValue() slog.Value { return slog.StringValue(o.redactedString()) }

func (o Options) redactedString() string {
	credential := "none"
	switch {
	case strings.TrimSpace(o.Token) != "":
		credential = "token"
	case strings.TrimSpace(o.APIKey) != "":
		credential = "api_key"
	}
	host := o.BaseURL
	if base, err := parseBaseURL(o.BaseURL); err == nil {
		host = base.String()
	} else if host != "" {
		host = "invalid"
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
	switch {
	case !isSendable(token):
		return nil, &ArgumentError{
			Field: "Token", Reason: "has characters that no token has (spaces, quotes, control characters?)",
		}
	case !isSendable(key):
		return nil, &ArgumentError{
			Field: "APIKey", Reason: "has characters that no key has (spaces, quotes, control characters?)",
		}
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
type Response struct {
	*http.Response
}

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
