package redisstore

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/anivault/anivault/ratelimit/internal/shared"
)

// ACLRule returns the ACL rule with the rights that a user needs. PASSWORD in it stands for the password.
func (o Options) ACLRule(user string) string {
	o.complete()
	return fmt.Sprintf("ACL SETUSER %s on >PASSWORD resetkeys ~%s:* resetchannels &%s:* -@all %s",
		user, o.Prefix, o.Prefix, rights)
}

// rights are all commands that this package and its scripts send.
const rights = "+hello +auth +select +ping +info +time +getrange +set +del +exists +expire +rename +eval +evalsha " +
	"+hset +hmget +lpos +rpush +lrem +lpop +llen +publish +subscribe +unsubscribe +pubsub|channels"

// Findings describes a suitable server.
type Findings struct {
	Server         string        // such as Redis 7.0.15; "" if unknown
	RoundTrip      time.Duration // the fastest of a few
	ClockSkew      time.Duration // how far this machine's wall clock is ahead of the server's
	EvictionPolicy string        // for keys without expiry; "": none is evicted
	NoPersistence  bool          // the server has no append-only file, so a restart loses the state
	InfoDenied     bool          // this user may not run INFO
}

// Check tests whether a server is suitable: it connects, reads, and runs the limiter's commands on keys of its own. It
// does not touch the limiter's state. The error is a [*Fault].
func Check(ctx context.Context, o Options) (Findings, error) {
	var id [4]byte
	_, _ = rand.Read(id[:]) // never fails
	o.Dir = ""
	b, err := Open(o)
	if err != nil {
		return Findings{}, err
	}
	defer func() { _ = b.Close() }()
	e := exchange{Backend: b}
	if err := b.readState(ctx, &e); err != nil && e.damage == nil {
		err = b.explain(err)
		if f, ok := errors.AsType[*Fault](err); ok && f.Kind == Unreachable && b.answersWithoutTLS(ctx) {
			f.Kind, f.Text = Certificate, "does not speak TLS on this port"
		}
		return Findings{}, err
	}
	f, err := b.info(ctx)
	if err != nil {
		return f, err
	}
	b.keyPrefix += "check-" + hex.EncodeToString(id[:]) + ":"
	if err := b.tryCommands(ctx); err != nil {
		return f, b.explain(err)
	}
	f.RoundTrip, f.ClockSkew = b.clock.samples[0].roundTrip, b.clock.skew(time.Now())
	return f, nil
}

// answersWithoutTLS reports whether the address asks for TLS but the server answers a plain PING. A server that took a
// TLS hello for a command stays silent, so the TLS error alone does not show it. Nothing secret is sent.
func (b *Backend) answersWithoutTLS(ctx context.Context) bool {
	a := b.opts.Address
	if !a.tls {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, b.opts.Timeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, a.network, a.addr)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(b.opts.Timeout))
	var first [1]byte
	if _, err = conn.Write([]byte("PING\r\n")); err == nil {
		_, err = io.ReadFull(conn, first[:])
	}
	return err == nil && (first[0] == '+' || first[0] == '-')
}

func (b *Backend) tryCommands(ctx context.Context) error {
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), b.opts.Timeout)
		defer cancel()
		b.client.Del(ctx, b.key("state"), b.key("turn"), b.key("line"), b.key("state:corrupt"))
	}()
	if err := b.heartbeat.start(ctx); err != nil {
		return err
	}
	const value = "a rehearsal"
	if _, err := b.run(tryScript, scriptCall{value: []byte(value), wakeOwner: b.owner}); err != nil {
		return err
	}
	v, err := b.run(tryScript, scriptCall{value: []byte(value), expected: "of another version"})
	if err != nil {
		return err
	}
	_, err = b.run(commitScript, scriptCall{
		value: []byte(value), moveDamaged: true, expected: strconv.FormatInt(v.fence, 10),
	})
	if err != nil {
		return err
	}
	b.Living()
	return nil
}

// info runs INFO. A user without the right to run it is no fault.
func (b *Backend) info(ctx context.Context) (Findings, error) {
	ctx, cancel := context.WithTimeout(ctx, b.opts.Timeout)
	defer cancel()
	text, err := b.client.Info(ctx).Result()
	if err != nil {
		if isReply(err) {
			return Findings{InfoDenied: true}, nil
		}
		return Findings{}, b.explain(err)
	}
	says := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			says[key] = value
		}
	}
	f := Findings{Server: "Redis " + says["redis_version"]}
	oldest := [2]int{6, 2}
	version := says["redis_version"]
	if v := says["valkey_version"]; v != "" {
		f.Server, version, oldest = "Valkey "+v, v, [2]int{7, 2}
	}
	if v, ok := parseVersion(version); ok && (v[0] < oldest[0] || v[0] == oldest[0] && v[1] < oldest[1]) {
		return f, &Fault{
			Kind: TooOld, Place: b.opts.Address.Place(),
			Text: fmt.Sprintf("is %s; %d.%d is the oldest that will do", f.Server, oldest[0], oldest[1]),
		}
	}
	if policy := says["maxmemory_policy"]; strings.HasPrefix(policy, "allkeys-") {
		f.EvictionPolicy = policy
	}
	f.NoPersistence = says["aof_enabled"] == "0"
	return f, nil
}

func parseVersion(s string) (v [2]int, ok bool) {
	major, rest, _ := strings.Cut(s, ".")
	minor, _, _ := strings.Cut(rest, ".")
	var err, err2 error
	v[0], err = strconv.Atoi(major)
	v[1], err2 = strconv.Atoi(minor)
	return v, err == nil && err2 == nil
}

var _ shared.Coordinator = (*Backend)(nil)

// Fault is a reason why a server can't be used.
type Fault struct {
	Kind  Kind
	Place string // host and port, or the socket's path
	Text  string // a predicate, such as "is out of memory"
	Err   error
}

// Kind is the kind of a [Fault].
type Kind int

// The kinds of faults. Unreachable and Refusing may pass; the others need somebody to act.
const (
	Unreachable Kind = iota // no connection, or no answer in time
	Refusing                // the server answers but can't write: loading, read-only, out of memory, disk full, busy
	Password                // the user or password is wrong or missing
	Certificate
	Rights // the user lacks a right
	TooOld
	Database // the server has no database with this number
)

func (f *Fault) Error() string { return "Redis at " + f.Place + " " + f.Text }

func (f *Fault) Unwrap() error { return f.Err }

// Lasting reports whether the fault stays until somebody acts.
func (f *Fault) Lasting() bool { return f.Kind != Unreachable && f.Kind != Refusing }

func isReply(err error) bool {
	return errors.As(err, new(redis.Error)) || errors.Is(err, errReply)
}

// isConnClosed reports whether an open connection was closed, which a healthy server may do.
func isConnClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, net.ErrClosed)
}

// retryIfClosed calls ask once more if the connection was closed: the pool then uses another one.
func retryIfClosed(ask func() error) error {
	err := ask()
	if isConnClosed(err) {
		err = ask()
	}
	return err
}

func isTimeout(err error) bool {
	n, ok := errors.AsType[net.Error](err)
	return ok && n.Timeout() || errors.Is(err, context.DeadlineExceeded)
}

// replies maps the first words of the servers' error replies to faults.
var replies = []struct {
	begins string
	kind   Kind
	text   string
}{
	{"WRONGPASS", Password, "refuses the user or password"},
	{"NOAUTH", Password, "wants a password"},
	{"ERR AUTH", Password, "takes no password, but one is given"},
	{"ERR invalid password", Password, "refuses the password"},
	{"ERR Client sent AUTH", Password, "takes no password, but one is given"},
	{"NOPERM", Rights, "gives this user too few rights"},
	{"LOADING", Refusing, "is loading its data"},
	{"READONLY", Refusing, "is a read-only replica"},
	{"MISCONF", Refusing, "can't save and so takes no writes"},
	{"OOM", Refusing, "is out of memory"},
	{"BUSY", Refusing, "is busy with a script"},
	{"MASTERDOWN", Refusing, "is a replica that has lost its primary"},
	{"ERR max number of clients", Refusing, "has too many clients"},
	{"ERR DB index is out of range", Database, "has no database with this number"},
	{"ERR unknown command", TooOld, "does not know a command that is needed: 6.2 is the oldest that will do"},
}

// explain returns the *Fault for an error of the client library, without quoting it: it may mention keys and users.
func (b *Backend) explain(err error) error {
	if f := (*Fault)(nil); errors.As(err, &f) {
		return err
	}
	f := &Fault{Place: b.opts.Address.Place(), Err: err}
	if reply, ok := errors.AsType[redis.Error](err); ok {
		text := reply.Error()
		for _, r := range replies {
			if strings.HasPrefix(text, r.begins) || strings.Contains(text, ": "+r.begins) {
				f.Kind, f.Text = r.kind, r.text
				return f
			}
		}
		kind, _, _ := strings.Cut(text, " ") // such as WRONGTYPE
		f.Kind, f.Text = Refusing, fmt.Sprintf("answers with an error (%s)", kind)
		return f
	}
	switch {
	case errors.As(err, new(x509.UnknownAuthorityError)):
		f.Kind, f.Text = Certificate, "has a certificate of an authority that is not trusted here"
	case errors.As(err, new(x509.HostnameError)):
		f.Kind, f.Text = Certificate, "has a certificate for another name"
	case errors.As(err, new(x509.CertificateInvalidError)), errors.As(err, new(*tls.CertificateVerificationError)):
		f.Kind, f.Text = Certificate, "has a certificate that is not valid"
	case errors.As(err, new(tls.RecordHeaderError)):
		f.Kind, f.Text = Certificate, "does not speak TLS on this port"
	case errors.As(err, new(*net.DNSError)):
		f.Text = "can't be found: the name does not resolve"
	case isTimeout(err) && b.opts.Address.tls:
		f.Text = "does not answer in time (does that port speak TLS?)"
	case isTimeout(err):
		f.Text = "does not answer in time"
	case errors.Is(err, syscall.ECONNREFUSED):
		f.Text = "refuses the connection"
	case errors.Is(err, os.ErrNotExist):
		f.Text = "is not there: no such socket"
	case isConnClosed(err):
		f.Text = "has closed the connection"
	case errors.Is(err, errReply):
		f.Kind, f.Text = Refusing, "gives answers that make no sense"
	default:
		f.Text = "can't be reached"
	}
	return f
}
