package main

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/anivault/anivault/bench/peers"
	"github.com/anivault/anivault/ratelimit"
)

// client fetches one item, with all its waits and retries.
type client struct {
	do    peers.Do
	close func() error
}

// ours are the settings of this project's clients. Peers that need a rate send 35 a second.
var ours = map[string]map[string]string{
	"ours":       nil,
	"ours-tuned": {"rate_base": "45", "ceiling": "48"},
}

const peerRate = 35

// clientNames lists the clients, ours first.
func clientNames() []string { return append([]string{"ours", "ours-tuned"}, peers.Names()...) }

// newClient makes a client by name. dir is a folder that the processes of one trial share.
func newClient(name string, base http.RoundTripper, dir string) (client, error) {
	if make, ok := peers.Makers[name]; ok {
		return client{make(base, peerRate), func() error { return nil }}, nil
	}
	settings, ok := ours[name]
	if !ok {
		return client{}, fmt.Errorf("no client %q", name)
	}
	t, err := tuning(settings)
	if err != nil {
		return client{}, err
	}
	t.MaxRetries, t.MaxWait = peers.Tries-1, peers.MaxItem
	store, err := ratelimit.OpenFileStore(dir, ratelimit.FileOptions{})
	if err != nil {
		return client{}, err
	}
	l, err := ratelimit.New(ratelimit.Config{Store: store, Tuning: t})
	if err != nil {
		return client{}, err
	}
	c := http.Client{Transport: &ratelimit.Transport{Base: base, Limiter: l}}
	return client{c.Do, func() error { return errors.Join(l.Close(), store.Close()) }}, nil
}

// tuning returns the defaults with some settings changed.
func tuning(settings map[string]string) (ratelimit.Tuning, error) {
	t := ratelimit.Default()
	for key, value := range settings {
		f, ok := ratelimit.FieldByKey(key)
		if !ok {
			return t, fmt.Errorf("no setting %q", key)
		}
		if err := f.Set(&t, value); err != nil {
			return t, err
		}
	}
	return t, nil
}
