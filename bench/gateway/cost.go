package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/anivault/anivault/bench/kit"
)

// cost is what a cached request costs, beside the peers.
func (t *trial) cost(ctx context.Context) error {
	upstream := httptest.NewServer(http.HandlerFunc(answer))
	defer upstream.Close()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	servers := []*server{
		{name: "bare Go handler", cmd: pinned(ctx, self, "-role", "bare")},
		t.gateway(ctx, upstream.URL),
		{name: "bare httputil.ReverseProxy", cmd: pinned(ctx, self, "-role", "proxy", "-target", upstream.URL)},
	}
	for _, s := range servers {
		defer s.stop()
		if err := s.start(); err != nil {
			return err
		}
	}
	if s, err := startNginx(ctx, t.dir, upstream.URL); err != nil {
		fmt.Println("without nginx:", err)
	} else {
		servers = append(servers, s)
		defer s.stop()
	}
	fmt.Printf("%d rounds of %d cached requests, 16 connections, %d bytes\n", t.rounds, t.requests, len(body))
	if err := t.turns(servers); err != nil {
		return err
	}
	base := kit.Quantile(servers[0].cost, .5)
	fmt.Printf("%-28s %12s %12s\n", "", "µs/request", "× bare")
	for _, s := range servers {
		median := kit.Quantile(s.cost, .5)
		fmt.Printf("%-28s %12.1f %12.2f\n", s.name, median, median/base)
	}
	fmt.Println("goals: 2 × the bare handler, 3 × nginx, 0.5 × ReverseProxy")
	return nil
}

// turns measures servers in turns, after a first round that does not count.
func (t *trial) turns(servers []*server) error {
	for _, s := range servers {
		if err := load(s.url, 320); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	for range t.rounds {
		for _, s := range servers {
			if err := s.measure(t.requests); err != nil {
				return err
			}
		}
	}
	return nil
}
