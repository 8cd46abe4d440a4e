// This file decides how a name server fails: resolvers that answer out of
// memory, for the faults that strike before there is a connection.

package tmdbfake

import (
	"context"
	"encoding/binary"
	"io"
	"net"
)

// DNSFault is a way in which a name server fails.
type DNSFault uint8

// The faults of a name server. What net reports: IsNotFound for NXDOMAIN,
// IsTemporary for SERVFAIL, a timeout for silence.
const (
	DNSServFail DNSFault = iota
	DNSNXDomain
	DNSSilent
)

// Resolver gives a resolver all of whose queries fail, for net.Dialer.Resolver.
// It opens no socket; its goroutines end with the query's connection. Package
// net keeps its resolver's state outside of testing/synctest bubbles, so this
// cannot be used in one.
func (d DNSFault) Resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go d.serve(server)
		return client, nil
	}}
}

// serve answers queries in the framing of DNS over TCP (RFC 1035 §4.2.2), which
// net uses for every connection that is not a packet's.
func (d DNSFault) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	for {
		var size [2]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		msg := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(c, msg); err != nil || len(msg) < 12 {
			return
		}
		if d == DNSSilent {
			continue
		}
		msg = question(msg)
		msg[2] |= 0x80 // an answer
		msg[3] = 0x80  // recursion available
		if d == DNSNXDomain {
			msg[3] |= 3
		} else {
			msg[3] |= 2
		}
		binary.BigEndian.PutUint16(size[:], uint16(len(msg))) //nolint:gosec // no longer than the query
		if _, err := c.Write(append(size[:], msg...)); err != nil {
			return
		}
	}
}

// question cuts a query to its header and question, without the options behind.
func question(msg []byte) []byte {
	at := 12
	for at < len(msg) && msg[at] != 0 {
		at += int(msg[at]) + 1
	}
	end := min(len(msg), at+5) // the root label, type and class
	copy(msg[6:12], make([]byte, 6))
	return msg[:end]
}
