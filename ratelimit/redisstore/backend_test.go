package redisstore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/anivault/anivault/internal/testing/redistest"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/internal/shared"
	"github.com/anivault/anivault/ratelimit/internal/testing/storetest"
	"github.com/anivault/anivault/ratelimit/redisstore"
)

func TestTheSuiteOverAServer(t *testing.T) {
	for _, program := range redistest.Programs {
		t.Run(program, func(t *testing.T) { suite(t, redistest.StartProgram(t, program)) })
	}
}

func suite(t *testing.T, server *redistest.Server) {
	storetest.Test(t, func(t *testing.T) storetest.World {
		must2(t)(server.Do("FLUSHALL"))
		return storetest.World{Open: func(t *testing.T) ratelimit.Store {
			addr, err := redisstore.ParseAddress("redis://" + server.Addr)
			must(t, err)
			return unhurried(t, redisstore.Options{Address: addr, Upstream: "test", Dir: t.TempDir()})
		}}
	})
}

// unhurried returns a store whose server may take its time, as it does on a busy machine: a store that continued alone
// would no longer be what the suite looks at. That the server is slow is no fault of the store's.
func unhurried(t *testing.T, opts redisstore.Options) ratelimit.Store {
	opts.Timeout = 30 * time.Second
	b, err := redisstore.Open(opts)
	must(t, err)
	st := shared.New(b, shared.Options{Place: "redis", OnWarning: func(err error) {
		if w := new(shared.StoreWarning); !errors.As(err, &w) || w.Event != "coordinator_slow" {
			t.Errorf("warned: %v", err)
		}
	}})
	t.Cleanup(func() { st.Close() })
	return st
}

func must2(t *testing.T) func(string, error) {
	return func(_ string, err error) { t.Helper(); must(t, err) }
}
