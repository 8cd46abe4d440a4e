package gateway

import (
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/config"
)

// lookEvery is how often the files are looked at. Looking costs nothing, and follows links, mounts and editors'
// renames.
const lookEvery = 2 * time.Second

// restart are settings that only a restart changes: addresses, folders, how TMDB is reached, where it is logged.
var restart = []string{
	"serve.listen", "serve.admin_listen", "serve.socket_mode", "serve.socket_group",
	"tmdb.base_url", "tmdb.ca_file", "coordinator",
	"state_dir", "cache_dir", "data_dir", "cache.max_size",
	"log.level", "log.format", "log.file", "log.max_size", "log.max_files", "metrics.file", "metrics.textfile",
}

// watcher reads the configuration again on a signal, or when one of its files differs at two looks in a row, so that no
// half-written file is read.
type watcher struct {
	s    *Service
	read func() (*config.Config, error)
	now  files // of the configuration in force
	next files // at the last look, if they differed
}

type files map[string]os.FileInfo

func (w *watcher) run(done <-chan struct{}, hup <-chan os.Signal) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-hup:
			w.reload()
		case <-tick.C:
			w.look()
			w.s.lookElsewhere()
		}
	}
}

func (w *watcher) look() {
	files := look(w.s.g.settings.Load().cfg)
	switch {
	case same(files, w.now):
		w.next = nil
	case same(files, w.next):
		w.reload()
	default:
		w.next = files
	}
}

func look(cfg *config.Config) files {
	out := files{}
	for _, path := range cfg.Files() {
		info, err := os.Stat(path)
		if err != nil {
			info = nil
		}
		out[path] = info
	}
	return out
}

func same(a, b files) bool {
	return maps.EqualFunc(a, b, func(x, y os.FileInfo) bool {
		if x == nil || y == nil {
			return x == nil && y == nil
		}
		return os.SameFile(x, y) && x.Size() == y.Size() && x.ModTime().Equal(y.ModTime())
	})
}

// reload takes a new configuration as a whole, or not at all. A token that was revoked is refused in any case.
func (w *watcher) reload() {
	g := w.s.g
	old := g.settings.Load()
	before := look(old.cfg)
	w.now, w.next = before, nil // in any case, so that a refused configuration is not read again and again
	cfg, err := w.read()
	if err == nil {
		err = w.s.take(cfg, old)
	}
	if err != nil {
		g.log.Warn("reload_refused", slog.Any("error", err))
		w.s.revoke(old)
		return
	}
	w.now = look(cfg)
	for path := range w.now {
		if info, ok := before[path]; ok {
			w.now[path] = info // it may have changed since it was read
		}
	}
	g.log.Info("reloaded")
	w.s.accounts.Store(nil)
	w.s.sayOverrides()
}

func (s *Service) take(cfg *config.Config, old *settings) error {
	var stays []string
	before := map[string]string{}
	for _, v := range old.cfg.Values() {
		before[v.Setting.Key] = v.Text
	}
	for _, v := range cfg.Values() {
		if slices.Contains(restart, v.Setting.Key) && v.Text != before[v.Setting.Key] {
			stays = append(stays, v.Setting.Key)
		}
	}
	if (cfg.Serve.TLSCert == "") != (old.TLSCert == "") {
		stays = append(stays, "serve.tls")
		cfg.Serve.TLSCert, cfg.Serve.TLSKey = old.TLSCert, old.TLSKey
	}
	cfg.Serve.Listen, cfg.Serve.AdminListen = old.Listen, old.AdminListen
	cfg.TMDB.BaseURL, cfg.Dirs = old.cfg.TMDB.BaseURL, old.cfg.Dirs
	// Judged by the addresses in use. If tokens were required before, the last one was revoked.
	if err := cfg.CheckExposure(old.cfg.NeedsClient()); err != nil {
		return err
	}
	if s.cert != nil {
		if err := s.cert.load(cfg); err != nil {
			return err
		}
	}
	if err := s.g.up.Reconfigure(cfg); err != nil {
		return err
	}
	s.put(newSettings(cfg, old))
	if len(stays) > 0 {
		s.g.log.Warn("restart_needed", slog.String("keys", strings.Join(stays, ",")))
	}
	return nil
}

func (s *Service) revoke(old *settings) {
	if cfg, err := old.cfg.WithoutRevokedClients(); err == nil && cfg != old.cfg {
		s.put(newSettings(cfg, old))
	}
}

func (s *Service) put(taken *settings) {
	s.g.settings.Store(taken)
	if taken.closed {
		s.g.log.Warn("no_clients", slog.String("error", "the last client was revoked: nobody may ask"))
	}
}
