package gateway

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/operate"
)

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
				if from, to := limitText(b, key), limitText(a, key); from != to {
					s.g.log.Info("account_changed", slog.String("account", a.Name), slog.String("key", key),
						slog.String("from", from), slog.String("to", to), slog.String("by", "elsewhere"))
				}
			}
		}
	}
}

func limitText(a app.AccountView, key string) string {
	if key == "enabled" {
		return strconv.FormatBool(a.Enabled)
	}
	return operate.LimitText(a, key)
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
