// Command filestore measures what one locked read-modify-write of the limiter's shared
// state costs, beside the bare system calls and beside gofrs/flock, with several processes at
// once.
//
//	go run -C bench ./filestore [-for 2s] [-processes 1,2,4,8] [-think 0s]
package main

import (
	"encoding/gob"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/anivault/anivault/ratelimit"
)

// job tells a child what to measure.
type job struct {
	Way   int
	Dir   string
	Start time.Time
	For   time.Duration
	Think time.Duration
	Base  time.Duration // since boot
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
		fmt.Fprintln(os.Stderr, "filestore:", err)
		os.Exit(1)
	}
}

func child() error {
	var j job
	if err := gob.NewDecoder(os.Stdin).Decode(&j); err != nil {
		return err
	}
	base = j.Base
	op, err := ways[j.Way].open(j.Dir)
	if err != nil {
		return err
	}
	time.Sleep(time.Until(j.Start))
	var h histogram
	for end := time.Now().Add(j.For); ; {
		start := time.Now()
		if start.After(end) {
			break
		}
		if err := op(); err != nil {
			return err
		}
		h.add(time.Since(start))
		if j.Think > 0 {
			time.Sleep(j.Think)
		}
	}
	return gob.NewEncoder(os.Stdout).Encode(&h)
}

func parent() error {
	length := flag.Duration("for", 2*time.Second, "how long each measurement lasts")
	think := flag.Duration("think", 0, "pause of each process after each operation")
	list := flag.String("processes", "1,2,4,8", "how many processes at once")
	flag.Parse()
	fmt.Printf("%-34s %6s %10s %9s %9s %9s %6s\n", "", "procs", "ops/s", "p50", "p99", "p99.9", "Jain")
	for w := range ways {
		for field := range strings.SplitSeq(*list, ",") {
			n, err := strconv.Atoi(field)
			if err != nil {
				return fmt.Errorf("-processes: %w", err)
			}
			if err := measure(w, n, *length, *think); err != nil {
				return fmt.Errorf("%s: %w", ways[w].name, err)
			}
		}
	}
	return nil
}

func measure(w, n int, length, think time.Duration) error {
	dir, err := os.MkdirTemp("", "filestore")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if _, err := prepare(dir); err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	began := ratelimit.SystemInstant().Boot
	type running struct {
		cmd *exec.Cmd
		out *gob.Decoder
	}
	var children []running
	start := time.Now().Add(300 * time.Millisecond)
	for range n {
		cmd := exec.Command(exe, childFlag)
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		if err := gob.NewEncoder(in).Encode(job{w, dir, start, length, think, began}); err != nil {
			return err
		}
		children = append(children, running{cmd, gob.NewDecoder(out)})
	}
	var all histogram
	var sum, squares float64
	for _, c := range children {
		var h histogram
		if err := c.out.Decode(&h); err != nil {
			return err
		}
		if err := c.cmd.Wait(); err != nil {
			return err
		}
		all.merge(&h)
		sum += float64(h.N)
		squares += float64(h.N) * float64(h.N)
	}
	fmt.Printf("%-34s %6d %10.0f %9s %9s %9s %6.3f\n", ways[w].name, n, sum/length.Seconds(),
		micros(all.quantile(0.5)), micros(all.quantile(0.99)), micros(all.quantile(0.999)), sum*sum/(float64(n)*squares))
	return nil
}

func micros(d time.Duration) string { return fmt.Sprintf("%.1fµs", float64(d)/1e3) }
