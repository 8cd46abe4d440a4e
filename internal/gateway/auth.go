package gateway

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/config"
)

// tokenPrefix is how a client's token begins. Whatever begins otherwise counts as no token: many programs send a key of
// their own and cannot do without.
const tokenPrefix = "anv_"

// NewToken makes a client's token, and the hash by which it is known.
func NewToken() (token, hash string) {
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // it never fails
	token = tokenPrefix + base64.RawURLEncoding.EncodeToString(secret[:])
	return token, config.TokenHash(token)
}

// tokenOf returns what a request has in place of a client's token, "" for none.
func tokenOf(r *http.Request, t target) string {
	scheme, bearer, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	bearer = strings.TrimSpace(bearer)
	if ok && strings.EqualFold(scheme, "Bearer") && strings.HasPrefix(bearer, tokenPrefix) {
		return bearer
	}
	for _, key := range t.query["api_key"] {
		if strings.HasPrefix(key, tokenPrefix) {
			return key
		}
	}
	return ""
}

// clientOf returns who asks. Anonymous requests are one client.
func (s *settings) clientOf(token string) (*client, *refusal) {
	switch {
	case token != "":
		if c := s.byHash[config.TokenHash(token)]; c != nil {
			return c, nil
		}
		return nil, refuse(reasonUnauthorized, "This client token is not known.")
	case s.closed, len(s.byHash) > 0 && !s.Anonymous:
		return nil, refuse(reasonUnauthorized,
			"A client token is needed: Authorization: Bearer anv_..., or api_key=anv_...")
	}
	return s.anonymous, nil
}

// checkOrigin refuses what a page in a browser might send. Without a token the Host must be one that no stranger's name
// leads to; with or without, a page of another origin gets no answer.
func (s *settings) checkOrigin(r *http.Request, hasToken bool) *refusal {
	if !hasToken && !onUnixSocket(r.Context()) && !s.knownHost(r.Host) {
		return refuse(reasonHost, "")
	}
	switch site := r.Header.Get("Sec-Fetch-Site"); {
	case site == "same-origin" || site == "none":
		return nil
	case site != "":
		return refuse(reasonCrossSite, "")
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return nil
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" ||
		!strings.EqualFold(u.Host, r.Host) && !slices.Contains(s.Hosts, strings.ToLower(u.Hostname())) {
		return refuse(reasonCrossSite, "")
	}
	return nil
}

// knownHost reports whether a Host is an IP address, localhost, or one of those that were configured.
func (s *settings) knownHost(host string) bool {
	name := strings.ToLower(host)
	if h, _, err := net.SplitHostPort(name); err == nil {
		name = h
	}
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return true
	}
	return name == "localhost" || slices.Contains(s.Hosts, name)
}

func onUnixSocket(ctx context.Context) bool {
	_, ok := ctx.Value(http.LocalAddrContextKey).(*net.UnixAddr)
	return ok
}

// addressOf is the client's address for the log: the peer's, or behind trusted proxies the last one that is none of
// them.
func (s *settings) addressOf(r *http.Request) string {
	peer := hostOf(r.RemoteAddr)
	if !s.trusts(peer) {
		return peer
	}
	list := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, item := range slices.Backward(list) {
		addr, err := netip.ParseAddr(strings.TrimSpace(item))
		if err != nil {
			break
		}
		if peer = addr.Unmap().String(); !s.trusts(peer) {
			break
		}
	}
	return peer
}

func (s *settings) trusts(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil &&
		slices.ContainsFunc(s.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(addr.Unmap()) })
}

func hostOf(addr string) string {
	if host, _, err := net.SplitHostPort(addr); err == nil {
		return host
	}
	return addr
}
