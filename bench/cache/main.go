// Command cache measures what it costs to share one cache: processes that ask for titles, half of which all of them
// want, beside the same processes with a cache each, which already has what the others would have asked.
//
//	go run -C bench ./cache [-processes 1,2,4,8] [-size MB] [-titles N] [-rounds N]
//	go run -C bench ./cache -puts 50
//
// With -puts it measures what a put and a get take while eight processes put so many answers a second in all.
//
// An answer of the upstream takes 2 ms. "asked twice" has to be 0: processes that share never ask the same question.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/anivault/anivault/bench/kit"
	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/tmdb"
	"golang.org/x/sync/errgroup"
)

const upstreamTime = 2 * time.Millisecond

// job is what one worker process has to do.
type job struct {
	Dir   string
	Keys  []string
	Asked []string // what it had to ask of the upstream; the worker fills it in
	Waits []int64  // nanoseconds that each answer took, without the upstream's time; the worker fills it in
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		exit(work(context.Background()))
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "paced" {
		exit(pacedWorker(context.Background(), os.Args[2:]))
		return
	}
	puts := flag.Int("puts", 0, "puts a second of eight processes, whose time is measured instead")
	processes := flag.String("processes", "1,2,4,8", "numbers of processes")
	size := flag.Int("size", 200, "size of the database that processes share, in MB")
	titles := flag.Int("titles", 1000, "titles of each process, half of them shared")
	rounds := flag.Int("rounds", 3, "runs of each row; the median counts")
	flag.Parse()
	if *puts > 0 {
		exit(paced(8, *puts, *size, 20*time.Second))
		return
	}
	exit(table(*processes, *size, *titles, *rounds))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "cache:", err)
		os.Exit(1)
	}
}

func table(processes string, size, titles, rounds int) error {
	fmt.Printf("%s\n%d MB, %d titles a process; seconds, the median of %d\n\n", kit.Machine(), size, titles, rounds)
	fmt.Printf("%-10s %8s %8s %8s %12s %14s\n", "processes", "alone", "shared", "ratio", "asked twice", "p99 in cache")
	for text := range strings.SplitSeq(processes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		var alone, shared, wait []float64
		twice := 0
		for range rounds {
			a, err := measure(n, size, titles, false)
			if err != nil {
				return err
			}
			s, err := measure(n, size, titles, true)
			if err != nil {
				return err
			}
			alone, shared, wait = append(alone, a.seconds), append(shared, s.seconds), append(wait, s.p99)
			twice += s.twice
		}
		a, s := kit.Quantile(alone, .5), kit.Quantile(shared, .5)
		fmt.Printf("%-10d %8.2f %8.2f %8.2f %12d %11.2f ms\n", n, a, s, s/a, twice, kit.Quantile(wait, .5))
	}
	return nil
}

// result of a run of all processes.
type result struct {
	seconds, p99 float64 // p99 in milliseconds
	twice        int
}

// measure runs n processes, which share one cache or have one each.
func measure(n, size, titles int, share bool) (r result, err error) {
	base, err := os.MkdirTemp("", "anivault-bench-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(base)
	jobs := make([]job, n)
	for p := range jobs {
		jobs[p].Dir = filepath.Join(base, "shared")
		if !share {
			jobs[p].Dir = filepath.Join(base, fmt.Sprint("alone", p))
		}
		var known []string
		for i := range titles / 2 {
			common := fmt.Sprintf("http://api/3/tv/%d", i)
			jobs[p].Keys = append(jobs[p].Keys, common, fmt.Sprintf("http://api/3/tv/%d", (p+1)*100_000+i))
			if !share && i%n != p {
				known = append(known, common)
			}
		}
		keys := jobs[p].Keys
		rand.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		if !share || p == 0 {
			if err := fill(jobs[p].Dir, size, known); err != nil {
				return r, err
			}
		}
	}
	if r.seconds, err = together(jobs); err != nil {
		return r, err
	}
	seen := map[string]bool{}
	var waits []int64
	for _, j := range jobs {
		waits = append(waits, j.Waits...)
		for _, key := range j.Asked {
			if seen[key] && share {
				r.twice++
			}
			seen[key] = true
		}
	}
	r.p99 = float64(kit.Quantile(waits, .99)) / 1e6
	return r, nil
}

// fill makes a cache of about size MB that also has the answers to some keys.
func fill(dir string, size int, known []string) error {
	s, err := cache.Open(dir, cache.Options{Class: tmdb.ClassOf})
	if err != nil {
		return err
	}
	for i := range size * 100 {
		known = append(known, fmt.Sprintf("http://filler/3/tv/%d", i))
	}
	var group errgroup.Group
	group.SetLimit(256) // those that write at the same time share a transaction
	for _, url := range known {
		group.Go(func() error {
			key, _ := cache.ParseKey(url)
			now := time.Now()
			e := &cache.Entry{Key: key, Status: 200, Body: body(), FetchedAt: now, ExpiresAt: now.Add(240 * time.Hour)}
			return s.Put(context.Background(), e)
		})
	}
	return errors.Join(group.Wait(), s.Close())
}

// body returns an answer of 10 KB that does not pack.
func body() []byte {
	noise := make([]byte, 10_000)
	for i := range noise {
		noise[i] = byte('a' + rand.IntN(26))
	}
	return fmt.Appendf(nil, `{"status":"Ended","pad":%q}`, noise)
}

// together lets the workers begin at the same time, and returns the seconds until the last one ended.
func together(jobs []job) (float64, error) {
	type worker struct {
		in  io.Closer
		out *json.Decoder
	}
	workers := make([]worker, len(jobs))
	for i := range jobs {
		cmd := exec.Command(os.Args[0], "worker")
		cmd.Stderr = os.Stderr
		in, err1 := cmd.StdinPipe()
		out, err2 := cmd.StdoutPipe()
		for _, err := range []error{err1, err2} {
			if err != nil {
				return 0, err
			}
		}
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }() // it has ended, unless an error ends the run
		workers[i] = worker{in, json.NewDecoder(out)}
		var ready bool
		if err := json.NewEncoder(in).Encode(jobs[i]); err != nil {
			return 0, err
		}
		if err := workers[i].out.Decode(&ready); err != nil {
			return 0, fmt.Errorf("a worker did not start: %w", err)
		}
	}
	begin := time.Now()
	for _, w := range workers {
		w.in.Close()
	}
	for i, w := range workers {
		if err := w.out.Decode(&jobs[i]); err != nil {
			return 0, fmt.Errorf("a worker returned nothing: %w", err)
		}
	}
	return time.Since(begin).Seconds(), nil
}

// work is a worker process: it reads its job, waits until stdin ends, asks, and writes the job with its results.
func work(ctx context.Context) error {
	var j job
	if err := json.NewDecoder(os.Stdin).Decode(&j); err != nil {
		return err
	}
	s, err := cache.Open(j.Dir, cache.Options{
		Class: tmdb.ClassOf, OnWarning: func(w cache.Warning) { fmt.Fprintln(os.Stderr, w) },
	})
	if err != nil {
		return err
	}
	fmt.Println("true")
	if _, err := io.ReadAll(os.Stdin); err != nil {
		return err
	}
	t := &cache.Transport{Store: s, Next: &j}
	for _, url := range j.Keys {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		asked, begin := len(j.Asked), time.Now()
		resp, err := t.RoundTrip(req)
		if err != nil {
			return err
		}
		resp.Body.Close()
		j.Waits = append(j.Waits, int64(time.Since(begin)-time.Duration(len(j.Asked)-asked)*upstreamTime))
	}
	if err := s.Close(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(j)
}

// RoundTrip is the upstream.
func (j *job) RoundTrip(req *http.Request) (*http.Response, error) {
	time.Sleep(upstreamTime)
	j.Asked = append(j.Asked, req.URL.Path)
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{}, Request: req,
		Body: io.NopCloser(strings.NewReader(string(body()))),
	}, nil
}
