package redisstore

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

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
	b.setKeyPrefix(b.keyPrefix + "check-" + hex.EncodeToString(id[:]) + ":")
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
