package app

import (
	"context"

	"github.com/anivault/anivault/ratelimit"
)

// CheckTuned returns a *ratelimit.TuningError for values that can't be used, or that contradict those in force here. A process
// whose own values they contradict clamps them and warns.
func CheckTuned(ctx context.Context, store ratelimit.Store, own ratelimit.Tuning, values map[string]string) error {
	st, err := ratelimit.ReadStatus(ctx, store, own)
	if err != nil {
		return err
	}
	t := st.Tuning
	for key, value := range values {
		field, ok := ratelimit.FieldByKey(key)
		if !ok {
			return &ratelimit.TuningError{Keys: []string{key}, Values: []string{value}, Reason: "is not a limiter setting", Remedy: "anivault config show lists them"}
		}
		if err := field.Set(&t, value); err != nil {
			return err
		}
	}
	return t.Validate()
}

// Store returns the state that the gateway's limiter shares.
func (g *Gateway) Store() ratelimit.Store { return g.store }
