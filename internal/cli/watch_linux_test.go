package cli_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/upstream"
)

// watched is a folder that the program watches, and a library.
type watched struct {
	stand
	t       *testing.T
	in, out string
	cmd     *exec.Cmd
	lines   *bufio.Scanner
	told    *output
}

func newWatched(t *testing.T) *watched {
	t.Helper()
	w := &watched{stand: newStand(t, upstream.Scenario{}), t: t}
	w.in, w.out = filepath.Join(w.dir, "in"), filepath.Join(w.dir, "out")
	for _, dir := range []string{w.in, w.out} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// file makes a file in the watched folder, whose content is where it is once it is complete.
func (w *watched) file(name string) {
	w.t.Helper()
	name = filepath.Join(w.in, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(strings.TrimSuffix(name, ".part")), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *watched) command(args ...string) *exec.Cmd {
	cmd := exec.Command("anivault", append([]string{
		"watch", w.in, "--to", w.out, "--settle", "200ms", "--poll", "200ms", "--format", "ndjson",
	}, args...)...)
	cmd.Dir, cmd.Env = w.dir, w.env
	return cmd
}

// start begins to watch.
func (w *watched) start(args ...string) {
	w.t.Helper()
	w.cmd = w.command(args...)
	w.told = &output{}
	w.cmd.Stderr = w.told
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	w.lines = bufio.NewScanner(out)
	if err := w.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	cmd := w.cmd
	w.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
}

// summary waits for the end of the next batch.
func (w *watched) summary() report.OrganizeSummary {
	w.t.Helper()
	for w.lines.Scan() {
		if !bytes.Contains(w.lines.Bytes(), []byte(`"organize_summary"`)) {
			continue
		}
		var s report.OrganizeSummary
		if err := json.Unmarshal(w.lines.Bytes(), &s); err != nil {
			w.t.Fatal(err)
		}
		return s
	}
	w.t.Fatalf("it ended:\n%s", w.told)
	return report.OrganizeSummary{}
}

// progress waits for the end of the next batch that has placed or skipped something. A new folder changes the one above
// it, and that one may settle first, in a batch of its own with nothing to do.
func (w *watched) progress() report.OrganizeSummary {
	w.t.Helper()
	for {
		if s := w.summary(); s.Planned+s.Left > 0 {
			return s
		}
	}
}

// says waits until a text appears on stderr.
func (w *watched) says(words string) {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); !strings.Contains(w.told.String(), words); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("it does not say %q:\n%s", words, w.told)
		}
	}
}

// stop ends the program and returns its exit status.
func (w *watched) stop() int {
	w.t.Helper()
	_ = w.cmd.Process.Signal(syscall.SIGTERM)
	for w.lines.Scan() { // what it still prints is read
	}
	_ = w.cmd.Wait()
	return w.cmd.ProcessState.ExitCode()
}

// linked counts the files of the library, each of which must be one of the watched folder's.
func (w *watched) linked() int {
	w.t.Helper()
	n := 0
	err := filepath.WalkDir(w.out, func(p string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // a run has ended meanwhile
			return nil
		case err != nil:
			return err
		case strings.HasPrefix(d.Name(), ".anivault-"): // a run tries out what the file system can do
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		source, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		a, err := os.Stat(string(source))
		if err != nil {
			return err
		}
		b, err := os.Stat(p)
		if err == nil && !os.SameFile(a, b) {
			err = fmt.Errorf("%s is not %s", p, source)
		}
		n++
		return err
	})
	if err != nil {
		w.t.Error(err)
	}
	return n
}

func (w *watched) rename(from, to string) {
	w.t.Helper()
	if err := os.Rename(from, to); err != nil {
		w.t.Fatal(err)
	}
}

// New files are linked once they are complete; nothing is reported twice, not even by the next process; a second one is
// refused meanwhile.
func TestNewFilesAreOrganized(t *testing.T) {
	w := newWatched(t)
	w.file("Cowboy Bebop - 05.mkv")
	w.file("Nothing at all.mkv")
	w.start()
	if s := w.progress(); s.Done != 1 || s.Left != 1 {
		t.Errorf("%+v", s)
	}
	w.file("pack/Cowboy Bebop - 07.mkv.part") // first: the other one would settle without it
	w.file("pack/Cowboy Bebop - 06.mkv")
	w.file("film/Perfect.Blue.1998.mkv")
	if s := w.progress(); s.Done != 1 || s.Left != 0 {
		t.Errorf("the film: %+v", s)
	}
	w.rename(filepath.Join(w.in, "pack/Cowboy Bebop - 07.mkv.part"), filepath.Join(w.in, "pack/Cowboy Bebop - 07.mkv"))
	if s := w.progress(); s.Done != 2 {
		t.Errorf("the pack: %+v", s)
	}
	second := w.command()
	said, err := second.CombinedOutput()
	if second.ProcessState.ExitCode() != 4 || !bytes.Contains(said,
		fmt.Appendf(nil, "is already being watched: process %d, since ", w.cmd.Process.Pid)) {
		t.Errorf("the second: %v\n%s", err, said)
	}
	if status := w.stop(); status != 143 {
		t.Errorf("exit status %d:\n%s", status, w.told)
	}
	w.file("film/Perfect.Blue.1998.ko.srt")
	w.start()
	if s := w.progress(); s.Done != 1 || s.Left != 0 {
		t.Errorf("afterwards: %+v", s)
	}
	w.stop()
	if n := w.linked(); n != 5 {
		t.Errorf("%d files are linked", n)
	}
}

// A warning about something that each batch begins with is given once, not with each batch.
func TestAWarningIsGivenOnceForAllBatches(t *testing.T) {
	w := newWatched(t)
	w.start("--order", "tvdb")
	for _, name := range []string{"Cowboy Bebop - 05.mkv", "more/Cowboy Bebop - 06.mkv"} {
		w.file(name)
		s := w.summary()
		if s.Left == 0 { // the folder changed again after it had settled
			s = w.summary()
		}
		if s.Left != 1 {
			t.Errorf("%+v", s)
		}
	}
	w.stop()
	if n := strings.Count(w.told.String(), "come from the title index, and there is none"); n != 1 {
		t.Errorf("said %d times:\n%s", n, w.told)
	}
}

// The watched folder goes away, and the library: both are waited for, nothing is made where they were mounted, and
// nothing done twice.
func TestFilesWithoutAnAnswerAreNotNothing(t *testing.T) {
	w := newWatched(t)
	w.env = append(w.env, "ANIVAULT_TMDB_BASE_URL=http://127.0.0.1:9", "ANIVAULT_MAX_WAIT=1s")
	w.file("Cowboy Bebop - 05.mkv")
	w.start()
	if s := w.summary(); s.Left != 1 {
		t.Errorf("%+v", s)
	}
	w.stop()
	w.start() // it tries again at once
	if s := w.summary(); s.Left != 0 {
		t.Errorf("again: %+v", s)
	}
	w.says("still no answer from TMDB; watch tries again later\n")
	if strings.Contains(w.told.String(), "nothing to do") {
		t.Errorf("it says that there is nothing to do:\n%s", w.told)
	}
}

func TestFoldersThatVanishAreWaitedFor(t *testing.T) {
	w := newWatched(t)
	w.file("a/Cowboy Bebop - 05.mkv")
	w.start()
	if s := w.summary(); s.Done != 1 {
		t.Fatalf("%+v", s)
	}
	w.rename(w.in, w.in+".away")
	w.says("waiting until it is back")
	if err := os.Mkdir(w.in, 0o755); err != nil { // the mount point without the disk
		t.Fatal(err)
	}
	w.file("b/Cowboy Bebop - 06.mkv")
	w.rename(w.in, w.in+".empty")
	w.rename(w.in+".away", w.in)
	w.says("is back")
	w.rename(w.out, w.out+".away")
	if err := os.Mkdir(w.out, 0o755); err != nil {
		t.Fatal(err)
	}
	w.file("c/Cowboy Bebop - 07.mkv")
	w.says("is not the same folder as before; waiting until it is back")
	if left, err := os.ReadDir(w.out); err != nil || len(left) > 0 {
		t.Error("something was made in the place of the library:", left, err)
	}
	if status := w.stop(); status != 143 {
		t.Errorf("exit status %d", status)
	}
	if err := os.Remove(w.out); err != nil {
		t.Fatal(err)
	}
	w.rename(w.out+".away", w.out)
	w.start()
	if s := w.summary(); s.Done != 1 {
		t.Errorf("%+v", s)
	}
	w.stop()
	if n := w.linked(); n != 2 {
		t.Errorf("%d files are linked", n)
	}
}

// A state that can't be saved, as on a full disk, ends nothing: the watch goes on with what it has in memory.
func TestAStateThatCannotBeSavedDoesNotEndTheWatch(t *testing.T) {
	w := newWatched(t)
	w.file("a/Cowboy Bebop - 05.mkv")
	w.start()
	w.progress()
	states := filepath.Join(w.dir, ".local/state/anivault/watch")
	if err := os.RemoveAll(states); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(states, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b/Cowboy Bebop - 06.mkv", "c/Cowboy Bebop - 07.mkv"} {
		w.file(name)
		if s := w.progress(); s.Done != 1 {
			t.Errorf("%+v", s)
		}
	}
	w.says("the next start looks at all folders again")
	if err := os.Remove(states); err != nil {
		t.Fatal(err)
	}
	w.file("d/Cowboy Bebop - 08.mkv")
	w.progress()
	if status := w.stop(); status != 143 {
		t.Errorf("exit status %d:\n%s", status, w.told)
	}
	if n := strings.Count(w.told.String(), "looks at all folders again"); n != 1 {
		t.Errorf("it says %d times that the state can't be saved:\n%s", n, w.told)
	}
	if saved, err := filepath.Glob(filepath.Join(states, "*.json")); len(saved) != 1 {
		t.Error("the state is not saved again:", saved, err)
	}
}

// A notice about skipped files is about those that need a person: no sample, and no file that waits for an answer.
func TestNoticesOfSkippedFilesNameThoseThatNeedAPerson(t *testing.T) {
	w := newWatched(t)
	told := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		told <- string(body)
	}))
	defer server.Close()
	file := filepath.Join(w.dir, "config.yaml")
	if err := os.WriteFile(file, []byte("notify: [{to: ntfy, url: "+server.URL+"/topic}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.env = append(w.env, "ANIVAULT_CONFIG="+file)
	w.file("pack/Cowboy Bebop - 05.mkv")
	w.file("pack/Sample/sample.mkv")
	w.start()
	if s := w.summary(); s.Done != 1 || s.Left != 1 {
		t.Errorf("%+v", s)
	}
	w.file("Nothing at all.mkv")
	want := "1 new file skipped; the first is " + filepath.Join(w.in, "Nothing at all.mkv") + ": "
	if got := <-told; !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	w.stop()
}

// A notice says which files stay, even if there is nothing else to report.
func TestSkippedFilesAreNamedForPeople(t *testing.T) {
	w := newWatched(t)
	w.file("Nothing at all.mkv")
	w.cmd, w.told = w.command("--format", "table"), &output{}
	w.cmd.Stdout, w.cmd.Stderr = w.told, w.told
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.cmd.Process.Kill(); _ = w.cmd.Wait() })
	w.says("1 skipped\n")
	if said := w.told.String(); !strings.Contains(said, "skipped\n  "+filepath.Join(w.in, "Nothing at all.mkv")+"  (") {
		t.Errorf("it says\n%s", said)
	}
}

// run runs another command to its end.
func (w *watched) run(args ...string) {
	w.t.Helper()
	cmd := exec.Command("anivault", args...)
	cmd.Dir, cmd.Env = w.dir, w.env
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("%q: %v\n%s", args, err, out)
	}
}

// An undo says that a file does not belong into that library. It may belong into another one.
func TestAFileThatAnUndoPutBackMayGoIntoAnotherLibrary(t *testing.T) {
	w := newWatched(t)
	other := filepath.Join(w.dir, "other")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	w.file("Cowboy Bebop - 05.mkv")
	w.run("organize", w.in, "--to", other, "--yes")
	w.run("undo")
	w.start()
	if s := w.summary(); s.Done != 1 {
		t.Errorf("%+v", s)
	}
	w.stop()
}

// A file that an undo has put back stays: watch reports it once, and moves it again when it or a pin changes.
func TestFilesThatWerePutBackStay(t *testing.T) {
	w := newWatched(t)
	bebop, film := filepath.Join(w.in, "a", "Cowboy Bebop - 05.mkv"), filepath.Join(w.in, "b", "Perfect.Blue.1998.mkv")
	w.file("a/Cowboy Bebop - 05.mkv")
	w.file("b/Perfect.Blue.1998.mkv")
	w.file("b/Perfect.Blue.1998.ko.srt")
	w.start("--mode", "move")
	for done := 0; done < 3; {
		done += w.summary().Done
	}
	journals, err := filepath.Glob(filepath.Join(w.dir, ".local", "share", "anivault", "history", "*.journal"))
	if err != nil || len(journals) == 0 {
		t.Fatal(journals, err)
	}
	for _, name := range journals { // of each folder one, or of both
		w.run("undo", "--wait", "1m", strings.TrimSuffix(filepath.Base(name), ".journal"))
	}
	for left := 0; left < 2; {
		s := w.summary()
		if left += s.Left; s.Done > 0 {
			t.Fatalf("it was moved again: %+v", s)
		}
	}
	if err := os.Chtimes(film, time.Time{}, time.Unix(1e9, 0)); err != nil {
		t.Fatal(err)
	}
	if s := w.summary(); s.Done != 2 || s.Left != 0 {
		t.Errorf("the film: %+v", s)
	}
	if _, err := os.Stat(bebop); err != nil {
		t.Error(err)
	}
	w.run("pin", bebop, "tv/30991")
	if s := w.summary(); s.Done != 1 || s.Left != 0 {
		t.Errorf("with a pin: %+v", s)
	}
	w.stop()
}

// What somebody removed from the library does not come back with the next download, until a pin is newer than the
// removal.
func TestFilesRemovedFromTheLibraryStayAway(t *testing.T) {
	w := newWatched(t)
	check := func(when string, s report.OrganizeSummary, done, left, linked int) {
		t.Helper()
		if s.Done != done || s.Left != left || w.linked() != linked {
			t.Fatalf("%s: %+v, %d files in the library", when, s, w.linked())
		}
	}
	remove := func(pattern string) {
		t.Helper()
		found, _ := filepath.Glob(filepath.Join(w.out, pattern))
		if len(found) != 1 {
			t.Fatal(found)
		}
		if err := os.RemoveAll(found[0]); err != nil {
			t.Fatal(err)
		}
	}
	w.file("Cowboy Bebop - 05.mkv")
	w.start("--mode", "hardlink")
	check("at first", w.progress(), 1, 0, 1)
	remove("*/*/*E05*")
	w.file("Cowboy Bebop - 06.mkv")
	check("removed", w.progress(), 1, 1, 1)
	w.run("pin", "Another title", "tv/30991")
	check("a pin after it was removed", w.progress(), 1, 0, 2)
	remove("*/*/*E06*") // placed before the pin
	w.file("Cowboy Bebop - 07.mkv")
	check("a pin before it was removed", w.progress(), 1, 1, 2)
	remove("*")
	w.file("Cowboy Bebop - 08.mkv")
	check("the folder removed", w.progress(), 1, 2, 1)
	remove("*")
	w.run("pin", "A third title", "tv/30991")
	check("a pin after the folder was removed", w.progress(), 4, 0, 4)
	w.stop()
}

// What can't be carried out is tried again, by the next process too: the library may get other rights, or space.
func TestRefusedFilesAreTriedAgain(t *testing.T) {
	w := newWatched(t)
	season := filepath.Join(w.out, "Cowboy Bebop (1998)", "Season 01")
	if err := os.MkdirAll(season, 0o755); err != nil {
		t.Fatal(err)
	}
	protect := func(on bool) error { return os.Chmod(season, map[bool]fs.FileMode{true: 0o555, false: 0o755}[on]) }
	if os.Geteuid() == 0 { // rights don't stop root
		protect = func(on bool) error {
			dir, err := os.Open(season)
			if err != nil {
				return err
			}
			defer dir.Close()
			const immutable = 0x10
			flags, err := unix.IoctlGetInt(int(dir.Fd()), unix.FS_IOC_GETFLAGS)
			if flags &^= immutable; on {
				flags |= immutable
			}
			return errors.Join(err, unix.IoctlSetPointerInt(int(dir.Fd()), unix.FS_IOC_SETFLAGS, flags))
		}
	}
	if err := protect(true); err != nil {
		t.Skip("a folder can't be protected here: ", err)
	}
	t.Cleanup(func() { _ = protect(false) })
	w.file("Cowboy Bebop - 05.mkv")
	w.start()
	if s := w.summary(); s.Refused != 1 || s.Done != 0 {
		t.Fatalf("%+v", s)
	}
	w.stop()
	if err := protect(false); err != nil {
		t.Fatal(err)
	}
	w.start()
	if s := w.summary(); s.Done != 1 || s.Refused != 0 {
		t.Errorf("%+v", s)
	}
	w.stop()
}

// Watching is killed in the middle of a batch, again and again: the next process continues the run, and in the end all
// is there.
func TestWatchingIsKilled(t *testing.T) {
	w := newWatched(t)
	const files = 24
	for i := 1; i <= files; i++ {
		w.file(fmt.Sprintf("Cowboy Bebop - %02d.mkv", i))
	}
	journals := func() int {
		found, _ := filepath.Glob(filepath.Join(w.dir, ".local", "share", "anivault", "history", "*.journal"))
		return len(found)
	}
	for range min(*kills, 5) {
		before := journals()
		w.start("--mode", "hardlink")
		for end := time.Now().Add(10 * time.Second); journals() == before && time.Now().Before(end) && w.linked() < files; {
		}
		time.Sleep(rand.N(3 * time.Millisecond))
		_ = w.cmd.Process.Kill()
		_ = w.cmd.Wait()
		for i := 1; i <= files; i++ {
			if _, err := os.Stat(filepath.Join(w.in, fmt.Sprintf("Cowboy Bebop - %02d.mkv", i))); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.file("Perfect.Blue.1998.mkv")
	w.start()
	for w.linked() < files+1 {
		w.summary()
	}
	w.stop()
	undo := exec.Command("anivault", "history", "--format", "ndjson")
	undo.Dir, undo.Env = w.dir, w.env
	if out, err := undo.CombinedOutput(); err != nil || bytes.Contains(out, []byte(`"stage":"apply"`)) {
		t.Errorf("a run is not finished: %v\n%s", err, out)
	}
}
