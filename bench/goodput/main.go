// Command goodput measures what clients of a limited upstream get done when it has trouble: the limiter of this project
// beside well-known ones.
//
//	go run -C bench ./goodput [-clients ours,...] [-only script,steady,outage,restart,errors] [-seeds 3] [-scale 0.25]
//	go run -C bench ./goodput -simulated [-phases] [-clients ours,ours-tuned] [-only script,...] [-seeds 100]
//	go run -C bench ./goodput -virtual [-clients rate+backoff,...] [-only TEXT] [-seeds 2] [-for 10m] [-tuned]
//
// The first form runs real processes against one stand-in each. The second runs the same experiments in virtual time:
// the same clients, scenarios and seeds, so that what differs is the machine. -phases also prints what is done in each
// phase of an experiment, in both. The third form runs the clients in virtual time against many more upstreams, and
// compares each share with its goal; there "possible" is of the rate that the client is told to send. Ours sets failed
// items aside, as a run of anivault does. -only picks the upstreams of the third form with a text in their name; -tuned
// lets all send 45 a second. -errors 20,25 are the lasting errors of the other forms, in percent.
//
// The upstream allows 50 requests in a sliding second and answers after 20 to 60 ms, where nothing else is said. Every
// process has four slots on the wire and eight workers, each with one item at a time. Peers give an item up after 6
// tries or 60 s. "Possible" is the number of good answers of a client that knows the script and has the same slots.
// "Wasted" is every request without a good answer; those that a good answer costs while a share of all answers are
// errors are unavoidable. The clients of one experiment run side by side and share the load of the machine.
//
// To compare two versions of the limiter, build goodput of the other one and name it: -other ../../before/goodput runs
// its "ours" and "ours-tuned" as further clients of the same experiments.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/anivault/anivault/bench/kit"
	"github.com/anivault/anivault/bench/virtual"
)

// options of all experiments.
type options struct {
	clients []string
	other   string
	scale   float64
	seeds   int
	length  time.Duration
	errors  []float64 // shares of the answers that are errors
	tuned   bool

	phases    bool
	simulated virtual.Together // nil: real processes
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		exit(work(os.Args[2:]))
		return
	}
	clients := flag.String("clients", "", "clients to run, separated by commas (default: all; -virtual: "+
		strings.Join(virtualPeers, ", ")+")")
	only := flag.String("only", "", "experiments to run, separated by commas; with -virtual a part of their names")
	other := flag.String("other", "", "goodput of another version: its clients \"ours\" and \"ours-tuned\" run too")
	scale := flag.Float64("scale", 1, "factor on all times; below 1 for a quick look, whose figures mean little")
	errors := flag.String("errors", "20,25", "`percentages` of errors, an experiment each, separated by commas")
	seeds := flag.Int("seeds", 0, "runs of each client, each with another seed (default: 1; -virtual: 2)")
	inVirtual := flag.Bool("virtual", false, "virtual time, simulated upstreams")
	length := flag.Duration("for", 10*time.Minute, "virtual time of each upstream")
	tuned := flag.Bool("tuned", false, "with -virtual: 45 requests a second everywhere")
	simulated := flag.Bool("simulated", false, "the experiments of the first form in virtual time")
	phases := flag.Bool("phases", false, "also print what is done in each phase of an experiment")
	flag.Parse()
	o := options{other: *other, scale: *scale, seeds: *seeds, length: *length, tuned: *tuned, phases: *phases}
	if *clients != "" {
		o.clients = strings.Split(*clients, ",")
	}
	var err error
	if o.errors, err = kit.Percentages("-errors", *errors); err != nil {
		exit(err)
	}
	if len(o.errors) == 0 || slices.Contains(o.errors, 0) {
		exit(fmt.Errorf("-errors %q: give percentages above 0", *errors))
	}
	if *inVirtual {
		exit(inVirtualTime(o, *only))
		return
	}
	if *simulated {
		virtual.Main("goodput", func(together virtual.Together) error {
			o.simulated = together
			return run(o, *only)
		})
	}
	exit(run(o, *only))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "goodput:", err)
		os.Exit(1)
	}
}

// known completes the clients, and reports the first that does not exist.
func (o *options) known(all, standard []string) error {
	if o.clients == nil {
		o.clients = standard
	}
	for _, n := range o.clients {
		if !slices.Contains(all, n) {
			return fmt.Errorf("client %q is unknown: use %s", n, strings.Join(all, ", "))
		}
	}
	return nil
}

func run(o options, only string) error {
	if err := o.known(clientNames(), clientNames()); err != nil {
		return err
	}
	o.seeds = max(1, o.seeds)
	fmt.Printf("%s, scale %g\n", kit.Machine(), o.scale)
	for _, e := range experiments(o.scale, o.errors) {
		if only != "" && !slices.Contains(strings.Split(only, ","), e.name) {
			continue
		}
		if err := e.run(o); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		fmt.Printf("(load at the end: %s)\n", kit.Load())
	}
	return nil
}
