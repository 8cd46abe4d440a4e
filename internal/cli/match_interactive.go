package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/decide"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/pins"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/title"
	"github.com/anivault/anivault/internal/ui"
)

// The dialogue of `match --interactive`: its questions and the answers it accepts.

// prompter asks the user at the terminal. It writes questions to stderr, shared with the status line, and reads the
// answers from stdin.
type prompter struct {
	out        io.Writer
	lines      *bufio.Reader
	width      int
	pending    chan inputLine // gets the line of the current read; nil if no read has begun
	introShown bool
}

type inputLine struct {
	text string
	err  error
}

func (o *matchOptions) checkInteractive() error {
	switch {
	case o.interactive && o.noInput:
		return usagef("leave one of them out", "--interactive and --no-input exclude each other")
	case !o.interactive:
		return nil
	case o.namesFrom == "-" || o.filesFrom == "-":
		return usagef("write the list to a file and name that",
			"--interactive reads answers from stdin, which carries the list")
	case !o.f.streams.InTTY || !o.f.streams.ErrTTY:
		return usagef("leave it out here; anivault pin PATH tv/ID makes a choice without asking",
			"--interactive needs a terminal to ask on")
	}
	return nil
}

var interactiveHelp = []lang.Text{
	"NUMBER        the candidate with that number",
	"tv/123        an entry by its id, or movie/123, or the address of its page",
	"any title     search for it instead (\"in quotes\" if it looks like the above)",
	"s  skip this one      q  stop asking      ?  this help",
}

func (p *prompter) printf(format string, args ...any) {
	fmt.Fprint(p.out, lang.Sprintf(format, args...))
}

func (p *prompter) help(lines []lang.Text) {
	for _, line := range lines {
		p.printf("  %s\n", line)
	}
}

func (p *prompter) Ask(ctx context.Context, q decide.Question) (decide.Answer, error) {
	if !p.introShown {
		p.introShown = true
		p.printf("\n%s\n%s\n", lang.Text(
			"These questions are about files that could not be decided, one title at a time. The"),
			lang.Text("answers are saved; anivault pins lists them."))
		p.help(interactiveHelp)
	}
	p.describe(q)
	for {
		answer, err := p.read(ctx, lang.Say("number, tv/ID, movie/ID, a title, s, q, ? > "))
		if err != nil {
			return decide.Answer{}, err
		}
		if answer == "?" {
			p.help(interactiveHelp)
			continue
		}
		a, problem := parseAnswer(answer, q.Candidates)
		if problem != "" {
			p.printf("  %s\n", problem)
			continue
		}
		return a, nil
	}
}

func (p *prompter) describe(q decide.Question) {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s", title.WithYear(ui.Printable(q.Title), q.Year))
	if n := len(q.Files); n > 1 {
		fmt.Fprintf(&b, "%s %s\n", lang.Sprintf(": %d files, the first is", n), ui.Printable(q.Files[0]))
	} else {
		fmt.Fprintf(&b, ": %s\n", ui.Printable(q.Files[0]))
	}
	if q.Reason != "" {
		fmt.Fprintf(&b, "  %s\n", ui.Escaped(lang.Say(q.Reason)))
	}
	if q.Note != "" {
		fmt.Fprintf(&b, "  ! %s\n", ui.Escaped(lang.Say(q.Note)))
	}
	if len(q.Candidates) == 0 {
		b.WriteString("  " + lang.Say("no candidates; type another title to search for, or an id") + "\n")
	}
	for i, c := range q.Candidates {
		fmt.Fprintf(&b, "%4d  %s  %s/%d", i+1, title.WithYear(ui.Escaped(c.Title), c.Year), c.Kind, c.ID)
		if c.Confidence >= 0.01 { // candidates for a typed title may have none
			fmt.Fprintf(&b, "  %s", report.Percent(c.Confidence))
		}
		b.WriteByte('\n')
		if why := candidateReasons(c); why != "" {
			fmt.Fprintf(&b, "      %s\n", ui.Cut(ui.Escaped(why), max(p.width, 40)-7))
		}
	}
	fmt.Fprint(p.out, b.String())
}

func candidateReasons(c match.Candidate) string {
	const most = 3
	var out []string
	for _, r := range c.Reasons[:min(most, len(c.Reasons))] {
		if r.Weight < 0 {
			out = append(out, lang.Sprintf("but %s", r.Detail))
			continue
		}
		out = append(out, lang.Say(r.Detail))
	}
	return strings.Join(out, "; ")
}

func parseAnswer(text string, candidates []match.Candidate) (a decide.Answer, problem lang.Text) {
	if n := len(text); n >= 2 && text[0] == '"' && text[n-1] == '"' {
		text = strings.TrimSpace(text[1 : n-1])
		if text == "" {
			return a, "the quotation marks are empty"
		}
		return decide.Answer{Action: decide.Search, Text: text}, ""
	}
	switch strings.ToLower(text) {
	case "":
		return a, "type a number, an id, a title, s or q"
	case "s":
		return decide.Answer{Action: decide.Skip}, ""
	case "q":
		return decide.Answer{Action: decide.Quit}, ""
	}
	if n, err := strconv.Atoi(text); err == nil {
		if n < 1 || n > len(candidates) {
			return a, lang.Textf("there is no candidate %d; \"%s\" in quotation marks searches for it as a title", n, text)
		}
		c := candidates[n-1]
		return decide.Answer{Action: decide.Choose, Kind: c.Kind, ID: c.ID}, ""
	}
	kind, id, err := pins.ParseEntry(text)
	switch {
	case err == nil:
		return decide.Answer{Action: decide.Choose, Kind: kind, ID: id}, ""
	case strings.Contains(text, "://"), strings.HasPrefix(text, "tv/"), strings.HasPrefix(text, "movie/"):
		return a, lang.TextOf(err)
	}
	return decide.Answer{Action: decide.Search, Text: text}, ""
}

var scopeKeys = map[decide.Scope]struct {
	key   string
	reach lang.Text
}{
	decide.ByTitle:     {"t", "every file with this title in its name, in any folder"},
	decide.ByFolder:    {"d", "every file in it"},
	decide.ByFiles:     {"a", "these alone, by their paths"},
	decide.ByFirstFile: {"f", "this file alone"},
}

var confirmHelp = []lang.Text{
	"Enter         keep it so",
	"season 2      the files belong to season 2 (0: specials)",
	"season        the files belong to the season that their names say",
	"offset 12     add 12 to the episode numbers in the names; may be negative",
	"t  d          it is about the title, or about the folder (directory)",
	"a  f          it is about all these files, or about the first of them",
	"n             no: choose again",
	"q             no, and stop asking",
}

func (p *prompter) Confirm(ctx context.Context, c decide.Choice) (decide.Verdict, error) {
	fmt.Fprint(p.out, choicePreview(c, max(p.width, 40)))
	var keys []string
	if c.Pins[0].Kind == match.TV {
		keys = append(keys, "season N", "offset N")
	}
	for _, s := range c.Scopes {
		if s != c.Scope && len(c.Scopes) > 1 {
			keys = append(keys, scopeKeys[s].key)
		}
	}
	question := "  " + lang.Sprintf("Enter keeps it; %s >", strings.Join(append(keys, "n", "q", "?"), ", ")) + " "
	for {
		answer, err := p.read(ctx, question)
		if err != nil {
			return decide.Verdict{}, err
		}
		if answer == "?" {
			p.help(confirmHelp)
			continue
		}
		v, problem := parseVerdict(answer, c)
		if problem == "" {
			return v, nil
		}
		p.printf("  %s\n", problem)
	}
}

func parseVerdict(text string, c decide.Choice) (v decide.Verdict, problem lang.Text) {
	v.Options = c.ChoiceOptions
	word, number, _ := strings.Cut(strings.ToLower(strings.Join(strings.Fields(text), " ")), " ")
	switch word {
	case "", "y", "yes":
		v.Keep = true
		return v, ""
	case "n", "no":
		v.Back = true
		return v, ""
	case "q", "quit":
		v.Quit = true
		return v, ""
	case "season", "offset":
		return changeSeasonOrOffset(v, word, number, c)
	}
	for _, s := range c.Scopes {
		if number == "" && (word == scopeKeys[s].key || word == string(s)) {
			v.Options.Scope = s
			return v, ""
		}
	}
	return v, "press Enter to keep it, n to choose again, q to stop asking, ? for help"
}

func changeSeasonOrOffset(v decide.Verdict, word, number string, c decide.Choice) (decide.Verdict, lang.Text) {
	n, err := strconv.Atoi(number)
	switch {
	case c.Pins[0].Kind == match.Movie:
		return v, "a film has no season and no offset"
	case word == "season" && number == "":
		v.Options.Season = nil
		return v, ""
	case err != nil:
		return v, lang.Textf("%s needs a whole number, such as: %s 2", word, word)
	case word == "season":
		v.Options.Season = &n
	default:
		v.Options.Offset = n
	}
	would := c.Pins[0]
	would.Season, would.Offset = v.Options.Season, v.Options.Offset
	if err := would.Validate(); err != nil {
		return v, lang.TextOf(err)
	}
	return v, ""
}

func choicePreview(c decide.Choice, width int) string {
	const most = 6
	var b strings.Builder
	name := lang.Say("its title on TMDB is not known: TMDB can't be asked now")
	if c.Entry != nil {
		name = title.WithYear(ui.Printable(c.Entry.Title), c.Entry.Year)
	}
	fmt.Fprintf(&b, "  -> %s  %s\n", name, c.Pins[0].Entry())
	for i, l := range c.Preview {
		if i == most && len(c.Preview) > most+1 {
			last := c.Preview[len(c.Preview)-1]
			fmt.Fprintf(&b, "     %s\n", lang.Sprintf("and %d more, the last: %s", len(c.Preview)-most, previewText(last)))
			break
		}
		text := previewText(l)
		file := ui.CutLeft(ui.Printable(filepath.Base(l.Path)), max(width-len("     ")-len("  ->  ")-ui.Width(text), 16))
		fmt.Fprintf(&b, "     %s  ->  %s\n", file, text)
	}
	what, reach := scopeTexts(c)
	fmt.Fprintf(&b, "  %s\n", lang.Sprintf("kept for %s (%s)", what, reach))
	return b.String()
}

// previewText says where a choice puts one file, such as "S01E03", or why the file has no episode.
func previewText(l decide.FilePreview) string {
	d := l.Decision
	r := report.Record{Kind: string(d.Kind), Season: d.Season, Episodes: d.Episodes}
	switch place := r.Place(); {
	case d.Status == match.Matched && place != "":
		return lang.Say(place)
	case d.Reason != "":
		return ui.Escaped(lang.Sprintf("no episode: %s", d.Reason))
	}
	return lang.Say(string(d.Status))
}

func scopeTexts(c decide.Choice) (what, reach lang.Text) {
	name := ui.Escaped(c.Pins[0].PathOrTitle())
	what, reach = lang.Textf("%s", name), scopeKeys[c.Scope].reach
	switch c.Scope {
	case decide.ByTitle:
		what = lang.Textf("the title %s", name)
	case decide.ByFolder:
		what = lang.Textf("the folder %s", name)
	case decide.ByFiles:
		what = lang.Count(len(c.Pins), "file")
	case decide.ByFirstFile:
	}
	return what, reach
}

func (p *prompter) ShowSavedPins(c decide.Choice) {
	what, reach := scopeTexts(c)
	p.printf("  %s\n", lang.Textf("pinned %s: %s (%s)", what, pinTargetText(c.Pins[0]), reach))
}

// read prompts and waits for a line. A read from a terminal can't be cancelled: if ctx ended an earlier question, that
// read goes on, and its line answers this question.
func (p *prompter) read(ctx context.Context, prompt string) (string, error) {
	fmt.Fprint(p.out, prompt)
	if p.pending == nil {
		pending := make(chan inputLine, 1)
		p.pending = pending
		go func() {
			line, err := p.lines.ReadString('\n')
			pending <- inputLine{line, err}
		}()
	}
	select {
	case got := <-p.pending:
		p.pending = nil
		text := strings.TrimSpace(got.text)
		if got.err != nil && text == "" {
			fmt.Fprintln(p.out)
			return "", lang.Error("read the answer: %w", got.err)
		}
		return text, nil
	case <-ctx.Done():
		fmt.Fprintln(p.out)
		return "", ctx.Err()
	}
}
