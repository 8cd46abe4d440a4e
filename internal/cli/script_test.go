package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/cli"
	"github.com/anivault/anivault/internal/demo"
	"github.com/anivault/anivault/internal/testing/redistest"
	"github.com/anivault/anivault/internal/tmdbfake"
	"github.com/anivault/anivault/internal/tmdbfake/cert"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/internal/upstream"
)

// beforeMain is what a test's program does first.
var beforeMain = func() {}

func TestMain(m *testing.M) {
	// not the program itself: what is tested has no developer's language
	if strings.Contains(filepath.Base(os.Args[0]), ".test") {
		for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
			_ = os.Unsetenv(name)
		}
	}
	testscript.Main(m, map[string]func(){
		"anivault": func() {
			beforeMain()
			streams := ui.SystemStreams()
			if streams.OutTTY {
				os.Exit(cli.Main(context.Background(), os.Args[1:], streams))
			}
			out := validator{Writer: streams.Out}
			streams.Out = &out
			status := cli.Main(context.Background(), os.Args[1:], streams)
			if err := out.check(); err != nil {
				fmt.Fprintln(os.Stderr, "the output does not fit its schema:", err)
				status = 99
			}
			os.Exit(status)
		},
	})
}

// TestScripts runs every testdata/script/*.txtar: the program as a process, against the stand-in. Besides
// testscript's own commands there are
//
//	tmdb [limit=L] [preset=P] [key=K] [scenario=FILE]
//	                                            starts a stand-in and points anivault at it; with "tls" it speaks
//	                                            TLS by an authority that nobody knows, whose certificate is in ca.pem;
//	                                            its faults are tls=expired and tls=wrongname. scheme=S is what anivault
//	                                            is told, whatever is spoken
//	redis                                       starts a redis-server at $SERVER and makes it the coordinator
//	becomes PRESET | becomes well | long-pause  what the running stand-in suffers from now on; well undoes also
//	becomes renumbered                          what it has corrected from now on: the seasons of Hollow Bell Tower
//	aged 30h                                    makes every cached answer so much older
//	requests N | requests N-M | requests <=N    how many requests it has seen since the last look, none of them
//	                                            refused with 429 and, with "once", none of them twice
//	status N CMD ARGS...                        runs a command that must exit with N
//	sample DIR                                  makes the demo's sample library
//	files DIR FILE...                           makes empty files; a name may hold \n and \xNN
//	signalled SIG N MATCHED CMD ARGS...         sends the signal once MATCHED lines are out; the exit status must be N
//	lines FILE BYTES                            makes a file of so many bytes, in lines of 64
//	rotated FILE N BYTES                        FILE, FILE.1 and so on are N files, none beyond BYTES, of whole lines
//	json FIELD=VALUE... [in FILE]               each must hold in at least one line of stdout; ~VALUE is a beginning
func TestScripts(t *testing.T) {
	dir := filepath.Join("..", "..", "testdata", "script")
	var files []string
	if testing.Short() { // the race detector makes each start slow: these have several processes or much at once
		dir = ""
		for _, name := range []string{
			"accounts", "apply", "cache", "coordinator", "logs", "operate", "organize", "outage", "same", "serve", "serve_admin",
			"serve_match", "signals", "stale", "together",
		} {
			files = append(files, filepath.Join("..", "..", "testdata", "script", name+".txtar"))
		}
	}
	testscript.Run(t, testscript.Params{
		Dir: dir, Files: files,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("GORACE", os.Getenv("GORACE"))
			env.Setenv("ANIVAULT_TMDB_TOKEN", "script-token")
			env.Setenv("ANIVAULT_TMDB_BASE_URL", "http://127.0.0.1:9") // nobody: a script that needs TMDB starts it
			env.Defer(func() { searchSecrets(env) })
			return os.MkdirAll(filepath.Join(env.WorkDir, "home"), 0o700)
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Geteuid() == 0, nil
			}
			if cond == "redis" {
				_, err := redistest.FindProgram()
				return err == nil, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"tmdb": startFake, "redis": startRedis, "becomes": become, "requests": countRequests, "status": exitStatus,
			"sample": makeSample, "files": makeFiles, "signalled": signalError, "json": checkJSON, "lines": makeLines,
			"rotated": checkRotated, "aged": ageAnswers,
			"gateway": startGateway, "stopped": stopGateway, "fetch": fetch,
		},
	})
}

// written is what no file but a configuration may have: the key of the scripts, and tokens of clients.
var written = regexp.MustCompile(`script-token|anv_[A-Za-z0-9_-]{43}`)

// searchSecrets looks through all that a script's programs have written: state, cache, data, logs, metrics.
func searchSecrets(env *testscript.Env) {
	err := filepath.WalkDir(env.WorkDir, func(path string, d fs.DirEntry, err error) error {
		kept := strings.HasPrefix(path, filepath.Join(env.WorkDir, "home")) && !strings.Contains(path, "config.yaml")
		if err == nil && d.Type().IsRegular() && (kept ||
			slices.Contains([]string{".err", ".log", ".prom"}, filepath.Ext(path))) {
			raw, _ := os.ReadFile(path) // a script may have taken away the right to
			if found := written.Find(raw); found != nil {
				return fmt.Errorf("%s has %s", path, found)
			}
		}
		return nil // what can't be listed is a script's matter
	})
	if err != nil {
		env.T().Fatal(err)
	}
}

// registry holds the stand-in of each script by its work folder.
var registry sync.Map

// running is a stand-in and how many of its requests have been looked at.
type running struct {
	fake *tmdbfake.Fake
	seen int
}

func startFake(ts *testscript.TestScript, _ bool, args []string) {
	var cfg tmdbfake.Config
	var authority *cert.Pair
	scheme := ""
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		var err error
		switch name {
		case "limit":
			cfg.Limits, err = upstream.ParseLimits(value)
		case "preset":
			cfg.Scenario, err = upstream.Preset(value)
		case "key":
			cfg.Keys = strings.Split(value, ",")
		case "tls":
			fault, ok := map[string]cert.Fault{"": cert.Good, "expired": cert.Expired, "wrongname": cert.WrongName}[value]
			if !ok {
				ts.Fatalf("unknown certificate %q", value)
			}
			if authority, err = cert.New(time.Now(), fault); err == nil {
				err = os.WriteFile(ts.MkAbs("ca.pem"), authority.AuthorityPEM(), 0o600)
			}
		case "scheme":
			scheme = value
		case "rank":
			cfg.Rank = tmdbfake.Rank(value)
		case "scenario":
			cfg.Scenario, err = upstream.ReadScenario(strings.NewReader(ts.ReadFile(value)))
		default:
			err = fmt.Errorf("unknown setting %q", name)
		}
		ts.Check(err)
	}
	fake, err := tmdbfake.New(cfg)
	ts.Check(err)
	var server *tmdbfake.Server
	if authority == nil {
		server, err = fake.Listen("127.0.0.1:0")
	} else {
		server, err = fake.ListenTLS("127.0.0.1:0", authority.Leaf, authority.Roots())
	}
	ts.Check(err)
	ts.Defer(func() { _ = server.Close() })
	url := server.URL()
	if scheme != "" {
		_, host, _ := strings.Cut(url, "://")
		url = scheme + "://" + host
	}
	ts.Setenv("ANIVAULT_TMDB_BASE_URL", url)
	registry.Store(ts.Getenv("WORK"), &running{fake: fake})
	ts.Defer(func() { registry.Delete(ts.Getenv("WORK")) })
}

func startRedis(ts *testscript.TestScript, _ bool, _ []string) {
	dir := ts.MkAbs("redis")
	ts.Check(os.MkdirAll(dir, 0o700))
	server, err := redistest.New(dir)
	ts.Check(err)
	ts.Defer(server.Kill)
	ts.Setenv("SERVER", server.Addr)
	ts.Setenv("ANIVAULT_COORDINATOR", "redis://"+server.Addr)
}

func become(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: becomes PRESET|well")
	}
	if args[0] == "renumbered" {
		fakeOf(ts).fake.Renumber()
		return
	}
	var scenario upstream.Scenario
	switch args[0] {
	case "well":
	case "long-pause":
		const pause = `{"faults": [{"do": {"kind": "status", "status": 429, "retry_after": "4000"}}]}`
		ts.Check(json.Unmarshal([]byte(pause), &scenario))
	default:
		var err error
		scenario, err = upstream.Preset(args[0])
		ts.Check(err)
	}
	ts.Check(fakeOf(ts).fake.Apply(scenario))
}

func fakeOf(ts *testscript.TestScript) *running {
	r, ok := registry.Load(ts.Getenv("WORK"))
	if !ok {
		ts.Fatalf("no stand-in: start one with tmdb")
	}
	return r.(*running)
}

func countRequests(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 1 || len(args) > 2 || len(args) == 2 && args[1] != "once" {
		ts.Fatalf("usage: requests N|N-M|<=N [once]")
	}
	r := fakeOf(ts)
	journal := r.fake.Journal()
	n := len(journal) - r.seen
	from := r.seen
	r.seen = len(journal)
	low, high := 0, 0
	switch text := args[0]; {
	case strings.HasPrefix(text, "<="):
		high = number(ts, text[2:])
	case strings.Contains(text, "-"):
		a, b, _ := strings.Cut(text, "-")
		low, high = number(ts, a), number(ts, b)
	default:
		low = number(ts, text)
		high = low
	}
	var list []string
	questions := map[string]int{}
	refused, repeated := false, false
	for _, e := range journal[from:] {
		question := e.Path + "?" + e.Query
		questions[question]++
		refused = refused || e.Status == http.StatusTooManyRequests
		repeated = repeated || questions[question] > 1
		list = append(list, fmt.Sprint(e.Status, " ", question))
	}
	if n < low || n > high || refused || repeated && len(args) == 2 {
		ts.Fatalf("%d requests, want %s; refused: %v, repeated: %v\n%s", n, strings.Join(args, " "), refused, repeated,
			strings.Join(list, "\n"))
	}
}

func number(ts *testscript.TestScript, s string) int {
	n, err := strconv.Atoi(s)
	ts.Check(err)
	return n
}

func exitStatus(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: status N CMD ARGS...")
	}
	want := number(ts, args[0])
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

func makeSample(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: sample DIR")
	}
	ts.Check(demo.MakeLibrary(ts.MkAbs(args[0])))
}

func makeFiles(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: files DIR FILE...")
	}
	for _, name := range args[1:] {
		plain, err := strconv.Unquote(`"` + strings.ReplaceAll(name, `"`, `\"`) + `"`)
		ts.Check(err)
		path := filepath.Join(ts.MkAbs(args[0]), filepath.FromSlash(plain))
		ts.Check(os.MkdirAll(filepath.Dir(path), 0o700))
		ts.Check(os.WriteFile(path, nil, 0o600))
	}
}

// signalError runs a command, waits until so many lines of its output say "matched", sends it a signal and wants
// its exit status. What it printed is in the files signalled.out and signalled.err.
func signalError(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 4 {
		ts.Fatalf("usage: signalled INT|TERM N MATCHED CMD ARGS...")
	}
	sig := map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM}[args[0]]
	want, lines := number(ts, args[1]), number(ts, args[2])
	path := ""
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if p := filepath.Join(dir, args[3]); path == "" {
			if _, err := os.Stat(p); err == nil {
				path = p
			}
		}
	}
	cmd := exec.Command(path, args[4:]...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "GORACE", "ANIVAULT_TMDB_TOKEN", "ANIVAULT_TMDB_BASE_URL"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	var all, stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	read := bufio.NewReader(out)
	for n := 0; ; {
		line, err := read.ReadString('\n')
		all.WriteString(line)
		if strings.Contains(line, `"status":"matched"`) {
			n++
		}
		if n == lines {
			lines = -1
			ts.Check(cmd.Process.Signal(sig))
		}
		if err != nil {
			break
		}
	}
	_ = cmd.Wait() // the status says it
	if got := cmd.ProcessState.ExitCode(); got != want {
		ts.Fatalf("exit status %d, want %d; it printed:\n%s%s", got, want, all.String(), stderr.String())
	}
	ts.Check(os.WriteFile(ts.MkAbs("signalled.out"), all.Bytes(), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("signalled.err"), stderr.Bytes(), 0o600))
}

// ageAnswers makes every cached answer older, as time would.
func ageAnswers(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: aged DURATION")
	}
	by, err := time.ParseDuration(args[0])
	ts.Check(err)
	store, err := cache.Open(filepath.Join(ts.Getenv("HOME"), ".cache", "anivault"), cache.Options{})
	ts.Check(err)
	var all []*cache.Entry
	ts.Check(store.Range(context.Background(), func(e *cache.Entry) error { all = append(all, e); return nil }))
	if len(all) == 0 {
		ts.Fatalf("nothing is cached")
	}
	for _, e := range all {
		e.FetchedAt, e.ExpiresAt = e.FetchedAt.Add(-by), e.ExpiresAt.Add(-by)
		ts.Check(store.Put(context.Background(), e))
	}
	ts.Check(store.Close())
}

func makeLines(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: lines FILE BYTES")
	}
	line := strings.Repeat("x", 63) + "\n"
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Repeat(line, number(ts, args[1])/len(line))), 0o600))
}

func checkRotated(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: rotated FILE N BYTES")
	}
	base, files, most := ts.MkAbs(args[0]), number(ts, args[1]), number(ts, args[2])
	found, err := filepath.Glob(base + "*")
	ts.Check(err)
	if len(found) != files {
		ts.Fatalf("%d files, want %d: %q", len(found), files, found)
	}
	for i, path := range found { // in order: the current one, then .1, .2
		want := base
		if i > 0 {
			want += "." + strconv.Itoa(i)
		}
		text := ts.ReadFile(path)
		if path != want || len(text) > most || !strings.HasSuffix(text, "\n") {
			ts.Fatalf("%s has %d bytes, want %s with %d whole lines' bytes at most", path, len(text), want, most)
		}
	}
}

// checkJSON looks for a line of stdout in which every FIELD=VALUE holds; a field may be a path (a.b.0), a value
// is compared with the field's JSON text, or with the text itself.
func checkJSON(ts *testscript.TestScript, neg bool, args []string) {
	found := false
	for _, line := range strings.Split(strings.TrimSpace(ts.ReadFile("stdout")), "\n") {
		var object any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			ts.Fatalf("not JSON: %v: %s", err, line)
		}
		holds := true
		for _, arg := range args {
			field, want, _ := strings.Cut(arg, "=")
			got, ok := lookUp(object, strings.Split(field, "."))
			text, err := json.Marshal(got)
			ts.Check(err)
			begin, prefix := strings.CutPrefix(want, "~")
			s, isText := got.(string)
			holds = holds && ok && (string(text) == want || got == want || prefix && isText && strings.HasPrefix(s, begin))
		}
		found = found || holds
	}
	if found == neg {
		ts.Fatalf("json %s: found %v in\n%s", strings.Join(args, " "), found, ts.ReadFile("stdout"))
	}
}

func lookUp(v any, path []string) (any, bool) {
	for _, p := range path {
		switch x := v.(type) {
		case map[string]any:
			next, ok := x[p]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(p)
			if err != nil || i >= len(x) {
				return nil, false
			}
			v = x[i]
		default:
			return nil, false
		}
	}
	return v, true
}
