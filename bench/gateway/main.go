// Command gateway measures what a cached request costs the gateway: processor time by the operating system's accounts,
// beside nginx's proxy_cache (where it is installed), a bare Go handler and a bare httputil.ReverseProxy, in turns
// within one run, with the servers on one core and the load on the others.
//
//	go run -C bench ./gateway [-rounds 5] [-requests 6000] [-bin FILE]
//
// It runs on Linux alone, where /proc has the accounts.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/anivault/anivault/bench/kit"
)

// trial is one run of this program.
type trial struct {
	bin, dir string
	rounds   int
	requests int
}

func main() {
	var t trial
	flag.IntVar(&t.rounds, "rounds", 5, "rounds; the median counts")
	flag.IntVar(&t.requests, "requests", 6000, "cached requests a round and server")
	flag.StringVar(&t.bin, "bin", "", "anivault to measure; built if empty")
	role := flag.String("role", "", "serve as a peer: bare or proxy")
	target := flag.String("target", "", "upstream of the proxy")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if *role != "" {
		err = bePeer(*role, *target)
	} else {
		err = t.run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gateway:", err)
		os.Exit(1)
	}
}

func (t *trial) run(ctx context.Context) (err error) {
	if t.dir, err = os.MkdirTemp("", "anivault-bench"); err != nil {
		return err
	}
	defer os.RemoveAll(t.dir)
	if t.bin, err = kit.Anivault(ctx, t.dir, t.bin); err != nil {
		return err
	}
	fmt.Println(kit.Machine())
	stayOff(ctx)
	if err := t.cost(ctx); err != nil {
		return err
	}
	fmt.Printf("\n(load at the end: %s)\n", kit.Load())
	return nil
}
