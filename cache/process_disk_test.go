//go:build unix

package cache

// Processes whose disk is damaged, full or not to be written.

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/anivault/anivault/cache/internal/store"
)

// repairTask opens a damaged cache at the same moment as others. On a busy machine their turns last longer than the
// default LockWait, after which Get rightly says that the cache is locked.
func repairTask(ctx context.Context, tk task) error {
	s, err := openStore(tk.Dir, Options{LockWait: time.Minute})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	_, _ = io.ReadAll(os.Stdin)
	e := &Entry{
		Key: "GET http://h:80/3/tv/" + tk.Tag, Status: 200, Body: []byte(endedBody),
		FetchedAt: time.Now(), ExpiresAt: time.Now().Add(time.Hour),
	}
	if _, _, err := s.Get(ctx, e.Key); err != nil {
		return err
	}
	if err := s.Put(ctx, e); err != nil {
		return err
	}
	return s.Close()
}

func TestProcessesThatFindTheSameDamageMendItOnce(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	get(t, &Transport{Store: s, Next: &upstream{serve: always(200, endedBody)}}, tvURL)
	if err := os.WriteFile(dbPath(s), bytes.Repeat([]byte("garbage "), 5000), 0o600); err != nil {
		t.Fatal(err)
	}
	var cs []*child
	for p := range 4 {
		c := start(t, task{Name: "repair", Dir: dir, Tag: fmt.Sprint(p)})
		c.line(t)
		cs = append(cs, c)
	}
	for _, c := range cs {
		c.in.Close()
	}
	for _, c := range cs {
		c.wait(t)
	}
	st, err := s.Stats(t.Context())
	if err != nil || len(st.DamagedFiles) != 1 || st.Entries != 4 {
		t.Errorf("%d set aside, %d entries of 4: %v", len(st.DamagedFiles), st.Entries, err)
	}
}

// ignoreFileSizeSignal lets a write above the limit fail instead of ending the process.
func ignoreFileSizeSignal() { signal.Ignore(syscall.SIGXFSZ) }

// fullTask writes although files can't grow any more.
func fullTask(ctx context.Context, tk task) error {
	kinds := map[store.WarningKind]int{}
	s, err := openStore(tk.Dir, Options{OnWarning: func(w Warning) { kinds[w.Kind]++ }})
	if err != nil {
		return err
	}
	ignoreFileSizeSignal()
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: tk.Limit, Max: tk.Limit}); err != nil {
		return err
	}
	up := &upstream{serve: always(200, `{"status":"Ended","pad":"`+randomText(3000)+`"}`)}
	tr := &Transport{Store: s, Next: up}
	for i := range 20 {
		if err := askStatus(ctx, tr, fmt.Sprintf("http://h/3/tv/%d", i)); err != nil {
			return err
		}
	}
	before := up.count()
	for i := range 20 { // all of it is remembered, on disk or not
		if err := askStatus(ctx, tr, fmt.Sprintf("http://h/3/tv/%d", i)); err != nil {
			return err
		}
	}
	fmt.Println(before, up.count(), kinds[store.WarnWrite], len(kinds))
	return s.Close()
}

func askStatus(ctx context.Context, tr http.RoundTripper, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func TestFullDiskIsReportedOnceAndTheRunContinues(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	c := start(t, task{Name: "full", Dir: dir, Limit: 100_000})
	if got := strings.TrimSpace(c.wait(t)); got != "20 20 1 1" {
		t.Errorf("asked, asked again, warnings, kinds: %s", got)
	}
	// What fitted was written, and is there for the next one.
	st, err := s.Stats(t.Context())
	if err != nil || st.Entries == 0 || st.Entries == 20 {
		t.Errorf("%d entries: %v", st.Entries, err)
	}
}

// plainTask asks for its keys, and says which sources answered and what was warned of.
func plainTask(ctx context.Context, tk task) error {
	var said []string
	s, err := openStore(tk.Dir, Options{OnWarning: func(w Warning) { said = append(said, string(w.Kind)) }})
	if err != nil {
		return err
	}
	tr := &Transport{Store: s, Next: &upstream{serve: always(200, endedBody)}}
	for _, u := range tk.Keys {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
		if err != nil {
			return err
		}
		resp, err := tr.RoundTrip(req)
		if err != nil {
			return err
		}
		info, _ := InfoFrom(resp)
		resp.Body.Close()
		said = append(said, info.Source.String())
	}
	fmt.Println(strings.Join(said, " "))
	return s.Close()
}

func TestReadOnlyDirectoryIsRead(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	get(t, &Transport{Store: s, Next: &upstream{serve: always(200, endedBody)}}, tvURL)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var asNobody []func(*exec.Cmd)
	if os.Getuid() == 0 { // root may write anywhere
		asNobody = append(asNobody, func(cmd *exec.Cmd) {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		})
		exe := filepath.Join(t.TempDir(), "child")
		text, err := os.ReadFile(os.Args[0])
		if err == nil {
			err = os.WriteFile(exe, text, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
		for d := exe; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
			if err := os.Chmod(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		asNobody = append(asNobody, func(cmd *exec.Cmd) { cmd.Path = exe; cmd.Dir = "/" })
	}
	allow := func(dirMode, fileMode os.FileMode) {
		err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() {
				return os.Chmod(p, dirMode)
			}
			return os.Chmod(p, fileMode)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	allow(0o555, 0o444)
	defer allow(0o755, 0o644)
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(tvURL, "tv/1", "tv/2", 1)
	c := start(t, task{Name: "plain", Dir: dir, Keys: []string{tvURL, other, other}}, asNobody...)
	want := "fresh read_only network fresh"
	if os.Getuid() == 0 {
		want = "shared " + want // for the child it is somebody else's
	}
	if got := strings.TrimSpace(c.wait(t)); got != want {
		t.Errorf("warnings and sources: %s", got)
	}
}
