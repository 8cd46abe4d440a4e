package main

import (
	"fmt"

	"github.com/anivault/anivault/bench/peers"
	"github.com/anivault/anivault/bench/virtual"
	"github.com/anivault/anivault/ratelimit"
)

// ours are the settings of this project's clients. Peers that need a rate send 35 a second.
var ours = map[string]string{"ours": "", "ours-tuned": "rate_base=45 ceiling=48"}

const peerRate = 35

// clientNames lists the clients, ours first.
func clientNames() []string { return append([]string{"ours", "ours-tuned"}, peers.Names()...) }

// newClient makes a client by name. The processes of one trial share the store.
func newClient(name string, store ratelimit.Store, states *states) (virtual.NewClient, error) {
	if make, ok := peers.Makers[name]; ok {
		return virtual.Peer(make, peerRate), nil
	}
	settings, ok := ours[name]
	if !ok {
		return nil, fmt.Errorf("no client %q", name)
	}
	t, err := virtual.Tuning(settings)
	return virtual.Ours(store, t, ratelimit.Hooks{OnTransition: states.add}), err
}
