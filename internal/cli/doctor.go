package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/gateway"
	"github.com/anivault/anivault/internal/index"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lockfile"
	"github.com/anivault/anivault/internal/notify"
	"github.com/anivault/anivault/internal/pins"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/redisstore"
	"github.com/anivault/anivault/tmdb"
)

type finding struct {
	state, fix lang.Text
	failed     bool // otherwise a finding with a fix is only advice
}

func newDoctor(f *factory) *cobra.Command {
	var offline, sendTest bool
	cmd := f.setRun(command("doctor"), textOrJSON, func(c invocation) error {
		cfg, err := f.load(c.cmd)
		broken := err
		if err != nil {
			if cfg, err = fallbackConfig(f); err != nil {
				return broken
			}
		}
		d := doctor{streams: f.streams, json: c.format == "json"}
		d.run(c.cmd.Context(), cfg, broken, offline, sendTest)
		if d.json {
			d.err = f.printJSON(jsonDoctor{d.checks})
		}
		switch {
		case d.err != nil:
			return d.err
		case broken != nil:
			return &exitError{code: exitUsage}
		case d.faults > 0:
			return &exitError{code: exitInternal}
		}
		return nil
	})
	cmd.Flags().BoolVar(&offline, "offline", false, "send nothing")
	cmd.Flags().BoolVar(&sendTest, "notify", false, "send a test message to each ntfy topic and webhook of notify")
	return cmd
}

func failedFinding(state, fix lang.Text) finding {
	return finding{state: state, fix: fix, failed: true}
}

// doctor runs checks one by one. It prints each finding before the next check, or collects them as JSON.
type doctor struct {
	streams ui.Streams
	json    bool
	checks  []jsonCheck
	faults  int
	err     error // the first error of writing to stdout
}

type jsonDoctor struct {
	Checks []jsonCheck `json:"checks" doc:"all checks, in the order in which they ran"`
}

type jsonCheck struct {
	Name    string    `json:"name" doc:"what was checked"`
	Status  string    `json:"status" doc:"ok, note (works, but see the hint) or fail"`
	Message lang.Text `json:"message" doc:"the finding, for people"`
	Hint    lang.Text `json:"hint,omitempty" doc:"how to fix it, for people"`
}

func (d *doctor) print(check string, f finding) {
	const column = len("FAIL  cache dir   ")
	sign, width := "ok", d.streams.OutWidth()
	switch {
	case f.failed:
		sign = "FAIL"
		d.faults++
	case f.fix != "":
		sign = "note"
	}
	if d.json {
		d.checks = append(d.checks, jsonCheck{check, strings.ToLower(sign), f.state, f.fix})
		return
	}
	head := ui.Pad(ui.Pad(lang.Say(sign), len("FAIL"))+"  "+lang.Say(check), column)
	indent := strings.Repeat(" ", column)
	text := head + strings.TrimPrefix(ui.WrapHanging(indent+ui.OneLine(lang.Say(f.state))+"\n", width, column), indent)
	if f.fix != "" {
		fix := lang.Sprintf("fix: %s", strings.ReplaceAll(lang.Say(f.fix), "\n      ", "; "))
		text += ui.WrapHanging(indent+fix+"\n", width, column+ui.Width(lang.Sprintf("fix: %s", "")))
	}
	if d.err == nil {
		_, d.err = io.WriteString(d.streams.Out, text)
	}
}

func (d *doctor) run(ctx context.Context, cfg *config.Config, broken error, offline, sendTest bool) {
	d.print("config", checkConfig(cfg, broken))
	if broken == nil {
		d.print("key", checkKey(cfg))
	}
	online := broken == nil && !offline
	if online && !cfg.LacksKey() {
		d.print("tmdb", checkTMDB(ctx, cfg))
	}
	d.print("state", checkFolder(app.StateDir(cfg)))
	d.print("cache dir", checkFolder(cfg.Dirs.Cache))
	d.print("data dir", checkFolder(cfg.Dirs.Data))
	d.print("limiter", checkLimiter(ctx, cfg))
	if online && cfg.Coordinator == "redis" {
		d.checkCoordinator(ctx, cfg)
	}
	d.print("cache", checkCache(ctx, cfg))
	d.print("runs", checkUnfinishedRuns(ctx, cfg))
	d.print("pins", checkPins(cfg))
	d.checkIndex(cfg)
	if broken != nil {
		return
	}
	seen := []string{""}
	for _, to := range []string{cfg.Organize.To, cfg.Organize.ToTV, cfg.Organize.ToMovies} {
		if !slices.Contains(seen, to) {
			seen = append(seen, to)
			d.print("library", checkLibraryFolder(to))
		}
	}
	d.print("gateway", checkGateway(ctx, cfg, offline))
	for i := range cfg.Notify {
		if t := &cfg.Notify[i]; online && (sendTest || t.IsMediaServer()) {
			f := finding{state: lang.Textf("%s answers", t.Name())}
			if err := notify.Check(ctx, t); err != nil {
				f = failedFinding(lang.Textf("%s: %s", t.Name(), err),
					"check url, token_file and paths of the list notify in the config file")
			}
			d.print("notify", f)
		}
	}
}

// fallbackConfig returns the default configuration with the user's folders from the environment. Doctor uses it if the
// user's configuration is invalid.
func fallbackConfig(f *factory) (*config.Config, error) {
	environ := slices.DeleteFunc(slices.Clone(f.environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return strings.HasPrefix(name, "ANIVAULT_") && !strings.HasSuffix(name, "_DIR")
	})
	cfg, _, err := config.Load(config.Sources{File: os.DevNull, Environ: environ})
	return cfg, err
}

func checkConfig(cfg *config.Config, broken error) finding {
	if broken != nil {
		return failedFinding(lang.TextOf(broken),
			"correct this, then run anivault doctor again to check key and connection")
	}
	if _, err := os.Stat(cfg.Dirs.ConfigFile); err != nil {
		return finding{state: lang.Textf("valid; no config file (%s)", cfg.Dirs.ConfigFile)}
	}
	return finding{state: lang.Textf("valid; %s", cfg.Dirs.ConfigFile)}
}

func checkKey(cfg *config.Config) finding {
	switch {
	case len(cfg.Accounts) > 0:
		return finding{state: lang.Textf("%s with %s (anivault accounts list)",
			lang.Count(len(cfg.Accounts), "account"), lang.Count(len(cfg.Secrets()), "key"))}
	case !cfg.HasKey() && !cfg.AsksTMDB():
		return finding{state: "none is sent; only TMDB itself needs one"}
	case cfg.TMDB.Token.IsSet():
		return finding{state: "an API Read Access Token is set"}
	case cfg.TMDB.APIKey.IsSet():
		return finding{
			state: "a v3 API key is set; it travels in URLs",
			fix:   "prefer ANIVAULT_TMDB_TOKEN: a token travels in a header",
		}
	}
	return failedFinding("none is set: only --offline works",
		"set ANIVAULT_TMDB_TOKEN (https://www.themoviedb.org/settings/api), or: anivault config init")
}

func checkTMDB(ctx context.Context, cfg *config.Config) finding {
	took, skew, err := probe(ctx, cfg)
	host := cfg.TMDB.BaseURL.Host
	if blocked, ok := errors.AsType[*ratelimit.BlockedError](err); ok {
		if err = connect(ctx, cfg.TMDB.BaseURL); err == nil || blocked.Cause == ratelimit.ReasonOperator {
			_, text := app.Explain(blocked)
			const again = "run anivault doctor again after the pause; anivault status shows how long it lasts"
			return finding{state: lang.Textf("not asked: %s", text), fix: again}
		}
	}
	var refusal *tmdb.UnauthorizedError
	var unusable *config.Error
	switch {
	case errors.As(err, &unusable):
		return failedFinding(lang.Textf("not asked: %s", lang.TextOf(unusable)),
			"correct this, then run anivault doctor again to check key and connection")
	case errors.As(err, &refusal):
		err := keyRefusedError(cfg, refusal)
		return failedFinding(lang.Textf("%s: %s", host, err), hintForError(err))
	case err != nil:
		_, text := app.Explain(err)
		return failedFinding(lang.Textf("%s: %s", host, text), cmp.Or(tmdbHint(err), lang.Text(
			"check the connection, proxy and ANIVAULT_TMDB_BASE_URL; TMDB's own state: https://status.themoviedb.org")))
	case skew.Abs() > 30*time.Second:
		return finding{
			state: lang.Textf("%s accepts the key; this machine's clock is off by %s", host, -skew),
			fix:   "set the clock (for example: timedatectl set-ntp true)",
		}
	}
	return finding{state: lang.Textf("%s accepts the key (%s); the clocks agree", host, took.Round(time.Millisecond))}
}

// probeConfig returns a configuration with which a request waits at most 10 s and is not repeated.
func probeConfig(cfg *config.Config) *config.Config {
	own := *cfg
	own.Tuning.MaxWait, own.Tuning.MaxRetries = min(own.Tuning.MaxWait, 10*time.Second), -1
	return &own
}

func probe(ctx context.Context, cfg *config.Config) (took, skew time.Duration, err error) {
	run, err := app.Open(probeConfig(cfg), app.Options{})
	if err != nil {
		return 0, 0, err
	}
	took, skew, err = run.Probe(ctx)
	return took, skew, errors.Join(err, run.Close())
}

// connect connects to base or its proxy, without a request, because the limiter allows none.
func connect(ctx context.Context, base *url.URL) error {
	proxy, _ := http.ProxyFromEnvironment(&http.Request{URL: base})
	at := cmp.Or(proxy, base)
	addr := net.JoinHostPort(at.Hostname(), cmp.Or(at.Port(), at.Scheme))
	conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	return conn.Close()
}

// fixUnlessDiskFull returns fix, or how to free space if err means that the disk is full.
func fixUnlessDiskFull(err error, fix lang.Text) lang.Text {
	if errors.Is(err, syscall.ENOSPC) {
		return "free some space there: the disk is full; " +
			"or set ANIVAULT_STATE_DIR, ANIVAULT_CACHE_DIR, ANIVAULT_DATA_DIR to another"
	}
	return fix
}

// checkFolder makes the folder, writes a file in it, and checks who else can write to it.
func checkFolder(dir string) finding {
	err := lockfile.MkdirAll(dir)
	if err == nil {
		err = probeFolder(dir)
	}
	info, statErr := os.Stat(dir)
	if err = cmp.Or(err, statErr); err != nil {
		if where, ok := errors.AsType[*fs.PathError](err); ok && where.Path == dir {
			err = fmt.Errorf("%s: %w", where.Op, where.Err) // the message begins with the folder
		}
		return failedFinding(lang.Textf("%s: %s", dir, err), fixUnlessDiskFull(err,
			"make it writable for you, or set ANIVAULT_STATE_DIR, ANIVAULT_CACHE_DIR, ANIVAULT_DATA_DIR"))
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 && info.Mode()&os.ModeSetgid == 0 && filepath.Separator == '/' {
		state := lang.Textf("%s: others can write to it (%s)", dir, mode)
		return finding{state: state, fix: lang.Textf("%s", "chmod go-w "+dir)}
	}
	return finding{state: lang.Textf("%s can be written", dir)}
}

func checkLimiter(ctx context.Context, cfg *config.Config) finding {
	var warnings error
	store, done, err := app.OpenState(cfg, 0, func(err error) { warnings = errors.Join(warnings, err) })
	if err != nil {
		return failedFinding(lang.TextOf(err), "anivault config validate")
	}
	st, err := ratelimit.Operator{Store: store}.Status(ctx, cfg.Tuning)
	err = errors.Join(err, done())
	switch {
	case err != nil:
		return failedFinding(lang.TextOf(err), "anivault limiter reset")
	case warnings != nil && cfg.Coordinator == "redis":
		return failedFinding(lang.TextOf(warnings), "see redis; --offline does not check it")
	case warnings != nil:
		return failedFinding(lang.TextOf(warnings), fixUnlessDiskFull(warnings,
			"make it writable for you, or use a local folder that supports locks: ANIVAULT_STATE_DIR"))
	case st.State == ratelimit.CacheOnly && !st.PauseUntil.After(st.At):
		return finding{state: statusSentence(st, false), fix: "anivault limiter resume"}
	case st.State == ratelimit.Sleep, st.State == ratelimit.CacheOnly:
		const wait = "wait; meanwhile anivault answers from the cache, and a later run asks for the rest"
		return finding{state: statusSentence(st, false), fix: wait}
	}
	state := append([]lang.Text{lang.Textf("shared state and locks work; %s", st.State)}, limitTexts(st)...)
	return finding{state: lang.Join(state, "; ")}
}

func checkCache(ctx context.Context, cfg *config.Config) finding {
	var warnings error
	store, err := app.OpenCache(cfg, 0, func(err error) { warnings = errors.Join(warnings, err) })
	if err != nil {
		return failedFinding(lang.TextOf(err), "anivault config validate")
	}
	report, err := store.Verify(ctx)
	err = errors.Join(err, store.Close())
	switch {
	case err != nil:
		return failedFinding(lang.TextOf(err), "anivault cache verify")
	case len(report.Problems) > 0:
		return failedFinding(lang.Textf("%d problems, such as %s", len(report.Problems), report.Problems[0]),
			"anivault cache clear")
	case warnings != nil:
		return failedFinding(lang.TextOf(warnings), fixUnlessDiskFull(warnings,
			"make it writable for you, or use a local folder that supports locks: ANIVAULT_CACHE_DIR"))
	}
	return finding{state: lang.Textf("%d records OK: %s", report.Records, recordKindsText)}
}

func checkPins(cfg *config.Config) finding {
	store := pins.Open(cfg.Dirs.Data)
	set, err := store.Load()
	if err != nil {
		return failedFinding(lang.TextOf(err), "")
	}
	f := finding{state: lang.Textf("%d pinned in %s", set.Len(), store.Path())}
	if warnings := set.Warnings(store.Path()); len(warnings) > 0 {
		f.state, f.fix = lang.TextOf(warnings[0]), "correct that line, or remove it"
	}
	return f
}

// checkIndex prints the age and source of each list in the title index.
func (d *doctor) checkIndex(cfg *config.Config) {
	x, err := index.Open(cfg.Dirs.Data)
	if errors.Is(err, index.ErrNoIndex) {
		d.print("index", finding{state: "none: every title is searched on TMDB (anivault index update makes one)"})
		return
	}
	var infos []index.SourceInfo
	if err == nil {
		infos, _, err = x.Stats()
		err = errors.Join(err, x.Close())
	}
	if err != nil {
		d.print("index", failedFinding(lang.TextOf(err), "anivault index update"))
	}
	now := time.Now()
	for _, i := range infos {
		f := finding{state: lang.Textf("%s: %s", i.Source, listOrigin(i))}
		const tolerable = 90 * 24 * time.Hour
		if i.IsStale(now) || now.Sub(i.Imported) > tolerable {
			f.fix = "anivault index update; another address goes into the list's setting (anivault help environment)"
		}
		d.print("index", f)
	}
}

func checkGateway(ctx context.Context, cfg *config.Config, offline bool) finding {
	own := *cfg
	err := own.PrepareServe()
	if err == nil {
		err = gateway.Check(&own)
	}
	if err != nil {
		return failedFinding(lang.Textf("would not start: %s", err), "fix this, then run: anivault serve check")
	}
	f := finding{state: lang.Textf("settings are valid; %s", lang.Count(len(own.Serve.Clients), "client"))}
	if offline {
		return f
	}
	const timeout = 2 * time.Second
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	running, err := gateway.FindRunning(ctx, &own)
	if other, ok := errors.AsType[*gateway.OtherProgramError](err); ok {
		f.state = lang.Textf("%s; %s", f.state, other)
		f.fix = "to run a gateway, name another address: serve.listen, or anivault serve --listen ADDR"
		return f
	}
	switch {
	case running == nil:
		f.state = lang.Textf("%s; none runs on %s", f.state, strings.Join(own.Serve.Listen, ", "))
	case !running.Ready:
		f.state, f.fix = lang.Textf("%s shuts down", running.Addr), "wait until it has ended"
	case len(running.Degraded) > 0:
		f.state = lang.Textf("%s serves, degraded: %s", running.Addr, strings.Join(running.Degraded, ", "))
		f.fix = "anivault status; meanwhile it answers from the cache"
	default:
		f.state = lang.Textf("%s serves; %s", running.Addr, running.State)
	}
	return f
}

// checkCoordinator prints whether the Redis server works, then advice about its settings.
func (d *doctor) checkCoordinator(ctx context.Context, cfg *config.Config) {
	found, err := app.CheckCoordinator(ctx, cfg)
	if broken, ok := errors.AsType[*redisstore.Fault](err); ok {
		d.print("redis", failedFinding(lang.TextOf(broken), app.CoordinatorFix(cfg, broken)))
		return
	}
	if err != nil {
		d.print("redis", failedFinding(lang.TextOf(err), "anivault config validate"))
		return
	}
	server := lang.Textf("%s", found.Server)
	if found.InfoDenied {
		server = "the server"
	}
	d.print("redis", finding{state: lang.Textf(
		"%s at %s answers in %s and has all permissions it needs; these are enough: %s", server,
		cfg.Redis.Address.Place(), found.RoundTrip.Round(10*time.Microsecond), app.CoordinatorACLRule(cfg))})
	advise := func(holds bool, state, fix lang.Text) {
		if holds {
			d.print("redis", finding{state: state, fix: fix})
		}
	}
	advise(found.ClockSkew.Abs() > 30*time.Second,
		"its clock and this machine's differ: the times shown are from its clock",
		"set both clocks (for example: timedatectl set-ntp true); the limits hold anyway")
	advise(found.EvictionPolicy != "", "it may discard the limiter's state when its memory is full",
		"set its maxmemory-policy to noeviction or volatile-lru")
	advise(found.NoPersistence, "it keeps no append-only file: a restart forgets what the limiter knows",
		"set its appendonly to yes")
	advise(found.InfoDenied, "it doesn't tell this user its version and settings", "give the user +info")
	advise(cfg.Redis.Address.Exposed(), "traffic to it can be read on the network",
		"use TLS: rediss:// in ANIVAULT_COORDINATOR")
}
