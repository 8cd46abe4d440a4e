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

// lookElsewhere logs what commands and other processes have changed since the last look. The limiter itself tells of
// settings as soon as it sees them.
func (s *Service) lookElsewhere() {
	if !s.changing.TryLock() {
		return // the next look will do
	}
	defer s.changing.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	st, err := s.g.up.Limiter().Status(ctx)
	if err != nil {
		return
	}
	s.g.up.LogOthersStateChange(st)
	now := app.ViewAccounts(s.Config(), st)
	before := s.accounts.Swap(&now)
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
	return operate.Limit(a, key)
}

// Changing says that this process makes a change until done is called, so that it is not logged as made elsewhere.
func (s *Service) Changing() (done func(context.Context)) {
	s.changing.RLock()
	known := s.g.up.Changing()
	return func(ctx context.Context) {
		known(ctx)
		s.accounts.Store(nil)
		s.changing.RUnlock()
	}
}

// sayOverrides warns after a reload where an operator's change wins over the configuration.
func (s *Service) sayOverrides() {
	st, err := s.g.up.Limiter().Status(context.Background())
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
