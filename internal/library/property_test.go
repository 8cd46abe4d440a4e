package library

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Whatever links and overlapping roots there are: the walk ends, is the same twice, yields no file twice and leaves
// no file below a root out.
func TestEveryFileBelowARootIsYieldedOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege on Windows")
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		top := filepath.Join(base, fmt.Sprint(n))
		dirs := []string{top}
		for _, pick := range rapid.SliceOfN(rapid.IntRange(0, 1000), 1, 12).Draw(rt, "dirs") {
			dirs = append(dirs, filepath.Join(dirs[pick%len(dirs)], string(rune('a'+pick%5))))
		}
		slices.Sort(dirs)
		dirs = slices.Compact(dirs)
		for _, dir := range dirs {
			must(rt, os.MkdirAll(dir, 0o700))
		}
		for _, pick := range rapid.SliceOfN(rapid.IntRange(0, 1000), 0, 12).Draw(rt, "files") {
			must(rt, os.WriteFile(filepath.Join(dirs[pick%len(dirs)], fmt.Sprintf("%d.mkv", pick%3)), nil, 0o600))
		}
		for _, pick := range rapid.SliceOfN(rapid.IntRange(0, 1_000_000), 0, 6).Draw(rt, "links") {
			// Already there with another pick is as good.
			_ = os.Symlink(dirs[pick/1000%len(dirs)], filepath.Join(dirs[pick%len(dirs)], fmt.Sprintf("link%d", pick%4)))
		}
		var roots []string
		for _, pick := range rapid.SliceOfN(rapid.IntRange(0, 1000), 1, 3).Draw(rt, "roots") {
			roots = append(roots, dirs[pick%len(dirs)])
		}

		first, second := yielded(rt, roots), yielded(rt, roots)
		if diff := cmp.Diff(first, second); diff != "" {
			rt.Fatalf("two walks differ: %s", diff)
		}
		seen := map[string]int{}
		for _, path := range first {
			real, err := filepath.EvalSymlinks(path)
			must(rt, err)
			seen[real]++
		}
		for path, times := range seen {
			if times > 1 {
				rt.Errorf("%s was yielded %d times", path, times)
			}
		}
		for _, root := range roots {
			must(rt, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
				if err == nil && strings.HasSuffix(path, ".mkv") && seen[path] == 0 {
					rt.Errorf("%s was left out", path)
				}
				return err
			}))
		}
	})
}

func yielded(t *rapid.T, roots []string) []string {
	var paths []string
	must(t, Walk(t.Context(), roots, Options{}, func(d Dir) error {
		for _, f := range d.Files {
			if !f.IsDir {
				paths = append(paths, f.Path)
			}
		}
		return d.Err
	}))
	return paths
}

func must(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}
