package pins

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/anivault/anivault/internal/match"
)

// TestMain makes the test program write pins when it is started as one of several processes.
func TestMain(m *testing.M) {
	if who := os.Getenv("PINS_TEST_WRITER"); who != "" {
		store := Open(os.Getenv("PINS_TEST_DIR"))
		for i := range perWriter {
			_, err := store.Update(context.Background(), func(s *Set) error {
				_, err := s.Put(Pin{Title: fmt.Sprintf("title %s of %d", who, i), Kind: match.TV, ID: i + 1})
				return err
			})
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const perWriter = 20

func TestSeveralProcessesLoseNoPin(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	var g errgroup.Group
	const writers = 3
	for w := range writers {
		g.Go(func() error {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), fmt.Sprintf("PINS_TEST_WRITER=%c", 'a'+w), "PINS_TEST_DIR="+dir)
			out, err := cmd.CombinedOutput()
			if err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	set, err := Open(dir).Load()
	if err != nil {
		t.Fatal(err)
	}
	if got := set.Len(); got != writers*perWriter || len(set.Problems()) != 0 {
		t.Errorf("%d pins, want %d; problems %v", got, writers*perWriter, set.Problems())
	}
	if runtime.GOOS != "windows" {
		for name, want := range map[string]os.FileMode{"": 0o700, FileName: 0o600, FileName + ".lock": 0o600} {
			if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != want {
				t.Errorf("%q has mode %v, %v", name, info.Mode(), err)
			}
		}
	}
}

func TestAChangeThatFailsOrChangesNothingWritesNothing(t *testing.T) {
	dir := t.TempDir()
	store := Open(dir)
	failed := errors.New("no")
	for _, change := range []func(*Set) error{
		func(*Set) error { return nil },
		func(s *Set) error { s.Remove(Pin{Title: "a"}); return nil },
		func(s *Set) error {
			if _, err := s.Put(Pin{Title: "a", Kind: match.TV, ID: 1}); err != nil {
				return err
			}
			return failed
		},
	} {
		if _, err := store.Update(context.Background(), change); err != nil && !errors.Is(err, failed) {
			t.Fatal(err)
		}
		if _, err := os.Stat(store.Path()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the file was written: %v", err)
		}
	}
}

func TestALaterVersionsFileIsNotWrittenTo(t *testing.T) {
	store := Open(t.TempDir())
	const later = "# anivault pins 7\nsomething new\n"
	if err := os.WriteFile(store.Path(), []byte(later), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := store.Update(context.Background(), func(*Set) error { return nil })
	if err == nil || !strings.Contains(err.Error(), store.Path()+": the pins have version 7") {
		t.Errorf("error %v", err)
	}
	if b, err := os.ReadFile(store.Path()); err != nil || string(b) != later {
		t.Errorf("the file holds %q, %v", b, err)
	}
}

func TestTheDigestFollowsTheFile(t *testing.T) {
	store := Open(t.TempDir())
	seen := map[string]bool{}
	for i := range 3 {
		set, err := store.Load()
		if err != nil {
			t.Fatal(err)
		}
		if seen[set.Digest()] {
			t.Errorf("after %d pins the digest is an earlier one", i)
		}
		seen[set.Digest()] = true
		if _, err := store.Update(context.Background(), func(s *Set) error {
			_, err := s.Put(Pin{Title: "a", Kind: match.TV, ID: i + 1})
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
}
