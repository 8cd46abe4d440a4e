package redisstore

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	_ "embed" // for the scripts
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Options say which server to use and how.
type Options struct {
	Address      Address
	Password     string // replaces the password of Address; "": no replacement
	PasswordFile string // its first line is the password, read anew for each connection; "" or unreadable: Password
	CA           []byte // PEM certificates of the authorities to trust with TLS; nil: the system's
	Prefix       string // start of all keys; "": anivault
	Upstream     string // scheme://host:port of the limited upstream; each upstream has keys of its own
	Dir          string // a folder where this machine's processes find each other; "": each process counts as a machine

	Turn    time.Duration // how long a process may have the turn; 0 means 250 ms
	Timeout time.Duration // how long the server may take to answer; 0 means 250 ms

	sinceBoot func() time.Duration // nil: the system's
}

const defaultTimeout = 250 * time.Millisecond

func (o *Options) complete() {
	o.Prefix = cmp.Or(o.Prefix, "anivault")
	o.Turn, o.Timeout = cmp.Or(o.Turn, defaultTimeout), cmp.Or(o.Timeout, defaultTimeout)
	if o.sinceBoot == nil {
		o.sinceBoot = sinceBoot
	}
}

func (o *Options) keyPrefix() string {
	sum := sha256.Sum256([]byte(o.Upstream))
	return o.Prefix + ":" + hex.EncodeToString(sum[:8]) + ":"
}

// quietLibrary silences the client library, which would log to stderr.
var quietLibrary = sync.OnceFunc(func() { redis.SetLogger(noLog{}) })

type noLog struct{}

func (noLog) Printf(context.Context, string, ...any) {}

func (o *Options) client() (*redis.Client, error) {
	quietLibrary()
	a := o.Address
	ro := &redis.Options{
		Network: a.network, Addr: a.addr, Username: a.user, Password: cmp.Or(o.Password, a.password), DB: a.db, Protocol: 2,
		MaxRetries: -1, ContextTimeoutEnabled: true,
		DialTimeout: o.Timeout, ReadTimeout: o.Timeout, WriteTimeout: o.Timeout,
		PoolSize: 4, PoolTimeout: o.Timeout, DisableIdentity: true,
	}
	if o.PasswordFile != "" {
		ro.CredentialsProvider = func() (user, password string) {
			text, _ := os.ReadFile(o.PasswordFile)
			line, _, _ := strings.Cut(string(text), "\n")
			return a.user, cmp.Or(strings.TrimRight(line, "\r"), ro.Password)
		}
	}
	if !a.tls {
		return redis.NewClient(ro), nil
	}
	host, _, _ := net.SplitHostPort(a.addr)
	ro.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
	if o.CA != nil {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(o.CA) {
			return nil, errors.New("has no certificate in PEM form")
		}
		ro.TLSConfig.RootCAs = pool
	}
	return redis.NewClient(ro), nil
}

// Address is the address of a server, made by ParseAddress. It is never printed with its user and password.
type Address struct {
	text           string // the address without user and password
	network, addr  string
	tls            bool
	user, password string
	db             int
}

// ParseAddress reads redis://[user[:password]@]host[:port][/db], rediss:// (TLS) or unix:///path[?db=0].
func ParseAddress(text string) (Address, error) {
	u, err := url.Parse(text)
	if err != nil { // the error would quote the text with the password
		return Address{}, errors.New(
			"is no URL; a special character in a password has to be written as %XX, or use a password file")
	}
	a := Address{network: "tcp"}
	db := strings.TrimPrefix(u.Path, "/")
	switch u.Scheme {
	case "redis", "rediss":
		a.tls = u.Scheme == "rediss"
		if u.Hostname() == "" || u.Opaque != "" {
			return Address{}, errors.New("names no host; write redis://host:6379")
		}
		if u.RawQuery != "" {
			return Address{}, errors.New(
				"has a query, which means nothing here; the database's number is the path: redis://host:6379/0")
		}
		a.addr = net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "6379"))
		u.Host = a.addr
	case "unix":
		a.network, a.addr, db = "unix", u.Path, u.Query().Get("db")
		if u.Host != "" || u.Path == "" {
			return Address{}, errors.New("names no socket; write unix:///run/redis/redis.sock")
		}
	default:
		return Address{}, errors.New("must begin with redis://, rediss:// or unix://")
	}
	if db != "" {
		if a.db, err = strconv.Atoi(db); err != nil || a.db < 0 || a.db > 1<<20 {
			return Address{}, fmt.Errorf("%q is not a database number; write 0 or leave it out", db)
		}
	}
	if u.User != nil {
		a.user = u.User.Username()
		a.password, _ = u.User.Password()
	}
	u.User, u.RawQuery, u.Fragment = nil, "", "" // they may have secrets
	if a.text = u.String(); a.network == "unix" && db != "" {
		a.text += "?db=" + db
	}
	return a, nil
}

// Place returns host and port, or the socket's path, without user and password.
func (a Address) Place() string { return a.addr }

func (a Address) String() string { return a.text }

// Format implements fmt.Formatter, so that every verb prints String.
func (a Address) Format(f fmt.State, _ rune) { fmt.Fprint(f, a.String()) }

// User returns the name of the user, "anivault" if the address has none.
func (a Address) User() string { return cmp.Or(a.user, "anivault") }

// Exposed reports whether others can read the traffic to the server: no TLS, and neither loopback nor a socket.
func (a Address) Exposed() bool {
	if a.tls || a.network == "unix" {
		return false
	}
	host, _, _ := net.SplitHostPort(a.addr)
	ip := net.ParseIP(host)
	return host != "localhost" && (ip == nil || !ip.IsLoopback())
}

// The parts of the scripts; args.lua says what their keys and replies are.
var (
	//go:embed script/args.lua
	argsLua string
	//go:embed script/shortcut.lua
	shortcutLua string
	//go:embed script/functions.lua
	functionsLua string
	//go:embed script/try.lua
	tryLua string
	//go:embed script/commit.lua
	commitLua string
)

// tryScript writes a value if the state still has the expected version and nobody holds or awaits the turn. Otherwise
// it takes the turn if that is free, or joins the line. An empty value only asks for the turn.
var tryScript = redis.NewScript(argsLua + shortcutLua + functionsLua + tryLua)

// commitScript writes a value if the turn still has this fence (any fence if that is empty) and hands the turn to the
// first subscribed process in line. The caller leaves the line. An empty value writes nothing.
var commitScript = redis.NewScript(argsLua + functionsLua + commitLua)

type scriptReply struct {
	kind  string // "done", "wait", "turn" or "late"
	wait  time.Duration
	fence int64
	value []byte // with "turn": the stored state; nil if none is stored
}

type scriptCall struct {
	value       []byte
	moveDamaged bool   // rename the damaged state first
	wakeOwner   string // the owner of the request to wake
	wakeIn      time.Duration
	expected    string        // tryScript expects this version, commitScript this fence
	sentAt      time.Duration // time since boot just before the script was sent; 0: unknown
}

var errReply = errors.New("unexpected reply")

// run runs a script and records the server's time. It takes no context, because a script that was sent may already have
// run, so the caller must not give up.
func (b *Backend) run(script *redis.Script, o scriptCall) (scriptReply, error) {
	aside := "0"
	if o.moveDamaged {
		aside = "1"
	}
	b.roundTrips.Add(1)
	sent := cmp.Or(o.sentAt, b.clock.boot())
	if b.conn == nil {
		b.conn = b.client.Conn()
	}
	asked := time.Now()
	ctx, cancel := context.WithDeadline(context.Background(), asked.Add(b.opts.Timeout))
	defer cancel()
	ask := func() (any, error) {
		return script.Run(ctx, b.conn, []string{b.key("state"), b.key("turn"), b.key("line"), b.key("state:corrupt")},
			b.owner, b.opts.Turn.Milliseconds(), b.key("wake:"),
			o.value, aside, o.wakeOwner, o.expected, fmt.Sprint("wake ", o.wakeIn.Microseconds())).Result()
	}
	reply, err := ask()
	if isConnClosed(err) && len(o.value) == 0 { // nothing can have been written
		b.closeConn()
		b.conn, sent = b.client.Conn(), b.clock.boot()
		reply, err = ask()
	}
	if b.recordAnswer(asked, err); err != nil {
		b.closeConn()
		return scriptReply{}, err
	}
	v, server, err := parseReply(reply)
	if err == nil {
		b.clock.observe(sent, b.clock.boot(), server)
	}
	return v, err
}

// closeConn closes the connection for scripts. It is kept between scripts, because taking one from the pool, which
// tests it first, is a measurable part of an update. [exchange.resolveLostReply] handles a script whose connection
// died.
func (b *Backend) closeConn() {
	if b.conn != nil {
		_ = b.conn.Close()
		b.conn = nil
	}
}

func parseReply(answer any) (v scriptReply, server time.Duration, err error) {
	if us, ok := answer.(int64); ok && us >= 0 && us < 1<<33*1e6 {
		v.kind = "done"
		return v, time.Duration(us) * time.Microsecond, nil
	}
	reply, _ := answer.([]any)
	if len(reply) < 3 {
		return v, 0, errReply
	}
	v.kind, _ = reply[0].(string)
	server, err = parseTime(reply[1], reply[2])
	switch {
	case err != nil:
		return v, 0, err
	case v.kind == "late":
		return v, server, nil
	case v.kind == "wait" && len(reply) == 4:
		ms, ok := reply[3].(int64)
		if !ok {
			return v, 0, errReply
		}
		v.wait = time.Duration(ms) * time.Millisecond
		return v, server, nil
	case v.kind == "turn" && len(reply) == 5:
		fence, ok := reply[3].(int64)
		value, isText := reply[4].(string)
		if !ok || !isText {
			return v, 0, errReply
		}
		v.fence, v.value = fence, nilIfEmpty(value)
		return v, server, nil
	}
	return v, 0, errReply
}

// nilIfEmpty returns nil for an empty value, which is what GETRANGE returns for a missing key.
func nilIfEmpty(value string) []byte {
	if value == "" {
		return nil
	}
	return []byte(value)
}

func parseTime(seconds, micros any) (time.Duration, error) {
	s, isText := seconds.(string)
	us, isText2 := micros.(string)
	n, err := strconv.ParseInt(s, 10, 64)
	m, err2 := strconv.ParseInt(us, 10, 64)
	if !isText || !isText2 || err != nil || err2 != nil || n < 0 || n > 1<<33 || m < 0 || m >= 1e6 {
		return 0, fmt.Errorf("%w for the time", errReply)
	}
	return time.Duration(n)*time.Second + time.Duration(m)*time.Microsecond, nil
}
