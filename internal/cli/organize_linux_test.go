package cli_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/apply"
	"github.com/anivault/anivault/internal/lockfile"
	"github.com/anivault/anivault/internal/organize"
	"github.com/anivault/anivault/internal/organize/disk"
	"github.com/anivault/anivault/internal/tmdbfake"
	"github.com/anivault/anivault/internal/tmdbfake/catalogfile"
	"github.com/anivault/anivault/internal/upstream"
)

var kills = flag.Int("kills", 20, "how many runs of the program are killed at random times")

// shelf is a library of its own, a plan for it and a home for the program.
type shelf struct {
	t             *testing.T
	dir, id       string
	before, after []string
	env           []string // that the program has beside HOME and PATH
}

// newShelf makes a tree with a plan that moves some files round in cycles, and moves and links others.
func newShelf(t *testing.T, files int) *shelf { return shelfOf(t, files, "in place") }

// shelfOf makes a tree and a plan: "in place" for cycles, moves and links in one root and into another, "apart" for
// moves and links between two roots, which are carried out in lanes, "nfo" for those with a file for media servers to
// each tenth.
func shelfOf(t *testing.T, files int, kind string) *shelf {
	t.Helper()
	s := &shelf{t: t, dir: t.TempDir()}
	p := &organize.Plan{
		ID:      apply.NewID(time.Now()),
		Created: time.Now().UTC(),
		Mode:    organize.ModeMove,
		Layout:  "jellyfin",
	}
	s.id = p.ID
	for _, dir := range []string{"src", "lib"} {
		if err := os.Mkdir(filepath.Join(s.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	place, err := disk.RootOf(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	s.dir = place.Path
	for _, dir := range []string{"src", "lib"} {
		place, err := disk.RootOf(filepath.Join(s.dir, dir))
		if err != nil {
			t.Fatal(err)
		}
		if dir == "src" {
			p.Sources = append(p.Sources, place.Root)
			if kind == "in place" {
				p.Targets = append(p.Targets, place.Root)
			}
		} else {
			p.Targets = append(p.Targets, place.Root)
		}
	}
	for i := range files {
		dir := fmt.Sprintf("pack %d", i%9)
		if err := os.MkdirAll(filepath.Join(s.dir, "src", dir), 0o755); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("%d.mkv", i)
		if err := os.WriteFile(filepath.Join(s.dir, "src", dir, name), []byte(name), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	known := map[string]organize.Item{}
	for i := range min(files, 9) {
		items, err := (&disk.Disk{}).List(filepath.Join(s.dir, "src", fmt.Sprintf("pack %d", i)))
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range items {
			known[item.Name] = item
		}
	}
	for i := range files {
		dir := fmt.Sprintf("pack %d", i%9)
		op := organize.Op{
			Verb: organize.VerbMove, Source: fmt.Sprintf("%d.mkv", i),
			To: fmt.Sprintf("Show %d/Season 01/%d.mkv", i%7, i),
		}
		item := known[op.Source]
		op.Size, op.MTime, op.Inode = item.Size, item.MTime, item.Inode
		u := organize.Unit{Dir: dir, Target: len(p.Targets) - 1}
		switch {
		case i%3 == 0 && kind == "in place": // round: 0 → 3 → 6 → 0
			next := i + 3
			if i%9 == 6 || next >= files {
				next = i / 9 * 9
			}
			if next >= files || i%9 != 6 && i+3 >= files && i%9 == 0 {
				continue
			}
			u.Target, op.To = 0, fmt.Sprintf("pack %d/%d.mkv", next%9, next)
		case i%3 == 1:
			op.Verb = organize.VerbLink
		}
		u.Ops = []organize.Op{op}
		if kind == "nfo" && i%10 == 0 {
			u.Ops = append(u.Ops, organize.Op{
				Verb: organize.VerbNFO, NFO: &organize.NFOSpec{Entry: organize.Entry{Kind: "tv", ID: 1}},
				To: fmt.Sprintf("Show %d/%d.nfo", i%7, i),
			})
		}
		p.Units = append(p.Units, u)
	}
	var text bytes.Buffer
	if err := p.Write(&text); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "plan"), text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if kind == "nfo" {
		s.know("Lantern Keepers - S01E01.mkv", `{"kind":"tv","tmdb_id":1,"titles":[{"lang":"en","type":"main",`+
			`"title":"Lantern Keepers"}],"year":2020,"seasons":[{"season":1,"episodes":12}]}`)
	}
	s.before = s.tree(true)
	return s
}

// know brings what a catalogue has of a name into the cache.
func (s *shelf) know(name, catalogue string) {
	s.t.Helper()
	cat, err := catalogfile.Read(strings.NewReader(catalogue))
	if err != nil {
		s.t.Fatal(err)
	}
	fake, err := tmdbfake.New(tmdbfake.Config{Catalogue: cat})
	if err != nil {
		s.t.Fatal(err)
	}
	server, err := fake.Listen("127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	defer server.Close()
	s.env = []string{"ANIVAULT_TMDB_BASE_URL=" + server.URL(), "ANIVAULT_TMDB_TOKEN=a-token-of-tests"}
	cmd := s.program("match", "-q", "--names-from", "-")
	cmd.Stdin = strings.NewReader(name + "\n")
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("matched")) {
		s.t.Fatalf("%v\n%s", err, out)
	}
}

// tree says what there is: names, modes, times and contents; without times those of folders are left out.
func (s *shelf) tree(times bool) []string {
	s.t.Helper()
	var out []string
	for _, root := range []string{"src", "lib"} {
		err := filepath.WalkDir(filepath.Join(s.dir, root), func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			line := fmt.Sprint(strings.TrimPrefix(p, s.dir), " ", info.Mode())
			if (times || !d.IsDir()) && !strings.HasSuffix(p, ".nfo") { // those have the time of their run
				line += fmt.Sprint(" ", info.ModTime().UnixNano())
			}
			if !d.IsDir() {
				text, err := os.ReadFile(p)
				if err != nil {
					return err
				}
				line += " " + string(text)
			}
			out = append(out, line)
			return nil
		})
		if err != nil {
			s.t.Fatal(err)
		}
	}
	return out
}

// program starts anivault with a home of its own.
func (s *shelf) program(args ...string) *exec.Cmd {
	cmd := exec.Command("anivault", args...)
	cmd.Dir = s.dir
	base := []string{"HOME=" + s.dir, "PATH=" + os.Getenv("PATH"), "GORACE=" + os.Getenv("GORACE")}
	cmd.Env = append(base, s.env...)
	return cmd
}

// must runs the program to its end.
func (s *shelf) must(args ...string) {
	s.t.Helper()
	if out, err := s.program(args...).CombinedOutput(); err != nil {
		s.t.Fatalf("%q: %v\n%s", args, err, out)
	}
}

// shoot starts the program and kills it a while after it has begun: with an apply when its journal is there, else
// after that time.
func (s *shelf) shoot(start, after time.Duration, args ...string) {
	s.t.Helper()
	before := s.journals()
	cmd := s.program(args...)
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan struct{})
	var shooter sync.WaitGroup
	shooter.Go(func() {
		began := time.NewTimer(start)
		for slices.Contains(args, "plan") && s.journals() == before {
			select {
			case <-ended:
				return
			default:
			}
			began.Reset(0)
		}
		<-began.C
		select {
		case <-ended:
		case <-time.After(after):
			_ = cmd.Process.Kill()
		}
	})
	_ = cmd.Wait()
	close(ended)
	shooter.Wait()
}

// journals counts the runs that are written down.
func (s *shelf) journals() int {
	found, _ := filepath.Glob(filepath.Join(s.dir, ".local", "share", "anivault", "history", "*.journal"))
	return len(found)
}

// whole checks that every file that was there is there.
func (s *shelf) whole(when string) {
	s.t.Helper()
	there := map[string]bool{}
	for _, line := range s.tree(true) {
		there[line[strings.LastIndexByte(line, ' ')+1:]] = true
	}
	for _, line := range s.before {
		if content := line[strings.LastIndexByte(line, ' ')+1:]; strings.HasSuffix(content, ".mkv") && !there[content] {
			s.t.Fatalf("%s: %s is lost", when, content)
		}
	}
}

func (s *shelf) is(want []string, times bool, when string) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.tree(times)); diff != "" {
		s.t.Fatalf("%s (-want +got):\n%s", when, diff)
	}
}

// The program is killed at random times in apply, in resuming and in undoing: nothing is ever lost, resuming ends where
// a run ends that nobody killed, and putting back where it began.
func TestTheProgramIsKilled(t *testing.T) {
	for i, kind := range []string{"in place", "apart", "nfo"} {
		t.Run(kind, func(t *testing.T) { killProgram(t, shelfOf(t, 600, kind), (*kills+2-i)/3) })
	}
}

func killProgram(t *testing.T, s *shelf, kills int) {
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	began := time.Now()
	s.must("apply", "-q", "--dry-run", "plan")
	start := time.Since(began)
	s.must("apply", "-q", "plan")
	later := func() time.Duration { return rand.N(time.Microsecond << r.IntN(16)) }
	s.after = s.tree(false)
	s.must("undo", "-q")
	s.is(s.before, true, "undone")
	if cmp.Equal(s.before, s.after) || strings.Contains(t.Name(), "nfo") != strings.Contains(strings.Join(s.after, " "),
		".nfo") {
		t.Fatal("the plan does nothing")
	}
	cut := 0
	if testing.Short() {
		kills = min(kills, 2)
	}
	for i := range kills {
		s.shoot(start/2, later(), "apply", "-q", "plan")
		s.whole("apply killed")
		if out, _ := s.program("history", "--format", "table").Output(); bytes.Contains(out, []byte("interrupted")) {
			cut++
		}
		for range r.IntN(3) {
			s.shoot(start/2, later(), [][]string{{"apply", "-q", "--resume"}, {"undo", "-q"}}[r.IntN(2)]...)
			s.whole("killed again")
		}
		if i%2 == 0 {
			s.must("apply", "-q", "--resume")
			// where it was killed before it began, or put back, nothing is gone on with
			if got := s.tree(true); !cmp.Equal(got, s.before) {
				s.is(s.after, false, "gone on with")
			}
		}
		s.must("undo", "-q")
		s.is(s.before, true, "put back")
	}
	t.Logf("%d of %d kills cut a run off", cut, kills)
}

// A media server gets a notice about each folder that a killed run has changed, once or twice.
func TestNoticesSurviveKills(t *testing.T) {
	s := shelfOf(t, 300, "apart")
	var mu sync.Mutex
	told := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var body struct{ Updates []struct{ Path string } }
		_ = json.NewDecoder(r.Body).Decode(&body)
		mu.Lock()
		defer mu.Unlock()
		for _, u := range body.Updates {
			told[u.Path]++
		}
	}))
	defer server.Close()
	file := filepath.Join(s.dir, "config.yaml")
	text := "notify: [{to: jellyfin, url: " + server.URL + ", paths: {" + s.dir + ": /media}}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.env = append(s.env, "ANIVAULT_CONFIG="+file)
	began := time.Now()
	s.must("apply", "-q", "plan")
	length := time.Since(began)
	s.after = s.tree(false)
	check := func(when string) {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		for i := range 7 {
			folder := fmt.Sprintf("/media/lib/Show %d", i)
			if n := told[folder]; n < 1 || n > 2 {
				t.Errorf("%s: %s got %d notices", when, folder, n)
			}
		}
		clear(told)
	}
	check("nobody killed it")
	s.must("undo", "-q")
	n := *kills
	if testing.Short() {
		n = min(n, 3)
	}
	for i := range n {
		s.shoot(0, rand.N(length), "apply", "-q", "plan")
		s.must("apply", "-q", "--resume")
		if got := s.tree(true); cmp.Equal(got, s.before) { // it was killed before it began
			continue
		}
		check(fmt.Sprint("kill ", i))
		s.must("undo", "-q")
	}
}

// Two runs at once: one of them works, the other says who is at work, or that nothing is left to do.
func TestOneRunAtATime(t *testing.T) {
	s := newShelf(t, 600)
	first, second := s.program("apply", "-q", "plan"), s.program("apply", "-q", "plan")
	var told bytes.Buffer
	second.Stderr = &told
	if err := errors.Join(first.Start(), second.Start()); err != nil {
		t.Fatal(err)
	}
	one, two := first.Wait(), second.Wait()
	if one != nil && two != nil {
		t.Fatalf("both failed: %v, %v\n%s", one, two, told.String())
	}
	s.whole("two at once")
	s.must("undo", "-q")
	s.is(s.before, true, "put back")
}

// Whoever reads what a run prints may take his time, or wait for another run himself.
func TestARunThatIsReadSlowlyHoldsUpNoOther(t *testing.T) {
	s := newShelf(t, 600)
	first := s.program("apply", "--format", "ndjson", "plan")
	out, err := first.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil { // all was done; what is left to print is more than a pipe holds
		t.Fatal(err)
	}
	s.must("undo", "-q", "--wait", "1m")
	s.is(s.before, true, "put back")
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Error(err)
	}
	if err := first.Wait(); err != nil {
		t.Error(err)
	}
}

// Ctrl-C ends a run between two files; both ways on are named, and both work.
func TestARunIsInterrupted(t *testing.T) {
	s := newShelf(t, 2000)
	journal := filepath.Join(s.dir, ".local", "share", "anivault", "history", s.id+".journal")
	var told bytes.Buffer
	for cut := false; !cut; {
		told.Reset()
		cmd := s.program("apply", "--format", "table", "plan")
		cmd.Stderr = &told
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		for _, err := os.Stat(journal); err != nil; _, err = os.Stat(journal) {
			select {
			case err := <-ended:
				t.Fatalf("it ended before it began: %v", err)
			default:
			}
		}
		_ = cmd.Process.Signal(syscall.SIGTERM)
		err := <-ended
		s.whole("terminated")
		if cut = s.isCutOff(); !cut { // it had come to its end before the signal did
			s.startOver()
		} else if cmd.ProcessState.ExitCode() != 143 ||
			!strings.Contains(told.String(), "hint: continue: anivault apply --resume "+s.id) {
			t.Errorf("%v:\n%s", err, told.String())
		}
	}
	out, err := s.program("apply", "plan").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "the run "+s.id+" was interrupted; this one did not begin") {
		t.Errorf("%v: %s", err, out)
	}
	release := func() {}
	for i, words := range []string{"was interrupted", "in progress"} {
		atWork := i == 1
		if atWork {
			release, err = lockfile.Acquire(t.Context(), filepath.Join(filepath.Dir(journal), "lock"), lockfile.Exclusive,
				time.Minute)
			if err != nil {
				t.Fatal(err)
			}
		}
		out, err := s.program("status", "--format", "json").Output()
		if want := fmt.Sprintf(`"at_work":%v}]`, atWork); err != nil || !bytes.Contains(out, []byte(s.id)) ||
			!bytes.Contains(out, []byte(want)) {
			t.Errorf("status: %v: %s", err, out)
		}
		out, _ = s.program("status").Output()
		if !strings.Contains(string(out), words) || strings.Contains(string(out), "apply --resume "+s.id) == atWork {
			t.Errorf("status:\n%s", out)
		}
		line, at := "  interrupted  ", ""
		if atWork {
			line, at = "  in progress  ", `"at_work":true`
		}
		if out, err = s.program("history", "--format", "table").Output(); err != nil || !strings.Contains(string(out), line) {
			t.Errorf("history: %v:\n%s", err, out)
		}
		if out, err = s.program("history").Output(); err != nil || bytes.Contains(out, []byte("at_work")) != atWork ||
			!strings.Contains(string(out), at) {
			t.Errorf("history: %v:\n%s", err, out)
		}
		out, _ = s.program("doctor", "--offline").Output()
		if line := regexp.MustCompile(`(?m)^(ok  |FAIL)  runs        ` + s.id + ".*" + words); !line.Match(out) {
			t.Errorf("doctor:\n%s", out)
		}
	}
	release()
	if out, err := s.program("undo", "--only", "*").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "--only needs a run that has ended") {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := s.program("undo", "--dry-run").CombinedOutput(); err != nil ||
		!regexp.MustCompile(`(can be put back|run \S+ has not moved any file)\nnothing was changed\n`).Match(out) {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := s.program("verify").CombinedOutput(); err != nil ||
		!regexp.MustCompile(`was interrupted(?s:.*)files not reached\n`).Match(out) {
		t.Errorf("%v: %s", err, out)
	}
	s.must("apply", "--resume", s.id)
	s.must("undo")
	s.is(s.before, true, "put back")
}

// isCutOff reports whether the run is.
func (s *shelf) isCutOff() bool {
	out, _ := s.program("history", "--format", "table").Output()
	return bytes.Contains(out, []byte("interrupted"))
}

// startOver puts the run back and forgets it, so that the plan may be applied once more.
func (s *shelf) startOver() {
	s.must("undo", "-q", "--yes")
	s.must("history", "prune", "--older", "0d") // the plan's id is the run's again
}

// A run that was interrupted on a disk that is gone for good can be abandoned; nothing is lost.
func TestARunIsAbandoned(t *testing.T) {
	s := newShelf(t, 600)
	for {
		s.shoot(0, 0, "apply", "-q", "plan")
		if s.isCutOff() {
			break
		}
		s.startOver()
	}
	lib, away := filepath.Join(s.dir, "lib"), filepath.Join(s.dir, "away")
	if err := os.Rename(lib, away); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"apply", "--resume"}, {"undo"}, {"apply", "plan"}} {
		out, err := s.program(args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out),
			"if it is gone for good, anivault history abandon "+s.id+" lets other runs begin") {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
	}
	s.must("history", "abandon", s.id)
	if out, err := s.program("history", "abandon", s.id).CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "and blocks no other run") {
		t.Errorf("%v\n%s", err, out)
	}
	other := newShelf(t, 5)
	cmd := s.program("apply", "-q", filepath.Join(other.dir, "plan"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("another run can't begin: %v\n%s", err, out)
	}
	if err := os.Rename(away, lib); err != nil {
		t.Fatal(err)
	}
	s.must("undo", "-q", s.id)
	s.is(s.before, true, "put back")
}

// On a terminal a plan is shown, and then asked about: edited, saved, carried out, or nothing.
func TestAPlanIsAskedAboutOnATerminal(t *testing.T) {
	for name, row := range map[string]struct {
		typed []string
		then  string // what is there afterwards
		shown string
	}{
		"nothing": {[]string{""}, "", "nothing was changed"},
		"save":    {[]string{"s", "mine.plan"}, "mine.plan", "saved: mine.plan"},
		"apply":   {[]string{"a"}, "out/Cowboy Bebop (1998) [tmdbid-30991]/Season 01", "undo: anivault undo"},
		"edit":    {[]string{"e", "a"}, "out/Mine/Season 01", "undo: anivault undo"},
		"edited":  {[]string{"e", ""}, "", "the plan has 3 files now; a carries it out"},
		"listed":  {[]string{"e", "p", "q"}, "", "  Mine/Season 01"},
		"told":    {[]string{"e", "q"}, "", "# To leave a file out, delete its lines."},
		"help":    {[]string{"?", "q"}, "", "l the skipped ones, q or Enter changes nothing"},
		"else":    {[]string{"x", "q"}, "", "x is not an answer: a carries the plan out"},
		"back":    {[]string{"s", "q", "q"}, "", "nothing was changed"},
		"the end": {[]string{"\x04"}, "", "nothing was changed"},
		"nowhere": {[]string{"s", "no/where.plan", "q"}, "", "write no/where.plan: no such file or directory"},
		"gone":    {[]string{"e", "q"}, "", "the editor saved no plan"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t, upstream.Scenario{})
			if err := os.Mkdir(filepath.Join(s.dir, "out"), 0o755); err != nil {
				t.Fatal(err)
			}
			editor := `sed -i s/Cowboy.Bebop.(1998).\[tmdbid-30991\]/Mine/`
			switch name {
			case "gone":
				editor = "rm"
			case "told":
				editor = "sed -n /leave.a.file/p" // to the terminal
			}
			env := append(s.env, "EDITOR="+editor)
			term := onTerminal(t, 200, 40, env, "organize", s.lib, "--to", filepath.Join(s.dir, "out"))
			for i, line := range row.typed {
				term.until("(?s)" + strings.Repeat("(help:|go back:) .*", i) + "(help:|go back:) $")
				if _, err := io.WriteString(term.prompter, strings.TrimSuffix(line+"\n", "\x04\n")+strings.Repeat("\x04",
					strings.Count(line, "\x04"))); err != nil {
					t.Fatal(err)
				}
			}
			status, raw := term.end()
			screen := strings.Join(term.screen(raw), "\n")
			if status != 0 || !strings.Contains(screen, row.shown) {
				t.Errorf("exit status %d:\n%s", status, screen)
			}
			if row.then == "mine.plan" {
				row.then = ""
				defer os.Remove("mine.plan")
				if _, err := os.Stat("mine.plan"); err != nil {
					t.Error(err)
				}
			}
			if _, err := os.Stat(filepath.Join(s.dir, row.then)); err != nil {
				t.Errorf("%v\n%s", err, screen)
			}
		})
	}
}

// Ctrl-C at the question for the library's folder ends the run without another message.
func TestTheQuestionForTheFolderIsInterrupted(t *testing.T) {
	s := newStand(t, upstream.Scenario{})
	term := onTerminal(t, 80, 24, s.env, "organize", s.lib, "--to", filepath.Join(s.dir, "out"))
	term.until(`\[y/N\] $`)
	term.press(ctrlC)
	if status, raw := term.end(); status != 130 || strings.Contains(raw, "anivault: ") {
		t.Errorf("exit status %d:\n%s", status, raw)
	}
}

// Where links can't reach the library, the plan says that it copies, and does not promise that questions help.
func TestAPlanSaysThatItCopies(t *testing.T) {
	other, err := os.MkdirTemp("/dev/shm", "anivault-test-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(other) })
	s := newStand(t, upstream.Scenario{})
	if a, b := device(t, other), device(t, s.lib); a == b {
		t.Skip("/dev/shm is on the same file system")
	}
	term := onTerminal(t, 80, 24, s.env, "organize", s.lib, "--to", other)
	if status, raw := term.end(); status != 0 || strings.Contains(raw, "--interactive") ||
		!strings.Contains(raw, "Plan: hardlink 0 files, skip 3") {
		t.Errorf("exit status %d:\n%s", status, raw)
	}
	term = onTerminal(t, 80, 24, s.env, "organize", s.lib, "--to", other, "--or", "copy")
	term.until(`help: $`)
	if _, err := io.WriteString(term.prompter, "q\n"); err != nil {
		t.Fatal(err)
	}
	if _, raw := term.end(); !strings.Contains(raw, "Plan: hardlink 0 files, copy 3.") {
		t.Error(raw)
	}
}

func device(t *testing.T, dir string) uint64 {
	t.Helper()
	var info syscall.Stat_t
	if err := syscall.Stat(dir, &info); err != nil {
		t.Fatal(err)
	}
	return info.Dev
}

// What is unclear is asked about before the plan is shown, and the plan holds the answers.
func TestOrganizeAsksBeforeItPlans(t *testing.T) {
	s := newStand(t, upstream.Scenario{})
	out := filepath.Join(s.dir, "new", "out")
	for _, name := range []string{"Cowboy Bebop - 40.mkv", "Zzz Nothing - 01.mkv"} {
		if err := os.WriteFile(filepath.Join(s.lib, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	term := onTerminal(t, 80, 24, s.env, "organize", "--interactive", s.lib, "--to", out)
	for _, row := range [][2]string{
		{`\[y/N\] $`, "y\n"}, {`Episode \[skip\]: $`, "6\n"}, {`Entry \[skip\]: $`, "\n"}, {`\[\?\] help: $`, "a\n"},
	} {
		term.until(row[0])
		if _, err := io.WriteString(term.prompter, row[1]); err != nil {
			t.Fatal(err)
		}
	}
	status, raw := term.end()
	asked, plan, _ := strings.Cut(raw, "Episode [skip]: ")
	if status != 0 || !strings.Contains(plan, "← ") || strings.Contains(asked, "← ") {
		t.Errorf("exit status %d:\n%s", status, raw)
	}
	if screen := strings.Join(term.screen(raw), "\n"); strings.Contains(screen, "next: ") {
		t.Errorf("it suggests a command above its question:\n%s", screen)
	}
	if found, _ := filepath.Glob(filepath.Join(out, "Cowboy Bebop*", "Season 01", "*S01E06*")); len(found) != 1 {
		t.Errorf("S01E06 is not there:\n%s", raw)
	}
}

// A plan that is taller than the terminal is cut, and shown as a whole when asked.
func TestATallPlanFitsTheTerminal(t *testing.T) {
	s := newStand(t, upstream.Scenario{})
	out := filepath.Join(s.dir, "out")
	if err := os.Mkdir(out, 0o755); err != nil {
		t.Fatal(err)
	}
	term := onTerminal(t, 200, 10, s.env, "organize", s.lib, "--to", out)
	for i, typed := range []string{"p\n", "q\n"} {
		term.until("(?s)" + strings.Repeat("help: .*", i) + "help: $")
		if _, err := io.WriteString(term.prompter, typed); err != nil {
			t.Fatal(err)
		}
	}
	_, raw := term.end()
	cut, whole, _ := strings.Cut(raw, "help: ")
	const last = "Frieren - 01.mkv"
	if strings.Contains(cut, last) || !strings.Contains(cut, "(p lists them)") || !strings.Contains(whole, last) {
		t.Errorf("at first:\n%s\nas a whole:\n%s", cut, whole)
	}
	if _, plan, _ := strings.Cut(cut, out); strings.Count(plan, "\n") >= 10 {
		t.Errorf("more than the terminal holds:\n%s", plan)
	}
}

// Conflicts don't push a plan off the terminal: they are cut with it, and shown as a whole when asked.
func TestManyConflictsFitTheTerminal(t *testing.T) {
	s := newStand(t, upstream.Scenario{})
	lib, out := filepath.Join(s.dir, "twice"), filepath.Join(s.dir, "out")
	for _, dir := range []string{lib, out} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 20 {
		for _, name := range []string{"Cowboy Bebop - %02d.mkv", "[G] Cowboy Bebop - %02d.mkv"} {
			if i == 0 {
				continue
			}
			if err := os.WriteFile(filepath.Join(lib, fmt.Sprintf(name, i)), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(lib, "Cowboy Bebop - 20.mkv"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	term := onTerminal(t, 200, 24, s.env, "organize", lib, "--to", out)
	for i, typed := range []string{"p\n", "q\n"} {
		term.until("(?s)" + strings.Repeat("help: .*", i) + "help: $")
		if _, err := io.WriteString(term.prompter, typed); err != nil {
			t.Fatal(err)
		}
	}
	_, raw := term.end()
	cut, whole, _ := strings.Cut(raw, "help: ")
	_, plan, _ := strings.Cut(cut, out)
	const last = "[G] Cowboy Bebop - 19.mkv (same"
	if strings.Count(plan, "\n") >= 24 || !strings.Contains(plan, "S01E20.mkv  ←") || strings.Contains(plan, last) ||
		!strings.Contains(plan, "(p lists them)") || !strings.Contains(whole, last) {
		t.Errorf("at first:\n%s\nas a whole:\n%s", cut, whole)
	}
}

// On a terminal undo names the run that it is about to put back, and asks.
func TestUndoAsksOnATerminal(t *testing.T) {
	s := newStand(t, upstream.Scenario{})
	out := filepath.Join(s.dir, "out")
	if err := os.Mkdir(out, 0o755); err != nil {
		t.Fatal(err)
	}
	if status, raw := onTerminal(t, 200, 40, s.env, "organize", s.lib, "--to", out, "--yes").end(); status != 0 {
		t.Fatalf("exit status %d: %s", status, raw)
	}
	for _, row := range []struct {
		typed, want string
		status      int
	}{
		{"\r", "nothing was changed", 0},
		{"\x04", "nothing was changed", 0},
		{"\x03", "", 130},
		{"y\r", "3 put back", 0},
	} {
		term := onTerminal(t, 200, 40, s.env, "undo")
		term.until(`Put back the run [0-9a-z-]+ of .* \(3 files, hardlink to .*out\)\? \[y/N\] $`)
		if _, err := io.WriteString(term.prompter, row.typed); err != nil {
			t.Fatal(err)
		}
		status, raw := term.end()
		if status != row.status || !strings.Contains(raw, row.want) || strings.Contains(raw, "canceled") {
			t.Errorf("%q: exit status %d:\n%s", row.typed, status, raw)
		}
		if left, _ := os.ReadDir(out); (len(left) == 0) != (row.want == "3 put back") {
			t.Errorf("%q: %d folders are there", row.typed, len(left))
		}
	}
}

// A journal that can't be trusted is named, with what can still be read of it, and nothing is done by it.
func TestAJournalThatCantBeTrustedIsNamed(t *testing.T) {
	s := newShelf(t, 9)
	s.must("apply", "-q", "plan")
	s.after = s.tree(true)
	journal := filepath.Join(s.dir, ".local", "share", "anivault", "history", s.id+".journal")
	text, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(journal, bytes.Replace(text, []byte(`"mode":"move"`), []byte(`"mode":"copy"`), 1),
		0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"undo"}, {"undo", s.id}, {"verify"}} {
		out, err := s.program(args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "the run "+s.id+": the journal can't be trusted") {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
	}
	out, err := s.program("history", "--format", "table").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "  copy  9 files  the journal can't be trusted") {
		t.Errorf("%v\n%s", err, out)
	}

	// An unreadable run still counts as the newest, and no older run is put back in its place.
	old := "2025" + s.id[len("2025"):]
	older := bytes.Replace(text, []byte(`"id":"`+s.id), []byte(`"id":"`+old), 1)
	older = regexp.MustCompile(`"begun":"\d{4}`).ReplaceAll(older, []byte(`"begun":"2025`))
	if err := os.WriteFile(filepath.Join(filepath.Dir(journal), old+".journal"), resummed(older), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(journal, bytes.Replace(text, []byte(`"begun"`), []byte(`"begum"`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := s.program("history", "--format", "table").Output(); err != nil || bytes.Count(out, []byte("\n")) != 2 ||
		!bytes.HasPrefix(out, []byte(s.id)) || !bytes.Contains(out, []byte(old+"  ")) ||
		bytes.Count(out, []byte("trusted")) != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, args := range [][]string{{"undo"}, {"verify"}, {"apply", "--resume"}} {
		out, err := s.program(args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "the run "+s.id+": the journal can't be trusted") {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
	}
	if out, err := s.program("status").Output(); err != nil ||
		!strings.Contains(string(out), "can't tell whether "+s.id+" was interrupted") {
		t.Errorf("%v\n%s", err, out)
	}
	unsure := regexp.MustCompile(`(?m)^FAIL  runs        can't tell whether ` + s.id)
	if out, _ := s.program("doctor", "--offline").Output(); !unsure.Match(out) {
		t.Errorf("%s", out)
	}
	s.is(s.after, true, "nothing is done")
}

// resummed gives a journal the checksum of what it has now.
func resummed(text []byte) []byte {
	i := bytes.Index(text, []byte("\n{\"sha256\"")) + 1
	sum := sha256.Sum256(text[:i])
	return append([]byte(string(text[:i])+`{"sha256":"`+hex.EncodeToString(sum[:])), text[i+len(`{"sha256":"`)+64:]...)
}
