package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/anivault/anivault/bench/kit"
	"github.com/anivault/anivault/internal/organize"
)

// copies measures copying beside cp and fsync and, where far is a folder, moving to another file system beside the same, the copy read
// once more from the disk, compared, and the source removed.
func copies(dir, far, bin string, runs int) error {
	if err := copied(dir, filepath.Join(dir, "to"), bin, runs, organize.Copy, nil); err != nil || far == "" {
		return err
	}
	to, err := os.MkdirTemp(far, "organize-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(to)
	return copied(dir, to, bin, runs, organize.Move, func(source, target string) error {
		for _, args := range [][]string{
			{"dd", "of=" + target, "oflag=nocache", "conv=notrunc,fdatasync", "count=0", "status=none"}, // out of the cache
			{"cmp", source, target},
			{"rm", source},
		} {
			if err := exec.Command(args[0], args[1:]...).Run(); err != nil {
				return err
			}
		}
		return nil
	})
}

// copied measures one way of copying; behind is what a bare loop does with each copy.
func copied(dir, to, bin string, runs int, verb organize.Verb, behind func(source, target string) error) error {
	const files, size = 16, 32 << 20
	from := filepath.Join(dir, "from")
	for _, d := range []string{from, to} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	content := make([]byte, size)
	for i := range content {
		content[i] = byte(i>>16) ^ byte(i) | 1
	}
	var list []rename
	for i := range files {
		list = append(list, rename{fmt.Sprintf("%d.mkv", i), fmt.Sprintf("to %d.mkv", i)})
	}
	fill := func() error {
		for _, r := range list {
			if err := os.WriteFile(filepath.Join(from, r.from), content, 0o600); err != nil {
				return err
			}
		}
		return nil
	}
	b := bench{bin: bin, env: kit.Env(dir, "http://127.0.0.1:9"), out: to}
	plan := filepath.Join(dir, "plan")
	var cp, ours timing
	for range runs {
		if err := fill(); err != nil {
			return err
		}
		began := time.Now()
		for _, r := range list {
			source, target := filepath.Join(from, r.from), filepath.Join(to, r.to)
			if err := exec.Command("cp", source, target).Run(); err != nil {
				return err
			}
			if err := exec.Command("sync", target).Run(); err != nil {
				return err
			}
			if behind != nil {
				if err := behind(source, target); err != nil {
					return err
				}
			}
		}
		cp.add(result{took: time.Since(began)})
		if err := b.clear(); err != nil {
			return err
		}
		if err := fill(); err != nil {
			return err
		}
		text, err := planOf(from, to, verb, list)
		if err != nil {
			return err
		}
		if err := os.WriteFile(plan, text, 0o600); err != nil {
			return err
		}
		r, err := b.exec(io.Discard, "apply", "--quiet", plan)
		if err != nil {
			return err
		}
		ours.add(r)
		if _, err := b.exec(io.Discard, "undo", "--quiet"); err != nil {
			return err
		}
	}
	what, beside := "cp and sync", "--mode copy"
	if behind != nil {
		what, beside = "the same, cmp and rm", "--mode move to another file system"
	}
	bare, took := kit.Quantile(cp.took, 0.5), kit.Quantile(ours.took, 0.5)
	fmt.Printf("\n%d files of %d MB, the median of %d runs: %s %.2f s, apply with %s %.2f s (%.0f%% of its speed)\n",
		files, size>>20, runs, what, bare, beside, took, 100*bare/took)
	return nil
}
