// Command goodput measures what clients of a limited upstream get done when it
// has trouble: the limiter of this project beside well-known ones, as real
// processes, against one stand-in each.
//
//	go run -C bench ./goodput [-clients ours,...] [-only script,steady,errors,outage,restart] [-seeds 3] [-scale 0.25]
//
// The stand-in allows 50 requests in a sliding second and answers after 20 to 60
// ms. Every process has four slots on the wire and eight workers, each with one
// item at a time, which it gives up after 6 tries or 60 s. "Possible" is the number
// of good answers of a client that knows the script and has the same slots. The
// clients of one experiment run side by side and share the load of the machine.
//
// To compare two versions of the limiter, build goodput of the other one and name
// it: -other ../../before/goodput runs its "ours" and "ours-tuned" as further
// clients of the same experiments.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/anivault/anivault/bench/kit"
)

// options of all experiments.
type options struct {
	clients []string
	other   string
	scale   float64
	seeds   int
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		exit(work(os.Args[2:]))
		return
	}
	names := flag.String("clients", strings.Join(clientNames(), ","), "clients to run")
	only := flag.String("only", "script,steady,errors,outage,restart", "experiments to run")
	other := flag.String("other", "", "goodput of another version: its clients \"ours\" and \"ours-tuned\" run too")
	scale := flag.Float64("scale", 1, "factor on all times; below 1 for a quick look, whose figures mean little")
	seeds := flag.Int("seeds", 1, "runs of each client, side by side, each with another seed")
	flag.Parse()
	exit(run(strings.Split(*only, ","), options{strings.Split(*names, ","), *other, *scale, max(1, *seeds)}))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "goodput:", err)
		os.Exit(1)
	}
}

func run(only []string, o options) error {
	for _, n := range o.clients {
		if !slices.Contains(clientNames(), n) {
			return fmt.Errorf("client %q is unknown: use %s", n, strings.Join(clientNames(), ", "))
		}
	}
	fmt.Printf("%s, scale %g\n", kit.Machine(), o.scale)
	for _, e := range experiments(o.scale) {
		if !slices.Contains(only, e.name) {
			continue
		}
		if err := e.run(o); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		fmt.Printf("(load at the end: %s)\n", kit.Load())
	}
	return nil
}
