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

// Rule is the ACL rule that is enough for a user, to be completed by a password.
func (o Options) Rule(user string) string {
	o.complete()
	return fmt.Sprintf("ACL SETUSER %s on >PASSWORD resetkeys ~%s:* resetchannels &%s:* -@all %s",
		user, o.Prefix, o.Prefix, rights)
}

// rights are all commands that are sent, those of the scripts included.
const rights = "+hello +auth +select +ping +info +time +getrange +set +del +exists +expire +rename +eval +evalsha " +
	"+hset +hmget +lpos +rpush +lrem +lpop +llen +publish +subscribe +unsubscribe +pubsub|channels"

// Findings is what Check learns of a server that can be used.
type Findings struct {
	Server   string        // such as Redis 7.0.15; "" where it doesn't tell
	Trip     time.Duration // of the fastest answer
	Skew     time.Duration // by how much the wall clock of this machine is ahead of the server's
	Evicts   string        // the policy by which it throws away keys that do not expire; "": it keeps them
	Forgets  bool          // it has no append-only file: a restart forgets
	Unlisted bool          // it doesn't say what INFO would
}

// Check looks whether a server will do: it connects, reads, and does under names of its own what the limiter does. It
// leaves the limiter's state alone. The error is a [*Fault].
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
	if err := b.look(ctx, &e); err != nil && e.damage == nil {
		err = b.explain(err)
		if f, ok := errors.AsType[*Fault](err); ok && f.Kind == Unreachable && b.speaksPlainly(ctx) {
			f.Kind, f.Text = Certificate, "does not speak TLS on this port"
		}
		return Findings{}, err
	}
	f, err := b.info(ctx)
	if err != nil {
		return f, err
	}
	b.name(b.base + "check-" + hex.EncodeToString(id[:]) + ":")
	if err := b.rehearse(ctx); err != nil {
		return f, b.explain(err)
	}
	f.Trip, f.Skew = b.clock.samples[0].trip, b.clock.skew(time.Now())
	return f, nil
}

// speaksPlainly reports whether the address is one for TLS and the server answers without it. It waits in silence for
// the rest of what it takes for a command. Nothing secret is sent.
func (b *Backend) speaksPlainly(ctx context.Context) bool {
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

func (b *Backend) rehearse(ctx context.Context) error {
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), b.opts.Timeout)
		defer cancel()
		b.client.Del(ctx, b.key("state"), b.key("turn"), b.key("line"), b.key("state:corrupt"))
	}()
	if err := b.keeper.start(ctx); err != nil {
		return err
	}
	const value = "a rehearsal"
	if _, err := b.run(try, order{value: []byte(value), rouse: b.owner}); err != nil {
		return err
	}
	v, err := b.run(try, order{value: []byte(value), with: "of another version"})
	if err != nil {
		return err
	}
	_, err = b.run(commit, order{value: []byte(value), aside: true, with: strconv.FormatInt(v.fence, 10)})
	if err != nil {
		return err
	}
	b.Living()
	return nil
}

// info asks the server about itself. A user who may not ask is no fault.
func (b *Backend) info(ctx context.Context) (Findings, error) {
	ctx, cancel := context.WithTimeout(ctx, b.opts.Timeout)
	defer cancel()
	text, err := b.client.Info(ctx).Result()
	if err != nil {
		if isReply(err) {
			return Findings{Unlisted: true}, nil
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
		f.Evicts = policy
	}
	f.Forgets = says["aof_enabled"] == "0"
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
