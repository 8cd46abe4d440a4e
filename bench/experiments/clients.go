package main

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/anivault/anivault/bench/peers"
	"github.com/anivault/anivault/bench/virtual"
	"github.com/anivault/anivault/ratelimit"
)

// maker makes the clients of one run, in virtual time: each call of what it returns is for the next process.
type maker func(server http.RoundTripper) (next func() peers.Do, end func())

// published is a policy of each process's own.
func published(new func() policy) maker {
	return func(server http.RoundTripper) (func() peers.Do, func()) {
		return func() peers.Do { return new().do(server) }, func() {}
	}
}

// ours is this project's limiter with some settings changed. All processes share one store.
func ours(settings string) maker { return oursOver(settings, false) }

// oursAlone is the same where no process sees another.
func oursAlone(settings string) maker { return oursOver(settings, true) }

func oursOver(settings string, alone bool) maker {
	t, err := virtual.Tuning(settings)
	if err != nil {
		panic(err) // a setting of these files
	}
	return func(server http.RoundTripper) (func() peers.Do, func()) {
		store := ratelimit.NewMemoryStore()
		var limiters []*ratelimit.Limiter
		next := func() peers.Do {
			if alone {
				store = ratelimit.NewMemoryStore()
			}
			l, err := ratelimit.New(ratelimit.Config{Store: store, Tuning: t})
			if err != nil {
				panic(err) // a setting of this file
			}
			limiters = append(limiters, l)
			c := http.Client{Transport: &ratelimit.Transport{Base: server, Limiter: l}}
			return c.Do
		}
		return next, func() {
			for _, l := range limiters {
				_ = l.Close()
			}
		}
	}
}

// gap is a random time between two arrivals.
func gap(perSecond float64) time.Duration {
	return time.Duration(rand.ExpFloat64() / perSecond * float64(time.Second)) //nolint:gosec // no secret
}

// arrivals makes calls that arrive at random, whether those before have ended or not, and waits for all of them. ended
// is told the time from a call's arrival to its end.
func arrivals(do peers.Do, perSecond float64, length time.Duration, ended func(ok bool, arrived, took time.Duration)) {
	var group sync.WaitGroup
	start := time.Now()
	for time.Sleep(gap(perSecond)); time.Since(start) < length; time.Sleep(gap(perSecond)) {
		group.Go(func() {
			arrived := time.Now()
			err := virtual.Get(context.Background(), do, "/")
			ended(err == nil, arrived.Sub(start), time.Since(arrived))
		})
	}
	group.Wait()
}
