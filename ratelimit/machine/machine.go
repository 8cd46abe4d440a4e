// Package machine is the pure core of package ratelimit, for simulations and tools: the [Snapshot] and its methods.
// [Snapshot.TryGrant] and [Snapshot.Record] take the time and the random draw as arguments, so a program can run the
// real limiter in virtual time. [Rules] returns the table of all transitions, [Graph] draws it.
package machine

import (
	"time"

	"github.com/anivault/anivault/ratelimit/internal/core"
)

type (
	// Snapshot is the state that all users of one upstream share.
	Snapshot = core.Snapshot
	// Ask is one attempt to get a permit from a Snapshot.
	Ask = core.PermitRequest
	// Pass is a permit's id.
	Pass = core.PermitID
	// Report is how a request with a permit ended; Snapshot.Record takes it.
	Report = core.Report
	// Rule is one row of the transition table.
	Rule = core.Rule
)

// NewSnapshot returns the snapshot of an unknown upstream: Normal, full bucket.
func NewSnapshot(now core.Instant) Snapshot { return core.NewSnapshot(now) }

// RetryDelay returns how long a request waits before its n-th retry; draw is in [0,1).
func RetryDelay(n int, lastAnswer *core.Event, draw float64) time.Duration {
	return core.RetryDelay(n, lastAnswer, draw)
}

// States lists the five states from the most open to the most restrictive.
func States() []core.State { return core.States() }

// Rules returns the transition table in the order in which its rows are tried.
func Rules() []Rule { return core.Rules() }

// Graph returns the transition table as a Mermaid state diagram.
func Graph() string { return core.Graph() }
