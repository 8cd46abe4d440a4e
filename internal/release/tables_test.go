package release

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/wordlist"
)

// table is one of the package's rule tables, as the tests need it.
type table struct {
	name    string
	rows    []string                // the names of its rules
	without func(row int, f func()) // runs f while the table lacks the row
}

func rulesOf[In, Out any](name string, rules *[]rule[In, Out]) table {
	t := table{name: name, without: lacking(rules)}
	for _, r := range *rules {
		t.rows = append(t.rows, r.name)
	}
	return t
}

func formsOf[P any](name string, forms *[]tokenForm[P]) table {
	t := table{name: name, without: lacking(forms)}
	for _, f := range *forms {
		t.rows = append(t.rows, f.name)
	}
	return t
}

func lacking[Row any](rows *[]Row) func(int, func()) {
	return func(i int, f func()) {
		whole := *rows
		defer func() { *rows = whole }()
		*rows = slices.Delete(slices.Clone(whole), i, i+1)
		f()
	}
}

// tables are all of the package's rule tables.
func tables() []table {
	return []table{
		formsOf("tags", &tagForms),
		formsOf("markers", &markerForms),
		rulesOf("crosses", &crossExceptions),
		rulesOf("seasons", &seasonWordExceptions),
		rulesOf("lists of seasons", &seasonListEnds),
		rulesOf("lists of seasons with their letter", &seasonLetterListEnds),
		rulesOf("ordinals", &ordinalSeasonExceptions),
		rulesOf("lists of episodes", &episodeListEnds),
		rulesOf("years", &yearRules),
		rulesOf("groups", &groupExceptions),
		rulesOf("numbers", &numberRules),
		rulesOf("numbers in brackets", &bracketNumberRules),
		rulesOf("ranges", &rangeEnds),
		rulesOf("leading numbers", &leadingNumberRules),
		rulesOf("extras and specials", &specialRules),
		rulesOf("ends of titles", &titleEndRules),
		rulesOf("brackets in titles", &innerBracketRules),
		rulesOf("cuts between titles", &cutRules),
		rulesOf("words at the end of titles", &keptTagReasons),
	}
}

// ruleExamples returns the sections of testdata/rules.txt: the names of the rules in order, and the example of each.
func ruleExamples(t *testing.T) (rules map[string][]string, examples map[[2]string]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "rules.txt"))
	if err != nil {
		t.Fatal(err)
	}
	rules, examples = map[string][]string{}, map[[2]string]string{}
	section, rule := "", ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		title, isTitle := strings.CutPrefix(line, "## ")
		example, isExample := strings.CutPrefix(line, "\t")
		switch {
		case isTitle:
			section = title
		case isExample:
			examples[[2]string{section, rule}] = example
		case line != "" && !strings.HasPrefix(line, "# "):
			rule = line
			rules[section] = append(rules[section], rule)
		}
	}
	return rules, examples
}

func TestEveryRuleDecidesItsExample(t *testing.T) {
	rules, examples := ruleExamples(t)
	for _, table := range tables() {
		t.Run(table.name, func(t *testing.T) {
			if diff := cmp.Diff(table.rows, rules[table.name]); diff != "" {
				t.Fatalf("testdata/rules.txt has other rules than the table (-table +text):\n%s", diff)
			}
			delete(rules, table.name)
			for i, rule := range table.rows {
				t.Run(rule, func(t *testing.T) {
					name, want, ok := strings.Cut(examples[[2]string{table.name, rule}], " -> ")
					if !ok {
						t.Fatal("its example is not \"name -> reading\"")
					}
					with := Parse(name)
					if diff := cmp.Diff(want, summary(with)); diff != "" {
						t.Errorf("%s (-want +got):\n%s", name, diff)
					}
					table.without(i, func() {
						if cmp.Equal(with, Parse(name)) {
							t.Errorf("%s reads the same without this rule", name)
						}
					})
				})
			}
		})
	}
	for section := range rules {
		t.Errorf("testdata/rules.txt: there is no table %q", section)
	}
}

// sampleName is a name to read in several ways.
type sampleName struct {
	text   string
	unread bool // it is never printed
	own    bool // it stands in testdata/names
}

// namesOfKind returns the rows of each file in testdata/names: made-up names of one kind, each with what is to be read.
func namesOfKind(t *testing.T) map[string][]row {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "names", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatal("no names in testdata/names", err)
	}
	kinds := map[string][]row{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		kind := strings.TrimSuffix(filepath.Base(file), ".txt")
		for _, line := range strings.Split(string(text), "\n") {
			if line == "" || strings.HasPrefix(line, "# ") {
				continue
			}
			name, want, ok := strings.Cut(line, " -> ")
			if !ok {
				t.Fatalf("%s: %q is not \"name -> reading\"", file, line)
			}
			kinds[kind] = append(kinds[kind], row{name, want})
		}
	}
	return kinds
}

func TestNamesOfEachKind(t *testing.T) {
	for kind, rows := range namesOfKind(t) {
		t.Run(kind, func(t *testing.T) { check(t, rows) })
	}
}

// sampleNames returns the names of testdata/names, and those of the development corpora where they are.
func sampleNames(t *testing.T) []sampleName {
	t.Helper()
	var names []sampleName
	for _, rows := range namesOfKind(t) {
		for _, r := range rows {
			names = append(names, sampleName{text: r.name, own: true})
		}
	}
	for _, file := range []string{"parse_dev.jsonl", "parse_dev2.jsonl"} {
		for _, row := range evalRows(t, file) {
			names = append(names, sampleName{text: row.Input, unread: row.unread()})
		}
	}
	return names
}

func TestEveryWordHasOneMeaning(t *testing.T) {
	seen := map[string]string{}
	for _, s := range wordlist.Parse(wordsText) {
		if tagNames[s.Kind] == noTag && roleNames[s.Kind] == noRole || s.HasFlag("within") || s.HasFlag("alone") {
			continue
		}
		for _, w := range s.Words {
			if first := seen[w]; first != "" {
				t.Errorf("%q stands in [%s] and in [%s %s]", w, first, s.Kind, s.Value)
			}
			if w != strings.ToLower(w) {
				t.Errorf("%q is never looked up: it is not in lower case", w)
			}
			seen[w] = s.Kind + " " + s.Value
		}
	}
}

func TestEveryKindOfWordIsKnown(t *testing.T) {
	lists() // a kind that is missing panics
	for _, kind := range strings.Fields("subtitle extra special film carrier container nameless arc") {
		if len(folders()[kind]) == 0 {
			t.Errorf("folders.txt has no names of the kind %s", kind)
		}
	}
	others := strings.Fields("roman ordinal cardinal spelled ending endings counted article work reposter quantity " +
		"domain extension recorder final partcounter translators han remarks rank station footage footagekind " +
		"decoration bonus")
	for _, s := range wordlist.Parse(wordsText) {
		if tagNames[s.Kind] == noTag && roleNames[s.Kind] == noRole && !slices.Contains(others, s.Kind) {
			t.Errorf("nothing reads [%s %s]: the kind is unknown", s.Kind, s.Value)
		}
		for _, how := range s.Flags {
			if !slices.Contains([]string{"weak", "common", "within", "alone", "season"}, how) {
				t.Errorf("[%s %s | %s]: nothing reads %q", s.Kind, s.Value, strings.Join(s.Flags, " "), how)
			}
		}
	}
}

// Each source, codec, resolution and edition of words.txt is read as the value of its section. TV is only part of a
// title or its end.
func TestEveryValueOfWordsIsRead(t *testing.T) {
	for _, s := range wordlist.Parse(wordsText) {
		for _, w := range s.Words {
			name := "[Quiet] Silver Rail - 07 [" + strings.ReplaceAll(w, " ", "-") + " FLAC 10bit].mkv"
			if s.Kind == "audio" {
				name = strings.ReplaceAll(name, "FLAC", "x264")
			}
			r := Parse(name)
			got, has := map[string]string{
				"source": r.Source, "video": r.Video, "audio": r.Audio, "resolution": r.Resolution, "edition": r.Edition,
			}[s.Kind]
			if has && got != s.Value && s.Value != "TV" {
				t.Errorf("%q of [%s %s] has no effect: %s has the %s %q", w, s.Kind, s.Value, name, s.Kind, got)
			}
		}
	}
}
