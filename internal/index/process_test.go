package index

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sync/errgroup"
)

// TestMain makes the test program import a list when it is started as one of several processes.
func TestMain(m *testing.M) {
	if file := os.Getenv("INDEX_TEST_IMPORT"); file != "" {
		for range 5 {
			if _, err := Import(context.Background(), os.Getenv("INDEX_TEST_DIR"), file); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Two processes import different lists at once while a third looks titles up: each list is there at the end, and every
// look-up in between finds a whole index.
func TestProcessesImportAtOnce(t *testing.T) {
	dir := t.TempDir()
	importAll(t, dir, write(t, "a", animeListSample))
	want := lookUp(t, dir, "Nagai Tabi")
	var g errgroup.Group
	done := make(chan struct{})
	for _, file := range []string{write(t, "titles", animeTitlesSample), write(t, "tv", tvSample)} {
		g.Go(func() error {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "INDEX_TEST_IMPORT="+file, "INDEX_TEST_DIR="+dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
			return nil
		})
	}
	go func() { defer close(done); _ = g.Wait() }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		if got := lookUp(t, dir, "Nagai Tabi"); got != want {
			t.Fatalf("found %q, want %q", got, want)
		}
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := lookUp(t, dir, "Glass Orbit"); got != "tv/9001 Glass Orbit s1 (硝子の軌道)\ntv/9100 Glass Orbit (Glass Orbit)" {
		t.Errorf("found %q", got)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
