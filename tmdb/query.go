package tmdb

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

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

// isSendable reports whether a secret is "" or printable ASCII without spaces and quotes.
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
	if q.err == nil {
		q.err = &ArgumentError{Field: field, Reason: reason}
	}
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
