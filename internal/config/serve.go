package config

import (
	"errors"
	"io/fs"
	"math"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/lang"
)

// Serve has the settings of the gateway.
type Serve struct {
	Listen      []string `setting:"serve.listen"`       // host:port, or unix:/path
	AdminListen string   `setting:"serve.admin_listen"` // host:port; "" for none
	TLSCert     string   `setting:"serve.tls.cert"`     // PEM files; both or none
	TLSKey      string   `setting:"serve.tls.key"`
	PlainHTTP   bool     `setting:"serve.plain_http"` // allow an address that is not loopback without TLS

	// Hosts are further Host names whose requests need no token, in lower case.
	Hosts          []string       `setting:"serve.hosts"`
	TrustedProxies []netip.Prefix `setting:"serve.trusted_proxies"`
	Anonymous      bool           `setting:"serve.anonymous"` // answer requests without a token even if there are clients

	// InteractiveMaxWait and BatchMaxWait are the longest that a request of the class waits for permission.
	InteractiveMaxWait time.Duration `setting:"serve.acquire_timeout.interactive"`
	BatchMaxWait       time.Duration `setting:"serve.acquire_timeout.batch"`

	// ServeStaleAfter is the wait before an expired answer is served; negative: only instead of an error.
	ServeStaleAfter time.Duration `setting:"serve.stale_after"`
	QueueMax        int           `setting:"serve.queue.max"`
	QueuePerClient  int           `setting:"serve.queue.per_client"`
	DrainTimeout    time.Duration `setting:"serve.drain_timeout"`
	SocketMode      fs.FileMode   `setting:"serve.socket_mode"`
	SocketGroup     string        `setting:"serve.socket_group"` // name or number; "" for the group of the process
	Sticky          Sticky
	Clients         []Client // from the config file; after PrepareServe also from clients.yaml
}

// Sticky has the settings for clients that keep using the same account and key.
type Sticky struct {
	Enabled bool          `setting:"serve.sticky.enabled"`
	TTL     time.Duration `setting:"serve.sticky.ttl"`  // how long a client without requests keeps them
	Wait    time.Duration `setting:"serve.sticky.wait"` // longest wait for free slots of that account and key
}

func readFileMode(v string) (fs.FileMode, error) {
	mode, err := strconv.ParseUint(v, 8, 9)
	if err != nil {
		return 0, lang.Error("must be an octal mode such as 0660")
	}
	return fs.FileMode(mode), nil
}

func isGroup(v string) bool {
	n, err := strconv.ParseInt(v, 10, 64)
	return !strings.ContainsAny(v, " /:") && (err != nil || n >= 0 && n < math.MaxUint32)
}

func readAddress(v string) (string, error) {
	if path, ok := strings.CutPrefix(v, "unix:"); ok {
		if !strings.HasPrefix(path, "/") {
			return "", lang.Error("must be unix: and an absolute path, such as unix:/run/anivault/gateway.sock")
		}
		return v, nil
	}
	host, port, err := net.SplitHostPort(v)
	n, problems := strconv.ParseUint(port, 10, 16)
	if err != nil || problems != nil || host == "" || strconv.FormatUint(n, 10) != port {
		return "", lang.Error("must be host:port such as 127.0.0.1:7373 (0.0.0.0:7373 is every IPv4 address, " +
			"[::]:7373 every address), or unix:/path")
	}
	return v, nil
}

func isHostAndPort(v string) bool {
	_, err := readAddress(v)
	return err == nil && !strings.HasPrefix(v, "unix:")
}

func isHost(v string) bool {
	return v != "" && !strings.ContainsAny(v, ":/@* ") && v == strings.ToLower(v)
}

func readProxy(v string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(v)
	if addr, problems := netip.ParseAddr(v); problems == nil {
		p, err = netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	if err != nil {
		return p, lang.Error("must be addresses or networks such as 10.0.0.1 or 10.0.0.0/8")
	}
	return p.Masked(), nil
}

// ListenNetwork returns the network for net.Listen: tcp4 for an IPv4 address, because with tcp 0.0.0.0 includes IPv6.
func ListenNetwork(addr string) string {
	host, _, _ := net.SplitHostPort(addr)
	if ip, err := netip.ParseAddr(host); err == nil && ip.Is4() {
		return "tcp4"
	}
	return "tcp"
}

// PrepareServe completes the settings of the gateway: concurrency defaults to concurrency_total, and the clients of
// clients.yaml are added. It returns an *Error for invalid settings. See also CheckExposure.
func (c *Config) PrepareServe() error {
	if c.IsDefault("limiter.concurrency") {
		c.Tuning.Concurrency = c.Tuning.ConcurrencyTotal
	}
	const of, all = "serve.queue.per_client", "serve.queue.max"
	if s := &c.Serve; s.QueuePerClient > s.QueueMax && !c.IsDefault(of) && !c.IsDefault(all) {
		return &Error{
			Name: c.place(of), Value: strconv.Itoa(s.QueuePerClient),
			Reason: lang.Textf("is above %s, which is %d: lower it, or raise %[1]s", c.place(all), s.QueueMax),
		}
	}
	clients, err := c.AllClients()
	if err != nil {
		return err
	}
	c.Serve.Clients = clients
	return nil
}

// AllClients returns the clients of the config file and of clients.yaml. Duplicate names or tokens are an error.
func (c *Config) AllClients() ([]Client, error) {
	made, err := readClientsFile(ClientsFile(c.Dirs.Data))
	if err != nil {
		return nil, err
	}
	var problems errorList
	all := slices.Concat(c.Serve.Clients, made)
	checkUniqueClients(all, &problems)
	return all, problems.err()
}

// CheckExposure returns an *Error if other machines could use the gateway without a token, or would send tokens
// unencrypted. rejectsAll says that a gateway without clients rejects every request; it then needs no client.
func (c *Config) CheckExposure(rejectsAll bool) error {
	var problems errorList
	s := &c.Serve
	if (s.TLSCert == "") != (s.TLSKey == "") {
		problems.reject(c.place("serve.tls.cert"), s.TLSCert,
			"serve.tls.cert and serve.tls.key go together: name both files, or none")
	}
	if a := s.AdminListen; a != "" && !IsLocal(a) && s.TLSCert == "" {
		problems.reject(c.place("serve.admin_listen"), a,
			"is not loopback: name a certificate in serve.tls.cert and serve.tls.key, or listen on 127.0.0.1, or set it to off")
	}
	seen := map[string]bool{s.AdminListen: true}
	for _, addr := range s.Listen {
		if seen[addr] && !strings.HasSuffix(addr, ":0") {
			problems.reject(c.place("serve.listen"), addr, "is listed twice, or is serve.admin_listen as well: name it once")
		}
		seen[addr] = true
		if !IsLocal(addr) && s.TLSCert == "" && !s.PlainHTTP {
			problems.reject(c.place("serve.listen"), addr,
				"is not loopback: name a certificate in serve.tls.cert and serve.tls.key, or set serve.plain_http: true on "+
					"a network that you trust; or listen on 127.0.0.1 or unix:/path")
		}
	}
	if len(s.Clients) == 0 && !rejectsAll {
		for _, e := range c.exposureErrors() {
			problems.add(e)
		}
	}
	return problems.err()
}

// NeedsClient reports whether other machines can reach the gateway, so that clients need tokens.
func (c *Config) NeedsClient() bool { return len(c.exposureErrors()) > 0 }

func (c *Config) exposureErrors() (out errorList) {
	s := &c.Serve
	for _, addr := range s.Listen {
		if !IsLocal(addr) {
			out.reject(c.place("serve.listen"), addr, "is not loopback, and there is no client: make one first: "+
				"anivault serve token new NAME; or listen on 127.0.0.1 or unix:/path")
		}
	}
	if len(s.Hosts) > 0 {
		out.reject(c.place("serve.hosts"), strings.Join(s.Hosts, ","),
			"needs at least one client: make one first: anivault serve token new NAME, or leave it empty")
	}
	if len(s.TrustedProxies) > 0 {
		out.reject(c.place("serve.trusted_proxies"), s.TrustedProxies[0].String(),
			"needs at least one client, because a proxy's requests seem to come from this machine: make a client "+
				"first: anivault serve token new NAME, or leave it empty")
	}
	return out
}

// CheckFilesStillExist returns an *Error if the config file, or the clients.yaml that has clients of before, is gone.
func (c *Config) CheckFilesStillExist(before *Config) error {
	path := ClientsFile(before.Dirs.Data)
	switch {
	case !c.file.exists && before.file.exists:
		path = c.Dirs.ConfigFile
	case !slices.ContainsFunc(before.Serve.Clients, func(k Client) bool { return k.isFrom(path) }), fileExists(path):
		return nil
	}
	return fileError(path, "is gone: put it back, or restart to continue without it")
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// SourceFiles returns the paths of all files that a gateway's configuration is read from. They need not exist.
func (c *Config) SourceFiles() []string {
	all := []string{c.Dirs.ConfigFile, ClientsFile(c.Dirs.Data), c.TMDB.TokenFile, c.Serve.TLSCert, c.Serve.TLSKey}
	for _, a := range c.Accounts {
		for _, k := range a.Keys {
			all = append(all, k.File)
		}
	}
	return slices.DeleteFunc(all, func(path string) bool { return path == "" })
}

// IsLocal reports whether an address can be reached only from this machine.
func IsLocal(addr string) bool {
	if strings.HasPrefix(addr, "unix:") {
		return true
	}
	host, _, err := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}
