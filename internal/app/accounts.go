package app

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/tmdb"
)

// keyring has the keys of the configuration's accounts. It may be replaced while it is used.
type keyring struct {
	keys atomic.Pointer[map[ratelimit.Fingerprint]config.Key]
}

// replace adds the keys of accounts. Those from before stay: requests under way keep theirs.
func (k *keyring) replace(accounts []config.Account) {
	keys := map[ratelimit.Fingerprint]config.Key{}
	if before := k.keys.Load(); before != nil {
		maps.Copy(keys, *before)
	}
	for _, a := range accounts {
		for _, key := range a.Keys {
			keys[key.Fingerprint()] = key
		}
	}
	k.keys.Store(&keys)
}

// signing puts the chosen key on each try: below the limiter, for only the grant says which one it is. Everything above
// it sees requests without keys.
type signing struct {
	next http.RoundTripper
	ring *keyring
}

func (s signing) RoundTrip(req *http.Request) (*http.Response, error) {
	choice, ok := ratelimit.ChoiceFrom(req.Context())
	if !ok {
		return s.next.RoundTrip(req)
	}
	key := (*s.ring.keys.Load())[choice.Key] // the limiter knows only these
	out := signed(req, key)
	resp, err := s.next.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	resp.Request = req // without the key
	return resp, hide(resp, key.Secret().Reveal())
}

// signed returns the request with a key on it.
func signed(req *http.Request, key config.Key) *http.Request {
	out := req.Clone(req.Context())
	if key.Token.IsSet() {
		out.Header.Set("Authorization", "Bearer "+key.Token.Reveal())
		return out
	}
	if out.URL.RawQuery != "" {
		out.URL.RawQuery += "&"
	}
	out.URL.RawQuery += "api_key=" + url.QueryEscape(key.APIKey.Reveal())
	return out
}

// keyVerdict is what an answer of TMDB's means for the key.
func keyVerdict(req *http.Request, resp *http.Response, body []byte) ratelimit.KeyVerdict {
	refusal := tmdb.RefusalOf(req, resp, body)
	switch {
	case refusal == nil:
		return ratelimit.KeyUnknown
	case refusal.Cause.Code == tmdb.CodeSuspendedKey || refusal.Cause.Code == tmdb.CodeSuspended:
		return ratelimit.KeySuspended
	}
	return ratelimit.KeyRefused
}

// accountErrors says as tmdb.KeyGuard does for one key that TMDB refused the last one.
type accountErrors struct{ next http.RoundTripper }

func (a accountErrors) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := a.next.RoundTrip(req)
	if blocked, ok := errors.AsType[*ratelimit.BlockedError](err); ok && blocked.Cause == ratelimit.ReasonCredentials {
		return nil, &tmdb.UnauthorizedError{}
	}
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body) // from memory
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if refusal := tmdb.RefusalOf(req, resp, body); refusal != nil {
		return nil, refusal
	}
	return resp, nil
}

// TestKey asks TMDB one cheap question with one key of an account, past the cache but through the limiter. An accepted key
// is in again. Its error is a *tmdb.UnauthorizedError for one that is refused.
func (a *App) TestKey(ctx context.Context, account string, key ratelimit.Fingerprint) error {
	ctx = ratelimit.WithPreference(ctx, ratelimit.Preference{Account: account, Key: key, Test: true}, 0)
	client, err := newClient(a.cfg, a.upstream.sender, nil)
	if err != nil {
		return err
	}
	_, _, err = client.Configuration(ctx)
	return err
}
