package cli

import (
	"bufio"
	"cmp"
	"context"
	_ "embed" // for the tables of commands and flags
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/internal/wordlist"
)

// invocation is one execution of a command, with everything its code gets.
type invocation struct {
	cmd    *cobra.Command
	cfg    *config.Config // nil for a command set up with setRun
	args   []string
	format string // the value of --format; "" for a command without that flag
}

var textOrJSON = []string{"text", "json"}

// setRun makes cmd run do, and adds --format if there are formats. The first format is the default, but if that is
// table, the default on a pipe is ndjson. A command without Args takes the arguments that its Use line names.
func (f *factory) setRun(cmd *cobra.Command, formats []string, do func(invocation) error) *cobra.Command {
	if cmd.Args == nil {
		cmd.Args = argsOf(cmd.Use)
	}
	var format string
	if len(formats) > 0 {
		standard, usage := formats[0], fmt.Sprintf(formatUsage, strings.Join(formats, ", "))
		if standard == "table" {
			standard, usage = "", usage+formatDefaultText
		}
		cmd.Flags().StringVar(&format, "format", standard, usage)
		completeWords(cmd, "format", formats...)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkNotEmpty(cmd); err != nil {
			return err
		}
		form := format
		switch {
		case len(formats) == 0:
		case form == "" && f.streams.OutTTY && formats[0] == "table":
			form = "table"
		case form == "" && formats[0] == "table":
			form = "ndjson"
		default:
			if err := checkFormat(form, formats...); err != nil {
				return err
			}
		}
		if form == "json" || form == "ndjson" {
			f.nameSchema(cmd)
		}
		for i := 0; i < len(args) && cmd.Name() != "parse"; i++ { // parse reads names, not paths
			args[i] = config.ExpandHome(args[i], f.getenv("HOME"))
		}
		return do(invocation{cmd: cmd, args: args, format: form})
	}
	return cmd
}

// setRunWithConfig is setRun for a command that needs the configuration, which is loaded before do runs.
func (f *factory) setRunWithConfig(cmd *cobra.Command, formats []string, do func(invocation) error) *cobra.Command {
	return f.setRun(cmd, formats, func(c invocation) (err error) {
		if c.cfg, err = f.load(c.cmd); err != nil {
			return err
		}
		return do(c)
	})
}

// setRunWithFolders is setRun for a command that only needs the folders. broken is what is wrong with the rest.
func (f *factory) setRunWithFolders(
	cmd *cobra.Command, formats []string, do func(c invocation, broken error) error,
) *cobra.Command {
	return f.setRun(cmd, formats, func(c invocation) (broken error) {
		c.cfg, broken = f.load(c.cmd)
		switch {
		case c.cfg.Dirs.Data == "":
			return broken
		case broken != nil:
			f.warn("%s", broken)
		}
		return do(c, broken)
	})
}

// commandTexts has the use line and the short help of each command, by the name of its help file. A command with
// Missing needs an argument, and Hint is the advice if there is none.
var commandTexts = wordlist.Table[struct {
	Name, Use, Short, Missing string
	Hint                      lang.Text
}](commandsJSON)

//go:embed commands.json
var commandsJSON []byte

// command makes a command with its texts of commands.json.
func command(name string) *cobra.Command {
	for _, row := range commandTexts() {
		if row.Name != name {
			continue
		}
		cmd := &cobra.Command{Use: row.Use, Short: row.Short}
		if row.Missing != "" {
			cmd.Args = atLeastOne(row.Missing, row.Hint)
		}
		return cmd
	}
	panic("no command " + name) // a bug
}

func commandGroup(name string, below ...*cobra.Command) *cobra.Command {
	cmd := command(name)
	cmd.Args = noArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(below...)
	return cmd
}

func checkFormat(format string, words ...string) error {
	if slices.Contains(words, format) {
		return nil
	}
	return usagef(allowedHint(words), "--format: %q is not a format", format)
}

// checkNotEmpty refuses a flag with an empty value. Otherwise it would count as not given, and undo, for example, would
// undo everything. It ignores flags that set a setting, because some settings may be empty.
func checkNotEmpty(cmd *cobra.Command) (err error) {
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		isSetting := flag.Annotations[settingAnnotation] != nil
		if flag.Changed && !isSetting && flag.Value.Type() == "string" && flag.Value.String() == "" {
			err = usagef("a variable in your script may be empty", "--%s is empty", flag.Name)
		}
	})
	return err
}

func completeWords(cmd *cobra.Command, flag string, words ...string) {
	complete := cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(fmt.Sprintf("completion of --%s: %v", flag, err)) // a bug: the flag does not exist
	}
}

func (f *factory) printJSON(v any) error { return f.encode(v, "") }

func (f *factory) encode(v any, indent string) error {
	enc := json.NewEncoder(f.streams.Out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	return enc.Encode(v)
}

func (f *factory) say(format string, args ...any) {
	if f.quiet {
		return
	}
	for line := range strings.Lines(lang.Sprintf(format, args...)) {
		if !strings.Contains(line, ": anivault ") { // a command stays whole, so that it can be copied
			line = ui.WrapHanging(line, f.streams.ErrWidth(), 2)
		}
		fmt.Fprint(f.streams.Err, line)
	}
}

// Argument checks that several commands share. Each error is a usage error with a hint.

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.HasSubCommands() {
		hint := cmp.Or(findHint(cmd.Name()+"_"+args[0]),
			didYouMean(args[0], subcommandNames(cmd), cmd.CommandPath()+" ", helpHint(cmd)))
		return usagef(hint, "unknown command %q for %q", args[0], cmd.CommandPath())
	}
	return usagef(helpHint(cmd), "%s takes no arguments, got %q", cmd.CommandPath(), args[0])
}

func helpHint(cmd *cobra.Command) lang.Text {
	return lang.Textf("see: %s", cmd.CommandPath()+" --help")
}

func didYouMean(word string, names []string, before string, otherwise lang.Text) lang.Text {
	if near, ok := config.Nearest(word, names); ok {
		return lang.Textf("did you mean %s?", before+near)
	}
	return otherwise
}

func didYouMeanOrAllowed(word string, words []string) lang.Text {
	return didYouMean(word, words, "", allowedHint(words))
}

func allowedHint(words []string) lang.Text {
	return lang.Textf("allowed: %s", strings.Join(words, ", "))
}

func rootArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		hint := findHint(args[0])
		if _, err := os.Lstat(args[0]); err == nil {
			hint = lang.Textf("did you mean: %s?", "anivault match "+ui.ShellWord(args[0]))
		}
		if hint != "" {
			return usagef(hint, "unknown command %q for %q", args[0], cmd.CommandPath())
		}
	}
	return noArgs(cmd, args)
}

// argsOf returns the check of the arguments that a Use line names: "get KEY|URL", "history [ID]", "match PATH...".
func argsOf(use string) cobra.PositionalArgs {
	names := strings.Fields(use)[1:]
	switch {
	case len(names) == 0:
		return noArgs
	case strings.Contains(use, "..."):
		return cobra.ArbitraryArgs
	case strings.HasPrefix(names[0], "["):
		return atMostOne(strings.Trim(names[0], "[]"))
	}
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		example, _, _ := strings.Cut(strings.TrimSpace(exampleText(cmd, lang.English)), "\n")
		return usagef(lang.Textf("for example: %s", example), "%s takes %s, got %s", cmd.CommandPath(),
			strings.Join(names, " "), lang.Count(len(args), "argument"))
	}
}

func atLeastOne(name string, hint lang.Text) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return usagef(hint, "no %s given", lang.Text(name))
	}
}

func atMostOne(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= 1 {
			return nil
		}
		return usagef(helpHint(cmd), "%s takes at most one %s, got %d arguments", cmd.CommandPath(), name, len(args))
	}
}

// prompter returns a prompter. All of a command share one reader, which may hold more than one typed line.
func (f *factory) prompter() prompter {
	if f.answers == nil {
		f.answers = bufio.NewReader(f.streams.In)
	}
	return prompter{out: f.streams.Err, lines: f.answers, width: f.streams.Width}
}

func addYesFlag(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVar(yes, "yes", false, "don't ask for confirmation (it asks only on a terminal)")
}

// confirm asks a yes-or-no question and returns the answer; after a no, it prints ifNo. It returns true without asking
// if yes is set, or if stdin or stderr is not a terminal.
func (f *factory) confirm(ctx context.Context, yes bool, question, ifNo lang.Text) (bool, error) {
	if yes || !f.streams.InTTY || !f.streams.ErrTTY {
		return true, nil
	}
	p := f.prompter()
	answer, err := p.read(ctx, ui.WrapHanging(lang.Say(question), f.streams.ErrWidth()-len(" [y/N] "), 0)+" [y/N] ")
	switch {
	case ctx.Err() != nil:
		return false, &exitError{code: max(exitStatusOfSignal(ctx), exitInterrupted)}
	case err != nil && !errors.Is(err, io.EOF): // the end of the input means no
		return false, err
	case strings.EqualFold(answer, "y"), strings.EqualFold(answer, "yes"), answer == "네", answer == lang.Say("yes"):
		return true, nil
	}
	f.say("%s", ifNo)
	return false, nil
}

// settingFlags are the flags that set a setting. The usage of --layout lists the servers.
var settingFlags = wordlist.Table[struct{ Setting, Name, Usage string }](flagsJSON)

//go:embed flags.json
var flagsJSON []byte

// hiddenDefaults are settings whose flags show no default in the help: -v changes it, or the usage names the values.
var hiddenDefaults = []string{"log.level", "log.format", "match.jobs"}

const settingAnnotation = "setting"

func addSettingFlags(cmd *cobra.Command, flags *pflag.FlagSet, keys ...string) {
	for _, row := range settingFlags() {
		if !slices.Contains(keys, row.Setting) {
			continue
		}
		s, usage := config.SettingByKey(row.Setting), row.Usage
		if s.Default == "false" {
			flags.Bool(row.Name, false, usage)
		} else {
			flags.String(row.Name, s.Default, usage)
		}
		_ = flags.SetAnnotation(row.Name, settingAnnotation, []string{s.Key}) // the flag exists
		if slices.Contains(hiddenDefaults, s.Key) {
			flags.Lookup(row.Name).DefValue = ""
		}
		if len(s.Choices) > 0 {
			completeWords(cmd, row.Name, s.Choices...)
		}
	}
}
