package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/pins"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/run"
	"github.com/anivault/anivault/internal/ui"
)

type matchOptions struct {
	f *factory

	format       string
	offline      bool
	refresh      bool
	strict       bool
	explain      bool
	namesFrom    string
	filesFrom    string
	nulSeparated bool
	exclude      []string
	report       string
	csvBOM       bool
	view         string
	only         string
	onlyFilter   report.StatusFilter // parsed from only

	interactive bool
	noInput     bool
	roots       []string // the PATH arguments, for the report

	interactiveCommand string // see report.Ending
	asksNext           bool   // a question follows, so that no command is suggested

	secondWalk    run.Producer                  // walks the same files again; nil for a list, which can be read only once
	recordWriter  report.Writer                 // gets the records instead of stdout; may be nil
	onFolder      func(string, []library.Entry) // called for each folder that the walk reads; may be nil
	missingWriter *missingWriter                // the output of the command missing; nil for other commands
	afterSummary  func(*app.App)                // may be nil
	noSummary     bool
	warned        *app.WarnOnce // see app.Options
	suggestIndex  bool          // says once on a terminal what a title index would gain
}

func newMatch(f *factory) *cobra.Command {
	o := matchOptions{f: f}
	cmd := f.setRun(command("match"), matchFormats, func(c invocation) error {
		o.format, o.suggestIndex = c.format, true
		if o.namesFrom == "" && o.filesFrom == "" {
			if err := checkPaths(f, c.cmd, c.args); err != nil {
				return err
			}
		}
		if err := o.check(c.args); err != nil {
			return err
		}
		cfg, produce, err := o.open(c.cmd, c.args)
		if err != nil {
			return err
		}
		// Most of what a run allocates is soon garbage. Fewer collections cost a few MB of memory, and a run over an
		// unchanged library takes up to a third less time.
		defer debug.SetGCPercent(debug.SetGCPercent(300))
		o.interactiveCommand = o.commandThatAsks(c.cmd)
		return o.run(c.cmd.Context(), cfg, produce)
	})
	flags := cmd.Flags()
	addMatchFlags(cmd, &o)
	addListFlags(flags, &o)
	addInteractiveFlags(flags, &o)
	addSettingFlags(cmd, flags, "match.min_confidence")
	flags.BoolVar(&o.strict, "strict", false, "exit with 3 if a file is unmatched or ambiguous")
	flags.StringVar(&o.namesFrom, "names-from", "",
		"match the names or paths in `FILE` (- for stdin), one per line; they need not exist")
	flags.BoolVar(&o.explain, "explain", false, "show how each file was matched")
	flags.StringVar(&o.report, "report", "", "write a self-contained HTML page to `FILE`")
	flags.StringVar(&o.view, "view", "",
		"table `VIEW`: seasons (one line per season) or files (default: seasons on a terminal)")
	flags.StringVar(&o.only, "only", "", fmt.Sprintf(onlyUsage, strings.Join(report.FilterWords(), ", ")))
	flags.BoolVar(&o.csvBOM, "csv-bom", false, "begin --format csv with a byte order mark, for spreadsheets")
	flags.BoolVar(&o.refresh, "refresh", false,
		"revalidate cached answers with TMDB (its own search answers may be 8 hours old)")
	completeWords(cmd, "view", views...)
	completeWords(cmd, "only", report.FilterWords()...)
	return cmd
}

func addMatchFlags(cmd *cobra.Command, o *matchOptions) {
	flags := cmd.Flags()
	addRequestFlags(cmd, &o.offline)
	addSettingFlags(cmd, flags, "limiter.auto_recover", "match.type", "match.min_episode_confidence", "match.order",
		"match.jobs")
	flags.StringArrayVar(&o.exclude, "exclude", nil, "skip what `GLOB` matches, as in .anivaultignore (may be repeated)")
}

func addListFlags(flags *pflag.FlagSet, o *matchOptions) {
	flags.StringVar(&o.filesFrom, "files-from", "", "match the paths listed in `FILE` (- for stdin), one per line")
	flags.BoolVarP(&o.nulSeparated, "null", "0", false, "paths in --files-from end with a NUL byte instead of a newline")
}

func addRequestFlags(cmd *cobra.Command, offline *bool) {
	flags := cmd.Flags()
	flags.BoolVar(offline, "offline", false, "never touch the network; answers come from cache, index and pins")
	addSettingFlags(cmd, flags, "limiter.max_wait", "limiter.request_timeout", "tmdb.language", "match.include_adult")
	completeWords(cmd, "language",
		"en-US", "ko-KR", "ja-JP", "zh-CN", "zh-TW", "de-DE", "fr-FR", "es-ES", "pt-BR", "it-IT")
}

func (o *matchOptions) open(cmd *cobra.Command, args []string) (*config.Config, run.Producer, error) {
	o.roots = args
	cfg, err := o.f.load(cmd)
	if err != nil {
		return nil, nil, err
	}
	if !o.offline && cfg.LacksKey() {
		return nil, nil, noKeyError()
	}
	produce, err := o.input(args, o.walkOptions(cfg))
	return cfg, produce, err
}

func (o *matchOptions) checkExcludes() error {
	if err := library.Walk(context.Background(), nil, library.Options{Excludes: o.exclude}, nil); err != nil {
		return usagef("patterns are those of .gitignore", "--exclude: %v", err)
	}
	return nil
}

func (o *matchOptions) check(args []string) error {
	if err := o.checkView(); err != nil {
		return err
	}
	switch {
	case o.offline && o.refresh:
		return usagef("leave one of them out", "--offline and --refresh can't be used together")
	case o.csvBOM && o.format != string(report.FormatCSV):
		return usagef("for example: anivault match --format csv --csv-bom ~/Anime > anime.csv",
			"--csv-bom needs --format csv")
	case o.namesFrom != "" && o.filesFrom != "":
		return usagef("leave one of them out", "--names-from and --files-from can't be used together")
	case o.nulSeparated && o.filesFrom == "":
		return usagef("for example: --files-from list.txt -0", "-0 needs --files-from")
	case o.namesFrom != "" && len(args) > 0, o.filesFrom != "" && len(args) > 0:
		return usagef("leave out PATH or the list", "PATH and a list can't be used together")
	}
	if err := o.checkExcludes(); err != nil {
		return err
	}
	if err := checkWritable("--report", o.report, "report.html"); err != nil {
		return err
	}
	return o.checkInteractive()
}

var views = []string{"files", "seasons"}

func (o *matchOptions) checkView() (err error) {
	table := o.format == string(report.FormatTable)
	switch {
	case o.view == "":
		o.view = "files"
		if table && o.f.streams.OutTTY && !o.explain {
			o.view = "seasons"
		}
	case !slices.Contains(views, o.view):
		return usagef(allowedHint(views), "--view: %q is not a view", o.view)
	case o.view == "seasons" && !table:
		return usagef("add --format table", "--view seasons is a view of tables")
	case o.view == "seasons" && o.explain:
		return usagef("leave one of them out", "--explain shows files, so it can't be used with --view seasons")
	}
	if o.only != "" {
		if o.onlyFilter, err = report.ParseFilter(o.only); err != nil {
			return usagef(allowedHint(report.FilterWords()), "--only: %v", err)
		}
	}
	return nil
}

// commandThatAsks returns this command with --interactive, "anivault organize --interactive PATH --to=DIR".
func (o *matchOptions) commandThatAsks(cmd *cobra.Command) string {
	line := "anivault " + cmd.Name() + " --interactive " + o.inputArgs()
	for _, name := range strings.Fields("to to-tv to-movies mode or layout order in-place rename-existing extras " +
		"on-conflict nfo min-confidence min-episode-confidence language type include-adult offline config") {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Changed {
			line += " --" + name
			if v := flag.Value.String(); v != flag.NoOptDefVal { // --in-place needs no "=true"
				line += "=" + ui.ShellWord(v)
			}
		}
	}
	for _, glob := range o.exclude {
		line += " --exclude=" + ui.ShellWord(glob)
	}
	return line
}

// inputArgs returns the part of the command line that names the files, to suggest a next command: "~/Anime". A list on
// stdin becomes FILE, and paths that are too long become PATH.
func (o *matchOptions) inputArgs() string {
	var words []string
	switch {
	case o.namesFrom != "":
		words = []string{"--names-from", listArg(o.namesFrom)}
	case o.filesFrom != "":
		words = []string{"--files-from", listArg(o.filesFrom)}
		if o.nulSeparated {
			words = append(words, "-0")
		}
	}
	words = append(words, mapped(o.roots, ui.PathWord)...)
	const most = 200
	if line := strings.Join(words, " "); len(line) <= most {
		return line
	}
	return "PATH"
}

func listArg(file string) string {
	if file == "-" {
		return "FILE"
	}
	return ui.ShellWord(file)
}

func checkPaths(f *factory, cmd *cobra.Command, args []string) error {
	if len(args) == 1 && args[0] == "-" {
		if _, err := os.Lstat("-"); err != nil {
			return usagef("a list of paths from stdin: anivault match --files-from -", "- is not a path")
		}
	}
	if len(args) > 0 {
		return nil
	}
	const example = "anivault match ~/Anime"
	if flag := cmd.Flags().Lookup("auto-recover"); flag.Changed {
		if _, err := os.Lstat(flag.Value.String()); err == nil {
			value := ui.ShellWord(flag.Value.String())
			return usagef(lang.Textf("write the period after a =: %s", "anivault match --auto-recover=15m "+value),
				"no PATH given: --auto-recover took %s for its PERIOD", value)
		}
	}
	if !f.streams.InTTY {
		return usagef("for example: "+example+"\n      a list of paths from stdin: anivault match --files-from -",
			"no PATH given")
	}
	return usagef("for example: "+example, "no PATH given")
}

func (o *matchOptions) walkOptions(cfg *config.Config) library.Options {
	options := library.Options{Excludes: o.exclude, OnRead: o.onFolder}
	if set, err := pins.Open(cfg.Dirs.Data).Load(); err == nil && set.Len() > 0 { // the run reports the error
		options.IsPinned = set.HasPath
	}
	return options
}

// input returns the source of the files to match. It fails before any work if no PATH exists or a list can't be opened.
func (o *matchOptions) input(args []string, options library.Options) (run.Producer, error) {
	if list := o.namesFrom + o.filesFrom; list != "" {
		in, err := openInput(o.f, list)
		if err != nil {
			return nil, err
		}
		if o.namesFrom != "" {
			return run.Names(in), nil
		}
		return run.Files(in, o.nulSeparated, options), nil
	}
	missing := slices.DeleteFunc(slices.Clone(args), func(path string) bool {
		_, err := os.Lstat(path)
		return !errors.Is(err, fs.ErrNotExist)
	})
	if len(missing) == len(args) {
		return nil, missingPathError(args[0])
	}
	o.secondWalk = run.Walk(args, options)
	return o.secondWalk, nil
}

func missingPathError(path string) error {
	if path == "" {
		return usagef("a variable in your script may be empty", "PATH is empty")
	}
	return usagef("check the spelling; paths with spaces need quotes", "no such file or directory: %s", ui.Printable(path))
}

func openInput(f *factory, path string) (io.ReadCloser, error) {
	if path == "-" {
		return f.untilSignal(io.NopCloser(f.streams.In)), nil
	}
	in, err := os.Open(filepath.Clean(path))
	if err != nil {
		return nil, usagef("check the path", "%v", err)
	}
	if info, err := in.Stat(); err == nil && info.IsDir() {
		return nil, errors.Join(usagef("check the path", "%s is a folder", ui.Printable(path)), in.Close())
	}
	return f.untilSignal(in), nil
}
