// Command goodput measures what clients of a limited upstream get done when it has trouble: the limiter of this
// project beside well-known ones, as real processes, against one scripted HTTP server each.
//
//	go run -C bench ./goodput [-clients ours,...] [-only script,steady,errors,outage,restart] [-seeds 3] [-scale 0.25]
//
// The server allows 50 requests in a sliding second and answers after 20 to 60 ms; its script is the preset
// "gauntlet" of anivault limiter simulate. Every process has four slots on the wire and eight workers, each with
// an item to fetch in 6 tries and 60 s at most. What would be possible is what somebody could do who knows the script
// and has the same slots. The clients of one experiment run side by side, so they share the machine's load.
//
// Figures depend on machine and load; nothing here is an assertion.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		if err := work(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	names := flag.String("clients", strings.Join(clientNames(), ","), "clients to run")
	only := flag.String("only", "script,steady,errors,outage,restart", "experiments to run")
	scale := flag.Float64("scale", 1, "scripts are so many times as long; below 1 for a quick look, whose figures mean little")
	seeds := flag.Int("seeds", 1, "times that each client goes through the script, side by side, every time with another chance")
	flag.Parse()
	if err := run(strings.Split(*names, ","), strings.Split(*only, ","), options{*scale, max(1, *seeds)}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// options of all experiments.
type options struct {
	scale float64
	seeds int
}

// experiments in the order of their tables.
var experiments = []struct {
	name string
	run  func(names []string, o options) error
}{
	{"script", scripted}, {"steady", steady}, {"errors", lasting}, {"outage", outage}, {"restart", restart},
}

func run(names, only []string, o options) error {
	for _, n := range names {
		if _, ok := clients[n]; !ok {
			return fmt.Errorf("client %q is unknown: use %s", n, strings.Join(clientNames(), ", "))
		}
	}
	fmt.Printf("%d cores, load %s, %s, %s, scale %g\n\n", runtime.NumCPU(), load(), runtime.Version(), time.Now().UTC().Format(time.DateTime), o.scale)
	for _, e := range experiments {
		if !slices.Contains(only, e.name) {
			continue
		}
		if err := e.run(names, o); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		fmt.Printf("(load at the end: %s)\n\n", load())
	}
	return nil
}

// load is the machine's load average, where it can be had.
func load() string {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	words := strings.Fields(string(raw))
	return strings.Join(words[:min(3, len(words))], " ")
}
