package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/anivault/anivault/internal/admin"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/gateway"
	"github.com/anivault/anivault/internal/lang"
)

func newServe(f *factory) *cobra.Command {
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
		cfg, err := loadServe(f, cmd, offline)
		if err != nil {
			return err
		}
		return runServe(f, cmd, cfg, offline)
	})
	serveFlags(cmd.Flags(), &offline)
	cmd.AddCommand(newServeCheck(f), newServeToken(f))
	return cmd
}

func newServeCheck(f *factory) *cobra.Command {
	var offline bool
	cmd := leaf(&cobra.Command{
		Use:   "check",
		Short: "Check all that serve checks before it listens",
		Long: `Check all that serve checks before it listens: settings, key, clients, certificate, and who may reach the addresses. It binds
none of them, so it works beside a running gateway.`,
		Example: "  anivault serve check\n  anivault serve check && systemctl reload anivault-gateway",
	}, nil, func(cmd *cobra.Command, _ []string, _ string) error {
		cfg, err := loadServe(f, cmd, offline)
		if err == nil {
			err = gateway.Check(cfg)
		}
		if err != nil {
			return err
		}
		_, err = io.WriteString(f.streams.Out, lang.Sprintf("ok: would listen on %s; %s\n", strings.Join(cfg.Serve.Listen, ", "), lang.Count(len(cfg.Serve.Clients), "client")))
		return err
	})
	serveFlags(cmd.Flags(), &offline)
	return cmd
}

func serveFlags(flags *pflag.FlagSet, offline *bool) {
	flags.StringArray("listen", nil, "`ADDR` to listen on, host:port or unix:/path; may be repeated")
	flags.Lookup("listen").DefValue = config.Default("serve.listen")
	settingFlag(flags, "admin-listen", "`ADDR` of the page and the API for admins, host:port, or off")
	flags.BoolVar(offline, "offline", false, "never touch the network; needs no key")
}

// loadServe reads and checks what a gateway needs.
func loadServe(f *factory, cmd *cobra.Command, offline bool) (*config.Config, error) {
	cfg, err := f.load(cmd)
	if err != nil {
		return nil, err
	}
	if err := cfg.ForServe(); err != nil {
		return nil, err
	}
	if !offline && cfg.LacksKey() {
		return nil, usagef(noKeyHint, noKeyMessage)
	}
	return cfg, nil
}

// runServe runs a gateway until a signal comes.
func runServe(f *factory, cmd *cobra.Command, cfg *config.Config, offline bool) (err error) {
	logs, err := f.openLogs(cfg, f.streams.Err, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, logs.Close()) }()
	events := admin.NewEvents(logs.handler, logs.redact)
	var urls []string
	service, err := gateway.Listen(cfg, gateway.Options{
		Offline: offline, Log: events.Handler(), Notify: f.getenv("NOTIFY_SOCKET"),
		Reload: func() (*config.Config, error) { return loadServe(f, cmd, offline) },
	}, func(url string) { urls = append(urls, url) })
	if err != nil {
		return err
	}
	page, err := openAdmin(f, cfg, service, events)
	if err != nil {
		return errors.Join(err, service.Close())
	}
	measuring, err := f.startMetrics(cfg, service.Upstream().Metrics())
	if err != nil {
		return errors.Join(err, page.Close(), service.Close())
	}
	for _, url := range urls { // only now can nothing be in the way
		f.say("listening on %s\n", url)
	}
	if page.Server != nil {
		f.say("admin page on %s\n", page.URL())
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	shown := make(chan error, 1)
	go func() {
		shown <- page.Run(ctx)
		cancel() // one without the other is no gateway
	}()
	err = service.Run(ctx)
	cancel()
	err = errors.Join(err, <-shown, measuring.stop())
	f.drained = err == nil
	return err
}

// adminPage is the page and API for admins, or nothing where they are off.
type adminPage struct{ *admin.Server }

// openAdmin opens the address of the page for admins.
func openAdmin(f *factory, cfg *config.Config, service *gateway.Service, events *admin.Events) (adminPage, error) {
	addr := cfg.Serve.AdminListen
	if addr == "" {
		return adminPage{}, nil
	}
	conf := service.TLS()
	if config.IsLocal(addr) {
		conf = nil
	}
	page, err := admin.Listen(addr, conf, service, events)
	if err != nil {
		return adminPage{}, cfg.Refuse("serve.admin_listen", lang.Textf("%s cannot be listened on: %s; name another address, or off", addr, err))
	}
	slog.New(events.Handler()).Info("listening", slog.String("comp", "gateway"), slog.String("addr", page.URL()), slog.String("for", "admins"))
	return adminPage{page}, nil
}

// Run serves until ctx ends.
func (p adminPage) Run(ctx context.Context) error {
	if p.Server == nil {
		<-ctx.Done()
		return nil
	}
	return p.Server.Run(ctx)
}

// Close closes an address that never served.
func (p adminPage) Close() error {
	if p.Server == nil {
		return nil
	}
	return p.Server.Close()
}
