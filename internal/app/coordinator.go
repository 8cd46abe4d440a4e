package app

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/redisstore"
)

// coordinatorOptions says where the coordinator of the configured upstream is.
func coordinatorOptions(cfg *config.Config) redisstore.Options {
	u := cfg.TMDB.BaseURL
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	return redisstore.Options{
		Address: cfg.Redis.Address, Password: cfg.Redis.Password.Reveal(), CA: cfg.Redis.CA, Prefix: cfg.Redis.Prefix,
		Upstream: strings.ToLower(u.Scheme + "://" + u.Hostname() + ":" + port), Dir: machineDir(cfg),
	}
}

// machineDir is where the processes of this machine share what they need without the coordinator.
func machineDir(cfg *config.Config) string { return filepath.Join(StateDir(cfg), "coordinator") }

// openCoordinator opens the state that several machines share. A coordinator that can't be reached now is a warning,
// one that never will do with these settings is a [*config.Error].
func openCoordinator(cfg *config.Config, warn func(error)) (_ ratelimit.Store, done func() error, err error) {
	o := coordinatorOptions(cfg)
	if _, err := redisstore.Check(context.Background(), o); err != nil {
		if f, ok := errors.AsType[*redisstore.Fault](err); !ok || f.Lasting() {
			return nil, nil, coordinatorError(cfg, err)
		}
	}
	if o.Address.Exposed() {
		warn(lang.Error("what is said to the coordinator at %s can be read on the way: use TLS (rediss://)",
			o.Address.Place()))
	}
	told := func(err error) { warn(withRemedy(err)) }
	machine, err := ratelimit.OpenFileStore(machineDir(cfg), ratelimit.FileOptions{
		Processes: cfg.Tuning.Processes, OnWarning: told,
	})
	if err != nil {
		return nil, nil, err
	}
	backend, err := redisstore.Open(o)
	if err != nil {
		return nil, nil, errors.Join(coordinatorError(cfg, err), machine.Close())
	}
	store := ratelimit.NewSharedStore(backend, ratelimit.SharedOptions{
		Place: o.Address.Place(), Fallback: machine, Processes: cfg.Tuning.Processes, OnWarning: told,
	})
	return store, store.Close, nil
}

// coordinatorError names the setting that a fault of the coordinator is about, and how to mend it.
func coordinatorError(cfg *config.Config, err error) error {
	f, ok := errors.AsType[*redisstore.Fault](err)
	if !ok {
		return cfg.Refuse("coordinator", err.Error())
	}
	key, fix := "coordinator", CoordinatorFix(cfg, f)
	switch {
	case f.Kind == redisstore.Password && cfg.Redis.PasswordFile != "":
		key = "coordinator_password_file"
	case f.Kind == redisstore.Certificate && cfg.Redis.CAFile != "":
		key = "coordinator_ca_file"
	}
	return cfg.Refuse(key, f.Error()+"; "+fix)
}

// CoordinatorFix says what a person can do about a fault.
func CoordinatorFix(cfg *config.Config, f *redisstore.Fault) string {
	switch f.Kind {
	case redisstore.Password:
		return "write the password into the file that ANIVAULT_COORDINATOR_PASSWORD_FILE names, " +
			"and the user into ANIVAULT_COORDINATOR: redis://user@host:port"
	case redisstore.Certificate:
		return "name the server as its certificate does in ANIVAULT_COORDINATOR, " +
			"its authority's PEM file in ANIVAULT_COORDINATOR_CA_FILE, and a port that speaks TLS"
	case redisstore.Rights:
		return "as its administrator run: " + CoordinatorRule(cfg)
	case redisstore.Database:
		return "write a number that it has, or none, in ANIVAULT_COORDINATOR: redis://host:port/0"
	case redisstore.TooOld:
		return "update it, or name another one in ANIVAULT_COORDINATOR"
	case redisstore.Refusing:
		return "look at its log; until then each machine uses a part of the limits"
	case redisstore.Unreachable:
	}
	return "check ANIVAULT_COORDINATOR, the network and the server; until then each machine uses a part of the limits"
}

// CoordinatorRule is the ACL rule that is enough for the coordinator's user.
func CoordinatorRule(cfg *config.Config) string {
	return coordinatorOptions(cfg).Rule(cfg.Redis.Address.User())
}

// CheckCoordinator looks whether the configured coordinator will do.
func CheckCoordinator(ctx context.Context, cfg *config.Config) (redisstore.Findings, error) {
	return redisstore.Check(ctx, coordinatorOptions(cfg))
}
