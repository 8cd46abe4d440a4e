package cli

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/ratelimit"
)

const (
	helpWidth    = 80  // without a terminal
	helpWidthMax = 110 // longer lines are hard to read
)

func (f *factory) help(cmd *cobra.Command, _ []string) {
	f.printHelp(func(out io.Writer, width int) { writeHelp(f, cmd, out, width) })
}

// printHelp stores an error of writing in helpErr for Main, because cobra's help functions return no error.
func (f *factory) printHelp(write func(out io.Writer, width int)) {
	width := helpWidth
	if f.streams.OutTTY && f.streams.Width > 0 {
		width = min(max(f.streams.Width, 40), helpWidthMax)
	}
	var text bytes.Buffer
	write(&text, width)
	if _, err := text.WriteTo(f.streams.Out); err != nil {
		f.helpErr = err
	}
}

func writeHelp(f *factory, cmd *cobra.Command, out io.Writer, width int) {
	// Cobra's own commands have no help file, but a Long.
	text := cmp.Or(longHelp(cmd, lang.Current()), cmd.Long, lang.Say(cmd.Short)+".")
	fmt.Fprintln(out, reflow(text, width))
	if examples := cmp.Or(exampleText(cmd, lang.Current()), exampleText(cmd, lang.English), cmd.Example); examples != "" {
		fmt.Fprintln(out, "\n"+lang.Say("Examples:")+"\n"+examples)
	}
	writeUsage(f, cmd, out, width)
	if cmd.CommandPath() == "anivault limiter" { // both a command and a topic
		fmt.Fprintln(out, "\n"+reflow(helpText("limiter_states", lang.Current()), width))
		writeRules(out, width)
		fmt.Fprintln(out, "\n"+lang.Say("Settings of the limiter, also keys of \"anivault limiter tune\":"))
		for _, f := range ratelimit.Fields() {
			writeEntry(out, f.Key+" ("+cmp.Or(f.Default(), "-")+")", f.Doc, width)
		}
	}
}

func writeUsage(f *factory, cmd *cobra.Command, out io.Writer, width int) {
	fmt.Fprintln(out, "\n"+lang.Say("Usage:"))
	if cmd.Runnable() && (!cmd.HasAvailableSubCommands() || !cmd.HasParent()) {
		fmt.Fprintf(out, "  %s\n", strings.Replace(cmd.UseLine(), "[flags]", lang.Say("[flags]"), 1))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(out, "  %s COMMAND\n%s\n", cmd.CommandPath(), "\n"+lang.Say("Commands:"))
		name := 0
		for _, sub := range availableCommands(cmd) {
			name = max(name, len(sub.Name()))
		}
		for _, sub := range availableCommands(cmd) {
			writeHanging(out, 2, "  "+ui.Pad(sub.Name(), name), name+4, sub.Short, width)
		}
	}
	if flags := cmd.LocalFlags(); flags.HasAvailableFlags() {
		fmt.Fprintf(out, "%s\n%s", "\n"+lang.Say("Flags:"), flagUsages(flags, width))
	}
	if cmd.HasAvailableInheritedFlags() {
		fmt.Fprint(out, lang.Say("\nFlags of every command: anivault help flags\n"))
	}
	switch {
	case !cmd.HasParent():
		names := mapped(topics, func(t topic) string { return t.name })
		fmt.Fprint(out, lang.Sprintf("\nMore: %[1]s COMMAND --help\n      %[1]s help %[2]s|limiter\n",
			cmd.Name(), strings.Join(names, "|")))
	case cmd.HasAvailableSubCommands():
		fmt.Fprint(out, lang.Sprintf("\nMore: %s COMMAND --help\n", cmd.CommandPath()))
	}
}

func flagUsages(flags *pflag.FlagSet, width int) string {
	var out strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		translated := *f
		translated.Usage = translateUsage(f.Usage)
		value, text := pflag.UnquoteUsage(&translated)
		head := "      --" + f.Name
		if f.Shorthand != "" {
			head = "  -" + f.Shorthand + ", --" + f.Name
		}
		if value != "" && f.Value.Type() != "count" {
			head += " " + value
		}
		if f.DefValue != "" && !slices.Contains(omittedDefaults, f.DefValue) {
			text = lang.Sprintf("%s (default: %s)", text, f.DefValue)
		}
		writeHanging(&out, 2, head, flagColumn, text, width)
	})
	return out.String()
}

// translatableUsages are usages with a list of words. The format is translated, the words are not.
var translatableUsages = []string{"help for %s", formatUsage + formatDefaultText, formatUsage, onlyUsage}

const (
	formatUsage       = "output `FORMAT`: %s"
	formatDefaultText = " (default: table on a terminal, ndjson on a pipe)"
	onlyUsage         = "print only files with these `STATUSES`, separated by commas: %s"
)

func translateUsage(usage string) string {
	for _, format := range translatableUsages {
		before, after, _ := strings.Cut(format, "%s")
		if words, ok := strings.CutPrefix(usage, before); ok && strings.HasSuffix(words, after) {
			return lang.Sprintf(format, strings.TrimSuffix(words, after))
		}
	}
	return lang.Say(usage)
}

const flagColumn = 28

var omittedDefaults = []string{"false", "0", "0s", "[]"}

// helpFiles has the help texts of commands and topics: help/LANGUAGE/COMMAND_SUBCOMMAND.md.
//
//go:embed help
var helpFiles embed.FS

func helpText(name string, l lang.Language) string {
	text, err := helpFiles.ReadFile("help/" + string(l) + "/" + name + ".md")
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(text), "\n")
}

func longHelp(cmd *cobra.Command, l lang.Language) string {
	name := helpFileName(cmd)
	if name == "limiter_show" { // an alias of status
		name = "status"
	}
	return helpText(name, l)
}

func exampleText(cmd *cobra.Command, l lang.Language) string {
	_, text, _ := strings.Cut(helpText("examples", l), "\n## "+helpFileName(cmd)+"\n")
	text, _, _ = strings.Cut(text, "\n\n## ")
	return text
}

func helpFileName(cmd *cobra.Command) string {
	return strings.ReplaceAll(strings.TrimPrefix(cmd.CommandPath(), "anivault "), " ", "_")
}

// reflow rewraps the paragraphs of text to width. It does not change indented lines.
func reflow(text string, width int) string {
	var out, paragraph []string
	flush := func() {
		if len(paragraph) > 0 {
			out = append(out, ui.Wrap(strings.Join(paragraph, " "), width)...)
			paragraph = nil
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, " ") {
			flush()
			out = append(out, line)
			continue
		}
		paragraph = append(paragraph, line)
	}
	flush()
	return strings.TrimRight(strings.Join(out, "\n"), "\n")
}

func subcommandNames(cmd *cobra.Command) (names []string) {
	for _, sub := range cmd.Commands() {
		if !sub.Hidden && !strings.HasPrefix(sub.Name(), "__") { // commands with __ are for shell completion
			names = append(names, sub.Name())
		}
	}
	return names
}

// newHelp returns the command help. Unlike cobra's own, it completes topics, and does not print the whole usage after a
// typing error.
func newHelp(f *factory) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND|TOPIC]",
		Short: "Explain a command or a topic",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return subcommandNames(about), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				rest = args[max(len(args)-max(len(rest), 1), 0):]
				hint := didYouMean(rest[0], subcommandNames(about), "anivault help ", helpHint(cmd.Root()))
				return usagef(hint, "%q is neither a command nor a topic", strings.Join(args, " "))
			}
			return about.Help()
		},
	}
}
