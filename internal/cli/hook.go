package cli

import (
	"cmp"
	"context"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/apply"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/ui"
)

const hookLimit = time.Minute

func checkHook(cfg *config.Config) error {
	if len(cfg.Organize.Exec) == 0 {
		return nil
	}
	if _, err := exec.LookPath(cfg.Organize.Exec[0]); err != nil {
		return usagef("name a program that can be run, or leave it out; "+
			"arguments stand in the list organize.exec of the config file",
			"%s: %v", ui.Printable(cfg.Organize.Exec[0]), err)
	}
	return nil
}

// runHook runs the program of organize.exec if a run has changed something. told is the run's own error, which wins
// over one of the program.
func runHook(ctx context.Context, f *factory, cfg *config.Config, out *apply.Outcome, told error) error {
	if len(cfg.Organize.Exec) == 0 || out == nil || len(out.Changed) == 0 {
		return told
	}
	h := hook{
		argv: cfg.Organize.Exec, env: hookEnv(f.environ, out), limit: hookLimit,
		streams: f.streams, changed: out.Changed,
	}
	if err := h.run(ctx); err != nil {
		f.warn("%v; what the run %s did stays as it is", err, out.Run)
		return cmp.Or(told, error(&failure{code: exitIncomplete}))
	}
	return told
}

func hookEnv(environ []string, out *apply.Outcome) []string {
	return append(withoutSecrets(environ), "ANIVAULT_RUN_ID="+out.Run,
		"ANIVAULT_CHANGED="+strconv.Itoa(out.Count(apply.StatusDone)))
}

func withoutSecrets(environ []string) []string {
	secret := map[string]bool{}
	for _, s := range config.Settings() {
		secret[s.Env] = s.Secret
	}
	var env []string
	for _, kv := range environ {
		if name, _, _ := strings.Cut(kv, "="); !secret[name] {
			env = append(env, kv)
		}
	}
	return env
}

type hook struct {
	argv, env, changed []string
	limit              time.Duration
	streams            ui.Streams
}

// run runs the program without a shell. If it takes too long, it and everything it started are ended. Its output goes
// to stderr, because stdout carries results.
func (h *hook) run(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, h.limit)
	defer cancel()
	cmd := exec.CommandContext(bounded, h.argv[0], h.argv[1:]...)
	var stdin strings.Builder
	for _, folder := range h.changed {
		stdin.WriteString(folder + "\x00")
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = strings.NewReader(stdin.String()), h.streams.Err, h.streams.Err, h.env
	cmd.WaitDelay = time.Second // what it has left running may hold its output open
	together(cmd)
	err := cmd.Run()
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return nil
	case ctx.Err() == nil && bounded.Err() != nil:
		return lang.Error("%s was ended: it took more than %s", ui.Printable(h.argv[0]), ui.Duration(h.limit))
	}
	return lang.Error("%s failed: %w", ui.Printable(h.argv[0]), err)
}
