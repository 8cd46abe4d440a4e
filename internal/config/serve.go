package config

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/ratelimit"
)

// Serve holds the gateway's settings.
type Serve struct {
	Listen          []string // host:port, or unix:/path
	AdminListen     string   // host:port; "" for none
	TLSCert, TLSKey string   // PEM files; both or none
	PlainHTTP       bool     // allow an address that is not loopback without TLS
	Hosts           []string // further names that are answered without a token, lower case
	TrustedProxies  []netip.Prefix
	Anonymous       bool // with clients configured: also answer who has no token
	InteractivePatience,
	BatchPatience time.Duration // longest wait for permission, by class
	StaleAfter     time.Duration // when an expired answer is given; negative: only instead of an error
	QueueMax       int
	QueuePerClient int
	DrainTimeout   time.Duration
	Sticky         Sticky
	Clients        []Client // of the config file and of clients.yaml
}

// Sticky lets clients keep their account and key.
type Sticky struct {
	Enabled bool
	TTL     time.Duration // without a request
	Wait    time.Duration // longest wait for their slots
}

// serveSettings are the gateway's settings that are single values. The clients are a section of their own (see Client).
var serveSettings = []Setting{
	{
		Key: "serve.listen", Default: "127.0.0.1:7373", List: true, Allowed: "host:port or unix:/path, several with commas",
		Doc: "Where the gateway listens.", apply: items(func(c *Config) *[]string { return &c.Serve.Listen }, checkAddress),
	},
	{
		Key: "serve.admin_listen", Default: "127.0.0.1:7374", Allowed: "host:port, or off",
		Doc: "Where the page and the API for admins listen. An address that is not loopback needs serve.tls.", apply: applyAdminListen,
	},
	pathTo("serve.tls.cert", "PEM file of the gateway's certificate and those that sign it.", func(c *Config) *string { return &c.Serve.TLSCert }),
	pathTo("serve.tls.key", "PEM file of the certificate's key.", func(c *Config) *string { return &c.Serve.TLSKey }),
	yesNo("serve.plain_http", "Allow an address that is not loopback without TLS: whoever reads along sees the tokens.",
		func(c *Config) *bool { return &c.Serve.PlainHTTP }),
	{
		Key: "serve.hosts", List: true, Allowed: "host names, several with commas", Doc: "Further Host names that are answered without a token.",
		apply: items(func(c *Config) *[]string { return &c.Serve.Hosts }, checkHost),
	},
	{
		Key: "serve.trusted_proxies", List: true, Allowed: "addresses or networks such as 10.0.0.0/8, several with commas",
		Doc: "Proxies whose X-Forwarded-For is believed.", apply: applyProxies,
	},
	yesNo("serve.anonymous", "With clients configured: also answer who has no token.", func(c *Config) *bool { return &c.Serve.Anonymous }),
	period("serve.acquire_timeout.interactive", "30s", "Longest time that a request of an interactive client waits for permission.",
		func(c *Config) *time.Duration { return &c.Serve.InteractivePatience }),
	period("serve.acquire_timeout.batch", "500m", "Longest time that a request of a batch client waits for permission.",
		func(c *Config) *time.Duration { return &c.Serve.BatchPatience }),
	orOff(period("serve.stale_after", "1s", "An expired answer is given when permission takes longer; off: only in place of an error.",
		func(c *Config) *time.Duration { return &c.Serve.StaleAfter })),
	whole("serve.queue.max", "1000", "How many questions may wait for permission.", "from 1 to 100000", 1, 100_000,
		func(c *Config) *int { return &c.Serve.QueueMax }),
	whole("serve.queue.per_client", "200", "How many questions of one client may wait for permission.", "from 1 to 100000", 1, 100_000,
		func(c *Config) *int { return &c.Serve.QueuePerClient }),
	period("serve.drain_timeout", "25s", "How long a gateway that was asked to stop finishes what is under way.",
		func(c *Config) *time.Duration { return &c.Serve.DrainTimeout }),
	yesNo("serve.sticky.enabled", "Clients keep their account and key: for upstreams that remember by account, which TMDB does not.",
		func(c *Config) *bool { return &c.Serve.Sticky.Enabled }),
	period("serve.sticky.ttl", "1h", "How long a client that asks nothing keeps its account and key.",
		func(c *Config) *time.Duration { return &c.Serve.Sticky.TTL }),
	period("serve.sticky.wait", "1.2s", "Longest wait for slots of exactly those; then any account will do.",
		func(c *Config) *time.Duration { return &c.Serve.Sticky.Wait }),
}

func yesNo(key, doc string, field func(*Config) *bool) Setting {
	return Setting{Key: key, Default: "false", Allowed: "true or false", Doc: doc, apply: func(c *Config, v string) (err error) {
		if *field(c), err = strconv.ParseBool(v); err != nil {
			return lang.Error("must be true or false")
		}
		return nil
	}}
}

// period is a time, written as those of the limiter.
func period(key, standard, doc string, field func(*Config) *time.Duration) Setting {
	return Setting{Key: key, Default: standard, Allowed: "a time such as " + standard + ", at most 24h", Doc: doc, apply: func(c *Config, v string) error {
		var t ratelimit.Tuning
		wait, _ := ratelimit.FieldByKey("max_wait")
		if err := wait.Set(&t, v); err != nil || t.MaxWait <= 0 {
			return lang.Error("must be a time such as %s, above 0 and at most 24h", standard)
		}
		*field(c) = t.MaxWait
		return nil
	}}
}

// orOff lets a period be off, which is a negative one.
func orOff(s Setting) Setting {
	s.Allowed += ", or off"
	apply := s.apply
	s.apply = func(c *Config, v string) error {
		if v == "off" {
			c.Serve.StaleAfter = -1
			return nil
		}
		return apply(c, v)
	}
	return s
}

// items is a list whose items are checked one by one.
func items(field func(*Config) *[]string, check func(string) error) func(*Config, string) error {
	return func(c *Config, v string) error {
		var list []string
		for item := range strings.SplitSeq(v, ",") {
			item = strings.TrimSpace(item)
			if err := check(item); err != nil {
				return err
			}
			list = append(list, item)
		}
		*field(c) = list
		return nil
	}
}

func checkAddress(v string) error {
	if path, ok := strings.CutPrefix(v, "unix:"); ok {
		if !strings.HasPrefix(path, "/") {
			return lang.Error("must be unix: and an absolute path, such as unix:/run/anivault/gateway.sock")
		}
		return nil
	}
	host, port, err := net.SplitHostPort(v)
	if n, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || host == "" || strconv.FormatUint(n, 10) != port {
		return lang.Error("must be host:port such as 127.0.0.1:7373 (0.0.0.0:7373 is every IPv4 address, [::]:7373 every address), or unix:/path")
	}
	return nil
}

func applyAdminListen(c *Config, v string) error {
	c.Serve.AdminListen = ""
	if v == "off" {
		return nil
	}
	if err := checkAddress(v); err != nil || strings.HasPrefix(v, "unix:") {
		return lang.Error("must be host:port such as 127.0.0.1:7374, or off")
	}
	c.Serve.AdminListen = v
	return nil
}

func checkHost(v string) error {
	if v == "" || strings.ContainsAny(v, ":/@* ") || v != strings.ToLower(v) {
		return lang.Error("must be host names in lower case, without scheme, port and *: under any name a page could reach the gateway")
	}
	return nil
}

func applyProxies(c *Config, v string) error {
	c.Serve.TrustedProxies = nil
	for item := range strings.SplitSeq(v, ",") {
		item = strings.TrimSpace(item)
		p, err := netip.ParsePrefix(item)
		if addr, bad := netip.ParseAddr(item); bad == nil {
			p, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil {
			return lang.Error("must be addresses or networks such as 10.0.0.1 or 10.0.0.0/8")
		}
		c.Serve.TrustedProxies = append(c.Serve.TrustedProxies, p.Masked())
	}
	return nil
}

// ForServe completes what the gateway alone needs: unless it was set, concurrency is concurrency_total, and the clients of
// clients.yaml belong to those of the config file. Its error is an *Error with all that can't be used. See also CheckExposure.
func (c *Config) ForServe() error {
	if c.origin("limiter.concurrency") == "default" {
		c.Tuning.Concurrency = c.Tuning.ConcurrencyTotal
	}
	const of, all = "serve.queue.per_client", "serve.queue.max"
	if s := &c.Serve; s.QueuePerClient > s.QueueMax && c.origin(of) != "default" && c.origin(all) != "default" {
		return &Error{
			Name: c.place(of), Value: strconv.Itoa(s.QueuePerClient),
			Reason: fmt.Sprintf("is above %s, which is %d: lower the one or raise the other", c.place(all), s.QueueMax),
		}
	}
	clients, err := c.AllClients()
	if err != nil {
		return err
	}
	c.Serve.Clients = clients
	return nil
}

// AllClients returns the clients of the config file and of clients.yaml, whose names and tokens are unique.
func (c *Config) AllClients() ([]Client, error) {
	var bad faults
	made, err := readClientsFile(ClientsFile(c.Dirs.Data), &bad)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(c.Serve.Clients, made)
	unique(all, &bad)
	return all, bad.err()
}

// CheckExposure returns an *Error where others than this machine's own programs would be answered without a token, or tokens
// sent in the clear. closed allows that there is no client: then nobody may ask.
func (c *Config) CheckExposure(closed bool) error {
	var bad faults
	s := &c.Serve
	if (s.TLSCert == "") != (s.TLSKey == "") {
		bad.add(&Error{Name: c.place("serve.tls.cert"), Value: s.TLSCert, Reason: "serve.tls.cert and serve.tls.key go together: name both files, or none"})
	}
	if a := s.AdminListen; a != "" && !IsLocal(a) && s.TLSCert == "" {
		bad.add(&Error{
			Name: c.place("serve.admin_listen"), Value: a,
			Reason: "is not loopback: name a certificate in serve.tls.cert and serve.tls.key, or listen on 127.0.0.1, or set it to off",
		})
	}
	for _, addr := range s.Listen {
		if !IsLocal(addr) && s.TLSCert == "" && !s.PlainHTTP {
			bad.add(&Error{
				Name: c.place("serve.listen"), Value: addr,
				Reason: "is not loopback: name a certificate in serve.tls.cert and serve.tls.key, or set serve.plain_http: true where nobody reads along; " +
					"or listen on 127.0.0.1 or unix:/path",
			})
		}
	}
	if len(s.Clients) == 0 && !closed {
		for _, e := range c.exposed() {
			bad.add(e)
		}
	}
	return bad.err()
}

// NeedsClient reports whether others than this machine's own programs may ask, which takes a token.
func (c *Config) NeedsClient() bool { return len(c.exposed()) > 0 }

// exposed returns, as errors, the settings by which others than this machine's own programs may ask.
func (c *Config) exposed() (out []*Error) {
	s := &c.Serve
	for _, addr := range s.Listen {
		if !IsLocal(addr) {
			out = append(out, &Error{
				Name: c.place("serve.listen"), Value: addr,
				Reason: "is not loopback, and there is no client: make one first: anivault serve token new NAME; " +
					"or listen on 127.0.0.1 or unix:/path",
			})
		}
	}
	if len(s.Hosts) > 0 {
		out = append(out, &Error{
			Name: c.place("serve.hosts"), Value: strings.Join(s.Hosts, ","),
			Reason: "needs at least one client: make one first: anivault serve token new NAME, or leave it empty",
		})
	}
	if len(s.TrustedProxies) > 0 {
		out = append(out, &Error{
			Name: c.place("serve.trusted_proxies"), Value: s.TrustedProxies[0].String(),
			Reason: "needs at least one client, for to the gateway a proxy's requests come from this machine: " +
				"make a client first: anivault serve token new NAME, or leave it empty",
		})
	}
	return out
}

// Files returns the files that a gateway's configuration was read from, or would be.
func (c *Config) Files() []string {
	var out []string
	all := []string{c.Dirs.ConfigFile, ClientsFile(c.Dirs.Data), c.TMDB.TokenFile, c.Serve.TLSCert, c.Serve.TLSKey}
	for _, path := range append(all, c.keyFiles()...) {
		if path != "" {
			out = append(out, path)
		}
	}
	return out
}

// IsLocal reports whether only programs of this machine reach an address.
func IsLocal(addr string) bool {
	if strings.HasPrefix(addr, "unix:") {
		return true
	}
	host, _, err := net.SplitHostPort(addr)
	return err == nil && isLoopback(host)
}

// origin is where a setting's value came from.
func (c *Config) origin(key string) string {
	for _, v := range c.values {
		if v.Setting.Key == key {
			return v.Origin
		}
	}
	return ""
}

// place names a setting the way the person wrote it.
func (c *Config) place(key string) string {
	kind, where, _ := strings.Cut(c.origin(key), " ")
	switch kind {
	case "flag", "environment":
		return where
	case "config":
		return c.in.at(key)
	}
	return key
}
