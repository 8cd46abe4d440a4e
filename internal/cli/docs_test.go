package cli

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/apply"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/metrics"
	"github.com/anivault/anivault/internal/organize"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/machine"
)

var update = flag.Bool("update", false, "write the generated documents anew")

// TestGeneratedDocuments holds docs/reference.md, docs/limiter.md and the published schemas to the tables in the code.
// After a change of a table: go test ./internal/cli -run Documents -update. A change of a schema that is more than a
// new field needs a new schemaVersion.
func TestGeneratedDocuments(t *testing.T) {
	docs := filepath.Join("..", "..", "docs")
	for path, want := range map[string]string{
		filepath.Join(docs, "reference.md"):        referenceDocument(),
		filepath.Join(docs, "limiter.md"):          limiterDocument(t),
		filepath.Join("testdata", "schemas.jsonl"): schemaDocuments(t),
	} {
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, strings.ReplaceAll(string(got), "\r\n", "\n")); diff != "" {
			t.Errorf("%s is not what the code says: go test ./internal/cli -run Documents -update\n%s", path, diff)
		}
	}
}

// TestOnlyServeMetricsAreMarked: an alert on a metric that match never writes would never come.
func TestOnlyServeMetricsAreMarked(t *testing.T) {
	for i, f := range metricFields()[len(metrics.HeadFields):] {
		if d := metrics.Table[i]; strings.Contains(f.Doc, " (serve only): ") != d.Gateway {
			t.Errorf("%s, only of a gateway: %v: %q", d.Name, d.Gateway, f.Doc)
		}
	}
}

// schemaDocuments returns all schemas, one a line.
func schemaDocuments(t *testing.T) string {
	var b strings.Builder
	for _, s := range jsonSchemas {
		line, err := json.Marshal(s.document())
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	return b.String()
}

// cell escapes what would end a cell of a Markdown table.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

func eachCommand(cmd *cobra.Command, do func(*cobra.Command)) {
	do(cmd)
	for _, sub := range cmd.Commands() {
		if sub.Name() != "help" && sub.Name() != "completion" && !sub.IsAdditionalHelpTopicCommand() {
			eachCommand(sub, do)
		}
	}
}

func testRoot() *cobra.Command {
	root := newRoot(&factory{streams: ui.Streams{
		In: strings.NewReader(""), Out: &strings.Builder{},
		Err: &strings.Builder{},
	}})
	root.InitDefaultHelpCmd()
	return root
}

func referenceDocument() string {
	var b strings.Builder
	b.WriteString("# Reference\n\n<!-- generated: go test ./internal/cli -run Documents -update -->\n\n" +
		"Every command, flag, setting, variable, exit status, field and error code, written from the tables in the " +
		"code.\n\n## Commands and flags\n\n")
	root := testRoot()
	b.WriteString("Flags that every command takes:\n\n" + flagTable(root.PersistentFlags()))
	eachCommand(root, func(cmd *cobra.Command) {
		if cmd == root {
			return
		}
		fmt.Fprintf(&b, "### `%s`\n\n%s.\n\n", cmd.UseLine(), cmd.Short)
		if table := flagTable(cmd.LocalNonPersistentFlags()); table != "" {
			b.WriteString(table)
		}
	})
	b.WriteString("## Settings and variables\n\nPrecedence: a change by `anivault limiter tune` while it lasts, then " +
		"flag, environment, config file, default.\n\n| variable | config key | default | meaning | allowed " +
		"|\n|---|---|---|---|---|\n")
	for _, s := range config.Settings() {
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s | %s |\n", s.Env, s.Key, code(s.Default), cell(s.Doc),
			cell(s.Allowed.String()))
	}
	for _, v := range config.OtherVariables() {
		fmt.Fprintf(&b, "| `%s` | | | %s | |\n", v.Name, cell(v.Doc))
	}
	b.WriteString("\n## Exit statuses\n\n| status | meaning |\n|---|---|\n")
	for _, e := range exitCodes() {
		fmt.Fprintf(&b, "| %d | %s |\n", e.Code, cell(e.Meaning))
	}
	b.WriteString("\nIf several apply, the status is the first of 143, 130, 5, 2, 1, 4, 3, 0.\n")
	for _, o := range outputs() {
		fmt.Fprintf(&b, "\n## Fields of %s\n\n| field | meaning |\n|---|---|\n", o.Name)
		for _, f := range o.Fields {
			fmt.Fprintf(&b, "| `%s` | %s |\n", f.Name, cell(f.Doc))
		}
	}
	b.WriteString("\nA limiter's line has the keys from `ts` to `retry_after`, always and in this order; what does not " +
		"apply is `-`, in JSON null. Prometheus' text (`--metrics-textfile`) has the names of the metrics behind `" +
		metrics.Prefix + "`.\n")
	b.WriteString("\n## How long answers are kept\n\n| question | fresh | while it still changes | an empty search | a " +
		"404 |\n|---|---|---|---|---|\n")
	policy := cache.DefaultPolicy()
	for c := cache.Search; int(c) < len(policy); c++ {
		row := policy[c]
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", c, age(row.Fresh), age(row.Changing), age(row.Empty),
			age(row.Missing))
	}
	fmt.Fprintf(&b, "\nAn expired answer is asked for again; when TMDB can't be asked it serves as stale, for at most "+
		"%s since it was fetched. \"-\" is not kept.\n", age(cache.KeepLimit))
	b.WriteString("\n## Error codes\n\n| code | status | meaning | what to do |\n|---|---|---|---|\n")
	for _, c := range report.Codes() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", c.Code, c.Status, cell(c.Meaning.String()), cell(c.Next.String()))
	}
	b.WriteString("\n## Why a file is left by organize\n\n| code | meaning |\n|---|---|\n")
	for _, c := range organize.Codes() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", c.Code, cell(c.Meaning))
	}
	b.WriteString("\n## Why a file is not put where a plan says, or not put back\n\n| code | meaning |\n|---|---|\n")
	for _, c := range apply.Codes() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", c.Code, cell(c.Meaning))
	}
	b.WriteString("\n## Layouts of organize\n\n| layout | show | season | episode | movie |\n|---|---|---|---|---|\n")
	for _, l := range organize.Layouts() {
		t := l.Templates
		fmt.Fprintf(&b, "| %s | `%s` | `%s` | `%s` | `%s` |\n", l.Name, t.Show, t.Season, t.Episode, t.Movie)
	}
	b.WriteString("\n## Fields of templates\n\n| field | holds |\n|---|---|\n")
	for _, f := range organize.Fields() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", f.Name, cell(f.Doc))
	}
	return b.String()
}

// age says a lifetime in days or hours.
func age(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d == 0:
		return "-"
	case d%day == 0:
		return fmt.Sprintf("%d d", d/day)
	}
	return fmt.Sprintf("%d h", d/time.Hour)
}

func flagTable(flags *pflag.FlagSet) string {
	var b strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" {
			return
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if value, _ := pflag.UnquoteUsage(f); value != "" {
			name += " " + value
		}
		_, usage := pflag.UnquoteUsage(f)
		def := f.DefValue
		if def == "false" || def == "[]" || f.Value.Type() == "count" {
			def = ""
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, code(def), cell(usage))
	})
	if b.Len() == 0 {
		return ""
	}
	return "| flag | default | meaning |\n|---|---|---|\n" + b.String() + "\n"
}

// limiterDocument is docs/limiter.md: prose from testdata/limiter.md.in, tables and diagram from the code.
func limiterDocument(t *testing.T) string {
	t.Helper()
	prose, err := os.ReadFile(filepath.Join("testdata", "limiter.md.in"))
	if err != nil {
		t.Fatal(err)
	}
	var rules, knobs strings.Builder
	rules.WriteString("| from | to | condition | confirmation | reason |\n|---|---|---|---|---|\n")
	for _, r := range machine.Rules() {
		fmt.Fprintf(&rules, "| %s | %s | %s | %s | `%s` |\n", strings.Join(fromStateNames(r), ", "), r.To, cell(r.Condition),
			r.Confirmation, r.Reason)
	}
	knobs.WriteString("| setting | variable | default | meaning |\n|---|---|---|---|\n")
	for _, f := range ratelimit.Fields() {
		fmt.Fprintf(&knobs, "| `%s` | `%s` | %s | %s |\n", f.Key, config.LimiterVariable(f.Key), code(f.Default()),
			cell(f.Doc))
	}
	return strings.NewReplacer(
		"{{rules}}\n", rules.String(), "{{settings}}\n", knobs.String(),
		"{{graph}}\n", "```mermaid\n"+machine.Graph()+"```\n",
	).Replace(strings.ReplaceAll(string(prose), "\r\n", "\n"))
}

// TestDocumentsMentionOnlyWhatExists looks up every command, flag and variable that the README and the pages of docs
// mention.
func TestDocumentsMentionOnlyWhatExists(t *testing.T) {
	flags := map[string]bool{"--help": true}
	commands := map[string]bool{}
	eachCommand(testRoot(), func(cmd *cobra.Command) {
		commands[cmd.CommandPath()] = true
		for _, set := range []*pflag.FlagSet{cmd.LocalFlags(), cmd.PersistentFlags()} {
			set.VisitAll(func(f *pflag.Flag) { flags["--"+f.Name] = true })
		}
	})
	variables, defaults := map[string]bool{}, map[string]string{}
	for _, s := range config.Settings() {
		variables[s.Env], defaults[s.Env] = true, s.Default
	}
	for _, v := range config.OtherVariables() {
		variables[v.Name] = true
	}
	pages, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	readmes, err := filepath.Glob(filepath.Join("..", "..", "README*.md"))
	if err != nil || len(readmes) == 0 {
		t.Fatal("no README", err)
	}
	anivaultCall := regexp.MustCompile(`anivault ([a-z-]+)( [a-z-]+)?`)
	for _, page := range slices.Concat(pages, readmes) {
		raw, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		text := string(raw)
		for _, name := range regexp.MustCompile(`ANIVAULT_[A-Z0-9_]*[A-Z0-9]`).FindAllString(text, -1) {
			if !variables[name] {
				t.Errorf("%s mentions %s, which nothing reads", filepath.Base(page), name)
			}
		}
		if strings.HasPrefix(filepath.Base(page), "README") {
			for _, row := range regexp.MustCompile("(?m)^\\| `(ANIVAULT_[A-Z_]+)` \\| ([^|]+) \\|").FindAllStringSubmatch(text,
				-1) {
				if row[2] != defaults[row[1]] {
					t.Errorf("%s says that %s is %s by default; it is %s", filepath.Base(page), row[1], row[2], defaults[row[1]])
				}
			}
		}
		for _, block := range regexp.MustCompile(`(?m)^ {0,4}(\$ )?anivault .*$`).FindAllString(text, -1) {
			line := strings.TrimPrefix(strings.TrimSpace(block), "$ ")
			call := anivaultCall.FindStringSubmatch(line)
			if call == nil {
				continue
			}
			if name := "anivault " + call[1]; !commands[name] && call[1] != "help" && call[1] != "completion" {
				t.Errorf("%s calls %q, which is no command", filepath.Base(page), name)
			}
			for _, f := range regexp.MustCompile(`(?:^| )(--[a-z][a-z-]*)`).FindAllStringSubmatch(line, -1) {
				if !flags[f[1]] {
					t.Errorf("%s uses %s in %q, which no command has", filepath.Base(page), f[1], line)
				}
			}
		}
	}
}

// TestSourceMentionsOnlyPagesThatExist looks up every page, and every part of one, that a comment sends its reader to.
func TestSourceMentionsOnlyPagesThatExist(t *testing.T) {
	mention := regexp.MustCompile(`docs/([a-z]+\.md)(?:,[\s/]+"([^"]+)")?`)
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." {
			return fs.SkipDir // not of the program
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range mention.FindAllStringSubmatch(string(raw), -1) {
			page, err := os.ReadFile(filepath.Join(root, "docs", m[1]))
			if err != nil {
				t.Errorf("%s sends its reader to docs/%s, which is not there", path, m[1])
			} else if m[2] != "" && !strings.Contains(string(page), m[2]) {
				t.Errorf("%s sends its reader to %q of docs/%s, which is not there", path, m[2], m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
