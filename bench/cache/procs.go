package main

// Processes: each asks its titles one after the other, half of them shared by
// all; the API takes 2 ms. "ideal" is 2 ms for every question that one of them
// has to ask, divided among them; "alone" is the same work with a cache of its
// own for each process, in which what the others would have answered already
// lies: no sharing, no contention.

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anivault/anivault/cache"
	bolt "go.etcd.io/bbolt"
)

const apiTime = 2 * time.Millisecond

// job is what one worker process is to do.
type job struct {
	Design string // "journal" or "reopen"
	Dir    string
	Keys   []string
	Log    string // where it notes what it asked
}

// outcome is what a worker says at its end.
type outcome struct {
	Wall    time.Duration
	Blocked time.Duration // time in the cache, not in the API
	P99     time.Duration
	Asked   int
	CPU     time.Duration // of the whole process
}

// row is one line of the table.
type row struct {
	wall, p99, cpu    time.Duration
	blocked           float64
	asked, duplicates int
}

func procsTable(size, titles, rounds int) error {
	fmt.Printf("Processes over one cache of %d MB, %d titles each, half of them shared, API %v; median of %d\n\n", size, titles, apiTime, rounds)
	fmt.Println("| processes | ideal | alone | shared | shared/alone | CPU alone, shared | blocked | p99 in the cache | asked twice | reopened per operation |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|")
	for _, n := range []int{1, 2, 4, 8} {
		shared, err := median(rounds, func() (row, error) { return oneRun("journal", n, size, titles, true) })
		if err != nil {
			return err
		}
		alone, err := median(rounds, func() (row, error) { return oneRun("journal", n, size, titles, false) })
		if err != nil {
			return err
		}
		reopen, err := median(1, func() (row, error) { return oneRun("reopen", n, size, titles, true) })
		if err != nil {
			return err
		}
		ideal := time.Duration(titles/2+titles/2/n) * apiTime
		fmt.Printf("| %d | %.2f s | %.2f s | %.2f s | %.3f | %.2f s, %.2f s | %.1f %% | %v | %d of %d | %.2f s, %d twice |\n", n,
			ideal.Seconds(), alone.wall.Seconds(), shared.wall.Seconds(), shared.wall.Seconds()/alone.wall.Seconds(), alone.cpu.Seconds(), shared.cpu.Seconds(),
			100*shared.blocked, shared.p99.Round(10*time.Microsecond), shared.duplicates, shared.asked, reopen.wall.Seconds(), reopen.duplicates)
	}
	fmt.Println()
	return nil
}

func median(n int, f func() (row, error)) (row, error) {
	rows := make([]row, n)
	for i := range rows {
		var err error
		if rows[i], err = f(); err != nil {
			return row{}, err
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return int(a.wall - b.wall) })
	return rows[n/2], nil
}

// oneRun starts n workers and gathers what they say.
func oneRun(design string, n, size, titles int, share bool) (row, error) {
	base, err := os.MkdirTemp("", "anivault-bench-")
	if err != nil {
		return row{}, err
	}
	defer os.RemoveAll(base)
	log := filepath.Join(base, "asked")
	jobs := make([]job, n)
	common := titles / 2
	for p := range n {
		dir := filepath.Join(base, "shared")
		if !share {
			dir = filepath.Join(base, fmt.Sprint("alone", p))
		}
		keys := make([]string, 0, titles)
		var known []string
		for i := range common {
			k := fmt.Sprintf("http://api/3/tv/%d", i)
			keys = append(keys, k, fmt.Sprintf("http://api/3/tv/%d", (p+1)*100_000+i))
			if !share && i%n != p {
				known = append(known, k)
			}
		}
		rand.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		jobs[p] = job{Design: design, Dir: dir, Keys: keys, Log: log}
		if !share || p == 0 {
			if err := fill(design, dir, size, known); err != nil {
				return row{}, err
			}
		}
	}
	outs, err := runWorkers(jobs)
	if err != nil {
		return row{}, err
	}
	var r row
	for _, o := range outs {
		r.wall = max(r.wall, o.Wall)
		r.p99 = max(r.p99, o.P99)
		r.blocked += o.Blocked.Seconds() / o.Wall.Seconds() / float64(n)
		r.asked += o.Asked
		r.cpu += o.CPU
	}
	r.duplicates, err = duplicates(log)
	return r, err
}

// fill makes a cache of about size MB that also knows some keys.
func fill(design, dir string, size int, known []string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	body := func() []byte { return fmt.Appendf(nil, `{"status":"Ended","pad":%q}`, noise(10_000)) }
	n := size * 100
	if design == "reopen" {
		db, err := bolt.Open(filepath.Join(dir, "plain.db"), 0o600, nil)
		if err != nil {
			return err
		}
		defer func() { _ = db.Close() }() // a benchmark of scratch files
		for from := 0; from < n; from += 1000 {
			err := db.Update(func(tx *bolt.Tx) error {
				b, err := tx.CreateBucketIfNotExists([]byte("r"))
				for i := from; i < min(n, from+1000) && err == nil; i++ {
					err = b.Put(fmt.Appendf(nil, "filler-%d", i), body())
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	s, err := cache.Open(dir, cache.Options{})
	if err != nil {
		return err
	}
	ctx := context.Background()
	put := func(url string) error {
		key, _ := cache.ParseKey(url)
		now := time.Now()
		return s.Put(ctx, &cache.Entry{Key: key, Status: 200, Body: body(), FetchedAt: now, ExpiresAt: now.Add(240 * time.Hour)})
	}
	for i := range n {
		if err := put(fmt.Sprintf("http://filler/3/tv/%d", i)); err != nil {
			return err
		}
	}
	for _, k := range known {
		if err := put(k); err != nil {
			return err
		}
	}
	return s.Close()
}

// noise is text that packs to about its own size in a database.
func noise(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('!' + rand.IntN(90))
		if b[i] == '"' || b[i] == '\\' {
			b[i] = '_'
		}
	}
	return string(b)
}

// runWorkers starts the workers, lets them begin together and waits for all.
func runWorkers(jobs []job) ([]outcome, error) {
	type running struct {
		cmd *exec.Cmd
		in  io.Closer
		out *bufio.Reader
	}
	var all []running
	defer func() {
		for _, r := range all {
			if r.cmd.ProcessState == nil {
				_ = r.cmd.Process.Kill()
				_ = r.cmd.Wait()
			}
		}
	}()
	for i, j := range jobs {
		file := filepath.Join(filepath.Dir(j.Log), fmt.Sprintf("job%d", i))
		text, err := json.Marshal(j)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return nil, err
		}
		cmd := exec.Command(os.Args[0], "worker", file)
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
		all = append(all, running{cmd, in, bufio.NewReader(out)})
	}
	for _, r := range all {
		if _, err := r.out.ReadString('\n'); err != nil {
			return nil, fmt.Errorf("worker did not start: %w", err)
		}
	}
	for _, r := range all {
		r.in.Close()
	}
	outs := make([]outcome, len(all))
	for i, r := range all {
		if err := json.NewDecoder(r.out).Decode(&outs[i]); err != nil {
			return nil, fmt.Errorf("worker said nothing: %w", err)
		}
		if err := r.cmd.Wait(); err != nil {
			return nil, err
		}
		outs[i].CPU = r.cmd.ProcessState.UserTime() + r.cmd.ProcessState.SystemTime()
	}
	return outs, nil
}

func duplicates(log string) (int, error) {
	text, err := os.ReadFile(log)
	if err != nil {
		return 0, err
	}
	seen, twice := map[string]bool{}, 0
	for line := range strings.Lines(string(text)) {
		if seen[line] {
			twice++
		}
		seen[line] = true
	}
	return twice, nil
}

// api is the upstream: 2 ms, and a note of what it was asked.
type api struct {
	mu   sync.Mutex
	log  *os.File
	n    int
	time time.Duration
}

func (a *api) RoundTrip(req *http.Request) (*http.Response, error) {
	begin := time.Now()
	time.Sleep(apiTime)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.n++
	if _, err := fmt.Fprintln(a.log, req.URL.Path); err != nil {
		return nil, err
	}
	body := apiBody
	a.time += time.Since(begin)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: req}, nil
}

// apiBody is about the size and kind of a series' details.
var apiBody = func() string {
	var b strings.Builder
	b.WriteString(`{"status":"Ended","episodes":[{}`)
	for i := 0; b.Len() < 10_000; i++ {
		fmt.Fprintf(&b, `,{"id":%d,"name":"Episode %d","air_date":"2011-04-%02d","runtime":%d,"overview":""}`, rand.IntN(1e6), i, i%28+1, 20+i%7)
	}
	return b.String() + "]}"
}()

// work is a worker process.
func work(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var j job
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	log, err := os.OpenFile(j.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	up := &api{log: log}
	rt, closer, err := design(j, up)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	_, _ = io.ReadAll(os.Stdin)
	begin := time.Now()
	var inCache []time.Duration
	var blocked time.Duration
	for _, k := range j.Keys {
		req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, k, nil)
		if err != nil {
			return err
		}
		asked, t0 := up.time, time.Now()
		resp, err := rt.RoundTrip(req)
		if err != nil {
			return err
		}
		resp.Body.Close()
		d := time.Since(t0) - (up.time - asked)
		blocked += d
		inCache = append(inCache, d)
	}
	if err := closer(); err != nil {
		return err
	}
	slices.Sort(inCache)
	return json.NewEncoder(os.Stdout).Encode(outcome{
		Wall: time.Since(begin), Blocked: blocked, P99: inCache[len(inCache)*99/100], Asked: up.n,
	})
}

func design(j job, up *api) (http.RoundTripper, func() error, error) {
	if j.Design == "reopen" {
		return &reopen{filepath.Join(j.Dir, "plain.db"), up}, func() error { return nil }, nil
	}
	s, err := cache.Open(j.Dir, cache.Options{OnWarning: func(w cache.Warning) { fmt.Fprintln(os.Stderr, w) }})
	if err != nil {
		return nil, nil, err
	}
	return &cache.Transport{Store: s, Next: up}, s.Close, nil
}

// reopen is the simple way: the database is opened and closed around every
// operation, with bbolt's own lock.
type reopen struct {
	path string
	next http.RoundTripper
}

func (r *reopen) RoundTrip(req *http.Request) (*http.Response, error) {
	key := []byte(req.URL.String())
	var body []byte
	err := r.session(true, func(tx *bolt.Tx) error {
		if b := tx.Bucket([]byte("r")); b != nil {
			body = slices.Clone(b.Get(key))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if body != nil {
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(body)))}, nil
	}
	resp, err := r.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if body, err = io.ReadAll(resp.Body); err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(strings.NewReader(string(body)))
	return resp, r.session(false, func(tx *bolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists([]byte("r"))
		if err != nil {
			return err
		}
		return b.Put(key, body)
	})
}

func (r *reopen) session(read bool, fn func(*bolt.Tx) error) error {
	db, err := bolt.Open(r.path, 0o600, &bolt.Options{ReadOnly: read})
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // a benchmark of scratch files
	if read {
		return db.View(fn)
	}
	return db.Update(fn)
}
