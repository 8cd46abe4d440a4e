package cli

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/anivault/anivault/internal/apply"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/organize"
	"github.com/anivault/anivault/internal/simulate"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/machine"
)

// helpOf returns what `anivault ARGS...` prints.
func helpOf(t *testing.T, width int, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	streams := ui.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, OutTTY: width > 0, Width: width}
	if status := Main(t.Context(), args, streams); status != 0 {
		t.Errorf("%s: exit status %d, %s", strings.Join(args, " "), status, errs.String())
	}
	return out.String()
}

// The catalogue's own test takes no text of one word, such as "random `SEED`", for a message.
func TestEveryFlagIsExplainedInKorean(t *testing.T) {
	defer lang.Use(lang.English)
	flag, hangul := regexp.MustCompile(`\n +(-\w, )?--`), regexp.MustCompile(`\p{Hangul}`)
	byDefault := regexp.MustCompile(`\(기본:[^)]*\)`)
	eachCommand(testRoot(), func(cmd *cobra.Command) {
		help := helpOf(t, 0, append(strings.Fields(cmd.CommandPath())[1:], "--help", "--lang=ko")...)
		_, flags, _ := strings.Cut(help, "\n옵션:")
		for _, text := range flag.Split(flags, -1)[1:] {
			text, _, _ = strings.Cut(byDefault.ReplaceAllString(text, ""), "\n\n")
			if !hangul.MatchString(text) {
				t.Errorf("%s --%s", cmd.CommandPath(), text)
			}
		}
	})
}

// A flag whose values are a few words names each of them, in both languages; --nfo names the layouts of its auto.
func TestFlagsNameTheirChoices(t *testing.T) {
	defer lang.Use(lang.English)
	for _, row := range settingFlags() {
		s := config.SettingByKey(row.Setting)
		names, texts := slices.Clone(s.Choices), map[string]string{"flags.json": row.Usage}
		if s.Key == "organize.nfo" {
			texts["settings.json"] = s.Doc
			for _, layout := range organize.LayoutNames() {
				if l, err := organize.NewLayout(layout, organize.Templates{}); err == nil && l.NFOByDefault {
					names = append(names, layout)
				}
			}
		}
		for where, text := range texts {
			for _, l := range []lang.Language{lang.English, lang.Korean} {
				lang.Use(l)
				for _, name := range names {
					if said := lang.Say(text); !regexp.MustCompile(`\b` + name + `\b`).MatchString(said) {
						t.Errorf("%s, in %s, does not name %s for --%s: %s", where, l, name, row.Name, said)
					}
				}
			}
		}
	}
}

func TestAMissingArgumentIsNamedInKorean(t *testing.T) {
	defer lang.Use(lang.English)
	var errs bytes.Buffer
	_ = Main(t.Context(), []string{"unpin", "--lang=ko"}, ui.Streams{In: strings.NewReader(""), Out: &errs, Err: &errs})
	if got := errs.String(); !strings.Contains(got, "PATH나 TITLE") {
		t.Errorf("%q", got)
	}
}

// TestEveryCommandHasHelpOfTheSameShape holds every command's help to: what it does, examples that work, usage, flags
// with words for their values, all within 80 cells.
func TestEveryCommandHasHelpOfTheSameShape(t *testing.T) {
	defer lang.Use(lang.English) // which cli.Main has set for the process
	defer lang.Use(lang.English) // --lang=ko is for the process
	call := regexp.MustCompile(`anivault( [a-z-]+)*`)
	root := testRoot()
	eachCommand(root, func(cmd *cobra.Command) {
		name := cmd.CommandPath()
		args := append(strings.Fields(name)[1:], "--help")
		text := helpOf(t, 0, args...)
		if !strings.Contains(helpOf(t, 0, append(args, "--lang=ko")...), "\n예:\n  ") {
			t.Errorf("%s: its Korean help has no examples", name)
		}
		usage, examples := strings.Index(text, "\nUsage:\n"), strings.Index(text, "\nExamples:\n")
		if examples < 0 || usage < examples {
			t.Errorf("%s: its help has no examples before the usage:\n%s", name, text)
		}
		for line := range strings.Lines(text[:max(usage, 0)]) {
			fields := strings.Fields(call.FindString(line))
			if examples < 0 || !strings.HasPrefix(line, "  ") || len(fields) == 0 {
				continue
			}
			meant, _, err := root.Find(fields[1:])
			if err != nil || meant == root && len(fields) > 1 {
				t.Errorf("%s: the example %q calls no command: %v", name, line, err)
				continue
			}
			for _, f := range regexp.MustCompile(` --([a-z-]+)`).FindAllStringSubmatch(line, -1) {
				if meant.Flags().Lookup(f[1]) == nil && root.PersistentFlags().Lookup(f[1]) == nil {
					t.Errorf("%s: the example %q uses --%s, which does not exist", name, line, f[1])
				}
			}
		}
		// Examples are lines to copy: they are not wrapped.
		for line := range strings.Lines(text) {
			most := helpWidth
			if strings.HasPrefix(line, "  ") && strings.Index(text, line) < usage {
				most = helpWidthMax
			}
			if ui.Width(strings.TrimRight(line, "\n")) > most && !strings.Contains(line, "://") {
				t.Errorf("%s: wider than %d cells: %s", name, most, line)
			}
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if value, _ := pflag.UnquoteUsage(f); f.Value.Type() != "count" && value != strings.ToUpper(value) {
				t.Errorf("%s --%s: the value is called %q, want a word in capitals", name, f.Name, value)
			}
		})
	})
}

// Each text of help has a command or topic, is there in every language, and names what the tables of the code have.
func TestHelpTextsAreUsedAndTranslated(t *testing.T) {
	used := map[string]bool{
		"environment": true, "templates": true, "limiter_states": true, // of topics
		"examples": true, "help": true,
		"question": true, "confirm": true, // of match --interactive
	}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		used[strings.ReplaceAll(strings.TrimPrefix(cmd.CommandPath(), "anivault "), " ", "_")] = true
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(newRoot(&factory{}))
	names := map[string][]string{}
	for _, l := range lang.Names() {
		files, err := helpFiles.ReadDir("help/" + l)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			name, isText := strings.CutSuffix(file.Name(), ".md")
			text := helpText(name, lang.Language(l))
			if !isText || !used[name] || strings.TrimSpace(text) == "" || strings.HasSuffix(text, "\n") {
				t.Errorf("help/%s/%s is of no command, or empty", l, file.Name())
			}
			names[l] = append(names[l], name)
		}
		for _, heading := range regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(
			helpText("examples", lang.Language(l)), -1) {
			if !used[heading[1]] {
				t.Errorf("help/%s/examples.md has %s, which is no command", l, heading[1])
			}
		}
		for _, preset := range simulate.Presets() {
			if !strings.Contains(helpText("limiter_simulate", lang.Language(l)), preset) {
				t.Errorf("help/%s/limiter_simulate.md lacks the preset %s", l, preset)
			}
		}
		for _, f := range ratelimit.AccountFields() {
			if !strings.Contains(helpText("accounts_tune", lang.Language(l)), f.Key) {
				t.Errorf("help/%s/accounts_tune.md lacks the key %s", l, f.Key)
			}
		}
	}
	if diff := cmp.Diff(names["en"], names["ko"]); diff != "" {
		t.Errorf("texts of en and ko:\n%s", diff)
	}
}

// The tables that topics print are in the catalogue: packages that know nothing of lang hold most of them.
func TestTopicsAreTranslated(t *testing.T) {
	var texts []string
	for _, r := range machine.Rules() {
		texts = append(texts, r.Condition, r.Confirmation.String())
	}
	for _, f := range ratelimit.Fields() {
		texts = append(texts, f.Doc)
	}
	for _, s := range config.Settings() {
		texts = append(texts, s.Doc)
	}
	for _, v := range config.OtherVariables() {
		texts = append(texts, v.Doc)
	}
	for _, code := range organize.Codes() {
		texts = append(texts, code.Meaning)
	}
	for _, code := range apply.Codes() {
		texts = append(texts, code.Meaning)
	}
	for _, f := range organize.Fields() {
		texts = append(texts, f.Doc)
	}
	lang.Use(lang.Korean)
	defer lang.Use(lang.English)
	for _, text := range texts {
		if lang.Say(text) == text && strings.Contains(text, " ") {
			t.Errorf("%q is not in ko.po", text)
		}
	}
	for _, format := range translatableUsages {
		if lang.Sprintf(format, "x") == fmt.Sprintf(format, "x") {
			t.Errorf("%q is not in ko.po", format)
		}
	}
}

func TestTopicsFit(t *testing.T) {
	for _, topic := range []string{"environment", "exit-codes", "formats", "limiter"} {
		for _, width := range []int{0, 60, 80, 200} {
			most := helpWidth
			if width > 0 {
				most = min(width, helpWidthMax)
			}
			for line := range strings.Lines(helpOf(t, width, "help", topic)) {
				if got := ui.Width(strings.TrimRight(line, "\n")); got > most && got > 79 && !strings.Contains(line, "://") {
					t.Errorf("help %s at %d: %d cells: %s", topic, width, got, line)
				}
			}
		}
	}
}

// TestValuesAreCompleted asks for completions as a shell does.
func TestValuesAreCompleted(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"match", "--format", ""}, "csv"},
		{[]string{"match", "--color", ""}, "always"},
		{[]string{"--log-level", ""}, "debug"},
		{[]string{"match", "--log-format", ""}, "logfmt"},
		{[]string{"match", "--type", ""}, "movie"},
		{[]string{"match", "--language", ""}, "ko-KR"},
		{[]string{"limiter", "simulate", "--preset", ""}, "gauntlet"},
		{[]string{"limiter", "tune", ""}, "rate_base="},
		{[]string{"limiter", "tune", "rate_base=10", "co"}, "concurrency="},
		{[]string{"limiter", "simulate", "ra"}, "rate_base="},
		{[]string{"limiter", "tune", "--for", ""}, "always"},
		{[]string{"cache", "list", "--format", ""}, "ndjson"},
		{[]string{"help", "env"}, "environment"},
		{[]string{"cache", "ver"}, "verify"},
	} {
		lines := strings.Split(helpOf(t, 0, append([]string{"__complete"}, tt.args...)...), "\n")
		if !slices.ContainsFunc(lines, func(l string) bool { word, _, _ := strings.Cut(l, "\t"); return word == tt.want }) {
			t.Errorf("%q completes to %q, not to %s", tt.args, lines, tt.want)
		}
	}
}

// What cobra adds for shells is no topic.
func TestHelpCompletesNothingHidden(t *testing.T) {
	if text := helpOf(t, 0, "__complete", "help", ""); strings.Contains(text, "__") || !strings.Contains(text, "match\n") {
		t.Errorf("help completes to\n%s", text)
	}
}

// A help text that could not be written is a failure, whichever way it was asked for.
func TestHelpThatCannotBeWrittenFails(t *testing.T) {
	for _, args := range [][]string{
		{},
		{"help"},
		{"--help"},
		{"help", "match"},
		{"match", "-h"},
		{"help", "environment"},
		{"environment"},
		{"limiter"},
		{"limiter", "--help"},
	} {
		var errs bytes.Buffer
		streams := ui.Streams{In: strings.NewReader(""), Out: full{}, Err: &errs}
		if status := Main(t.Context(), args, streams); status != exitInternal || errs.String() != "anivault: no space\n" {
			t.Errorf("%s: exit status %d, %q", strings.Join(args, " "), status, errs.String())
		}
	}
}

// A panic has its own exit status: 2 would mean a mistake of the user's.
func TestAPanicIsReportedAsAnInternalError(t *testing.T) {
	var errs bytes.Buffer
	status := Main(t.Context(), []string{"help"}, ui.Streams{In: strings.NewReader(""), Out: panics{}, Err: &errs})
	if status != exitInternal || !strings.HasPrefix(errs.String(), "anivault: internal error: no luck; please report it") {
		t.Errorf("exit status %d, %q", status, errs.String())
	}
}

// panics is a writer that panics.
type panics struct{}

func (panics) Write([]byte) (int, error) { panic("no luck") }

// full takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space") }
