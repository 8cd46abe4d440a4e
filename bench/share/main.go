// Command share measures how several real processes share one rate through a folder: the
// sum, what each gets, the most in any second, and what restarts cost.
//
//	go run -C bench ./share [-for 20s] [-processes 1,4,8] [-live 4s]
//
// Every process works with four goroutines against an upstream of 40 ms. With -live each
// process ends after that time and another one takes its place.
package main

import (
	"context"
	"encoding/gob"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/anivault/anivault/ratelimit"
)

// job tells a child what to do. Times are since boot.
type job struct {
	Dir        string
	Start, End time.Duration
}

const childFlag = "-child"

func main() {
	var err error
	if len(os.Args) > 1 && os.Args[1] == childFlag {
		err = child()
	} else {
		err = parent()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "share:", err)
		os.Exit(1)
	}
}

func sinceBoot() time.Duration { return ratelimit.SystemInstant().Boot }

func child() error {
	var j job
	if err := gob.NewDecoder(os.Stdin).Decode(&j); err != nil {
		return err
	}
	time.Sleep(j.Start - sinceBoot())
	st, err := ratelimit.OpenFileStore(j.Dir, ratelimit.FileOptions{OnWarning: func(err error) {
		fmt.Fprintln(os.Stderr, "warning:", err)
	}})
	if err != nil {
		return err
	}
	defer st.Close()
	l, err := ratelimit.New(ratelimit.Config{Store: st})
	if err != nil {
		return err
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(context.Background(), j.End-sinceBoot())
	defer cancel()
	var mu sync.Mutex
	var grants []time.Duration
	var workers sync.WaitGroup
	for range ratelimit.Default().Concurrency {
		workers.Go(func() {
			for {
				p, err := l.Acquire(ctx)
				if err != nil {
					return
				}
				at := sinceBoot()
				mu.Lock()
				grants = append(grants, at)
				mu.Unlock()
				time.Sleep(30*time.Millisecond + rand.N(20*time.Millisecond))
				p.Done(ratelimit.Event{Outcome: ratelimit.OK, Status: 200})
			}
		})
	}
	workers.Wait()
	return gob.NewEncoder(os.Stdout).Encode(grants)
}

func parent() error {
	length := flag.Duration("for", 20*time.Second, "how long each measurement lasts, once the first burst is over")
	list := flag.String("processes", "1,4,8", "how many processes at once")
	live := flag.Duration("live", 0, "how long each process lives; 0: all the time")
	flag.Parse()
	fmt.Printf("%6s %8s %12s %10s %12s %12s\n", "procs", "rate/s", "of 35/s", "Jain", "worst share", "most in 1s")
	for field := range strings.SplitSeq(*list, ",") {
		n, err := strconv.Atoi(field)
		if err != nil {
			return fmt.Errorf("-processes: %w", err)
		}
		if err := measure(n, *length, *live); err != nil {
			return err
		}
	}
	return nil
}

// warmUp is left out of the rates: so long the first burst of 35 lasts under a ceiling of 40.
const warmUp = 14 * time.Second

func measure(n int, length, live time.Duration) error {
	dir, err := os.MkdirTemp("", "share")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	start := sinceBoot() + 300*time.Millisecond
	end := start + warmUp + length
	perPlace := make([][]time.Duration, n)
	errs := make([]error, n)
	var places sync.WaitGroup
	for i := range n {
		places.Go(func() {
			for at := start; at < end && errs[i] == nil; {
				until := end
				if live > 0 {
					until = min(at+live, end)
				}
				var grants []time.Duration
				grants, errs[i] = run(job{dir, at, until})
				perPlace[i] = append(perPlace[i], grants...)
				at = max(until, sinceBoot())
			}
		})
	}
	places.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	report(perPlace, start+warmUp, length)
	return nil
}

func run(j job) ([]time.Duration, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(exe, childFlag)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if err := gob.NewEncoder(in).Encode(j); err != nil {
		return nil, err
	}
	var grants []time.Duration
	if err := gob.NewDecoder(out).Decode(&grants); err != nil {
		return nil, err
	}
	return grants, cmd.Wait()
}

func report(perPlace [][]time.Duration, from time.Duration, length time.Duration) {
	var all []time.Duration
	var sum, squares float64
	var counts []float64
	for _, grants := range perPlace {
		all = append(all, grants...)
		n := 0.0
		for _, at := range grants {
			if at >= from && at < from+length {
				n++
			}
		}
		sum, squares, counts = sum+n, squares+n*n, append(counts, n)
	}
	slices.Sort(all)
	most := 0
	for i, j := 0, 0; j < len(all); j++ {
		for all[j]-all[i] >= time.Second {
			i++
		}
		most = max(most, j-i+1)
	}
	places := float64(len(perPlace))
	worst := 0.0
	for _, n := range counts {
		worst = max(worst, max(n, 2*sum/places-n)/(sum/places)-1)
	}
	rate := sum / length.Seconds()
	fmt.Printf("%6d %8.2f %11.1f%% %10.4f %11.1f%% %12d\n", len(perPlace), rate,
		100*rate/ratelimit.Default().RateBase, sum*sum/(places*squares), 100*worst, most)
}
