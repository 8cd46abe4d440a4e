package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/ratelimit"
)

// server records what it is sent, as "METHOD /path?query header: body".
type server struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string
	fail bool
}

func newServer(t *testing.T, header string, answers map[string]string) *server {
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		line := fmt.Sprintf("%s %s %s %s", r.Method, r.URL.RequestURI(), r.Header.Get(header), body)
		s.seen = append(s.seen, strings.TrimSpace(line))
		if s.fail {
			http.Error(w, "no", http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, answers[r.URL.Path])
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) take() (seen []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen, s.seen = s.seen, nil
	return seen
}

func (s *server) target(t *testing.T, kind string, on ...string) config.NotifyTarget {
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return config.NotifyTarget{
		Kind: kind, URL: u, Token: config.NewSecret("secret"), On: on,
		Paths: []config.PathMapping{{From: "/srv", To: "/x"}, {From: "/srv/library", To: "/media"}},
	}
}

func TestEachKindOfTargetGetsItsOwnForm(t *testing.T) {
	at := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	folders := []string{"/srv/library/A", "/srv/library/B b"}
	n := Notice{Event: Changed, Run: "r1", At: at, Text: `2 "folders"`, Folders: folders}
	sections := `{"MediaContainer":{"Directory":[{"key":"1","Location":[{"path":"/other"}]},` +
		`{"key":"7","Location":[{"path":"/media"}]}]}}`
	const kodiScan = `POST /jsonrpc Basic a29kaTpzZWNyZXQ= {"id":1,"jsonrpc":"2.0","method":"VideoLibrary.Scan","params":`
	for _, c := range []struct {
		kind, header, template string
		want                   []string
	}{
		{"jellyfin", "Authorization", "", []string{`POST /Library/Media/Updated MediaBrowser Token="secret" ` +
			`{"Updates":[{"Path":"/media/A","UpdateType":"Modified"},{"Path":"/media/B b","UpdateType":"Modified"}]}`}},
		{"emby", "X-Emby-Token", "", []string{`POST /Library/Media/Updated secret ` +
			`{"Updates":[{"Path":"/media/A","UpdateType":"Modified"},{"Path":"/media/B b","UpdateType":"Modified"}]}`}},
		{"plex", "X-Plex-Token", "", []string{
			"GET /library/sections secret", "GET /library/sections/7/refresh?path=%2Fmedia%2FA secret",
			"GET /library/sections/7/refresh?path=%2Fmedia%2FB+b secret",
		}},
		{"kodi", "Authorization", "", []string{
			kodiScan + `{"directory":"/media/A/"}}`, kodiScan + `{"directory":"/media/B b/"}}`,
		}},
		{"ntfy", "Title", "", []string{`POST / anivault: changed 2 "folders"`}},
		{"webhook", "Authorization", "", []string{`POST / Bearer secret {"type":"notice","event":"changed","run":"r1",` +
			`"at":"2026-11-28T12:00:00Z","text":"2 \"folders\"","folders":["/srv/library/A","/srv/library/B b"]}`}},
		{"webhook", "Authorization", `{"content":"{title}: {text}, {folders}"}`, []string{
			`POST / Bearer secret {"content":"anivault: changed: 2 \"folders\", /srv/library/A\n/srv/library/B b"}`,
		}},
	} {
		s := newServer(t, c.header, map[string]string{"/library/sections": sections, "/jsonrpc": `{"result":"OK"}`})
		target := s.target(t, c.kind)
		target.Template = c.template
		if err := send(t.Context(), newClient(), &target, &n); err != nil {
			t.Errorf("%s: %v", c.kind, err)
		}
		if diff := cmp.Diff(c.want, s.take()); diff != "" {
			t.Errorf("%s:\n%s", c.kind, diff)
		}
	}
}

func TestARefusalIsAnError(t *testing.T) {
	n := Notice{Event: Changed, Folders: []string{"/elsewhere/A"}}
	for kind, answer := range map[string]string{
		"plex": `{"MediaContainer":{}}`, "kodi": `{"error":{"message":"Invalid params."}}`, "emby": "",
	} {
		s := newServer(t, "", map[string]string{"/library/sections": answer, "/jsonrpc": answer})
		s.fail = kind == "emby"
		target := s.target(t, kind)
		err := send(t.Context(), newClient(), &target, &n)
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// A target that redirects must not get the token at the other address.
func TestARedirectIsNotFollowed(t *testing.T) {
	other := newServer(t, "", nil)
	s := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer s.Close()
	target := (&server{Server: s}).target(t, "jellyfin")
	if err := send(t.Context(), newClient(), &target, &Notice{}); err == nil || len(other.take()) > 0 {
		t.Errorf("the redirect was followed: %v", err)
	}
}

func TestNoticesWaitUntilTheyAreDelivered(t *testing.T) {
	media, people := newServer(t, "", nil), newServer(t, "", nil)
	dir := t.TempDir()
	q := Open(dir, []config.NotifyTarget{media.target(t, "jellyfin", Changed), people.target(t, "ntfy", Changed, Failed)})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(q.Begin("r1"))
	must(q.Send(t.Context())) // an open run is not sent
	if got := q.OpenRuns(); !slices.Equal(got, []string{"r1"}) || len(media.take()) > 0 {
		t.Fatalf("open runs %q", got)
	}
	media.fail = true
	must(q.End("r1", Notice{Event: Changed, Run: "r1", At: time.Now(), Text: "one", Folders: []string{"/a", "/b"}}))
	must(q.Add(Notice{Event: Changed, Run: "r2", At: time.Now(), Text: "two", Folders: []string{"/b", "/c"}}))
	if err := q.Send(t.Context()); err == nil || !strings.Contains(err.Error(), "jellyfin") {
		t.Fatalf("the failure is not reported: %v", err)
	}
	if got := people.take(); !slices.Equal(got, []string{"POST /  one", "POST /  two"}) {
		t.Errorf("ntfy got %q", got)
	}
	media.fail = false
	media.take()
	if Waiting(dir) != 2 {
		t.Errorf("%d wait", Waiting(dir))
	}
	must(Open(dir, q.targets).Send(t.Context())) // by another process
	if got := media.take(); len(got) != 1 || strings.Count(got[0], `"Path"`) != 3 {
		t.Errorf("the folders of both runs should be one message: %q", got)
	}
	if Waiting(dir) != 0 {
		t.Errorf("%d wait", Waiting(dir))
	}
	info, err := os.Stat(filepath.Join(dir, "notices.json"))
	must(err)
	raw, err := os.ReadFile(filepath.Join(dir, "notices.json"))
	must(err)
	if info.Mode().Perm() != 0o600 || strings.Contains(string(raw), "secret") {
		t.Errorf("mode %v: %s", info.Mode(), raw)
	}
}

func TestTargetsOnOneHostEachGetTheirNotices(t *testing.T) {
	s := newServer(t, "", nil)
	one, two := s.target(t, "ntfy", Failed), s.target(t, "ntfy", Failed)
	one.URL, two.URL = one.URL.JoinPath("one"), two.URL.JoinPath("two")
	q := Open(t.TempDir(), []config.NotifyTarget{one, two})
	if err := errors.Join(q.Add(Notice{Event: Failed, At: time.Now(), Text: "x"}), q.Send(t.Context())); err != nil {
		t.Fatal(err)
	}
	if got := s.take(); !slices.Equal(got, []string{"POST /one  x", "POST /two  x"}) {
		t.Errorf("got %q", got)
	}
}

func TestTheQueueIsBoundedAndSurvivesDamage(t *testing.T) {
	s := newServer(t, "", nil)
	s.fail = true
	dir := t.TempDir()
	q := Open(dir, []config.NotifyTarget{s.target(t, "webhook", Failed)})
	many := make([]Notice, mostWaiting+5)
	for i := range many {
		many[i] = Notice{Event: Failed, At: time.Now().Add(-giveUpAfter - time.Minute)}
	}
	if err := q.Add(many...); err != nil || Waiting(dir) != mostWaiting {
		t.Fatalf("%d wait: %v", Waiting(dir), err)
	}
	if err := q.Send(t.Context()); err == nil || Waiting(dir) != 0 {
		t.Errorf("%d wait that should have been dropped: %v", Waiting(dir), err)
	}
	if got := len(s.take()); got != 1 {
		t.Errorf("%d requests to a server that does not answer", got)
	}
	for _, damaged := range []string{"", "{", `{"version":99,"waiting":[{}]}`, "\x00\x01"} {
		if err := os.WriteFile(q.path, []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := q.Add(Notice{Event: Failed, At: time.Now()}); err != nil || Waiting(dir) != 1 {
			t.Errorf("%q: %d wait: %v", damaged, Waiting(dir), err)
		}
	}
	none := Open(t.TempDir(), nil)
	if err := none.Begin("r"); err != nil || none.Send(t.Context()) != nil || len(none.OpenRuns()) > 0 {
		t.Error("a queue without targets does something")
	}
}

func TestEachTroubleOfTheLimiterIsReportedOnceAndItsEndToo(t *testing.T) {
	dir := t.TempDir()
	all := []config.NotifyTarget{(&server{Server: httptest.NewServer(nil)}).target(t, "ntfy", config.NotifyEvents...)}
	start := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	status := func(after time.Duration, state ratelimit.State, change func(*ratelimit.Status)) *ratelimit.Status {
		st := &ratelimit.Status{At: start.Add(after)}
		st.State, st.Since = state, start
		if state == ratelimit.Sleep || state == ratelimit.HalfOpen {
			st.Failures = 8
		}
		if change != nil {
			change(st)
		}
		return st
	}
	budget := func(used int) func(*ratelimit.Status) {
		return func(st *ratelimit.Status) {
			st.Budget, st.BudgetUsed = ratelimit.Budget{Requests: 100, Period: time.Hour}, used
		}
	}
	one, two := Open(dir, all), Open(dir, all) // two processes; each step has a new one too
	begun := func(st *ratelimit.Status) { st.Since = st.At }
	answered := func(st *ratelimit.Status) { st.Failures = 0 }
	operator := func(st *ratelimit.Status) { st.Cause = ratelimit.ReasonOperator }
	for _, step := range []struct {
		st   *ratelimit.Status
		want string
	}{
		{status(0, ratelimit.Normal, nil), ""},
		{status(30*time.Second, ratelimit.Sleep, nil), ""}, // a short outage
		{status(45*time.Second, ratelimit.Normal, nil), ""},
		{status(50*time.Second, ratelimit.Sleep, nil), ""},
		{status(105*time.Second, ratelimit.HalfOpen, nil), "limiter: TMDB has not answered for more than a minute"},
		{status(106*time.Second, ratelimit.Sleep, begun), ""}, // a process that has just begun sees that it goes on
		{
			status(110*time.Second, ratelimit.CacheOnly, func(st *ratelimit.Status) { st.Cause = ratelimit.ReasonPolicy }),
			"limiter: no requests are sent to TMDB (CacheOnly, policy)",
		},
		{status(120*time.Second, ratelimit.Throttle, nil), "limiter: over: no requests are sent to TMDB (CacheOnly, policy)"},
		{
			status(121*time.Second, ratelimit.CacheOnly, operator),
			"limiter: no requests are sent to TMDB (CacheOnly, operator)",
		},
		{
			status(200*time.Second, ratelimit.Sleep, answered), // resumed, and TMDB has not been asked since
			"limiter: over: no requests are sent to TMDB (CacheOnly, operator)",
		},
		{
			status(201*time.Second, ratelimit.Sleep, func(st *ratelimit.Status) { // resumed, but TMDB's pause goes on
				st.Failures, st.PauseUntil = 0, st.At.Add(time.Hour)
			}),
			"limiter: TMDB asked for a long pause, so requests were stopped",
		},
		{
			status(202*time.Second, ratelimit.Sleep, answered),
			"limiter: over: TMDB asked for a long pause, so requests were stopped",
		},
		{status(300*time.Second, ratelimit.HalfOpen, answered), ""}, // TMDB answered the last probe, and nobody asks
		{status(301*time.Second, ratelimit.Sleep, begun), ""},       // the next one fails
		{status(362*time.Second, ratelimit.Sleep, nil), "limiter: TMDB has not answered for more than a minute"},
		{
			status(363*time.Second, ratelimit.HalfOpen, answered),
			"limiter: over: TMDB has not answered for more than a minute",
		},
		{status(130*time.Second, ratelimit.Normal, budget(79)), ""},
		{status(131*time.Second, ratelimit.Normal, budget(80)), "budget: 80 % of the budget of 100 requests are used"},
		{status(132*time.Second, ratelimit.Normal, budget(100)), "budget: the budget of 100 requests is used up"},
		{status(133*time.Second, ratelimit.Normal, budget(0)), "budget: over: the budget of 100 requests is used up"},
		{
			status(134*time.Second, ratelimit.Normal, func(st *ratelimit.Status) { st.Alone = true }),
			"coordinator: the state that several processes or machines share can't be reached",
		},
		{status(135*time.Second, ratelimit.Normal, func(st *ratelimit.Status) {
			st.Accounts = make1(st.Accounts)
			st.Accounts[0].Name, st.Accounts[0].Keys = "main", make1(st.Accounts[0].Keys)
			st.Accounts[0].Keys[0].Standing = ratelimit.StandingRefused
		}), "coordinator: over: the state that several processes or machines share can't be reached; " +
			"key: a key of the account main can't be used: refused"},
		{status(136*time.Second, ratelimit.Normal, func(st *ratelimit.Status) {
			st.Accounts = make1(st.Accounts)
			st.Accounts[0].Name, st.Accounts[0].State, st.Accounts[0].Cause = "main", ratelimit.CacheOnly, ratelimit.ReasonPolicy
		}), "limiter: no requests are sent through the account main (CacheOnly, policy)"},
	} {
		for _, q := range []*Queue{Open(dir, all), one, two} {
			q.observe(step.st)
		}
		var got []string
		if err := one.update(func(c *content) {
			for _, w := range c.Waiting {
				got = append(got, w.Notice.Event+": "+w.Notice.Text)
			}
			c.Waiting = nil
		}); err != nil {
			t.Fatal(err)
		}
		if strings.Join(got, "; ") != step.want {
			t.Errorf("%v: %q, want %q", step.st.At.Sub(start), got, step.want)
		}
	}
}

// make1 makes a list of one, of a type without a name here.
func make1[T any](_ []T) []T { return make([]T, 1) }

func TestRunDeliversAndStops(t *testing.T) {
	s := newServer(t, "", nil)
	q := Open(t.TempDir(), []config.NotifyTarget{s.target(t, "webhook", Failed)})
	summary := &report.OrganizeSummary{Run: "r1", Failed: 2}
	if err := q.Add(Notice{Event: Failed, At: time.Now(), Summary: summary}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	status := func(context.Context) (st ratelimit.Status, err error) {
		if Waiting(filepath.Dir(q.path)) == 0 {
			cancel()
		}
		return st, nil
	}
	q.Run(ctx, status, func(err error) { t.Error(err) })
	var got struct {
		Summary struct {
			Type   string
			Failed int
		}
	}
	if seen := s.take(); len(seen) != 1 || json.Unmarshal([]byte(seen[0][len("POST / "):]), &got) != nil ||
		got.Summary.Type != "organize_summary" || got.Summary.Failed != 2 {
		t.Errorf("the webhook got %q", seen)
	}
}

func TestRunWarnsOfAnOutageWithoutTargets(t *testing.T) {
	dir := t.TempDir()
	var warned []string
	ctx, cancel := context.WithCancel(t.Context())
	states := []ratelimit.State{ratelimit.Sleep, ratelimit.Normal, ratelimit.Normal}
	status := func(context.Context) (st ratelimit.Status, err error) {
		if st.State, states = states[0], states[1:]; len(states) == 1 {
			cancel()
		}
		st.At, st.Failures = time.Now(), 8
		st.Since = st.At.Add(-2 * time.Minute)
		return st, nil
	}
	Open(dir, nil).Run(ctx, status, func(err error) { warned = append(warned, err.Error()) })
	want := "TMDB has not answered for more than a minute, over: TMDB has not answered for more than a minute"
	if got := strings.Join(warned, ", "); got != want {
		t.Errorf("it warned %q, want %q", got, want)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("it made %v: %v", left, err)
	}
}

func TestRunReportsWhatEndsTheProcess(t *testing.T) {
	s := newServer(t, "", nil)
	target := s.target(t, "webhook", Key)
	target.Template = "{text}"
	q := Open(t.TempDir(), []config.NotifyTarget{target})
	ctx, cancel := context.WithCancel(t.Context())
	status := func(context.Context) (st ratelimit.Status, err error) {
		if ctx.Err() != nil { // TMDB refused the key after the last look
			st.Accounts = make1(st.Accounts)
			st.Accounts[0].Name, st.Accounts[0].Keys = "main", make1(st.Accounts[0].Keys)
			st.Accounts[0].Keys[0].Standing = ratelimit.StandingRefused
		}
		cancel()
		return st, nil
	}
	q.Run(ctx, status, func(err error) { t.Error(err) })
	if seen := s.take(); len(seen) != 1 || !strings.Contains(seen[0], "can't be used: refused") {
		t.Errorf("the webhook got %q", seen)
	}
}

// A gateway may run where nothing has made the data folder yet.
func TestNoticesNeedNoFolder(t *testing.T) {
	s := newServer(t, "", nil)
	dir := filepath.Join(t.TempDir(), "anivault", "data")
	q := Open(dir, []config.NotifyTarget{s.target(t, "ntfy", Limiter)})
	st := &ratelimit.Status{}
	st.State = ratelimit.CacheOnly
	if added, err := q.observe(st); err != nil || !added || q.Send(t.Context()) != nil || len(s.take()) != 1 {
		t.Errorf("added %v, %v", added, err)
	}
}

func TestRunWarnsOnceIfNoticesCannotBeKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	q := Open(filepath.Join(file, "data"), []config.NotifyTarget{newServer(t, "", nil).target(t, "ntfy", Key)})
	ctx, cancel := context.WithCancel(t.Context())
	looks, warned := 0, 0
	status := func(context.Context) (st ratelimit.Status, err error) {
		if looks++; looks == 3 {
			cancel()
		}
		st.Accounts = make1(st.Accounts)
		st.Accounts[0].Name, st.Accounts[0].Keys = "main", make1(st.Accounts[0].Keys)
		st.Accounts[0].Keys[0].Standing = ratelimit.StandingRefused
		return st, nil
	}
	q.Run(ctx, status, func(error) { warned++ })
	if warned != 1 {
		t.Errorf("warned %d times", warned)
	}
}

// A gateway that reloads its configuration sends to the addresses in it.
func TestRunSendsToNewTargets(t *testing.T) {
	old, now := newServer(t, "", nil), newServer(t, "", nil)
	dir := t.TempDir()
	q := Open(dir, []config.NotifyTarget{old.target(t, "ntfy", Limiter)})
	ctx, cancel := context.WithCancel(t.Context())
	looks := 0
	status := func(context.Context) (st ratelimit.Status, err error) {
		q.SetTargets([]config.NotifyTarget{now.target(t, "ntfy", Limiter)})
		if looks++; looks > 1 && Waiting(dir) == 0 {
			cancel()
		}
		st.State = ratelimit.CacheOnly
		return st, nil
	}
	q.Run(ctx, status, func(error) {})
	if len(old.take()) != 0 || len(now.take()) != 1 {
		t.Error("the new address did not get it")
	}
}

func TestTheServersPathOfAFolder(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	library, link := filepath.Join(dir, "library"), filepath.Join(dir, "link")
	if err := errors.Join(os.Mkdir(library, 0o700), os.Symlink(library, link)); err != nil {
		t.Skip(err)
	}
	library = filepath.ToSlash(library)
	for _, row := range []struct{ from, to, folder, want string }{
		{library, "/media", library + "/A", "/media/A"},
		{library + "/", "/media/", library + "/A", "/media/A"},
		{library + "/../library", "/media", library, "/media"},
		{filepath.ToSlash(link), "/media", library + "/A", "/media/A"},
		{library, "/", library, "/"},
		{library, "/", library + "/A", "/A"},
		{library + "/B", "/media", library + "/A", library + "/A"},
		{"/gone/", "/media", "/gone/A", "/media/A"},
	} {
		mapping := resolveMapping(config.PathMapping{From: row.from, To: row.to})
		if got := serverPath([]config.PathMapping{mapping}, row.folder); got != row.want {
			t.Errorf("%s for %s: the server's path of %s is %q, want %q", row.from, row.to, row.folder, got, row.want)
		}
	}
}
