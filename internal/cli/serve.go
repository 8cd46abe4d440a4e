package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/gateway"
	"github.com/anivault/anivault/internal/ui"
)

func (c *command) serveCommand() *cobra.Command {
	var offline bool
	cmd := leaf(&cobra.Command{
		Use:   "serve",
		Short: "Answer GET /3/... for other programs, through limiter and cache",
		Long: `Answer GET /3/... for other programs as TMDB does: one limit, one cache and one key for every program that can be pointed
at an address. It runs until it is told to stop. Without further settings it listens on this machine alone and asks for
no token.`,
		Example: `  anivault serve
  curl http://127.0.0.1:7373/3/tv/1399
  anivault serve --listen 127.0.0.1:8080 --listen unix:/run/anivault/gateway.sock
  anivault serve --offline                  only what is stored`,
	}, nil, func(cmd *cobra.Command, _ []string, _ string) error {
		cfg, err := c.loadServe(cmd, offline)
		if err != nil {
			return err
		}
		return c.serve(cmd, cfg, offline)
	})
	serveFlags(cmd.Flags(), &offline)
	cmd.AddCommand(c.serveCheckCommand(), c.serveTokenCommand())
	return cmd
}

func (c *command) serveCheckCommand() *cobra.Command {
	var offline bool
	cmd := leaf(&cobra.Command{
		Use:   "check",
		Short: "Check all that serve checks before it listens",
		Long: `Check all that serve checks before it listens: settings, key, clients, certificate, and who may reach the addresses. It binds
none of them, so it works beside a running gateway.`,
		Example: "  anivault serve check\n  anivault serve check && systemctl reload anivault-gateway",
	}, nil, func(cmd *cobra.Command, _ []string, _ string) error {
		cfg, err := c.loadServe(cmd, offline)
		if err == nil {
			err = gateway.Check(cfg)
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.streams.Out, "ok: would listen on %s; %s\n", strings.Join(cfg.Serve.Listen, ", "), ui.Count(len(cfg.Serve.Clients), "client"))
		return err
	})
	serveFlags(cmd.Flags(), &offline)
	return cmd
}

func serveFlags(flags *pflag.FlagSet, offline *bool) {
	flags.StringArray("listen", nil, "`ADDR` to listen on, host:port or unix:/path; may be repeated")
	flags.Lookup("listen").DefValue = config.Default("serve.listen")
	flags.BoolVar(offline, "offline", false, "never touch the network; needs no key")
}

// loadServe reads and checks what a gateway needs.
func (c *command) loadServe(cmd *cobra.Command, offline bool) (*config.Config, error) {
	cfg, err := c.load(cmd)
	if err != nil {
		return nil, err
	}
	if err := cfg.ForServe(); err != nil {
		return nil, err
	}
	if !offline && !cfg.TMDB.HasKey() {
		return nil, usagef(noKeyHint, noKeyMessage)
	}
	return cfg, nil
}

// serve runs a gateway until a signal comes.
func (c *command) serve(cmd *cobra.Command, cfg *config.Config, offline bool) (err error) {
	logs, err := c.openLogs(cfg, c.streams.Err)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, logs.Close()) }()
	service, err := gateway.Listen(cfg, gateway.Options{
		Offline: offline, Log: logs.handler, Warn: logs.warn, Notify: c.getenv("NOTIFY_SOCKET"),
		Reload: func() (*config.Config, error) { return c.loadServe(cmd, offline) },
	}, func(url string) { c.say("listening on %s\n", url) })
	if err != nil {
		return err
	}
	measuring, err := c.startMetrics(cfg, service.Metrics())
	if err != nil {
		return errors.Join(err, service.Close())
	}
	err = errors.Join(service.Run(cmd.Context()), measuring.stop())
	c.drained = err == nil
	return err
}
