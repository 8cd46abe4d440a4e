package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/apply"
	"github.com/anivault/anivault/internal/demo"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/run"
	"github.com/anivault/anivault/internal/ui"
)

func newDemo(f *factory) *cobra.Command {
	var keep string
	var serve bool
	o := matchOptions{f: f}
	cmd := f.setRun(command("demo"), matchFormats, func(c invocation) error {
		o.format = c.format
		return runDemo(f, c.cmd, keep, serve, &o)
	})
	cmd.Flags().StringVar(&keep, "keep", "", "make everything in `DIR`, which must be new or empty, and leave it there")
	cmd.Flags().BoolVar(&serve, "serve", false, "keep the stand-in running until Ctrl-C, to try other commands with it")
	cmd.Flags().StringVar(&o.report, "report", "", "write a self-contained HTML page to `FILE`")
	return cmd
}

func runDemo(f *factory, cmd *cobra.Command, keep string, serve bool, o *matchOptions) (err error) {
	o.roots = []string{"The demo's library"}
	if err := o.check(o.roots); err != nil {
		return err
	}
	signal.Ignore(syscall.SIGPIPE) // the folder is removed also if the reader of stdout goes away
	root, cleanup, err := demoRoot(keep)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cleanup()) }()
	lib := filepath.Join(root, "library")
	if err := demo.MakeLibrary(lib); err != nil {
		return err
	}
	page := o.report
	if o.report, err = absoluteOrEmpty(o.report); err != nil {
		return err
	}
	server, err := demo.Start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()

	demoFactory := *f
	demoFactory.isDemo = true
	if demoFactory.environ, err = demoEnviron(f.environ, root, server.URL()); err != nil {
		return err
	}
	demoFactory.configFile = ""
	o.f = &demoFactory
	cfg, err := demoFactory.load(cmd)
	if err != nil {
		return err
	}
	if keep == "" {
		back, err := enterDemoFolder(root, &cfg.Log.File, &cfg.Metrics.File, &cfg.Metrics.Textfile)
		if err != nil {
			return err
		}
		defer back()
		lib = filepath.Base(lib)
	}
	f.say("A sample library, and a stand-in for TMDB on this machine that limits and\n"+
		"fails a little. It runs:\n\n  anivault match %s\n\n", ui.ShellWord(lib))
	o.afterSummary = func(run *app.App) {
		if !f.quiet {
			printTimeline(f, run)
		}
	}
	if err := o.run(cmd.Context(), cfg, run.Walk([]string{lib}, library.Options{})); err != nil {
		return err
	}
	if err := demoOrganize(&demoFactory, cmd, lib, o.format); err != nil {
		return err
	}
	if serve {
		f.say("\nThe stand-in runs until Ctrl-C. In another terminal:\n\n"+
			"  export ANIVAULT_TMDB_BASE_URL=%s\n  export ANIVAULT_TMDB_TOKEN=demo-token\n  anivault match %s\n",
			server.URL(), ui.ShellWord(filepath.Join(root, "library")))
		<-cmd.Context().Done()
		f.hasDrained = true
		return nil
	}
	f.say("\nThe stand-in refused some requests and failed on others, on purpose.\nA second run would get " +
		"every answer from the cache.\n")
	if keep != "" {
		f.say("Everything is in %s.\n", ui.Printable(keep))
	} else {
		f.say("The library has been removed; with --keep DIR the demo keeps it, to try things on.\n")
	}
	if page != "" {
		f.say("The page is %s.\n", ui.Printable(page))
	}
	f.say("Next, with a free token from https://www.themoviedb.org/settings/api :\n\n" +
		"  anivault config init\n  anivault match PATH\n  anivault organize --interactive PATH --to LIBRARY\n")
	return nil
}

// demoOrganize organizes the sample library. On a pipe it prints no results, because stdout has the records of match.
func demoOrganize(f *factory, cmd *cobra.Command, lib, format string) error {
	if !apply.Supported {
		return nil
	}
	to := filepath.Join(filepath.Dir(lib), "organized")
	if err := os.Mkdir(to, 0o700); err != nil {
		return lang.Error("make the demo's folder: %w", err)
	}
	f.say("\nThen it organizes the library, with hard links in a folder next to it:\n\n"+
		"  anivault organize %s --to %s --yes\n\n", ui.ShellWord(lib), ui.ShellWord(to))
	demoFactory := *f
	demoFactory.environ = append(slices.Clone(f.environ), "ANIVAULT_ORGANIZE_TO="+to)
	if format != "table" {
		demoFactory.streams.Out, demoFactory.streams.OutTTY = io.Discard, false
	}
	plan := &organizeRun{f: &demoFactory, yes: true, format: "table"}
	plan.match = matchOptions{f: &demoFactory, noSummary: true}
	return plan.run(cmd, []string{lib})
}

// enterDemoFolder changes to the demo's folder, so that printed paths are short, and returns a function that changes
// back. It makes files absolute, because they are relative to the previous folder.
func enterDemoFolder(root string, files ...*string) (func(), error) {
	for _, file := range files {
		var err error
		if *file, err = absoluteOrEmpty(*file); err != nil {
			return nil, err
		}
	}
	before, err := os.Getwd()
	if err != nil {
		return nil, lang.Error("enter the demo's folder: %w", err)
	}
	if err := os.Chdir(root); err != nil {
		return nil, lang.Error("enter the demo's folder: %w", err)
	}
	return func() { _ = os.Chdir(before) }, nil
}

func absoluteOrEmpty(path string) (string, error) {
	if path == "" || path == "-" {
		return path, nil
	}
	return filepath.Abs(path)
}

func demoRoot(keep string) (string, func() error, error) {
	if keep == "" {
		dir, err := os.MkdirTemp("", "anivault-demo-")
		if err != nil {
			return "", nil, lang.Error("make a folder for the demo: %w", err)
		}
		return dir, func() error { return os.RemoveAll(dir) }, nil
	}
	entries, err := os.ReadDir(keep)
	switch {
	case err == nil && len(entries) > 0:
		return "", nil, usagef("name a folder that is new or empty", "--keep: %s is not empty", ui.Printable(keep))
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return "", nil, usagef("name a folder that is new or empty", "--keep: %v", err)
	}
	if err := os.MkdirAll(keep, 0o700); err != nil {
		return "", nil, lang.Error("make the demo's folder: %w", err)
	}
	return keep, func() error { return nil }, nil
}

func demoEnviron(environ []string, root, url string) ([]string, error) {
	config := filepath.Join(root, "config.yaml")
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		return nil, lang.Error("make the demo's configuration: %w", err)
	}
	foreign := slices.DeleteFunc(slices.Clone(environ), func(kv string) bool { return strings.HasPrefix(kv, "ANIVAULT_") })
	return append(foreign,
		"ANIVAULT_CONFIG="+config, "ANIVAULT_TMDB_BASE_URL="+url, "ANIVAULT_TMDB_TOKEN=demo-token",
		"ANIVAULT_STATE_DIR="+filepath.Join(root, "state"), "ANIVAULT_CACHE_DIR="+filepath.Join(root, "cache"),
		"ANIVAULT_DATA_DIR="+filepath.Join(root, "data")), nil
}

// printTimeline prints when the limiter's state changed, and when TMDB refused requests.
func printTimeline(f *factory, run *app.App) {
	f.say("\nWhat the limiter went through:\n")
	points, refused := run.Samples(), 0
	for i := 1; i < len(points); i++ {
		before, p, text := points[i-1], points[i], lang.Text("")
		refused += p.Throttled
		switch more := i+1 < len(points) && points[i+1].State == p.State && points[i+1].Throttled > 0; {
		case p.State != before.State:
			text = lang.Textf("from %s: %.3g requests a second", before.State, p.Rate)
		case p.Throttled == 0 || more:
			continue
		default:
			text = lang.Textf("slowed down by TMDB %s (429)", lang.Count(refused, "time"))
		}
		refused = 0
		fmt.Fprintf(f.streams.Err, "  %6.2fs  %-10s %s\n", p.At.Sub(run.Started()).Seconds(), p.State, lang.Say(text))
	}
}
