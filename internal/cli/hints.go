package cli

import (
	"errors"
	"net"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/redisstore"
	"github.com/anivault/anivault/tmdb"
)

// hintFor returns the line that stands below an error and says what to do about it; "" where the error
// says so itself.
func hintFor(err error) lang.Text {
	if known, ok := errors.AsType[*failure](err); ok && known.hint != "" {
		return known.hint
	}
	if _, ok := errors.AsType[*redisstore.Fault](err); ok && errors.Is(err, ratelimit.ErrNotShared) {
		return "anivault doctor looks at the coordinator"
	}
	if errors.Is(err, ratelimit.ErrNotShared) {
		return "anivault doctor looks at the folder and its files; a process that is stopped (Ctrl-Z) has to go on or end"
	}
	return tmdbHint(err)
}

// The hint of a missing key is what most people read first, so it says everything that is needed.
const noKeyMessage = "no TMDB key is set"

const noKeyHint = `a key is free: https://www.themoviedb.org/settings/api, "API Read Access Token"
      then: export ANIVAULT_TMDB_TOKEN=...    or keep it: anivault config init
      without a key: anivault demo, anivault parse, anivault match --offline`

// setupHints says what a person can do about a mistake of the setup.
var setupHints = map[tmdb.ConfigKind]lang.Text{
	tmdb.ConfigExpired: "is this machine's clock right? If it is, the server's certificate has run out: " +
		"check tmdb.base_url",
	tmdb.ConfigUnknownCA: "if a proxy or a stand-in with its own authority is meant, name its certificate in " +
		"ANIVAULT_TMDB_CA_FILE; if not, someone is reading along: check tmdb.base_url and the network",
	tmdb.ConfigWrongName: "tmdb.base_url leads to a server with another name: check its spelling, the DNS answer, " +
		"and that no login page of this network stands between",
	tmdb.ConfigPlainPort: "tmdb.base_url says https:// but that port speaks plain HTTP: write http:// or the right port",
	tmdb.ConfigNotHTTP: "tmdb.base_url leads to something that is not a web server, or to a TLS port with http://: " +
		"check scheme and port",
	tmdb.ConfigRedirect:    redirectHint,
	tmdb.ConfigDowngrade:   redirectHint,
	tmdb.ConfigProxy:       "check HTTPS_PROXY and the user name and password in it",
	tmdb.ConfigCertificate: connectionHint,
	tmdb.ConfigTLS:         connectionHint,
}

const (
	redirectHint = "the key is not sent there: set tmdb.base_url to the final address if it is meant, " +
		"or log in to this network first"
	connectionHint = "check tmdb.base_url, this machine's clock, and ANIVAULT_TMDB_CA_FILE if it is set"

	keyAsTokenHint = "what was given as the token looks like a v3 API key: set ANIVAULT_TMDB_API_KEY to it, " +
		"or use the longer API read access token"
	suspendedKeyHint = "TMDB suspended this key or its account: ask TMDB, or use another key"
	wrongKeyHint     = "check ANIVAULT_TMDB_TOKEN (the API read access token) or ANIVAULT_TMDB_API_KEY " +
		"on https://www.themoviedb.org/settings/api"

	clientTokenHint = "a gateway takes tokens of its own, and none of TMDB's: make one where it runs, anivault serve token new NAME, " +
		"and set ANIVAULT_TMDB_TOKEN to it"

	webPageHint = "something between here and TMDB answered with a web page: a login page of this network, a proxy, " +
		"or an outage of TMDB's edge"
)

// tmdbHint returns a remedy in one sentence for an error of the TMDB client that a person can mend, "" for all others.
func tmdbHint(err error) lang.Text {
	var (
		config  *tmdb.ConfigError
		refused *tmdb.UnauthorizedError
		dns     *net.DNSError
		decode  *tmdb.DecodeError
		answer  *tmdb.Error
	)
	switch {
	case errors.As(err, &config):
		return setupHints[config.Kind]
	case errors.As(err, &refused):
		return keyHint(refused)
	case errors.As(err, &dns) && dns.IsNotFound:
		return lang.Textf("the name %s does not exist: is tmdb.base_url (ANIVAULT_TMDB_BASE_URL) spelt right? "+
			"Some providers block it in their DNS; another resolver may help", ui.Escaped(dns.Name))
	case errors.As(err, &decode) && decode.Reason == tmdb.ReasonHTML,
		errors.As(err, &answer) && answer.Foreign == tmdb.ReasonHTML:
		return webPageHint
	}
	return ""
}

func keyHint(e *tmdb.UnauthorizedError) lang.Text {
	switch {
	case e.Cause != nil && e.Cause.Gateway:
		return clientTokenHint
	case e.KeyAsToken:
		return keyAsTokenHint
	case e.Cause != nil && (e.Cause.Code == tmdb.CodeSuspendedKey || e.Cause.Code == tmdb.CodeSuspended):
		return suspendedKeyHint
	}
	return wrongKeyHint
}
