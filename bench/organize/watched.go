package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	watchedShows, watchedEpisodes = 100, 100
	settle, rescan                = time.Second, 5 * time.Second
	rescans                       = 4
)

// watched measures what watching 10,000 files costs where nothing is new, and how long after a folder has settled its files are linked.
func (b bench) watched(dir string) error {
	lib, out, aside := filepath.Join(dir, "lib"), filepath.Join(dir, "out"), filepath.Join(dir, "aside")
	if _, err := fill(lib, watchedShows, watchedEpisodes); err != nil {
		return err
	}
	if err := os.Mkdir(out, 0o700); err != nil {
		return err
	}
	last := filepath.Join(lib, name(watchedShows-1))
	if err := os.Rename(last, aside); err != nil {
		return err
	}
	cmd := exec.Command(b.bin, "watch", "--quiet", "--format", "ndjson", "--settle", settle.String(), "--rescan", rescan.String(), "--to", out, lib)
	cmd.Env, cmd.Stderr = b.env, os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // its status is that of the signal
	}()
	lines := bufio.NewScanner(pipe)
	lines.Buffer(nil, 1<<20)
	if err := done(lines, (watchedShows-1)*watchedEpisodes); err != nil {
		return err
	}
	time.Sleep(2 * rescan)
	before, err := cpuOf(cmd.Process.Pid)
	if err != nil {
		return err
	}
	time.Sleep(rescans * rescan)
	after, err := cpuOf(cmd.Process.Pid)
	if err != nil {
		return err
	}
	each := (after - before).Seconds() / rescans
	fmt.Printf("\nwatch, %d files, nothing new: a rescan %.3f CPU s, %.3f %% of the default period of 10 minutes\n",
		(watchedShows-1)*watchedEpisodes, each, 100*each/(10*time.Minute).Seconds())
	began := time.Now()
	if err := os.Rename(aside, last); err != nil {
		return err
	}
	if err := done(lines, watchedEpisodes); err != nil {
		return err
	}
	fmt.Printf("watch, %d files arrive: %.2f s until their run has ended, of which they have to settle for %.0f s\n",
		watchedEpisodes, time.Since(began).Seconds(), settle.Seconds())
	return nil
}

// done reads a watch's output until so many files are linked.
func done(lines *bufio.Scanner, files int) error {
	for files > 0 {
		if !lines.Scan() {
			return fmt.Errorf("watch ended, and %d files are not linked: %w", files, lines.Err())
		}
		var line struct {
			Type string `json:"type"`
			Done int    `json:"done"`
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return err
		}
		if line.Type == "organize_summary" {
			files -= line.Done
		}
	}
	return nil
}

// cpuOf returns the user and system time of a process so far, as proc(5) has it, in hundredths of a second.
func cpuOf(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var ticks int
	for _, f := range fields[11:13] {
		n, err := strconv.Atoi(f)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}
