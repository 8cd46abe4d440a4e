// Command cache measures the cache: single operations beside plain bbolt held
// open by one process (the floor), and whole processes that share one cache
// beside the same processes that don't have to share.
//
//	go run -C bench ./cache [-micro] [-procs] [-size MB] [-titles N] [-rounds N]
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		if err := work(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	micro := flag.Bool("micro", false, "single operations only")
	procs := flag.Bool("procs", false, "processes only")
	size := flag.Int("size", 200, "size of the database that processes share, in MB")
	titles := flag.Int("titles", 1000, "titles of each process, half of them shared")
	rounds := flag.Int("rounds", 3, "runs of each row; the median counts")
	flag.Parse()
	if err := run(*micro, *procs, *size, *titles, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(micro, procs bool, size, titles, rounds int) error {
	if !procs {
		if err := microTable(); err != nil {
			return err
		}
	}
	if !micro {
		return procsTable(size, titles, rounds)
	}
	return nil
}
