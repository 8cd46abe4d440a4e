package virtual

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/anivault/anivault/bench/peers"
	"github.com/anivault/anivault/ratelimit"
)

// What every process does: eight workers fetch items of an endless list, four requests at a time.
const (
	Slots   = 4
	Workers = 2 * Slots
)

// Trial is some processes that all have one client.
type Trial struct {
	Upstream
	Length    time.Duration
	Life      time.Duration // a process ends after it and another takes its place; 0: they live to the end
	Processes int
	Seed      uint64
	Client    NewClient
	Server    func() Server // makes the upstream, in virtual time; nil: Upstream is simulated

	Seen   []Request // what the upstream saw
	Failed int       // good items given up
	Err    error
}

// NewClient makes the client of one process.
type NewClient func(base http.RoundTripper) (Client, error)

// Client fetches items.
type Client struct {
	Do    peers.Do
	Close func()
	// Aside says that the client does not wait for the retries of an item: workers set it aside, after Retries retries
	// it is asked as often again, and then given up.
	Aside   bool
	Retries int
}

// Tuning returns the limiter's defaults with some settings changed: "rate_base=45 ceiling=48".
func Tuning(settings string) (ratelimit.Tuning, error) {
	t := ratelimit.Default()
	for word := range strings.FieldsSeq(settings) {
		key, value, _ := strings.Cut(word, "=")
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

// Ours is this project's limiter. The processes of a trial share the store.
func Ours(store ratelimit.Store, t ratelimit.Tuning, hooks ratelimit.Hooks) NewClient {
	return func(base http.RoundTripper) (Client, error) {
		l, err := ratelimit.New(ratelimit.Config{Store: store, Tuning: t, Hooks: hooks})
		if err != nil {
			return Client{}, err
		}
		c := http.Client{Transport: &ratelimit.Transport{Base: base, Limiter: l}}
		return Client{Do: c.Do, Close: func() { _ = l.Close() }, Aside: true, Retries: t.MaxRetries}, nil
	}
}

// Peer is a client that waits for its own retries.
func Peer(make peers.Maker, rate int) NewClient {
	return func(base http.RoundTripper) (Client, error) {
		return Client{Do: make(base, rate), Close: func() {}}, nil
	}
}

// Run runs the trial, in virtual time.
func (t *Trial) Run() {
	var s Server = NewSimulated(t.Upstream, t.Seed)
	if t.Server != nil {
		s = t.Server()
	}
	ctx, end := context.WithTimeout(context.Background(), t.Length)
	defer end()
	var mu sync.Mutex
	var group sync.WaitGroup
	for i := range t.Processes {
		l := NewList(t.Seed, uint64(i), t.Broken)
		group.Go(func() {
			if t.Life > 0 { // not all at the same moment
				_ = peers.Sleep(ctx, time.Duration(i)*t.Life/time.Duration(t.Processes))
			}
			for ctx.Err() == nil {
				if err := t.process(ctx, s, i, l); err != nil {
					t.Err = err
					return
				}
			}
			mu.Lock()
			t.Failed += l.Failed()
			mu.Unlock()
		})
	}
	group.Wait()
	t.Seen = s.Seen()
}

// process is the life of one process.
func (t *Trial) process(ctx context.Context, s Server, number int, l *List) error {
	if t.Life > 0 {
		var end context.CancelFunc
		ctx, end = context.WithTimeout(ctx, t.Life)
		defer end()
	}
	c, err := t.Client(&wire{s, make(chan struct{}, Slots), strconv.Itoa(number)})
	if err != nil {
		return err
	}
	defer c.Close()
	// The deadline is not shown: a client that sees one may give up before it.
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, end)()
	l.Fetch(life, &c)
	end()
	return nil
}

// List is the endless list of a process, with the items that it has set aside.
type List struct {
	broken float64

	mu     sync.Mutex
	chance *rand.Rand
	made   int
	aside  []*item
	failed int
}

type item struct {
	path  string
	good  bool // it can be had
	tries ratelimit.Tries
	due   time.Time
	last  bool // it is asked for the second time
}

// NewList returns a list of which a share is broken: it can't be had.
func NewList(seed, process uint64, broken float64) *List {
	return &List{chance: rand.New(rand.NewPCG(seed, process)), broken: broken} //nolint:gosec // as above
}

// Failed returns the number of good items given up.
func (l *List) Failed() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

// Fetch fetches items with all workers until ctx ends.
func (l *List) Fetch(ctx context.Context, c *Client) {
	var workers sync.WaitGroup
	for range Workers {
		workers.Go(func() {
			for ctx.Err() == nil {
				l.ask(ctx, c)
			}
		})
	}
	workers.Wait()
}

func (l *List) next() *item {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if i := slices.IndexFunc(l.aside, func(it *item) bool { return !it.due.After(now) }); i >= 0 {
		it := l.aside[i]
		l.aside = slices.Delete(l.aside, i, i+1)
		return it
	}
	l.made++
	it := &item{path: fmt.Sprint("/good/", l.made), good: l.chance.Float64() >= l.broken}
	if !it.good {
		it.path = fmt.Sprint(brokenPath, l.made)
	}
	return it
}

// ask asks for the next item, and sets it aside or gives it up if it can't be had.
func (l *List) ask(ctx context.Context, c *Client) {
	it := l.next()
	asked := ctx
	if c.Aside {
		asked = it.tries.With(ctx)
	} else {
		var cancel context.CancelFunc
		asked, cancel = context.WithTimeout(ctx, peers.MaxItem)
		defer cancel()
	}
	err := Get(asked, c.Do, it.path)
	if err == nil || ctx.Err() != nil {
		return
	}
	count, due := it.tries.Failed()
	l.mu.Lock()
	switch {
	case c.Aside && 0 < count && count <= c.Retries:
		it.due = due
		l.aside = append(l.aside, it)
	case c.Aside && count > 0 && !it.last:
		it.last = true
		it.tries.Restart()
		l.aside = append(l.aside, it)
	case it.good:
		l.failed++
	}
	l.mu.Unlock()
	if count == 0 {
		_ = peers.Sleep(ctx, time.Second) // nobody fails a million items at once
	}
}

// Get asks for a path, and returns an error for every answer but 200.
func Get(ctx context.Context, do peers.Do, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://upstream.example"+path, nil)
	if err != nil {
		return err
	}
	resp, err := do(req)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, resp.Body) // it is in memory
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}

// wire limits the requests that a process has under way.
type wire struct {
	base    http.RoundTripper
	slots   chan struct{}
	process string
}

// ProcessHeader is the header field with the number of the process that sends a request.
const ProcessHeader = "X-Process"

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	select {
	case w.slots <- struct{}{}:
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	defer func() { <-w.slots }()
	req = req.Clone(req.Context())
	req.Header.Set(ProcessHeader, w.process)
	return w.base.RoundTrip(req)
}
