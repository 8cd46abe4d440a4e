// Package cli is anivault's command line, with a file per command (cache.go). A command parses its flags, calls the
// package that does the work, and prints the result.
//
// Output rules: stdout has only results, which programs may parse. Progress, logs and summaries go to stderr. An error
// is one line that begins with "anivault: ", with a hint below it.
package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/internal/version"
)

// Main runs anivault with the arguments after the program's name and returns the exit status.
func Main(ctx context.Context, args []string, streams ui.Streams) (status int) {
	defer func() {
		if v := recover(); v != nil { // a panic would exit with 2, the status of a usage error
			printError(streams, lang.Error("internal error: %v; please report it with the lines below", v))
			_, _ = streams.Err.Write(debug.Stack())
			status = exitInternal
		}
	}()
	f := &factory{streams: streams, environ: os.Environ()}
	lang.Use(f.language(args))
	lang.UseErrorTexts(app.ErrorText)
	root := newRoot(f)
	root.SetArgs(args)
	if len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		stripUsageBackticks(root)
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	ctx, stop := withSignals(ctx)
	defer stop()
	f.untilSignal = func(in io.ReadCloser) io.ReadCloser { return readUntil(ctx, in) }
	err := root.ExecuteContext(ctx)
	if err == nil && f.helpErr != nil {
		f.started, err = true, f.helpErr // help functions return no error
	}
	if err != nil && !errors.As(err, new(*signalError)) {
		printError(streams, err)
	}
	if s := exitStatusOfSignal(ctx); s != 0 && !f.hasDrained {
		return s
	}
	return exitStatusOf(err, f.started)
}

// stripUsageBackticks removes the backticks around the names of values, which shell completions would show.
func stripUsageBackticks(cmd *cobra.Command) {
	for _, set := range []*pflag.FlagSet{cmd.PersistentFlags(), cmd.Flags()} {
		set.VisitAll(func(f *pflag.Flag) { f.Usage = strings.ReplaceAll(f.Usage, "`", "") })
	}
	for _, sub := range cmd.Commands() {
		stripUsageBackticks(sub)
	}
}

// factory has the streams, the environment and the global flags, from which all commands are built. It loads the
// configuration and prints messages.
type factory struct {
	streams     ui.Streams
	environ     []string
	started     bool                              // the command line is valid and the command has begun to run
	untilSignal func(io.ReadCloser) io.ReadCloser // see readUntil
	hasDrained  bool                              // a service has shut down after a signal without an error

	helpErr error         // the error of writing a help text
	answers *bufio.Reader // see prompter
	isDemo  bool          // a run of the demo: it suggests no command, because nothing of it remains

	configFile string
	verbose    int
	quiet      bool
	noProgress bool
	color      string
	lang       string
}

func newRoot(f *factory) *cobra.Command {
	var showVersion bool
	root := &cobra.Command{
		Use:           "anivault",
		Short:         "Find out which TMDB entry, season and episode each video file is",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          rootArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if showVersion {
				return printVersion(f)
			}
			return cmd.Help()
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := f.colorPolicy(); err != nil {
				return err
			}
			if !slices.Contains(lang.Names(), cmp.Or(f.lang, "en")) {
				return usagef("allowed: en, ko", "--lang: %q is not a language that anivault speaks", f.lang)
			}
			f.started = true
			return nil
		},
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
	}
	root.SetFlagErrorFunc(explainFlagError)
	root.SetHelpFunc(f.help)
	root.Flags().BoolVar(&showVersion, "version", false, "print the version, as anivault version does")
	flags := root.PersistentFlags()
	addSettingFlags(root, flags, "log.level", "log.format", "log.file", "metrics.file", "metrics.textfile")
	flags.StringVar(&f.configFile, "config", "", "config `FILE` to read instead of the default one")
	flags.CountVarP(&f.verbose, "verbose", "v", "log more: -v info, -vv debug")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress and no summary on stderr")
	flags.BoolVar(&f.noProgress, "no-progress", false, "no progress on stderr")
	flags.StringVar(&f.color, "color", "auto", "use colour `WHEN`: auto, always or never (NO_COLOR is honoured)")
	flags.StringVar(&f.lang, "lang", "", "message language `LANG`: en or ko (default: from LC_ALL, LC_MESSAGES or LANG)")
	completeWords(root, "lang", lang.Names()...)
	completeWords(root, "color", "auto", "always", "never")

	root.AddCommand(
		newMatch(f), newSearch(f), newMissing(f), newParse(f), newPin(f), newUnpin(f), newPins(f),
		commandGroup("index", newIndexImport(f), newIndexUpdate(f), newIndexLookup(f), newIndexStats(f), newIndexMappings(f)),
		newOrganize(f), newApply(f), newUndo(f), newHistory(f), newVerify(f), newWatch(f), newDemo(f), newStatus(f, "status"),
		commandGroup("limiter", newStatus(f, "limiter_show"), newLimiterTune(f), newLimiterCacheOnly(f), newLimiterResume(f),
			newLimiterReset(f), newLimiterRules(f), newLimiterGraph(f), newLimiterSimulate(f)),
		commandGroup("cache", newCacheStats(f), newCacheList(f), newCacheGet(f), newCachePrune(f), newCacheCompact(f),
			newCacheVerify(f), newCacheExport(f), newCacheImport(f), newCacheClear(f), newCachePath(f)),
		newServe(f),
		commandGroup("accounts", newAccountsList(f), newAccountsTest(f), newAccountsEnable(f, true),
			newAccountsEnable(f, false), newAccountsTune(f)),
		commandGroup("config", newConfigShow(f), newConfigPath(f), newConfigValidate(f), newConfigInit(f)),
		newDoctor(f), newSchema(f), newVersion(f), newMan(f),
	)
	root.AddCommand(newTopics(f)...)
	completeNames(f, root)
	root.SetHelpCommand(newHelp(f))
	return root
}

// language finds --lang before the flags are parsed, so that errors about flags are in that language, too.
func (f *factory) language(args []string) lang.Language {
	for i, arg := range args {
		if arg == "--" {
			break
		}
		value, ok := strings.CutPrefix(arg, "--lang=")
		if arg == "--lang" && i+1 < len(args) {
			value, ok = args[i+1], true
		}
		if ok && slices.Contains(lang.Names(), value) {
			return lang.Language(value)
		}
	}
	return lang.FromEnvironment(f.getenv)
}

// flagKinds describes the values of flags by type, to replace the error messages of strconv and time.
var flagKinds = map[string]lang.Text{
	"int": "a whole number", "duration": "a time such as 90s or 5m", "bool": "true or false",
}

func explainFlagError(cmd *cobra.Command, err error) error {
	hint := helpHint(cmd)
	for _, format := range []string{"unknown flag: %s", "flag needs an argument: %s"} {
		if flag, ok := strings.CutPrefix(err.Error(), strings.TrimSuffix(format, "%s")); ok {
			err = lang.Error(format, flag)
		}
	}
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok && flagKinds[bad.GetFlag().Value.Type()] != "" {
		f := bad.GetFlag()
		err = lang.Error("--%s: %q is not %s", f.Name, bad.GetValue(), flagKinds[f.Value.Type()])
	}
	if name, ok := strings.CutPrefix(err.Error(), "unknown flag: --"); ok {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		hint = cmp.Or(findHint(cmd.Name()+" --"+name), findHint("--"+name), didYouMean(name, names, "--", hint))
	}
	return usagef(hint, "%s", err)
}

func (f *factory) load(cmd *cobra.Command) (*config.Config, error) {
	cfg, err := f.loadFrom(cmd, f.configFile)
	if err == nil {
		err = cfg.CheckKeys()
	}
	return cfg, err
}

// loadFrom is load with another config file ("" for the default one), and without the check of the keys.
func (f *factory) loadFrom(cmd *cobra.Command, file string) (*config.Config, error) {
	flags := map[string]config.Flag{}
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if key := flag.Annotations[settingAnnotation]; key != nil {
			value := flag.Value.String()
			if list, ok := flag.Value.(pflag.SliceValue); ok {
				value = strings.Join(list.GetSlice(), ",")
			}
			flags[key[0]] = config.Flag{Name: flag.Name, Value: value}
		}
	})
	if _, given := flags["log.level"]; !given && f.verbose > 0 {
		level := "info"
		if f.verbose > 1 {
			level = "debug"
		}
		flags["log.level"] = config.Flag{Name: "verbose", Value: level}
	}
	cfg, warnings, err := config.Load(config.Sources{File: file, Environ: f.environ, Flags: flags})
	for _, w := range warnings {
		f.warn("%s", w)
	}
	return cfg, err
}

func (f *factory) warn(format string, args ...any) {
	printMessage(f.streams, lang.Textf("warning: %s", lang.Textf(format, args...)))
}

func (f *factory) colorPolicy() (bool, error) {
	on, err := ui.Color(f.color, f.streams.OutTTY, f.getenv)
	if err != nil {
		return false, usagef("allowed: auto, always, never", "--color: %v", err)
	}
	return on, nil
}

func (f *factory) getenv(name string) string {
	for i := len(f.environ) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(f.environ[i], "="); ok && k == name {
			return v
		}
	}
	return ""
}

// attribution is the notice that TMDB's terms require.
const attribution = "This product uses the TMDB API but is not endorsed or certified by TMDB."

func newVersion(f *factory) *cobra.Command {
	return f.setRun(command("version"), textOrJSON, func(c invocation) error {
		if c.format == "json" {
			return f.printJSON(version.Get())
		}
		return printVersion(f)
	})
}

func printVersion(f *factory) error {
	v := version.Get()
	_, err := fmt.Fprintf(f.streams.Out, "anivault %s\ncommit %s, %s, %s\n%s\n",
		v.Version, v.Commit, v.Date, v.Go, attribution)
	return err
}
