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

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/run"
	"github.com/anivault/anivault/internal/ui"
)

type matchOptions struct {
	f *factory

	format    string
	offline   bool
	refresh   bool
	strict    bool
	explain   bool
	namesFrom string
	filesFrom string
	null      bool
	exclude   []string
	report    string
	csvBOM    bool
	view      string
	only      string
	shown     report.Only // what only says

	interactive bool
	noInput     bool
	roots       []string // what was asked for, for the report

	again   run.Producer                  // walks the same once more; nil for a list, which can be read once
	records report.Writer                 // what takes the records in place of stdout; nil: nothing
	folders func(string, []library.Entry) // gets each folder that the walk reads; may be nil
	missing *missing                      // what is written in place of the records; nil: the records
	after   func(*app.App)                // runs after the summary; may be nil
	told    bool                          // the summary was told already
}

func newMatch(f *factory) *cobra.Command {
	o := matchOptions{f: f}
	cmd := &cobra.Command{
		Use:   "match PATH...",
		Short: "Match every media file below PATH to TMDB",
		Args:  cobra.ArbitraryArgs,
	}
	f.leaf(cmd, matchFormats, func(c call) error {
		o.format = c.format
		if o.namesFrom == "" && o.filesFrom == "" {
			if err := checkPaths(f, c.Command, c.args); err != nil {
				return err
			}
		}
		if err := o.check(c.args); err != nil {
			return err
		}
		cfg, produce, err := o.open(c.Command, c.args)
		if err != nil {
			return err
		}
		// Little stays of what a run allocates: half as many collections cost a library that has not changed 5 MB.
		defer debug.SetGCPercent(debug.SetGCPercent(200))
		return o.run(c.Context(), cfg, produce)
	})
	flags := cmd.Flags()
	matchSettings(cmd, &o)
	addSettings(cmd, flags, "match.min_confidence")
	flags.BoolVar(&o.strict, "strict", false, "exit with 3 if a file is unmatched or ambiguous")
	flags.StringVar(&o.namesFrom, "names-from", "",
		"match the names or paths in `FILE` (- for stdin), one per line; nothing has to exist")
	flags.StringVar(&o.filesFrom, "files-from", "", "match the paths listed in `FILE` (- for stdin), one per line")
	flags.BoolVarP(&o.null, "null", "0", false, "paths in --files-from end with a NUL byte instead of a newline")
	flags.BoolVar(&o.explain, "explain", false, "say how each file was decided")
	flags.BoolVar(&o.interactive, "interactive", false,
		"ask on the terminal about what is ambiguous or unmatched, and keep the answers as pins")
	flags.BoolVar(&o.noInput, "no-input", false, "never ask (the default)")
	flags.StringVar(&o.report, "report", "", "write a self-contained HTML page to `FILE`")
	flags.StringVar(&o.view, "view", "",
		"`VIEW` of tables: seasons, one line per season, or files (default: seasons on a terminal)")
	flags.StringVar(&o.only, "only", "", fmt.Sprintf(onlyUsage, strings.Join(report.OnlyWords(), ", ")))
	flags.BoolVar(&o.csvBOM, "csv-bom", false, "begin --format csv with a byte order mark, for spreadsheets")
	flags.BoolVar(&o.refresh, "refresh", false,
		"revalidate cached answers with TMDB (its own search answers may be 8 hours old)")
	completeWords(cmd, "view", views...)
	completeWords(cmd, "only", report.OnlyWords()...)
	return cmd
}

func matchSettings(cmd *cobra.Command, o *matchOptions) {
	flags := cmd.Flags()
	askSettings(cmd, &o.offline)
	addSettings(cmd, flags, "limiter.auto_recover", "match.type", "match.min_episode_confidence", "match.jobs")
	flags.StringArrayVar(&o.exclude, "exclude", nil,
		"skip what `GLOB` matches, as in .anivaultignore (may be repeated)")
}

func askSettings(cmd *cobra.Command, offline *bool) {
	flags := cmd.Flags()
	flags.BoolVar(offline, "offline", false, "never touch the network; answers come from cache, index and pins")
	addSettings(cmd, flags, "limiter.max_wait", "limiter.request_timeout", "tmdb.language", "match.include_adult")
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
		return nil, nil, usagef(noKeyHint, noKeyMessage)
	}
	produce, err := o.input(args)
	return cfg, produce, err
}

func (o *matchOptions) checkExcludes() error {
	if err := library.Walk(context.Background(), nil, library.Options{Excludes: o.exclude}, nil); err != nil {
		return usagef("patterns are those of .gitignore", "flag --exclude: %v", err)
	}
	return nil
}

func (o *matchOptions) check(args []string) error {
	if err := o.checkShown(); err != nil {
		return err
	}
	switch {
	case o.offline && o.refresh:
		return usagef("leave one of them out", "--offline and --refresh exclude each other")
	case o.csvBOM && o.format != string(report.FormatCSV):
		return usagef("for example: anivault match --format csv --csv-bom ~/Anime > anime.csv",
			"--csv-bom needs --format csv")
	case o.namesFrom != "" && o.filesFrom != "":
		return usagef("leave one of them out", "--names-from and --files-from exclude each other")
	case o.null && o.filesFrom == "":
		return usagef("for example: find . -print0 | anivault match --files-from - -0", "-0 needs --files-from")
	case o.namesFrom != "" && len(args) > 0, o.filesFrom != "" && len(args) > 0:
		return usagef("leave out PATH or the list", "PATH and a list exclude each other")
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

func (o *matchOptions) checkShown() (err error) {
	table := o.format == string(report.FormatTable)
	switch {
	case o.view == "":
		o.view = "files"
		if table && o.f.streams.OutTTY && !o.explain {
			o.view = "seasons"
		}
	case !slices.Contains(views, o.view):
		return usagef(allowed(views), "flag --view: %q is not a view", o.view)
	case o.view == "seasons" && !table:
		return usagef("add --format table", "--view seasons is a view of tables")
	case o.view == "seasons" && o.explain:
		return usagef("leave one of them out", "--explain is about files: it and --view seasons exclude each other")
	}
	if o.only != "" {
		if o.shown, err = report.ParseOnly(o.only); err != nil {
			return usagef(allowed(report.OnlyWords()), "flag --only: %v", err)
		}
	}
	return nil
}

// given returns the words of the command line that say what is matched; "" if they are many or can't be typed again.
func (o *matchOptions) given() string {
	var words []string
	switch {
	case o.namesFrom == "-", o.filesFrom == "-":
		return ""
	case o.namesFrom != "":
		words = []string{"--names-from", ui.ShellWord(o.namesFrom)}
	case o.filesFrom != "":
		words = []string{"--files-from", ui.ShellWord(o.filesFrom)}
		if o.null {
			words = append(words, "-0")
		}
	}
	for _, root := range o.roots {
		words = append(words, ui.ShellWord(root))
	}
	const most = 200
	if line := strings.Join(words, " "); len(line) <= most {
		return line
	}
	return ""
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
			return usagef(lang.Textf("write the period behind a =: %s", "anivault match --auto-recover=15m "+value),
				"no PATH given: --auto-recover took %s for its PERIOD", value)
		}
	}
	if !f.streams.InTTY {
		return usagef("for example: "+example+"\n      a list of paths from stdin: anivault match --files-from -",
			"no PATH given")
	}
	return usagef("for example: "+example, "no PATH given")
}

// input returns the source of the files to match. It fails before any work if no PATH exists or a list can't be opened.
func (o *matchOptions) input(args []string) (run.Producer, error) {
	if list := o.namesFrom + o.filesFrom; list != "" {
		in, err := openList(o.f, list)
		if err != nil {
			return nil, err
		}
		if o.namesFrom != "" {
			return run.Names(in), nil
		}
		return run.Files(in, o.null, library.Options{Excludes: o.exclude, Read: o.folders}), nil
	}
	missing := slices.DeleteFunc(slices.Clone(args), func(path string) bool {
		_, err := os.Lstat(path)
		return !errors.Is(err, fs.ErrNotExist)
	})
	if len(missing) == len(args) && args[0] == "" {
		return nil, usagef("a variable in your script may be empty", "PATH is empty")
	}
	if len(missing) == len(args) {
		return nil, usagef("check the spelling; paths with spaces need quotes",
			"no such file or directory: %s", ui.Printable(args[0]))
	}
	walk := run.Walk(args, library.Options{Excludes: o.exclude, Read: o.folders})
	o.again = walk
	return walk, nil
}

func openList(f *factory, path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(f.streams.In), nil
	}
	in, err := os.Open(filepath.Clean(path))
	if err != nil {
		return nil, usagef("check the path", "cannot read the list: %v", err)
	}
	return in, nil
}
