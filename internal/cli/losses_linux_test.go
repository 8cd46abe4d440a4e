package cli_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/anivault/anivault/internal/lockfile"
)

// house is a source and a library of somebody who uses the program.
type house struct {
	t   *testing.T
	dir string
	env []string
}

func newHouse(t *testing.T, files ...string) *house {
	h := &house{t: t, dir: t.TempDir()}
	h.env = []string{"HOME=" + h.dir, "PATH=" + os.Getenv("PATH"), "GORACE=" + os.Getenv("GORACE")}
	for _, dir := range []string{"in", "lib"} {
		if err := os.Mkdir(filepath.Join(h.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range files {
		h.write(f, "content of "+filepath.Base(f))
	}
	return h
}

func (h *house) write(name, content string) {
	h.t.Helper()
	name = filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// records writes what match would say: "path kind/id", for a series "path tv/id season episode", and for a part "path
// movie/id part".
func (h *house) records(rows ...[]any) string {
	var b strings.Builder
	for _, r := range rows {
		kind, id, _ := strings.Cut(r[1].(string), "/")
		fmt.Fprintf(&b, `{"type":"match","path":%q,"status":"matched","confidence":1,"kind":%q,`+
			`"tmdb_id":%s,"title":"Title %s","year":2020`,
			filepath.Join(h.dir, r[0].(string)), kind, id, id)
		switch len(r) {
		case 4:
			fmt.Fprintf(&b, `,"season":%d,"episodes":[%d],"episode_confidence":1,"episode_titles":["E"]`, r[2], r[3])
		case 3:
			fmt.Fprintf(&b, `,"parsed":{"part":%d}`, r[2])
		}
		b.WriteString("}\n")
	}
	name := filepath.Join(h.dir, "records")
	if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
		h.t.Fatal(err)
	}
	return name
}

// run starts the program, whose exit status is to be that one.
func (h *house) run(status int, args ...string) string {
	h.t.Helper()
	cmd := exec.Command("anivault", args...)
	cmd.Dir, cmd.Env = h.dir, h.env
	out, _ := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != status {
		h.t.Fatalf("%q: exit status %d, not %d\n%s", args, got, status, out)
	}
	return string(out)
}

// holds checks the files below a folder: their names, and ":" and their contents where these are not those that they
// had there.
func (h *house) holds(dir string, want ...string) {
	h.t.Helper()
	var got []string
	root := filepath.Join(h.dir, dir)
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(p)
		name := strings.TrimPrefix(p, root+"/")
		if content := strings.TrimPrefix(string(text), "content of "); content != filepath.Base(name) {
			name += ": " + content
		}
		got = append(got, name)
		return err
	})
	if err != nil {
		h.t.Error(err)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		h.t.Errorf("%s holds\n  %s\nnot\n  %s", dir, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

const (
	series = "Title 1 (2020) [tmdbid-1]/Season 01/Title 1 (2020) S01E0"
	work   = "Title 7 (2020) [tmdbid-7]/Title 7 (2020) [tmdbid-7]"
)

// episode is the name of one in the library.
func episode(n int) string { return fmt.Sprintf("%s%d - E.mkv", series, n) }

// organize puts the house in order by records.
func (h *house) organize(status int, records string, args ...string) string {
	return h.run(status, append([]string{"organize", "in", "--from", records, "--to", "lib", "--yes"}, args...)...)
}

// What other programs have lost, one by one. A full disk is TestTheSourceStaysWhereTheTargetIsFull in internal/apply.
func TestLossesOfOthers(t *testing.T) {
	for name, test := range map[string]func(t *testing.T){
		"a cycle of renames": func(t *testing.T) {
			h := newHouse(t, "lib/"+episode(1), "lib/"+episode(2), "lib/"+episode(3))
			r := h.records([]any{"lib/" + episode(1), "tv/1", 1, 2}, []any{"lib/" + episode(2), "tv/1", 1, 3},
				[]any{"lib/" + episode(3), "tv/1", 1, 1})
			h.run(0, "organize", "lib", "--from", r, "--to", "lib", "--in-place", "--yes")
			base := filepath.Base
			h.holds("lib", episode(1)+": "+base(episode(3)), episode(2)+": "+base(episode(1)), episode(3)+": "+base(episode(2)))
			h.run(0, "undo")
			h.holds("lib", episode(1), episode(2), episode(3))
		},
		"two files to one name": func(t *testing.T) {
			h := newHouse(t, "in/a.mkv", "in/b.mkv")
			h.organize(0, h.records([]any{"in/a.mkv", "tv/1", 1, 1}, []any{"in/b.mkv", "tv/1", 1, 1}), "--mode", "move")
			h.holds("in", "a.mkv", "b.mkv")
			h.holds("lib")
		},
		"two parts to one name": func(t *testing.T) {
			h := newHouse(t, "in/a.mkv", "in/b.mkv")
			h.organize(0, h.records([]any{"in/a.mkv", "movie/7", 1}, []any{"in/b.mkv", "movie/7", 2}), "--mode", "move")
			h.holds("in")
			h.holds("lib", work+" - part1.mkv: a.mkv", work+" - part2.mkv: b.mkv")
		},
		"a root that differs in case only": func(t *testing.T) {
			old := strings.Replace(strings.ToLower(episode(1)), ".mkv", "", 1)
			h := newHouse(t, "lib/"+old+".mkv", "lib/"+old+".srt")
			r := h.records([]any{"lib/" + old + ".mkv", "tv/1", 1, 1})
			h.run(0, "organize", "lib", "--from", r, "--to", "lib", "--in-place", "--yes")
			dir := filepath.Dir(old) + "/Title 1 (2020) S01E01 - E"
			h.holds("lib", dir+".mkv: "+filepath.Base(old)+".mkv", dir+".srt: "+filepath.Base(old)+".srt")
		},
		"only .en.srt and .en.forced.srt": func(t *testing.T) {
			h := newHouse(t, "in/a.mkv", "in/a.en.srt", "in/a.en.forced.srt")
			h.organize(0, h.records([]any{"in/a.mkv", "movie/7"}), "--mode", "move")
			h.holds("in")
			h.holds("lib", work+".en.forced.srt: a.en.forced.srt", work+".en.srt: a.en.srt", work+".mkv: a.mkv")
		},
		"notes of a release": func(t *testing.T) {
			h := newHouse(t, "in/a.mkv", "in/a.nfo")
			h.organize(0, h.records([]any{"in/a.mkv", "movie/7"}))
			h.holds("in", "a.mkv", "a.nfo")
			h.holds("lib", work+".mkv: a.mkv", work+".release.nfo: a.nfo")
		},
		"a scraper that writes into the library": func(t *testing.T) {
			h := newHouse(t, "in/a.mkv", "in/a-poster.jpg")
			h.write("in/a.nfo", "<movie/>")
			h.organize(0, h.records([]any{"in/a.mkv", "movie/7"}))
			for _, name := range []string{work + ".nfo", work + "-poster.jpg"} {
				file, err := os.OpenFile(filepath.Join(h.dir, "lib", name), os.O_WRONLY|os.O_TRUNC, 0)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = file.WriteString("scraped")
				file.Close()
			}
			h.holds("in", "a-poster.jpg", "a.mkv", "a.nfo: <movie/>")
		},
		"a hook that fails": func(t *testing.T) {
			h := newHouse(t, "in/a.mkv")
			h.organize(4, h.records([]any{"in/a.mkv", "movie/7"}), "--mode", "move", "--exec", "false")
			h.holds("lib", work+".mkv: a.mkv")
			h.run(0, "undo")
			h.holds("in", "a.mkv")
		},
		"another mode in the config after an interrupted copy": func(t *testing.T) {
			h := newHouse(t)
			var rows [][]any
			var all []string
			for i := range 300 {
				name := fmt.Sprintf("%03d.mkv", i)
				h.write("in/"+name, "content of "+name)
				rows, all = append(rows, []any{"in/" + name, fmt.Sprintf("movie/%d", i+100)}), append(all, name)
			}
			h.records(rows...)
			journals := filepath.Join(h.dir, ".local", "share", "anivault", "history", "*.journal")
			for cut := false; !cut; {
				cmd := exec.Command("anivault", "organize", "in", "--from", "records", "--to", "lib", "--yes", "-q", "--mode",
					"copy")
				cmd.Dir, cmd.Env = h.dir, h.env
				before, _ := filepath.Glob(journals)
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				ended := make(chan error, 1)
				go func() { ended <- cmd.Wait() }()
				for alive := true; alive; {
					select {
					case <-ended:
						alive = false
					default:
						if now, _ := filepath.Glob(journals); len(now) > len(before) {
							_ = cmd.Process.Signal(syscall.SIGTERM)
						}
					}
				}
				cut = strings.Contains(h.run(0, "history", "--format", "table"), "interrupted")
				if !cut {
					h.run(0, "undo", "-q")
				}
			}
			h.env = append(h.env, "ANIVAULT_ORGANIZE_MODE=move")
			h.run(0, "apply", "--resume", "-q")
			h.holds("in", all...)
			h.run(0, "undo", "-q")
			h.holds("in", all...)
			h.holds("lib")
		},
		"a wrong match that is organized again with hard links": func(t *testing.T) {
			h := newHouse(t, "in/a.mkv")
			h.organize(0, h.records([]any{"in/a.mkv", "movie/8"}))
			h.organize(0, h.records([]any{"in/a.mkv", "movie/7"}))
			wrong := strings.ReplaceAll(work, "7", "8") + ".mkv: a.mkv"
			h.holds("in", "a.mkv")
			h.holds("lib", work+".mkv: a.mkv", wrong)
			h.run(0, "undo")
			h.holds("in", "a.mkv")
			h.holds("lib", wrong)
		},
		"the folder that was named is never removed": func(t *testing.T) {
			h := newHouse(t, "in/deep/er/a.mkv")
			h.organize(0, h.records([]any{"in/deep/er/a.mkv", "movie/7"}), "--mode", "move")
			h.holds("in")
			if left, err := os.ReadDir(filepath.Join(h.dir, "in")); err != nil || len(left) > 0 {
				t.Errorf("%v %v", left, err)
			}
		},
		"a target that can't be made": func(t *testing.T) {
			h := newHouse(t, "in/a.mkv")
			r := h.records([]any{"in/a.mkv", "movie/7"})
			h.run(0, "organize", "in", "--from", r, "--to", "lib", "--mode", "move", "--plan", "plan")
			h.write("lib/"+filepath.Dir(work), "in the way")
			h.run(4, "apply", "plan")
			h.run(4, "apply", "plan", "--partial")
			h.holds("in", "a.mkv")
			h.holds("lib", filepath.Dir(work)+": in the way")
		},
	} {
		t.Run(name, test)
	}
}

// A run waits for another one, which puts an episode into the library that the plan of the first would add as well.
func TestAPlanIsMadeAgainAfterAnotherRun(t *testing.T) {
	h := newHouse(t, "in/a.mkv", "in/b.mp4")
	lock := filepath.Join(h.dir, ".local/share/anivault/history/lock")
	if err := os.MkdirAll(filepath.Dir(lock), 0o700); err != nil {
		t.Fatal(err)
	}
	release, err := lockfile.Acquire(t.Context(), lock, lockfile.Exclusive, 0)
	if err != nil {
		t.Fatal(err)
	}
	late := filepath.Join(h.dir, "late")
	if err := os.Rename(h.records([]any{"in/b.mp4", "tv/1", 1, 1}), late); err != nil {
		t.Fatal(err)
	}
	waits := exec.Command("anivault", "organize", "in", "--from", late, "--to", "lib", "--yes", "--wait", "1m",
		"--format", "table")
	waits.Dir, waits.Env = h.dir, h.env
	out, err := waits.StdoutPipe()
	if err = errors.Join(err, waits.Start()); err != nil {
		t.Fatal(err)
	}
	plan := bufio.NewReader(out)
	for line := ""; !strings.Contains(line, "b.mp4"); {
		if line, err = plan.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	if err := waits.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for runs := true; runs; time.Sleep(time.Millisecond) { // until each thread has stopped
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", waits.Process.Pid))
		if err != nil || len(threads) == 0 {
			t.Fatal(err)
		}
		runs = slices.ContainsFunc(threads, func(stat string) bool {
			text, _ := os.ReadFile(stat)
			return !strings.Contains(string(text), ") T ")
		})
	}
	release()
	h.organize(0, h.records([]any{"in/a.mkv", "tv/1", 1, 1}))
	if err := waits.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	again, _ := io.ReadAll(plan)
	if err := waits.Wait(); err != nil || !strings.Contains(string(again), "something else is there") {
		t.Errorf("%v\n%s", err, again)
	}
	h.holds("lib", episode(1)+": a.mkv")
}
