//go:build unix

package cache

// Tests with real processes: the test binary starts itself again with a task in the environment. What is common to them
// is here.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

const taskEnv = "ANIVAULT_CACHE_TEST_TASK"

func TestMain(m *testing.M) {
	if text := os.Getenv(taskEnv); text != "" {
		os.Exit(runTask(text))
	}
	os.Exit(m.Run())
}

// task is what a child process is to do.
type task struct {
	Name  string
	Dir   string
	URL   string
	Keys  []string
	Tag   string
	Limit uint64
}

// tasks are the children's programs; each returns an error for its exit.
var tasks = map[string]func(context.Context, task) error{
	"ask":    askTask,
	"write":  writeTask,
	"hold":   holdTask,
	"repair": repairTask,
	"full":   fullTask,
	"plain":  plainTask,
	"die":    dieTask,
}

func runTask(text string) int {
	var tk task
	err := json.Unmarshal([]byte(text), &tk)
	if err == nil {
		err = tasks[tk.Name](context.Background(), tk)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// child is a running task.
type child struct {
	cmd  *exec.Cmd
	out  *bufio.Reader
	errs *bytes.Buffer
	in   io.WriteCloser
}

func start(t testing.TB, tk task, setup ...func(*exec.Cmd)) *child {
	t.Helper()
	text, err := json.Marshal(tk)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), taskEnv+"="+string(text))
	c := &child{cmd: cmd, errs: &bytes.Buffer{}}
	cmd.Stderr = c.errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	if c.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	for _, f := range setup {
		f(cmd)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return c
}

// line reads one line that the child printed.
func (c *child) line(t testing.TB) string {
	t.Helper()
	text, err := c.out.ReadString('\n')
	if err != nil {
		t.Fatalf("child said nothing: %v; stderr: %s", err, c.errs)
	}
	return strings.TrimSpace(text)
}

// wait waits for a good end and gives what else the child printed.
func (c *child) wait(t testing.TB) string {
	t.Helper()
	rest, _ := io.ReadAll(c.out)
	if err := c.cmd.Wait(); err != nil {
		t.Fatalf("child failed: %v; stderr: %s", err, c.errs)
	}
	return string(rest)
}

func (c *child) signal(t testing.TB, sig os.Signal) {
	t.Helper()
	if err := c.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}
