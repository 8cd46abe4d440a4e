package gateway

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/logging"
	"github.com/anivault/anivault/internal/tmdbfake"
)

// poolKey is the gateway's own key in all tests. It must be found nowhere.
const poolKey = "pool-key-3f9a77c0d1e2b4a5968778695a4b3c2d"

// bench is a gateway that listens, and the stand-in behind it.
type bench struct {
	t       *testing.T
	fake    *tmdbfake.Fake
	up      *gated
	service *Service
	url     string
	dir     string // of all that the gateway writes
	log     *lockedBuffer
	stop    func() error                   // drains
	read    func() (*config.Config, error) // the configuration anew
	net     *http.Transport                // how clients reach it; nil: the network
}

// gated is the stand-in with a gate in front: while it is shut, requests wait there.
type gated struct {
	http.Handler
	mu      sync.Mutex
	gate    chan struct{}
	arrived chan string // the path of each request that came to a gate
	headers []http.Header
	urls    []string
}

func (u *gated) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	gate := u.gate
	u.headers = append(u.headers, r.Header.Clone())
	u.urls = append(u.urls, r.URL.String())
	u.mu.Unlock()
	if gate != nil {
		u.arrived <- r.URL.Path
		select {
		case <-gate:
		case <-r.Context().Done():
			return
		}
	}
	u.Handler.ServeHTTP(w, r)
}

// shut lets requests wait; the function that it returns lets them go.
func (u *gated) shut() (open func()) {
	gate := make(chan struct{})
	u.mu.Lock()
	u.gate = gate
	u.mu.Unlock()
	return sync.OnceFunc(func() {
		u.mu.Lock()
		u.gate = nil
		u.mu.Unlock()
		close(gate)
	})
}

func (u *gated) asked() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.urls)
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// setup is what a test's gateway differs in.
type setup struct {
	yaml    string // of the config file
	fake    tmdbfake.Config
	handler func(http.Handler) http.Handler // in front of the stand-in
	offline bool
	dir     string // of an earlier gateway
	listen  string // "": a free port of the loopback
	notify  string
	headers []string                  // of busy's questions
	base    func(t *testing.T) string // another base URL than the stand-in's
	noKey   bool                      // the keys are in the config file
	listens func()                    // called when the gateway listens and does not serve yet
	watches bool                      // it reads changed files by itself; otherwise only when the test says so
}

// start starts a stand-in and a gateway in front of it.
func start(t *testing.T, o setup) *bench {
	t.Helper()
	fake, err := tmdbfake.New(o.fake)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, fake: fake, log: &lockedBuffer{}, dir: o.dir}
	b.up = &gated{Handler: fake, arrived: make(chan string, 1000)}
	if o.handler != nil {
		b.up.Handler = o.handler(fake)
	}
	server := httptest.NewServer(b.up)
	t.Cleanup(server.Close)
	if b.dir == "" {
		b.dir = t.TempDir()
	}
	b.configure(o.yaml)
	base := server.URL
	if o.base != nil {
		base = o.base(t)
	}
	key := poolKey
	if o.noKey {
		key = ""
	}
	b.read = func() (*config.Config, error) { return b.load(base, cmp.Or(o.listen, "127.0.0.1:0"), key) }
	cfg, err := b.read()
	if err != nil {
		t.Fatal(err)
	}
	options := Options{
		Offline: o.offline, Log: logging.NewHandler(b.log, logging.Options{Level: slog.LevelDebug}), NotifySocket: o.notify,
	}
	if o.watches {
		options.Reload = b.read
	}
	b.service, err = Listen(cfg, options, func(url string) {
		if b.url = url; o.listens != nil {
			o.listens()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.service.Run(ctx) }()
	b.stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() {
		if err := b.stop(); err != nil {
			t.Errorf("the gateway ended with %v", err)
		}
		b.checkSecrets()
	})
	return b
}

// written is what no file or line of a gateway may have, whatever the test was about: keys of the pool, tokens of
// clients.
var written = regexp.MustCompile(`pool-key-[0-9a-z]|anv_[A-Za-z0-9_-]{43}`)

// checkSecrets looks for keys and tokens in all that a gateway has written.
func (b *bench) checkSecrets() {
	b.t.Helper()
	if found := written.FindString(b.log.String()); found != "" {
		b.t.Errorf("the log has %s", found)
	}
	err := filepath.WalkDir(b.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || d.Name() == "config.yaml" {
			return err
		}
		raw, err := os.ReadFile(path)
		if found := written.Find(raw); found != nil {
			b.t.Errorf("%s has %s", path, found)
		}
		return err
	})
	if err != nil {
		b.t.Error(err)
	}
}

// configure writes the config file.
func (b *bench) configure(yaml string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, "config.yaml"), []byte(yaml), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// load reads the configuration, as the command does.
func (b *bench) load(baseURL, listen, key string) (*config.Config, error) {
	cfg, _, err := config.Load(config.Sources{
		File: filepath.Join(b.dir, "config.yaml"),
		Environ: []string{
			"HOME=" + b.dir, "AppData=" + b.dir, "LocalAppData=" + b.dir,
			"ANIVAULT_TMDB_TOKEN=" + key, "ANIVAULT_TMDB_BASE_URL=" + baseURL,
		},
		Flags: map[string]config.Flag{"serve.listen": {Name: "listen", Value: listen}},
	})
	if err == nil {
		err = cfg.PrepareServe()
	}
	return cfg, err
}

// answered is what a client got.
type answered struct {
	*http.Response
	status int
	body   string
	own    errorDetail // of an error of the gateway's
}

// transport keeps its connections: who makes one for each request soon has more than one peer may have.
var transport = &http.Transport{MaxIdleConnsPerHost: maxConnsPerPeer}

// request asks the gateway. headers are "Name: value".
func (b *bench) request(ctx context.Context, method, path string, headers ...string) (answered, error) {
	req, err := http.NewRequestWithContext(ctx, method, b.url+path, nil)
	if err != nil {
		return answered{}, err
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			req.Host = value
		}
		req.Header.Add(name, value)
	}
	resp, err := cmp.Or(b.net, transport).RoundTrip(req)
	if err != nil {
		return answered{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	a := answered{Response: resp, status: resp.StatusCode, body: string(body)}
	var e errorBody
	if json.Unmarshal(body, &e) == nil && e.Detail != nil {
		a.own = *e.Detail
	}
	return a, err
}

// get asks and must be answered.
func (b *bench) get(path string, headers ...string) answered {
	b.t.Helper()
	a, err := b.request(b.t.Context(), http.MethodGet, path, headers...)
	if err != nil {
		b.t.Fatal(err)
	}
	return a
}

// must asks and must get this status.
func (b *bench) must(status int, path string, headers ...string) answered {
	b.t.Helper()
	a := b.get(path, headers...)
	if a.status != status {
		b.t.Fatalf("GET %s: %d %s", path, a.status, a.body)
	}
	return a
}

// later asks in the background.
func (b *bench) later(path string, headers ...string) <-chan answered {
	out := make(chan answered, 1)
	ctx := b.t.Context()
	go func() {
		a, err := b.request(ctx, http.MethodGet, path, headers...)
		if err != nil {
			a.body = err.Error()
			a.Response = &http.Response{}
		}
		out <- a
	}()
	return out
}

// eventually waits for something that others are about to do.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("it never came to this: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// age makes all stored answers so much older.
func (b *bench) age(by time.Duration) {
	b.t.Helper()
	store, err := cache.Open(b.service.g.settings.Load().cfg.Dirs.Cache, cache.Options{})
	if err != nil {
		b.t.Fatal(err)
	}
	var all []*cache.Entry
	err = store.Range(b.t.Context(), func(e *cache.Entry) error { all = append(all, e); return nil })
	for _, e := range all {
		e.FetchedAt, e.ExpiresAt = e.FetchedAt.Add(-by), e.ExpiresAt.Add(-by)
		err = errors.Join(err, store.Put(b.t.Context(), e))
	}
	if err = errors.Join(err, store.Close()); err != nil || len(all) == 0 {
		b.t.Fatalf("aged %d answers: %v", len(all), err)
	}
}

func tv(id int) string { return fmt.Sprintf("/3/tv/%d", id) }

// writePEM writes blocks of one kind.
func writePEM(t *testing.T, path, kind string, blocks ...[]byte) {
	t.Helper()
	var b bytes.Buffer
	for _, raw := range blocks {
		if err := pem.Encode(&b, &pem.Block{Type: kind, Bytes: raw}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
