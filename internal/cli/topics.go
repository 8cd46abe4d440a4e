package cli

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/admin"
	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/apply"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/decide"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/logging"
	"github.com/anivault/anivault/internal/metrics"
	"github.com/anivault/anivault/internal/notify"
	"github.com/anivault/anivault/internal/organize"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/version"
	"github.com/anivault/anivault/ratelimit/machine"
)

type topic struct {
	name, short string
	write       func(cmd *cobra.Command, out io.Writer, width int)
}

var topics = []topic{
	{"flags", "Flags of every command", func(cmd *cobra.Command, out io.Writer, width int) {
		fmt.Fprintf(out, "%s\n\n%s", lang.Say("Flags of every command:"), flagUsages(cmd.InheritedFlags(), width))
	}},
	{"environment", "Every setting: variable, config key, default", writeEnvironment},
	{"exit-codes", "Exit statuses", func(_ *cobra.Command, out io.Writer, width int) {
		for _, e := range exitCodes() {
			writeHanging(out, 2, fmt.Sprintf("%3d", e.Code), 5, e.Meaning, width)
		}
		fmt.Fprintln(out, lang.Say("\nIf several apply, the status is the first of 143, 130, 5, 2, 1, 4, 3, 0."))
	}},
	{"templates", "The layouts of organize, and the fields of name templates", writeTemplates},
	{"formats", "Fields of every output for programs, log keys, metrics, error codes", writeFormats},
}

func newTopics(f *factory) []*cobra.Command {
	var out []*cobra.Command
	for _, t := range topics {
		cmd := &cobra.Command{Use: t.name, Short: t.short}
		cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
			f.printHelp(func(out io.Writer, width int) { t.write(cmd, out, width) })
		})
		out = append(out, cmd)
	}
	return out
}

func writeEnvironment(_ *cobra.Command, out io.Writer, width int) {
	fmt.Fprintln(out, reflow(helpText("environment", lang.Current()), width))
	for _, s := range config.Settings() {
		if s.List {
			s.Default = strings.ReplaceAll(s.Default, ",", ", ") // so that it can be wrapped
		}
		head := s.Env + " (" + s.Key
		text := s.Doc
		switch {
		case s.Default != "" && len(head)+len(", )")+len(s.Default) > helpWidth:
			// an address is never wrapped, so it may need a line of its own
			text = lang.Sprintf("%s Default: %s", lang.Text(text), s.Default)
		case s.Default != "":
			head += ", " + s.Default
		}
		writeEntry(out, head+")", text, width)
	}
	for _, v := range config.OtherVariables() {
		writeEntry(out, v.Name, v.Doc, width)
	}
}

func writeEntry(out io.Writer, head, text string, width int) {
	fmt.Fprintf(out, "\n%s\n", head)
	writeHanging(out, 0, "", 4, text, width)
}

func writeRules(out io.Writer, width int) {
	for _, r := range machine.Rules() {
		text := lang.Say(r.Condition) + "; " + lang.Say(r.Confirmation.String())
		writeEntry(out, fmt.Sprintf("%s -> %s (%s)", strings.Join(fromStateNames(r), ", "), r.To, r.Reason), text, width)
	}
}

func writeTemplates(_ *cobra.Command, out io.Writer, width int) {
	fmt.Fprintln(out, reflow(helpText("templates", lang.Current()), width)+"\n")
	for _, f := range organize.Fields() {
		writeHanging(out, 2, "  "+f.Name, 18, f.Doc, width)
	}
	for _, l := range organize.Layouts() {
		fmt.Fprintf(out, "\n%s\n  show     %s\n  season   %s\n  episode  %s\n  movie    %s\n", l.Name, l.Templates.Show,
			l.Templates.Season, l.Templates.Episode, l.Templates.Movie)
	}
	fmt.Fprint(out, lang.Say("\nWhy a file is skipped (\"error\":{\"code\":...})\n\n"))
	for _, c := range organize.Codes() {
		writeHanging(out, 2, "  "+string(c.Code), 18, c.Meaning, width)
	}
	fmt.Fprint(out, lang.Say("\nWhy a file is not put where a plan says, or not put back\n\n"))
	for _, c := range apply.Codes() {
		writeHanging(out, 2, "  "+string(c.Code), 23, c.Meaning, width)
	}
}

func writeFormats(_ *cobra.Command, out io.Writer, width int) {
	section := func(title string, fields []report.Field) {
		fmt.Fprintf(out, "%s\n\n", title)
		for _, f := range fields {
			// Texts about output for programs are not translated.
			writeHanging(out, 2, "  "+f.Name, 18, lang.Textf("%s", f.Doc), width)
		}
		fmt.Fprintln(out)
	}
	for _, o := range outputs() {
		section(o.Name, o.Fields)
	}
	fmt.Fprintf(out, "What \"status\" says of a file\n\n")
	for _, s := range report.Statuses() {
		writeHanging(out, 2, "  "+string(s.Status), 18, s.Meaning, width)
	}
	fmt.Fprintf(out, "\nError codes in \"error\":{\"code\":...}\n\n")
	for _, c := range report.Codes() {
		writeHanging(out, 2, fmt.Sprintf("  %-18s  %s", c.Code, c.Status), 31, c.Meaning, width)
	}
	const shapes = `. json is one document {"matches":[...],"summary":{...}}; csv has one row per file.`
	fmt.Fprintln(out, "\n"+reflow("Formats: "+strings.Join(matchFormats, ", ")+shapes, width))
}

var matchFormats = report.Formats()

type output struct {
	Name   string
	Fields []report.Field
}

// outputs describes all output for programs. Help, man page and reference are generated from it.
func outputs() (out []output) {
	for _, j := range jsonOutputs { // parse and cache stats list the fields of the two types that are skipped elsewhere
		fields := report.FieldsOf(reflect.TypeOf(j.value), reflect.TypeFor[report.Parsed](), reflect.TypeFor[jsonCache]())
		out = append(out, output{j.name, fields})
	}
	out = slices.Insert(out, 2, output{"match --format csv: the columns", report.CSVFields()})
	keys := slices.Concat(logging.HeadKeys, logging.LimiterKeys, logging.OtherKeys)
	lines := mapped(keys, func(k logging.Key) report.Field { return report.Field{Name: k.Name, Doc: k.Doc} })
	return append(out, output{"log lines", lines}, output{"--metrics-file: one object per snapshot", metricFields()})
}

var jsonOutputs = []struct {
	name  string
	value any
}{
	{"match: one object per file", report.Record{}},
	{"match: the summary", report.Summary{}},
	{"missing: one object per season with missing or duplicate episodes", report.Gap{}},
	{"missing: the summary", report.GapSummary{}},
	{"organize: one object per file (and apply) (and undo) (and verify) (and history)", report.Op{}},
	{"apply: progress of long operations", report.OrganizeProgress{}},
	{"organize: the summary, also of apply and undo (and watch)", report.OrganizeSummary{}},
	{"parse", report.ParseRecord{}},
	{"status --format json (and limiter show)", jsonStatus{}},
	{"cache stats --format json", jsonCache{}},
	{"cache list --format ndjson", jsonEntry{}},
	{"search: one object per entry", jsonSearchResult{}},
	{"search --orders: one object per order", decide.Order{}},
	{"history: one object per run", jsonRun{}},
	{"pins --format json", jsonPins{}},
	{"index lookup --format json", jsonCandidate{}},
	{"index stats --format json", jsonIndex{}},
	{"config show --format json", jsonSetting{}},
	{"limiter rules --format json", jsonRule{}},
	{"serve token list --format json: a list of", config.Client{}},
	{"accounts list --format json: a list of", app.AccountView{}},
	{"version --format json", version.Info{}},
	{"doctor --format json", jsonDoctor{}},
	{"notify: what a webhook gets", notify.Notice{}},
	{"serve: GET /api/v1/status of the admin address", admin.Status{}},
	{"serve: GET /api/v1/accounts: a list of", admin.Account{}},
	{"serve: GET /api/v1/clients: a list of", admin.Client{}},
	{"serve: GET /api/v1/log: a list of", admin.Event{}},
	{"serve: the answer to a change", admin.ChangeResult{}},
}

// metricFields returns the fields of a metrics snapshot. Prometheus' text format has the same names with a prefix.
func metricFields() []report.Field {
	field := func(f metrics.Definition) report.Field { return report.Field{Name: f.Name, Doc: f.Help} }
	out := mapped(metrics.HeadFields, field)
	for _, d := range metrics.Table {
		text := string(d.Kind) + map[bool]string{true: " (serve only)"}[d.Gateway] + ": " + d.Help
		if d.Label != "" {
			text += " By " + d.Label + "."
		}
		out = append(out, report.Field{Name: d.Name, Doc: text})
	}
	return out
}
