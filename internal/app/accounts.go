package app

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/tmdb"
)

// keyring holds the keys of all configured accounts. It is safe for concurrent use.
type keyring struct {
	keys        atomic.Pointer[map[ratelimit.Fingerprint]config.Key]
	lastRefusal atomic.Pointer[tmdb.UnauthorizedError] // TMDB's latest refusal of a key to this process
	onlyKey     atomic.Pointer[onlyKeyAttempt]         // nil if there are several keys
}

// onlyKeyAttempt lets a process try its only key once although TMDB refused it in another process.
type onlyKeyAttempt struct {
	ratelimit.Preference
	started atomic.Bool
	ended   chan struct{}
}

// update adds the keys of accounts. It keeps the previous keys, because requests in progress may still need them.
func (k *keyring) update(accounts []config.Account) {
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
	k.lastRefusal.Store(nil)
	k.onlyKey.Store(nil)
	if len(accounts) == 1 && len(accounts[0].Keys) == 1 {
		only := ratelimit.Preference{Account: accounts[0].Name, Key: accounts[0].Account.Keys[0], Test: true}
		k.onlyKey.Store(&onlyKeyAttempt{Preference: only, ended: make(chan struct{})})
	}
}

// signer adds the key to each try. The limiter calls it after choosing the key, so the transports before the limiter
// see only requests without keys. It rejects an answer that contains the key, which would otherwise reach the cache, a
// log or a client. It drops header fields that contain the key or are longer than maxFieldLength.
type signer struct {
	next    http.RoundTripper
	keyring *keyring
}

const maxFieldLength = 4 << 10 // bytes

func (s signer) RoundTrip(req *http.Request) (*http.Response, error) {
	out, secret := req, ""
	if choice, ok := ratelimit.ChoiceFrom(req.Context()); ok {
		key := (*s.keyring.keys.Load())[choice.Key] // the limiter chooses only keys of the ring
		out, secret = addKey(req, key), key.Secret().Reveal()
	}
	resp, err := s.next.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body) // the body is in memory already
	if err != nil {
		return nil, err
	}
	if secret != "" && bytes.Contains(body, []byte(secret)) {
		return nil, &tmdb.DecodeError{Path: req.URL.Path, Reason: tmdb.ReasonSecret, Size: len(body)}
	}
	for name, values := range resp.Header {
		text := strings.Join(values, ",")
		if secret != "" && strings.Contains(text, secret) || len(text) > maxFieldLength {
			delete(resp.Header, name)
		}
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	refusal := tmdb.RefusalOf(out, resp, body)
	if refusal != nil {
		s.keyring.lastRefusal.Store(refusal)
		if secret == "" { // no command tells a running process that the server has stopped wanting a key
			time.AfterFunc(time.Minute, func() { s.keyring.lastRefusal.CompareAndSwap(refusal, nil) })
		}
	}
	requestStateFrom(req.Context()).refusal.Store(refusal)
	resp.Request = req // without the key
	return resp, nil
}

func addKey(req *http.Request, key config.Key) *http.Request {
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

func keyVerdict(req *http.Request, _ *http.Response, _ []byte) ratelimit.KeyVerdict {
	refusal := requestStateFrom(req.Context()).refusal.Load()
	switch {
	case refusal == nil:
		return ratelimit.KeyUnknown
	case refusal.Cause.Code == tmdb.CodeSuspendedKey || refusal.Cause.Code == tmdb.CodeSuspended:
		return ratelimit.KeySuspended
	}
	return ratelimit.KeyRefused
}

// refusalTransport returns a *tmdb.UnauthorizedError if TMDB refuses the key of a request, has refused all keys before,
// or has refused a request without a key in the last minute and there is none. It stores the first such error in
// firstRefusal, even if the cache then answers the request.
type refusalTransport struct {
	next         http.RoundTripper
	keyring      *keyring
	firstRefusal *atomic.Pointer[tmdb.UnauthorizedError]
}

func (r refusalTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if last := r.keyring.lastRefusal.Load(); last != nil && len(*r.keyring.keys.Load()) == 0 {
		return nil, r.notSent(last) // the server wants a key, and there is none
	}
	req, x := withRequestState(req)
	resp, err := r.next.RoundTrip(req)
	if allKeysRefused(err) {
		resp, err = r.tryOnlyKey(req, err)
	}
	if allKeysRefused(err) {
		return nil, r.notSent(cmp.Or(r.keyring.lastRefusal.Load(), &tmdb.UnauthorizedError{}))
	}
	if refusal := x.refusal.Load(); err == nil && refusal != nil {
		return nil, r.rememberFirst(refusal)
	}
	return resp, err
}

// tryOnlyKey handles the error that all keys were refused. If there is only one key, and only other processes have seen
// TMDB refuse it, it sends the request with that key once: the key may be valid again, and nothing else would detect
// it. Concurrent calls wait for that attempt. In all other cases it returns refused.
func (r refusalTransport) tryOnlyKey(req *http.Request, refused error) (*http.Response, error) {
	a := r.keyring.onlyKey.Load()
	if a == nil || r.keyring.lastRefusal.Load() != nil {
		return nil, refused
	}
	if a.started.CompareAndSwap(false, true) {
		defer close(a.ended)
		resp, err := r.next.RoundTrip(req.WithContext(ratelimit.With(req.Context(), ratelimit.Request{Prefer: a.Preference})))
		// the key is valid again, so the next refusal allows another attempt
		if err == nil && r.keyring.lastRefusal.Load() == nil {
			r.keyring.onlyKey.CompareAndSwap(a, &onlyKeyAttempt{Preference: a.Preference, ended: make(chan struct{})})
		}
		return resp, err
	}
	select {
	case <-req.Context().Done():
		return nil, req.Context().Err()
	case <-a.ended:
		return r.next.RoundTrip(req)
	}
}

func allKeysRefused(err error) bool {
	blocked, ok := errors.AsType[*ratelimit.BlockedError](err)
	return ok && blocked.Cause == ratelimit.ReasonCredentials
}

func (r refusalTransport) notSent(last *tmdb.UnauthorizedError) error {
	refusal := *last
	refusal.WasSent = false
	return r.rememberFirst(&refusal)
}

func (r refusalTransport) rememberFirst(refusal *tmdb.UnauthorizedError) error {
	r.firstRefusal.CompareAndSwap(nil, refusal)
	return refusal
}

// KeyTest is the result of one request with one key.
type KeyTest struct {
	Number  int       // number of the key in its account, from 1
	Text    lang.Text // the result, for people
	Refused bool
	Err     error // nil if the key is accepted
}

// TestAccount sends TMDB one cheap request with each key of an account, through the limiter but not the cache. If TMDB
// now accepts a key that it refused before, the limiter uses the key again.
func (c *components) TestAccount(ctx context.Context, account config.Account) (list []KeyTest) {
	for n, key := range account.Account.Keys {
		err := c.testKey(ctx, account.Name, key)
		t := KeyTest{Number: n + 1, Text: "accepted", Err: err}
		if err != nil {
			code, text := Explain(err)
			if t.Refused = code == report.CodeUnauthorized; t.Refused {
				t.Text = "refused"
				if u, ok := errors.AsType[*tmdb.UnauthorizedError](err); ok && u.Cause != nil && u.Cause.Message != "" {
					t.Text = lang.Textf("%s: %s", t.Text, u.Cause.Message)
				}
			} else {
				t.Text = lang.Textf("not asked: %s", text)
			}
		}
		list = append(list, t)
	}
	return list
}

func (c *components) testKey(ctx context.Context, account string, key ratelimit.Fingerprint) error {
	ctx = ratelimit.With(ctx, ratelimit.Request{Prefer: ratelimit.Preference{Account: account, Key: key, Test: true}})
	client, err := newClient(c.currentConfig.Load(), c.upstream.withoutCache, nil)
	if err != nil {
		return err
	}
	_, _, err = client.Configuration(ctx)
	return err
}

// AccountView is the state of an account for commands, pages and the API. It has no keys, only their numbers.
type AccountView struct {
	Name      string         `json:"name" doc:"its name"`
	Priority  int            `json:"priority" doc:"smaller numbers are used first"`
	Enabled   bool           `json:"enabled" doc:"whether it may be used"`
	Standing  string         `json:"standing" doc:"accepted, unproven, refused, suspended, disabled, or a limiter state"`
	Reason    string         `json:"reason,omitempty" doc:"the reason, if the standing does not say it"`
	Since     string         `json:"since,omitempty" doc:"since when, RFC 3339; absent if unknown"`
	Until     string         `json:"until,omitempty" doc:"when it ends by itself, RFC 3339"`
	Running   int            `json:"running" doc:"requests in progress with all its keys"`
	Limit     int            `json:"limit" doc:"the most requests in progress; 0: no limit of its own"`
	KeyLimit  int            `json:"key_limit" doc:"the most requests in progress with each key; 0: no limit"`
	Rate      float64        `json:"rate" doc:"requests a second; 0: no rate of its own"`
	Quota     *QuotaView     `json:"quota,omitempty" doc:"its quota; absent if it has none"`
	Keys      []KeyView      `json:"keys" doc:"its keys: number in the configuration, standing, since, running"`
	Overrides []OverrideView `json:"overrides" doc:"what operators have changed: key, value, until"`
}

// KeyView is the state of a key of an account.
type KeyView struct {
	Number   int    `json:"number" doc:"its number in the configuration"`
	Standing string `json:"standing" doc:"accepted, unproven, refused or suspended"`
	Since    string `json:"since,omitempty" doc:"since when, RFC 3339"`
	Running  int    `json:"running" doc:"requests in progress with it"`
}

// QuotaView is the state of a quota.
type QuotaView struct {
	Limit    int    `json:"limit" doc:"requests in a period"`
	Period   string `json:"period" doc:"length of the period, such as 24h"`
	Used     int    `json:"used" doc:"requests answered in this period"`
	Reserved int    `json:"reserved" doc:"reserved for requests in progress"`
	Renews   string `json:"renews,omitempty" doc:"when the period ends, RFC 3339"`
}

// OverrideView is a setting that an operator has changed.
type OverrideView struct {
	Key   string `json:"key" doc:"the setting, or an account's enabled"`
	Value string `json:"value" doc:"its value"`
	Until string `json:"until,omitempty" doc:"until when, RFC 3339; absent: until an operator ends it"`
}

// ViewAccounts returns the state of all configured accounts, from the limiter's shared state.
func ViewAccounts(cfg *config.Config, st ratelimit.Status) []AccountView {
	list := []AccountView{}
	for _, own := range cfg.EffectiveAccounts() {
		v := st.ForAccount(own.Account)
		best := v.Standing()
		out := AccountView{
			Name: v.Name, Priority: own.Priority, Enabled: v.Enabled, Standing: best.Standing.String(),
			Since: ui.Timestamp(best.Since), Running: v.Running, Limit: v.Slots, KeyLimit: v.KeySlots, Rate: v.Rate,
			Quota: ViewQuota(v.Quota, v.QuotaUsed, v.QuotaReserved, v.QuotaRenews), Keys: []KeyView{},
			Overrides: ViewOverrides(v.Overrides),
		}
		for n, k := range v.Keys {
			out.Keys = append(out.Keys, KeyView{n + 1, k.Standing.String(), ui.Timestamp(k.Since), k.Running})
		}
		switch {
		case !v.Enabled && v.Overridden:
			out.Standing, out.Since, out.Reason = "disabled", "", "by an operator"
		case !v.Enabled:
			out.Standing, out.Since, out.Reason = "disabled", "", "in the configuration"
		case v.Unusable == ratelimit.ReasonNone && v.HasMachine && v.State != ratelimit.Normal:
			out.Standing, out.Reason = v.State.String(), v.Cause.String()
			out.Since, out.Until = ui.Timestamp(v.Since), ui.Timestamp(v.Until)
		case v.Unusable == ratelimit.ReasonNone && v.HasMachine && v.Until.After(st.At):
			out.Reason, out.Until = ratelimit.ReasonPause.String(), ui.Timestamp(v.Until)
		}
		list = append(list, out)
	}
	return list
}

// AllUnusable reports whether each account is disabled, refused or blocked, or has used its quota.
func AllUnusable(cfg *config.Config, st ratelimit.Status) bool {
	pool := cfg.EffectiveAccounts()
	return len(pool) > 0 && !slices.ContainsFunc(pool, func(a config.Account) bool {
		v := st.ForAccount(a.Account)
		blocked := v.HasMachine && (v.State == ratelimit.CacheOnly || v.Until.After(st.At))
		return v.Unusable == ratelimit.ReasonNone && !blocked && (!v.Quota.On() || v.QuotaUsed < v.Quota.Requests)
	})
}

// ViewQuota returns the state of a budget, nil if there is none.
func ViewQuota(b ratelimit.Budget, used, reserved int, renews time.Time) *QuotaView {
	if !b.On() {
		return nil
	}
	return &QuotaView{b.Requests, ui.Period(b.Period), used, reserved, ui.Timestamp(renews)}
}

// ViewOverrides returns the settings that operators have changed.
func ViewOverrides(list []ratelimit.Override) []OverrideView {
	out := []OverrideView{}
	for _, o := range list {
		out = append(out, OverrideView{o.Key, o.Value, ui.Timestamp(o.Until)})
	}
	return out
}
