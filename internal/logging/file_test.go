package logging

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/anivault/anivault/internal/lockfile"
)

// writerEnv makes the test binary a process that writes to a shared log file: "path maxsize keep name lines".
const writerEnv = "ANIVAULT_TEST_LOG_WRITER"

func TestMain(m *testing.M) {
	if job := os.Getenv(writerEnv); job != "" {
		if err := beWriter(job); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func beWriter(job string) error {
	var path, name string
	var opts FileOptions
	var lines int
	if _, err := fmt.Sscan(job, &path, &opts.MaxSize, &opts.Keep, &name, &lines); err != nil {
		return err
	}
	f, err := OpenFile(path, opts)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	for i := range lines {
		if _, err := f.Write(testLine(name, i)); err != nil {
			return err
		}
	}
	return nil
}

func testLine(name string, i int) []byte {
	return fmt.Appendf(nil, "%s %d %s.\n", name, i, strings.Repeat("x", i%97))
}

// logFiles returns all files of the log, their lines and their sizes together.
func logFiles(t *testing.T, path string) (lines []string, size int64, files []string) {
	t.Helper()
	files, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		for sc := bufio.NewScanner(f); sc.Scan(); {
			lines = append(lines, sc.Text())
			size += int64(len(sc.Bytes())) + 1
		}
		f.Close()
	}
	return lines, size, files
}

func TestProcessesShareALogWithoutLosingALine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	const processes, lines = 4, 400
	var jobs []*exec.Cmd
	for p := range processes {
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s 4000 1000 w%d %d", writerEnv, path, p, lines))
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, cmd)
	}
	for _, cmd := range jobs {
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]int{}
	all, _, files := logFiles(t, path)
	for _, line := range all {
		seen[line]++
	}
	if len(files) < 2 { // how many depends on how long a line waited for the lock
		t.Errorf("%v: nothing was rotated", files)
	}
	for p := range processes {
		for i := range lines {
			if line := strings.TrimSuffix(string(testLine(fmt.Sprintf("w%d", p), i)), "\n"); seen[line] != 1 {
				t.Fatalf("%q is there %d times", line, seen[line])
			}
		}
	}
	if len(all) != processes*lines {
		t.Errorf("%d lines of %d: some are torn", len(all), processes*lines)
	}
}

func TestTotalSizeIsBounded(t *testing.T) {
	for _, keep := range []int{0, 1, 3} {
		t.Run(fmt.Sprint("keep ", keep), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.log")
			f, err := OpenFile(path, FileOptions{MaxSize: 1000, Keep: keep})
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for g := range 4 {
				wg.Go(func() {
					for i := range 100 {
						if _, err := f.Write(testLine(fmt.Sprint(g), i)); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			if err := f.Close(); err != nil {
				t.Error(err)
			}
			_, size, files := logFiles(t, path)
			if kept := keep + 1; size > int64(kept*1000) || len(files) != kept {
				t.Errorf("%d bytes in %v", size, files)
			}
			if info, err := os.Stat(path); runtime.GOOS != "windows" && (err != nil || info.Mode().Perm() != 0o600) {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
		})
	}
}

// Rotation touches NAME.1 to NAME.<keep> and nothing else, however much another name looks like one of them.
func TestRotationLeavesAPersonsFilesAlone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.log")
	others := []string{"x.log.20240101", "x.log.2023", "x.log.3", "x.log.01", "x.log.old", "x.log.1.gz", "x.log1"}
	for _, name := range others {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := OpenFile(path, FileOptions{MaxSize: 100, Keep: 2})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		if _, err := f.Write(testLine("w", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range others {
		t.Run(name, func(t *testing.T) {
			if text, err := os.ReadFile(filepath.Join(dir, name)); string(text) != "mine" {
				t.Errorf("it holds %q, %v", text, err)
			}
		})
	}
	if _, err := os.Stat(path + ".2"); err != nil {
		t.Errorf("nothing was rotated: %v", err)
	}
}

// A process that is stopped while it holds the lock freezes nobody: lines are still appended, without rotation, until
// the lock is free.
func TestAStoppedLockHolderFreezesNobody(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	f, err := OpenFile(path, FileOptions{MaxSize: 50, Keep: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	release, err := lockfile.Acquire(t.Context(), lockPath(path), lockfile.Exclusive, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if _, err := f.Write(testLine("w", i)); err != nil {
			t.Fatal(err)
		}
	}
	if lines, _, files := logFiles(t, path); len(lines) != 20 || len(files) != 1 {
		t.Errorf("%d lines in %v", len(lines), files)
	}
	release()
	for i := 20; ; i++ { // the wait that was given up has to end first
		if _, err := f.Write(testLine("w", i)); err != nil {
			t.Fatal(err)
		}
		if _, _, files := logFiles(t, path); len(files) > 1 {
			break
		} else if i == 10_000 {
			t.Fatal("the free lock was never taken")
		}
	}
}

func TestAnErrorIsReportedOnceAndNamed(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenFile(filepath.Join(dir, "missing", "a.log"), FileOptions{}); !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "a.log") {
		t.Errorf("a missing folder gives %v", err)
	}
	if _, err := OpenFile(dir, FileOptions{}); err == nil {
		t.Error("a folder was opened as a log file")
	}
	sub := filepath.Join(dir, "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	var told []error
	f, err := OpenFile(filepath.Join(sub, "a.log"), FileOptions{OnError: func(err error) { told = append(told, err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if err := os.RemoveAll(sub); err != nil {
		t.Skip("an open folder can't be removed here")
	}
	for range 3 {
		if _, err := f.Write([]byte("x\n")); err == nil {
			t.Error("writing into a folder that is gone succeeded")
		}
	}
	if len(told) != 1 || !errors.Is(told[0], fs.ErrNotExist) {
		t.Errorf("told %v", told)
	}
}

func TestDevicesAreWrittenThrough(t *testing.T) {
	f, err := OpenFile(os.DevNull, FileOptions{MaxSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := f.Write([]byte("a line\n")); err != nil {
			t.Error(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(lockPath(os.DevNull)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a lock beside a device: %v", err)
	}
}
