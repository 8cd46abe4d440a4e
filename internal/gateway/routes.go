package gateway

import (
	"net/http"
	"strings"

	"github.com/anivault/anivault/tmdb"
)

type to uint8

const (
	toTMDB to = iota
	toSuccess
	toPage
	toRobots
	toHealth
	toReady
	toMetrics
)

// route is a row of the table of what is passed. The first row that fits decides.
type route struct {
	fits    func(method string, t target) bool
	to      to
	open    bool     // to anybody, without a token
	refusal *refusal // in place of to
}

const (
	ciphertext = "a proxy that is spoken to by CONNECT sees ciphertext only: " +
		"set the program's TMDB address to this gateway instead"
	allowed = "GET, HEAD, OPTIONS"
)

var routes = []route{
	{method("CONNECT", "TRACE"), 0, true, refuse(reasonMethod, ciphertext)},
	{otherMethod, 0, true, refuse(reasonMethod, "nothing is written through the gateway's keys")},
	{at("/"), toPage, true, nil},
	{at("/robots.txt"), toRobots, true, nil},
	{at("/healthz"), toHealth, true, nil},
	{at("/readyz"), toReady, true, nil},
	{at("/metrics"), toMetrics, false, nil},
	{at("/3/authentication"), toSuccess, false, nil},
	{private, 0, false, refuse(reasonPrivate, "")},
	{at("/3", "/3/"), 0, false, notFound("ask for a path below /3, such as /3/configuration")},
	{below("/3/"), toTMDB, false, nil},
	{below("/t/p/"), 0, false, notFound("images come from image.tmdb.org, not from here")},
	{below("/4/"), 0, false, notFound("there is no version 4 here, only /3")},
	{knownBelow3, 0, false, notFound("/3 is missing in front of the path")},
	{below(""), 0, false, notFound("there is only /3 here; images come from image.tmdb.org")},
}

func routeOf(methodName string, t target) *route {
	for i := range routes {
		if routes[i].fits(methodName, t) {
			return &routes[i]
		}
	}
	panic("the last route fits everything")
}

func notFound(why string) *refusal { return refuse(reasonNotFound, why) }

func method(names ...string) func(string, target) bool {
	return func(m string, _ target) bool {
		for _, n := range names {
			if m == n {
				return true
			}
		}
		return false
	}
}

func otherMethod(m string, _ target) bool {
	return m != http.MethodGet && m != http.MethodHead && m != http.MethodOptions
}

func at(paths ...string) func(string, target) bool {
	return func(_ string, t target) bool {
		for _, p := range paths {
			if t.path == p {
				return true
			}
		}
		return false
	}
}

func below(prefix string) func(string, target) bool {
	return func(_ string, t target) bool { return strings.HasPrefix(t.path, prefix) }
}

// private reports whether a request belongs to one person's account. Some GETs of them make tokens.
func private(_ string, t target) bool {
	for _, p := range [...]string{"/3/account", "/3/authentication/", "/3/guest_session"} {
		if strings.HasPrefix(t.path, p) {
			return true
		}
	}
	return strings.HasPrefix(t.path, "/3/") && (strings.Contains(t.path, "/account_states") ||
		t.appends("account_states") || t.query.Has("session_id") || t.query.Has("guest_session_id"))
}

// knownBelow3 reports whether a path is one of TMDB's without its version.
func knownBelow3(_ string, t target) bool { return tmdb.IsPath(t.path) }
