package gateway

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/operate"
	"github.com/anivault/anivault/internal/slicesx"
)

// pollInterval is how often the configuration's files are checked for changes. Unlike notifications of the file system,
// polling also sees changes through links, mounts and editors that rename files.
const pollInterval = 2 * time.Second

// configWatcher reloads the configuration on SIGHUP, or when one of its files has changed. It waits until two checks in
// a row see the same files, so it never reads one that is half written.
type configWatcher struct {
	s          *Service
	readConfig func() (*config.Config, error)
	current    fileStates // files of the current configuration
	pending    fileStates // files at the last check, if they had changed
	refused    []string   // files for which the last reload was refused: an operator may name a file and make it later
}

type fileStates map[string]fileState

type fileState struct {
	info     os.FileInfo
	isHidden bool // os.Stat fails although it may exist
}

func (w *configWatcher) run(done <-chan struct{}, hup <-chan os.Signal) {
	for tick := time.Tick(pollInterval); ; {
		select {
		case <-done:
			return
		case <-hup:
			w.reload()
		case <-tick:
			w.checkFiles()
			w.s.logOtherChanges()
		}
	}
}

func (w *configWatcher) checkFiles() {
	files := statFiles(w.s.g.settings.Load().cfg, w.refused...)
	switch {
	case sameFiles(files, w.current):
		w.pending = nil
	case sameFiles(files, w.pending):
		w.reload()
	default:
		w.pending = files
	}
}

func statFiles(cfg *config.Config, more ...string) fileStates {
	out := fileStates{}
	for _, path := range append(cfg.SourceFiles(), more...) {
		info, err := os.Stat(path)
		out[path] = fileState{info, err != nil && !errors.Is(err, fs.ErrNotExist)}
	}
	return out
}

func sameFiles(a, b fileStates) bool {
	return maps.EqualFunc(a, b, func(a, b fileState) bool {
		x, y := a.info, b.info
		if x == nil || y == nil {
			return a == b
		}
		return os.SameFile(x, y) && x.Size() == y.Size() && x.ModTime().Equal(y.ModTime())
	})
}

// reload applies a new configuration as a whole, or not at all. Even if it is invalid, tokens that it revokes are
// refused from now on. If clients.yaml can't be read and no client is known, all requests are refused.
func (w *configWatcher) reload() {
	g := w.s.g
	old := g.settings.Load()
	before := statFiles(old.cfg)
	w.current, w.pending, w.refused = before, nil, nil // even if it is refused, or it would be read again at every check
	cfg, err := w.readConfig()
	if err == nil {
		err = w.s.applyConfig(cfg, old)
	}
	if err != nil {
		if revoked, unreadable := old.cfg.WithoutRevokedClients(); unreadable != nil || revoked != old.cfg {
			taken := newSettings(revoked, old)
			taken.isClosed = unreadable != nil && len(taken.clientsByHash) == 0 && !taken.Anonymous
			w.s.useSettings(taken)
		}
		names := slicesx.Map(g.settings.Load().cfg.Serve.Clients, func(c config.Client) string { return c.Name })
		g.log.Warn("reload_refused", slog.Any("error", err), slog.String("clients", strings.Join(names, ",")))
		if e, ok := errors.AsType[*config.Error](err); ok && filepath.IsAbs(e.Value) {
			w.refused = []string{e.Value}
			w.current = statFiles(old.cfg, e.Value)
			maps.Copy(w.current, before) // they may have changed after they were read
		}
		return
	}
	w.current = statFiles(cfg)
	for path := range w.current {
		if info, ok := before[path]; ok {
			w.current[path] = info // it may have changed after it was read
		}
	}
	g.log.Info("reloaded")
	w.s.lastAccounts.Store(nil)
	w.s.warnOverrides()
}

func (s *Service) applyConfig(cfg *config.Config, old *settings) error {
	if err := cfg.CheckFilesStillExist(old.cfg); err != nil {
		return err
	}
	var stays []string
	before := map[string]string{}
	for _, v := range old.cfg.Values() {
		before[v.Setting.Key] = v.Text
	}
	for _, v := range cfg.Values() {
		if v.Setting.Restart && v.Text != before[v.Setting.Key] {
			stays = append(stays, v.Setting.Key)
		}
	}
	if (cfg.Serve.TLSCert == "") != (old.TLSCert == "") {
		stays = append(stays, "serve.tls")
		cfg.Serve.TLSCert, cfg.Serve.TLSKey = old.TLSCert, old.TLSKey
	}
	cfg.Serve.Listen, cfg.Serve.AdminListen = old.Listen, old.AdminListen
	if cfg.Dirs.Data != old.cfg.Dirs.Data { // a restart moves to the clients of the other folder
		cfg.Serve.Clients = old.cfg.Serve.Clients
	}
	if cfg.TMDB.BaseURL.String() != old.cfg.TMDB.BaseURL.String() { // keys and limits are for the other upstream
		stays = append(stays, "tmdb.base_url")
		cfg.TMDB, cfg.Accounts, cfg.Tuning = old.cfg.TMDB, old.cfg.Accounts, old.cfg.Tuning
	}
	cfg.Dirs = old.cfg.Dirs
	// The check uses the addresses in use. If the old configuration required tokens and the new one has none, the last
	// token was revoked: the gateway must not become open to everybody.
	if err := cfg.CheckExposure(old.cfg.NeedsClient()); err != nil {
		return err
	}
	if s.cert != nil {
		if err := s.cert.load(cfg); err != nil {
			return err
		}
	}
	if err := s.g.upstream.Reconfigure(cfg); err != nil {
		return err
	}
	s.useSettings(newSettings(cfg, old))
	if len(stays) > 0 {
		s.g.log.Warn("restart_needed", slog.String("keys", strings.Join(stays, ",")))
	}
	return nil
}

func (s *Service) useSettings(taken *settings) {
	s.g.settings.Store(taken)
	if taken.allRevoked || taken.isClosed {
		s.g.log.Warn("no_clients", slog.String("error", "there is no client that may ask"))
	}
}

// logOtherChanges logs what commands and other processes have changed in the accounts since the last call. The limiter
// itself logs changed settings when it sees them.
func (s *Service) logOtherChanges() {
	if !s.changeMu.TryLock() {
		return // this process is making a change: look again next time
	}
	defer s.changeMu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	st, err := s.g.upstream.Limiter().Status(ctx)
	if err != nil {
		return
	}
	s.g.upstream.LogOthersStateChange(st)
	now := app.ViewAccounts(s.Config(), st)
	before := s.lastAccounts.Swap(&now)
	if before == nil {
		return
	}
	for _, a := range now {
		for _, b := range *before {
			if a.Name != b.Name {
				continue
			}
			keys := map[string]bool{}
			for _, o := range slices.Concat(a.Overrides, b.Overrides) {
				keys[o.Key] = true
			}
			for _, key := range slices.Sorted(maps.Keys(keys)) {
				if from, to := operate.LimitText(b, key), operate.LimitText(a, key); from != to {
					s.g.log.Info("account_changed", slog.String("account", a.Name), slog.String("key", key),
						slog.String("from", from), slog.String("to", to), slog.String("by", "elsewhere"))
				}
			}
		}
	}
}

// BeginChange marks the start of a change that this process makes; the caller calls done at its end. In between,
// logOtherChanges does not run, so the change is not logged as another process's.
func (s *Service) BeginChange() (done func(context.Context)) {
	s.changeMu.RLock()
	known := s.g.upstream.BeginChange()
	return func(ctx context.Context) {
		known(ctx)
		s.lastAccounts.Store(nil)
		s.changeMu.RUnlock()
	}
}

// warnOverrides warns of each setting where an operator's change takes precedence over the reloaded configuration.
func (s *Service) warnOverrides() {
	st, err := s.g.upstream.Limiter().Status(context.Background())
	if err != nil {
		return
	}
	for _, o := range st.Overrides {
		s.g.log.Warn("overridden", slog.String("key", o.Key), slog.String("value", o.Value))
	}
	for _, a := range app.ViewAccounts(s.Config(), st) {
		for _, o := range a.Overrides {
			s.g.log.Warn("overridden", slog.String("account", a.Name), slog.String("key", o.Key), slog.String("value", o.Value))
		}
	}
}
