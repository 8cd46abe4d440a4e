package redisstore

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"
)

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
	var reply redis.Error
	return errors.As(err, &reply) || errors.Is(err, errReply)
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
	var n net.Error
	return errors.As(err, &n) && n.Timeout() || errors.Is(err, context.DeadlineExceeded)
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
	var (
		unknown  x509.UnknownAuthorityError
		wrong    x509.HostnameError
		invalid  x509.CertificateInvalidError
		verify   *tls.CertificateVerificationError
		plain    tls.RecordHeaderError
		dns      *net.DNSError
		reply, _ = errors.AsType[redis.Error](err)
	)
	if reply != nil {
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
	case errors.As(err, &unknown):
		f.Kind, f.Text = Certificate, "has a certificate of an authority that is not trusted here"
	case errors.As(err, &wrong):
		f.Kind, f.Text = Certificate, "has a certificate for another name"
	case errors.As(err, &invalid), errors.As(err, &verify):
		f.Kind, f.Text = Certificate, "has a certificate that is not valid"
	case errors.As(err, &plain):
		f.Kind, f.Text = Certificate, "does not speak TLS on this port"
	case errors.As(err, &dns):
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
