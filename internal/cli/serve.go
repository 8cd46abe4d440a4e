package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/admin"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/gateway"
	"github.com/anivault/anivault/internal/lang"
)

func newServe(f *factory) *cobra.Command {
	var offline bool
	cmd := f.setRun(command("serve"), nil, func(c invocation) error {
		cfg, err := loadServe(f, c.cmd, offline)
		if err != nil {
			return err
		}
		return runServe(f, c.cmd, cfg, offline, false)
	})
	addServeFlags(cmd, &offline)
	cmd.AddCommand(newServeCheck(f),
		commandGroup("serve_token", newServeTokenNew(f), newServeTokenList(f), newServeTokenRevoke(f)))
	return cmd
}

func newServeCheck(f *factory) *cobra.Command {
	var offline bool
	cmd := f.setRun(command("serve_check"), nil, func(c invocation) error {
		cfg, err := loadServe(f, c.cmd, offline)
		if err == nil {
			err = gateway.Check(cfg)
		}
		if err != nil {
			return err
		}
		addresses, clients := strings.Join(cfg.Serve.Listen, ", "), lang.Count(len(cfg.Serve.Clients), "client")
		if err = checkOutput("metrics textfile", cfg.Metrics.Textfile); err == nil {
			cfg.Serve.Listen, cfg.Serve.AdminListen, cfg.Metrics.Textfile = nil, "", "" // the gateway that runs has them
			err = runServe(f, c.cmd, cfg, offline, true)
		}
		if err != nil {
			return err
		}
		_, err = io.WriteString(f.streams.Out, lang.Sprintf("ok: would listen on %s; %s\n", addresses, clients))
		return err
	})
	addServeFlags(cmd, &offline)
	return cmd
}

func addServeFlags(cmd *cobra.Command, offline *bool) {
	flags := cmd.Flags()
	flags.StringArray("listen", nil, "`ADDR` to listen on, host:port or unix:/path; may be repeated")
	flags.Lookup("listen").DefValue = config.SettingByKey("serve.listen").Default
	_ = flags.SetAnnotation("listen", settingAnnotation, []string{"serve.listen"}) // the flag exists
	addSettingFlags(cmd, flags, "serve.admin_listen")
	flags.BoolVar(offline, "offline", false, "never touch the network; needs no key")
}

func loadServe(f *factory, cmd *cobra.Command, offline bool) (*config.Config, error) {
	cfg, err := f.load(cmd)
	if err != nil {
		return nil, err
	}
	if err := cfg.PrepareServe(); err != nil {
		return nil, err
	}
	if !offline && cfg.LacksKey() {
		return nil, noKeyError()
	}
	return cfg, nil
}

func runServe(f *factory, cmd *cobra.Command, cfg *config.Config, offline, check bool) (err error) {
	logs, err := f.openLogs(cfg, f.streams.Err, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, logs.file.Close()) }()
	signal.Ignore(syscall.SIGPIPE) // whoever reads its messages may go away
	events := admin.NewEvents(logs.handler, logs.redact)
	var urls []string
	service, err := gateway.Listen(cfg, gateway.Options{
		Offline: offline, Log: events.Handler(), NotifySocket: f.getenv("NOTIFY_SOCKET"),
		Reload: func() (*config.Config, error) { return loadServe(f, cmd, offline) },
	}, func(url string) { urls = append(urls, url) })
	if err != nil {
		return err
	}
	stopMetrics, err := f.startMetrics(cfg, service.Upstream().Metrics())
	if err != nil {
		return errors.Join(err, service.Close())
	}
	page, err := openAdmin(f, cfg, service, events)
	if err != nil || check {
		return errors.Join(err, stopMetrics(), service.Close())
	}
	for _, url := range urls { // only now, because nothing can fail any more
		f.say("listening on %s\n", url)
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	defer startNotices(ctx, service.Config, func(err error) {
		slog.New(events.Handler()).Warn("warning", slog.Any("error", err))
	})()
	var serving sync.WaitGroup
	var pageErr error
	if page != nil {
		f.say("admin page on %s\n", page.URL())
		serving.Go(func() {
			pageErr = page.Run(ctx)
			cancel() // the service ends with its admin page
		})
	}
	err = service.Run(ctx)
	cancel()
	serving.Wait()
	err = errors.Join(err, pageErr, stopMetrics())
	f.hasDrained = err == nil
	return err
}

func openAdmin(f *factory, cfg *config.Config, service *gateway.Service, events *admin.Events) (*admin.Server, error) {
	addr := cfg.Serve.AdminListen
	if addr == "" {
		return nil, nil
	}
	conf := service.TLS()
	if config.IsLocal(addr) {
		conf = nil
	}
	page, err := admin.Listen(addr, conf, service, events)
	if err != nil {
		return nil, cfg.ErrorFor("serve.admin_listen",
			lang.Textf("cannot listen on %s: %s; give another address, or off", addr, err))
	}
	slog.New(events.Handler()).Info("listening", slog.String("comp", "gateway"), slog.String("addr", page.URL()),
		slog.String("for", "admins"))
	return page, nil
}

func newServeTokenNew(f *factory) *cobra.Command {
	client := config.Client{Weight: 1}
	cmd := f.setRunWithConfig(command("serve_token_new"), nil, func(c invocation) error {
		var token string
		client.Name, client.Created = c.args[0], time.Now().UTC().Truncate(time.Second)
		token, client.TokenSHA256 = gateway.NewToken()
		if err := client.Check(); err != nil {
			return err
		}
		err := config.EditClients(c.cmd.Context(), c.cfg.Dirs.Data, func(list []config.Client) ([]config.Client, error) {
			for _, other := range slices.Concat(c.cfg.Serve.Clients, list) {
				if other.Name == client.Name {
					return nil, usagef("revoke it first, or choose another name",
						"there is already a client %q, at %s", client.Name, other.Place)
				}
			}
			return append(list, client), nil
		})
		if err != nil {
			return err
		}
		f.say("Copy this token now; it won't be shown again. %s sends it instead of a TMDB token:\n", client.Name)
		_, err = fmt.Fprintln(f.streams.Out, token)
		return err
	})
	cmd.Flags().StringVar(&client.Class, "class", "interactive",
		"the best `CLASS` that the client can have: interactive or batch")
	cmd.Flags().BoolVar(&client.Admin, "admin", false, "may read /metrics, and log in to the admin page")
	completeWords(cmd, "class", "interactive", "batch")
	return cmd
}

func newServeTokenList(f *factory) *cobra.Command {
	return f.setRunWithFolders(command("serve_token_list"), textOrJSON, func(c invocation, _ error) error {
		clients, err := c.cfg.AllClients()
		if err != nil {
			return err
		}
		if c.format == "json" {
			return f.printJSON(append([]config.Client{}, clients...))
		}
		if len(clients) == 0 {
			f.say("there are no clients; make one with: anivault serve token new NAME\n")
			return nil
		}
		var lines [][]string
		for _, cl := range clients {
			made, admin := "-", map[bool]string{true: "yes", false: "no"}[cl.Admin]
			if !cl.Created.IsZero() {
				made = cl.Created.Format(time.DateOnly)
			}
			lines = append(lines, []string{cl.Name, cl.Class, lang.Say(admin), made})
		}
		return writeColumns(f.streams.Out, []string{"NAME", "CLASS", "ADMIN", "MADE ON"}, lines)
	})
}

func newServeTokenRevoke(f *factory) *cobra.Command {
	return f.setRunWithFolders(command("serve_token_revoke"), nil, func(c invocation, broken error) error {
		var left int
		err := config.EditClients(c.cmd.Context(), c.cfg.Dirs.Data, func(list []config.Client) ([]config.Client, error) {
			for _, name := range c.args {
				i := slices.IndexFunc(list, func(cl config.Client) bool { return cl.Name == name })
				if i >= 0 {
					list = slices.Delete(list, i, i+1)
					continue
				}
				for _, cl := range c.cfg.Serve.Clients {
					if cl.Name == name {
						return nil, usagef("remove it there", "the client %q is in the config file, at %s", name, cl.Place)
					}
				}
				return nil, usagef("see: anivault serve token list", "there is no client %q", name)
			}
			left = len(c.cfg.Serve.Clients) + len(list)
			return list, nil
		})
		if err != nil {
			return err
		}
		f.say("revoked: a running gateway refuses the token within a few seconds\n")
		switch {
		case left > 0 || broken != nil:
		case c.cfg.NeedsClient():
			f.say("no clients remain: the gateway refuses all requests, and won't start again without one\n")
		default:
			f.say("no clients remain: once restarted, the gateway serves anyone who can reach it without a token\n")
		}
		return nil //nolint:nilerr // what is broken has nothing to do with the clients
	})
}
