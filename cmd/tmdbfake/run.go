package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/tmdbfake"
	"github.com/anivault/anivault/internal/tmdbfake/catalogfile"
	"github.com/anivault/anivault/internal/tmdbfake/cert"
	"github.com/anivault/anivault/internal/upstream"
)

// Exit codes: as those of anivault.
const (
	exitOK       = 0
	exitInternal = 1
	exitUsage    = 2
)

// options are the command line.
type options struct {
	addr, adminAddr, addrFile string
	catalog, scenario, preset string
	limit, latency            string
	rank, finds               string
	plain, without            string
	rows                      int
	keys, caFile              string
	seed                      uint64
	tls, trustIP, strict      bool
}

// run parses the command line, serves until ctx ends, and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	var fake *tmdbfake.Fake
	if err == nil {
		fake, err = o.build()
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "tmdbfake: %v\n", err)
		return exitUsage
	}
	if err := o.serve(ctx, fake, stdout); err != nil {
		_, _ = fmt.Fprintf(stderr, "tmdbfake: %v\n", err)
		return exitInternal
	}
	return exitOK
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	fs := flag.NewFlagSet("tmdbfake", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.addr, "addr", "127.0.0.1:0", "`host:port` to serve the API on; port 0 takes a free one")
	fs.StringVar(&o.adminAddr, "admin-addr", "127.0.0.1:0", "`host:port` for /__fake/: journal, state, scenario, clock")
	fs.StringVar(&o.addrFile, "addr-file", "", "`file` to write both addresses to, one a line, the API's first")
	fs.StringVar(&o.catalog, "catalog", "", "catalogue `file`, one JSON object a line; without it the authored catalogue")
	fs.StringVar(&o.scenario, "scenario", "", "scenario `file` in JSON: limits and faults")
	fs.StringVar(&o.preset, "preset", "", "`name` of a scenario: "+strings.Join(upstream.Presets(), ", "))
	fs.StringVar(&o.limit, "limit", "none",
		"rate limit `model`: none, sliding:40/1s, fixed:50/1s, legacy:40/10s or token_bucket:50/1s,\n"+
			"then options: ,burst=N,conns=N,count_rejected=true,penalty=5/30s,retry_after=MODE,body=html")
	fs.StringVar(&o.rank, "rank", string(tmdbfake.RankMixed),
		"search order `mode`: mixed, popularity, text, decoy, shuffled, namesake")
	fs.StringVar(&o.finds, "finds", string(tmdbfake.FindsAll),
		"`titles` that a search looks into: all, shown (and original) names, prefix (all that begin so)")
	fs.IntVar(&o.rows, "rows", 0, "most `rows` of a search, on all pages; 0: all")
	fs.StringVar(&o.plain, "plain", "", "`what` has no names of its own: seasons, specials or seasons,specials")
	fs.StringVar(&o.without, "without", "",
		"`share` of the works that is left out, by a hash of their ids: 3/8 is part 3 of 8")
	fs.StringVar(&o.latency, "latency", "", "`time` to an answer: 75ms or 17ms-154ms")
	fs.StringVar(&o.keys, "keys", "", "the only credentials to accept, with commas; without it any well-formed one")
	fs.Uint64Var(&o.seed, "seed", 1, "seed of everything that looks like chance")
	fs.BoolVar(&o.tls, "tls", false, "serve HTTPS with a certificate authority made for this run; needs -ca-file")
	fs.StringVar(&o.caFile, "ca-file", "", "`file` to write the authority's certificate to")
	fs.BoolVar(&o.trustIP, "trust-fake-ip", false, "let the header X-Fake-IP name the client")
	fs.BoolVar(&o.strict, "strict-append", false, "drop append_to_response items that are written with %2F")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			_, _ = fmt.Fprintln(stderr, "tmdbfake serves a stand-in for TMDB's API. Usage: tmdbfake [flags]")
			fs.SetOutput(stderr)
			fs.PrintDefaults()
			return o, err
		}
		return o, fmt.Errorf("%w: tmdbfake -h lists the flags", err)
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q: everything is a flag, tmdbfake -h lists them", fs.Arg(0))
	}
	if o.tls && o.caFile == "" {
		return o, errors.New("-tls needs -ca-file: the client must be given the authority's certificate")
	}
	return o, nil
}

// build returns the stand-in. Errors name the flag and its value.
func (o options) build() (*tmdbfake.Fake, error) {
	cfg := tmdbfake.Config{Seed: o.seed, TrustFakeIP: o.trustIP, StrictAppend: o.strict}
	var err error
	if cfg.Limits, err = upstream.ParseLimits(o.limit); err != nil {
		return nil, fmt.Errorf("-limit: %w", err)
	}
	if cfg.Model, err = o.model(); err != nil {
		return nil, err
	}
	if cfg.Latency, err = upstream.ParseLatency(o.latency); err != nil {
		return nil, fmt.Errorf("-latency: %w", err)
	}
	if o.keys != "" {
		cfg.Keys = strings.Split(o.keys, ",")
	}
	if o.preset != "" {
		if cfg.Scenario, err = upstream.Preset(o.preset); err != nil {
			return nil, fmt.Errorf("-preset: %w", err)
		}
	}
	if o.scenario != "" {
		s, err := readFile(o.scenario, upstream.ReadScenario)
		if err != nil {
			return nil, fmt.Errorf("-scenario %s: %w", o.scenario, err)
		}
		cfg.Scenario = cfg.Scenario.Join(s)
	}
	if o.catalog != "" {
		if cfg.Catalogue, err = readFile(o.catalog, catalogfile.Read); err != nil {
			return nil, fmt.Errorf("-catalog %s: %w", o.catalog, err)
		}
	}
	return tmdbfake.New(cfg)
}

func (o options) model() (tmdbfake.Model, error) {
	m := tmdbfake.Model{MaxRows: o.rows}
	var err error
	if m.Rank, err = tmdbfake.ParseRank(o.rank); err != nil {
		return m, fmt.Errorf("-rank: %w", err)
	}
	if m.Finds, err = tmdbfake.ParseFinds(o.finds); err != nil {
		return m, fmt.Errorf("-finds: %w", err)
	}
	if m.Without, err = tmdbfake.ParseShare(o.without); err != nil {
		return m, fmt.Errorf("-without: %w", err)
	}
	if o.rows < 0 {
		return m, fmt.Errorf("-rows %d: want 0 or more", o.rows)
	}
	for what := range strings.SplitSeq(o.plain, ",") {
		switch what {
		case "":
		case "seasons":
			m.PlainSeasons = true
		case "specials":
			m.PlainSpecials = true
		default:
			return m, fmt.Errorf("-plain %q: want seasons, specials or both", what)
		}
	}
	return m, nil
}

func readFile[T any](name string, read func(io.Reader) (T, error)) (T, error) {
	f, err := os.Open(name)
	if err != nil {
		var none T
		return none, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return read(f)
}

// serve listens on both addresses, prints them, and waits for the end.
func (o options) serve(ctx context.Context, fake *tmdbfake.Fake, stdout io.Writer) (err error) {
	var api *tmdbfake.Server
	if o.tls {
		own, err := cert.New(time.Now(), cert.Good)
		if err != nil {
			return err
		}
		if err := writeAtomically(o.caFile, own.AuthorityPEM()); err != nil {
			return fmt.Errorf("-ca-file: %w", err)
		}
		api, err = fake.ListenTLS(o.addr, own.Leaf, own.Roots())
		if err != nil {
			return fmt.Errorf("-addr %s: %w", o.addr, err)
		}
	} else if api, err = fake.Listen(o.addr); err != nil {
		return fmt.Errorf("-addr %s: %w", o.addr, err)
	}
	defer func() { err = errors.Join(err, api.Close()) }()
	listener, err := net.Listen("tcp", o.adminAddr)
	if err != nil {
		return fmt.Errorf("-admin-addr %s: %w", o.adminAddr, err)
	}
	second := &http.Server{Handler: admin(fake), ReadHeaderTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- second.Serve(listener) }()
	defer func() {
		err = errors.Join(err, second.Close())
		if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
	}()
	if o.addrFile != "" {
		if err := writeAtomically(o.addrFile, fmt.Appendf(nil, "%s\n%s\n", api.Addr(), listener.Addr())); err != nil {
			return fmt.Errorf("-addr-file: %w", err)
		}
	}
	if _, err := fmt.Fprintf(stdout, "api   %s\nadmin http://%s\n", api.URL(), listener.Addr()); err != nil {
		return fmt.Errorf("print the addresses: %w", err)
	}
	select {
	case <-ctx.Done():
	case <-api.Done():
	case served := <-ended:
		ended <- served
	}
	return nil
}

// writeAtomically writes a file; readers see all of it or nothing.
func writeAtomically(name string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
