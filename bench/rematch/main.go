// Command rematch measures how fast a library that has not changed is matched again: files a second and peak memory
// of the whole process, beside the floor of walking the same tree.
//
//	go run -C bench ./rematch [-files 100000]
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/anivault/anivault/internal/tmdbfake"
)

var titles = []string{"Cowboy Bebop", "Death Note", "Toradora!", "Bleach", "Naruto", "Trigun", "Odd Taxi", "Haikyu!!", "Clannad", "Chainsaw Man"}

func main() {
	files := flag.Int("files", 100_000, "size of the library")
	flag.Parse()
	if err := run(*files); err != nil {
		fmt.Fprintln(os.Stderr, "rematch:", err)
		os.Exit(1)
	}
}

func run(files int) error {
	tmp, err := os.MkdirTemp("", "rematch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	bin := filepath.Join(tmp, "anivault")
	build := exec.Command("go", "build", "-C", "..", "-o", bin, "./cmd/anivault")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build anivault: %w", err)
	}
	lib := filepath.Join(tmp, "lib")
	if err := fill(lib, files); err != nil {
		return err
	}
	fake, err := tmdbfake.New(tmdbfake.Config{})
	if err != nil {
		return err
	}
	server, err := fake.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	defer server.Close()
	env := append(os.Environ(), "HOME="+tmp, "ANIVAULT_TMDB_BASE_URL="+server.URL(), "ANIVAULT_TMDB_TOKEN=bench")

	fmt.Printf("%d cores, %s, %d files in %d folders\n\n%-22s %10s %12s %10s %9s\n", runtime.NumCPU(), time.Now().UTC().Format(time.DateOnly), files, (files+49)/50,
		"what", "seconds", "files/s", "peak MB", "requests")
	for _, what := range []string{"walk alone", "match, cold", "match, warm", "match, warm"} {
		if what == "walk alone" {
			start := time.Now()
			n, err := walk(lib)
			if err != nil {
				return err
			}
			report(what, time.Since(start), n, 0, 0)
			continue
		}
		before := len(fake.Journal())
		cmd := exec.Command(bin, "match", "--quiet", lib)
		cmd.Env, cmd.Stderr = env, os.Stderr
		var out lines
		cmd.Stdout = &out
		start := time.Now()
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		report(what, time.Since(start), int(out)-1, peak(cmd.ProcessState), len(fake.Journal())-before)
	}
	return nil
}

func report(what string, took time.Duration, files int, bytes int64, requests int) {
	fmt.Printf("%-22s %10.2f %12.0f %10.1f %9d\n", what, took.Seconds(), float64(files)/took.Seconds(), float64(bytes)/1e6, requests)
}

// fill makes the library: folders of 50 files of one series each.
func fill(lib string, files int) error {
	for i := range files {
		folder := i / 50
		title := titles[folder%len(titles)]
		dir := filepath.Join(lib, fmt.Sprintf("%05d", folder), title)
		if i%50 == 0 {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("[G] %s - %02d [1080p].mkv", title, i%50+1)), nil, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// walk reads what a match has to read at least: every folder, and size and time of every file.
func walk(lib string) (int, error) {
	n := 0
	err := filepath.WalkDir(lib, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		n++
		_, err = d.Info()
		return err
	})
	return n, err
}

// lines counts the lines that are written to it.
type lines int

func (l *lines) Write(p []byte) (int, error) {
	*l += lines(bytes.Count(p, []byte("\n")))
	return len(p), nil
}
