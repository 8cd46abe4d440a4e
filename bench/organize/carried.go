package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/anivault/anivault/bench/kit"
)

// pairs are the sources and targets of a plan.
type pairs [][2]string

// timing is how long something took, by the clock and in CPU time.
type timing struct{ took, cpu []float64 }

func (t *timing) add(r result) {
	t.took, t.cpu = append(t.took, r.Took.Seconds()), append(t.cpu, r.CPU.Seconds())
}

// bare measures a loop of this process.
func bare(do func() error) (result, error) {
	var before, after syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &before); err != nil {
		return result{}, err
	}
	began := time.Now()
	err := do()
	took := time.Since(began)
	if err == nil {
		err = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	}
	cpu := time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
	return result{Usage: kit.Usage{Took: took, CPU: cpu}}, err
}

// read returns what a plan of a mode would do.
func (b bench) read(mode string) (out pairs, err error) {
	cmd := exec.Command(b.bin, "organize", "--quiet", "--format", "ndjson", "--mode", mode, "--to", b.out, b.lib)
	cmd.Env, cmd.Stderr = b.env, os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(pipe)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var op struct{ Source, Target, Status string }
		if err := json.Unmarshal(lines.Bytes(), &op); err != nil {
			return nil, err
		}
		if op.Status == "planned" {
			out = append(out, [2]string{op.Source, op.Target})
		}
	}
	return out, cmd.Wait()
}

// folders makes the folders of the targets, as a loop of mkdir and mv would have to.
func (p pairs) folders() error {
	last := ""
	for _, pair := range p {
		if dir := filepath.Dir(pair[1]); dir != last {
			last = dir
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
		}
	}
	return nil
}

// unmake removes the folders of the targets below a root, as an undo does. One that is not empty yet stays.
func (p pairs) unmake(root string) {
	last := ""
	for _, pair := range p {
		dir := filepath.Dir(pair[1])
		if dir == last {
			continue
		}
		for last = dir; dir != root && os.Remove(dir) == nil; {
			dir = filepath.Dir(dir)
		}
	}
}

// each calls a function with each source and target. It syncs nothing.
func (p pairs) each(do func(source, target string) error) error {
	for _, pair := range p {
		if err := do(pair[0], pair[1]); err != nil {
			return err
		}
	}
	return nil
}

// carryOut measures runs of 100,000 files beside bare loops over the same paths.
func (b bench) carryOut(files, runs int) error {
	fmt.Printf("\n%-34s %9s %9s %9s %11s\n", "what", "seconds", "CPU s", "of bare", "CPU of bare")
	for _, mode := range []struct {
		name     string
		do, back func(source, target string) error
	}{
		{"hardlink", os.Link, func(_, target string) error { return os.Remove(target) }},
		{"move", os.Rename, func(source, target string) error { return os.Rename(target, source) }},
	} {
		all, err := b.read(mode.name)
		if err != nil {
			return err
		}
		plan := filepath.Join(b.out, "..", mode.name+".plan")
		if _, err := b.exec(io.Discard, "organize", "--quiet", "--mode", mode.name, "--plan", plan, "--to", b.out,
			b.lib); err != nil {
			return err
		}
		steps := []struct {
			name string
			bare int // which step it is compared with
			do   func() (result, error)
		}{
			{"bare loop, " + mode.name, -1, func() (result, error) {
				return bare(func() error {
					if err := all.folders(); err != nil {
						return err
					}
					return all.each(mode.do)
				})
			}},
			{"bare loop, back", -1, func() (result, error) {
				return bare(func() error {
					err := all.each(mode.back)
					all.unmake(b.out)
					return err
				})
			}},
			{"apply PLAN", 0, func() (result, error) { return b.exec(io.Discard, "apply", "--quiet", plan) }},
			{"undo", 1, func() (result, error) { return b.exec(io.Discard, "undo", "--quiet") }},
			{"plan alone", -1, func() (result, error) {
				return b.exec(io.Discard, "organize", "--quiet", "--mode", mode.name, "--plan", "-", "--to", b.out, b.lib)
			}},
			{"organize --yes, without planning", 0, func() (result, error) {
				return b.exec(io.Discard, "organize", "--quiet", "--mode", mode.name, "--yes", "--to", b.out, b.lib)
			}},
			{"undo again", 1, func() (result, error) { return b.exec(io.Discard, "undo", "--quiet") }},
			{"", -1, func() (result, error) { return b.exec(io.Discard, "history", "--quiet", "prune", "--older", "0d") }},
		}
		times := make([]timing, len(steps))
		for range runs {
			for i, step := range steps {
				syscall.Sync() // nobody pays for what those before have left to write
				r, err := step.do()
				if err != nil {
					return fmt.Errorf("%s, %s: %w", mode.name, step.name, err)
				}
				if i > 0 && steps[i-1].name == "plan alone" {
					n := len(times[i-1].took) - 1
					r.Took -= time.Duration(times[i-1].took[n] * float64(time.Second))
					r.CPU -= time.Duration(times[i-1].cpu[n] * float64(time.Second))
				}
				times[i].add(r)
			}
		}
		for i, step := range steps {
			if step.name == "" {
				continue
			}
			took, cpu := kit.Quantile(times[i].took, 0.5), kit.Quantile(times[i].cpu, 0.5)
			fmt.Printf("%-34s %9.2f %9.2f", step.name, took, cpu)
			if step.bare >= 0 {
				fmt.Printf(" %8.0f%% %10.0f%%", 100*kit.Quantile(times[step.bare].took, 0.5)/took,
					100*kit.Quantile(times[step.bare].cpu, 0.5)/cpu)
			}
			fmt.Println()
		}
	}
	return b.cutOff(files)
}

// cutOff kills a run when half of its folders are there, goes on with it, and then lists a history of 100 runs.
func (b bench) cutOff(files int) error {
	plan := filepath.Join(b.out, "..", "cut.plan")
	if _, err := b.exec(io.Discard, "organize", "--quiet", "--plan", plan, "--to", b.out, b.lib); err != nil {
		return err
	}
	shows, err := os.ReadDir(b.lib)
	if err != nil {
		return err
	}
	cmd := exec.Command(b.bin, "apply", "--quiet", plan)
	cmd.Env = b.env
	if err := cmd.Start(); err != nil {
		return err
	}
	for {
		there, err := os.ReadDir(b.out)
		if err != nil {
			return err
		}
		if len(there) >= len(shows)/2 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err := cmd.Process.Kill(); err != nil {
		return err
	}
	_ = cmd.Wait() // it was killed
	r, err := b.exec(io.Discard, "apply", "--quiet", "--resume")
	if err != nil {
		return err
	}
	fmt.Printf("%-34s %9.2f %9.2f\n", fmt.Sprintf("apply --resume, half of %d done", files), r.Took.Seconds(),
		r.CPU.Seconds())
	if _, err := b.exec(io.Discard, "undo", "--quiet"); err != nil {
		return err
	}
	small, err := os.MkdirTemp(filepath.Dir(b.lib), "small")
	if err != nil {
		return err
	}
	file := filepath.Join(small, "[G] "+kit.Title(0)+" - S01E01 [1080p].mkv")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return err
	}
	if _, err := b.exec(io.Discard, "history", "--quiet", "prune", "--older", "0d"); err != nil {
		return err
	}
	for range 100 {
		if _, err := b.exec(io.Discard, "organize", "--quiet", "--yes", "--to", b.out, small); err != nil {
			return err
		}
		if _, err := b.exec(io.Discard, "undo", "--quiet"); err != nil {
			return err
		}
	}
	var t timing
	for range 5 {
		if r, err = b.exec(io.Discard, "history", "--quiet"); err != nil {
			return err
		}
		t.add(r)
	}
	fmt.Printf("%-34s %9.3f %9.3f\n", "history of 100 runs", kit.Quantile(t.took, 0.5), kit.Quantile(t.cpu, 0.5))
	return nil
}
