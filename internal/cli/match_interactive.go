package cli

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/decide"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/pins"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/run"
	"github.com/anivault/anivault/internal/title"
	"github.com/anivault/anivault/internal/ui"
)

// The dialogue of `match --interactive` and `organize --interactive`: its questions and the answers it accepts.

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

func addInteractiveFlags(flags *pflag.FlagSet, o *matchOptions) {
	flags.BoolVar(&o.interactive, "interactive", false,
		"ask on the terminal about what is unclear or has no episode, and keep the answers as pins")
	flags.BoolVar(&o.noInput, "no-input", false, "never ask (the default)")
}

func (o *matchOptions) checkInteractive() error {
	switch {
	case o.interactive && o.noInput:
		return usagef("leave one of them out", "--interactive and --no-input can't be used together")
	case !o.interactive:
		return nil
	case o.namesFrom == "-" || o.filesFrom == "-":
		return usagef("write the list to a file and give that file",
			"--interactive reads answers from stdin, which carries the list")
	case !o.f.streams.InTTY || !o.f.streams.ErrTTY:
		return usagef("run it on a terminal, or choose without being asked: anivault pin PATH tv/ID",
			"--interactive needs a terminal to ask on")
	}
	return nil
}

// matchAsking matches all files, asks the user about those that could not be decided, and then calls emit for each.
func matchAsking(
	ctx context.Context, a *app.App, produce run.Producer, shown *progress, emit func(report.Record) error,
) error {
	var records []report.Record
	var tally report.Tally
	err := a.Match(ctx, produce, func(r report.Record) error {
		records = append(records, r)
		tally.Add(r)
		shown.setCounts(tally.Counts())
		return nil
	}, nil)
	a.AskAbout(ctx, records)
	for _, r := range records {
		if failed := emit(r); failed != nil {
			return failed
		}
	}
	return err
}

// write wraps a paragraph at the terminal's width.
func (p *prompter) write(indent int, text string) {
	fmt.Fprintln(p.out, ui.WrapHanging(strings.Repeat(" ", indent)+text, max(p.width, 40)-1, indent))
}

func (p *prompter) Ask(ctx context.Context, q decide.Question) (decide.Answer, error) {
	if !p.introShown {
		p.introShown = true
		fmt.Fprintln(p.out)
		p.write(0, lang.Sprintf("You'll be asked about each unclear title, %d in all. Enter takes what is in [brackets], "+
			"? explains the other answers. Your answers are saved; anivault pins lists them.", q.Further+1))
	}
	if q.Note != "" { // the question is on the screen
		p.write(2, ui.Escaped(lang.Say(q.Note)))
	} else {
		p.describe(q)
	}
	prompt := lang.Say("Entry")
	if q.Entry != nil {
		prompt = lang.Say("Episode")
	}
	prompt += " [" + cmp.Or(defaultAnswer(q), lang.Say("skip")) + "]"
	for {
		text, err := p.read(ctx, prompt+": ")
		if err != nil {
			return decide.Answer{}, err
		}
		switch strings.ToLower(text) {
		case "?":
			fmt.Fprintln(p.out, helpText("question", lang.Current()))
			continue
		case "t", "i":
			command := strings.ToLower(text)
			more := map[string]lang.Text{"t": "Title: ", "i": "tv/ID or movie/ID: "}[command]
			if text, err = p.read(ctx, lang.Say(more)); err != nil || text == "" {
				continue
			}
			text = command + " " + text
		case "o":
			if len(q.Orders) == 0 {
				break
			}
			if a, err := p.askOrder(ctx, q); err != nil || a.Order != "" {
				return a, err
			}
			continue
		}
		a, problem := parseAnswer(text, q)
		if problem == "" {
			return a, nil
		}
		p.write(2, lang.Say(problem))
	}
}

// askOrder lists the orders of a question's series and asks for one. The answer has none if none is chosen.
func (p *prompter) askOrder(ctx context.Context, q decide.Question) (a decide.Answer, err error) {
	lines := mapped(q.Orders, orderLine)
	for i := range lines {
		lines[i][0] = fmt.Sprintf("%4d  %s", i+1, lines[i][0])
	}
	if err := writeColumns(p.out, []string{"", "TYPE", "PARTS", "EPISODES"}, lines); err != nil {
		return a, err
	}
	text, err := p.read(ctx, lang.Say("Order: "))
	if n, _ := strconv.Atoi(text); n > 0 && n <= len(q.Orders) {
		a = decide.Answer{Action: decide.Choose, Kind: match.TV, ID: q.Entry.ID, Order: q.Orders[n-1].Name}
	}
	return a, err
}

// defaultAnswer returns the answer that Enter gives, as it is typed; "" if Enter skips.
func defaultAnswer(q decide.Question) string {
	switch {
	case q.Entry == nil && len(q.Candidates) > 0:
		const least = 0.1 // Enter should not pin what is most likely wrong; candidates for a typed title may have none
		if sure := q.Candidates[0].Confidence; sure == 0 || sure >= least {
			return "1"
		}
	case q.Entry != nil && q.Guess != nil:
		return ui.Numbers(guessedPlace(q.Guess).Episodes, ",")
	}
	return ""
}

func guessedPlace(g *match.Guess) decide.Place {
	number := func(e match.Episode) int { return e.Number }
	return decide.Place{Season: g.Season, Episodes: mapped(g.Episodes, number)}
}

// parseAnswer reads an answer to a question. problem says why it is none.
func parseAnswer(text string, q decide.Question) (a decide.Answer, problem lang.Text) {
	text = cmp.Or(text, defaultAnswer(q))
	switch strings.ToLower(text) {
	case "", "s", "skip", lang.Say("skip"):
		return decide.Answer{Action: decide.Skip}, ""
	case "q", "quit":
		return decide.Answer{Action: decide.Quit}, ""
	}
	command, rest, _ := strings.Cut(text, " ")
	rest = strings.TrimSpace(rest)
	switch strings.ToLower(command) {
	case "t":
		return decide.Answer{Action: decide.Search, Text: rest}, ""
	case "i":
		if kind, id, err := pins.ParseEntry(rest); err == nil {
			return decide.Answer{Action: decide.Choose, Kind: kind, ID: id}, ""
		} else if !strings.Contains(rest, " ") {
			return a, lang.TextOf(err)
		}
	}
	if q.Entry != nil {
		season := 1
		if q.Guess != nil {
			season = q.Guess.Season
		} else if release.Parse(cmp.Or(q.Files...)).Special != "" && q.Entry.HasSeason(0) {
			season = 0
		}
		if at, ok := parsePlace(text, season); ok {
			return decide.Answer{Action: decide.PutAt, Place: at}, ""
		}
	} else if n, err := strconv.Atoi(text); err == nil {
		if n < 1 || n > len(q.Candidates) {
			return a, lang.Textf("there is no row %d; t %s searches for it as a title", n, text)
		}
		c := q.Candidates[n-1]
		return decide.Answer{Action: decide.Choose, Kind: c.Kind, ID: c.ID}, ""
	}
	kind, id, err := pins.ParseEntry(text)
	_, isPlace := parsePlace(text, 1)
	switch {
	case err == nil:
		return decide.Answer{Action: decide.Choose, Kind: kind, ID: id}, ""
	case strings.Contains(text, "://"), strings.HasPrefix(text, "tv/"), strings.HasPrefix(text, "movie/"):
		return a, lang.TextOf(err)
	case q.Entry != nil:
		return a, "write the episode's number, such as 5 or S02E05; t TITLE searches, ? explains the other answers"
	case isPlace:
		return a, "first choose the entry, then say which of its episodes it is"
	case len(text) == 1, title.Normalize(text) == "":
		return a, lang.Textf("%s is not an answer; ? explains them", text)
	}
	return decide.Answer{Action: decide.Search, Text: text}, ""
}

// parsePlace reads "5", "5-6", "S02E05", "2x05", "5화" or "2기 5화".
func parsePlace(text string, season int) (at decide.Place, ok bool) {
	text = strings.NewReplacer(" ", "", "기", "e", "화", "", "회", "", "~", "-").Replace(strings.ToLower(text))
	if i := strings.IndexAny(text, "ex"); i > 0 {
		n, err := strconv.Atoi(strings.TrimPrefix(text[:i], "s"))
		if err != nil || n < 0 {
			return at, false
		}
		season, text = n, strings.ReplaceAll(text[i+1:], "e", "")
	}
	list, err := pins.ParseEpisodes(text)
	return decide.Place{Season: season, Episodes: list}, err == nil
}

func (p *prompter) describe(q decide.Question) {
	fmt.Fprintln(p.out)
	dir, name := filepath.Split(filepath.FromSlash(q.Files[0]))
	if name = ui.Printable(name); dir != "" {
		name += "  (" + ui.CutLeft(ui.Printable(filepath.Clean(dir)), max(p.width, 40)-4) + ")"
	}
	p.write(0, name)
	what := title.WithYear(cmp.Or(ui.Printable(q.Title), lang.Say("(no title)")), q.Year)
	if q.Entry != nil {
		what = fmt.Sprintf("%s  %s/%d", title.WithYear(ui.Escaped(q.Entry.Title), q.Entry.Year), q.Entry.Kind, q.Entry.ID)
	}
	if n := len(q.Files); n > 1 {
		what = lang.Sprintf("%s (%s)", what, lang.Count(n, "file"))
	}
	if q.Reason != "" {
		what += ": " + ui.Escaped(lang.Say(q.Reason))
	}
	p.write(2, what)
	switch {
	case q.Entry != nil:
		p.describeSeasons(q)
		return
	case len(q.Candidates) == 0:
		p.write(2, lang.Say("t TITLE searches for another title, Enter skips"))
	}
	for i, c := range q.Candidates {
		row := fmt.Sprintf("  %s/%d", c.Kind, c.ID)
		if c.Confidence >= 0.01 { // candidates for a typed title may have none
			row += "  " + report.Percent(c.Confidence)
		}
		if i < len(q.Previews) && q.Previews[i].Decision.Status == match.Matched {
			row += "  -> " + previewText(q.Previews[i])
		}
		name := title.WithYear(ui.Escaped(c.Title), c.Year)
		fmt.Fprintf(p.out, "%4d  %s%s\n", i+1, ui.Cut(name, max(p.width, 40)-7-ui.Width(row)), row)
	}
}

// describeSeasons shows the likeliest place of a file, and which episodes there are.
func (p *prompter) describeSeasons(q decide.Question) {
	var seasons []string
	for _, s := range q.Entry.Seasons {
		if n := len(s.Episodes); n > 0 {
			text := fmt.Sprintf("S%02d %d", s.Number, s.Episodes[0].Number)
			if n > 1 {
				text += fmt.Sprintf("-%d", s.Episodes[n-1].Number)
			}
			if s.Number > 0 && s.Name != "" && !strings.ContainsAny(s.Name, "0123456789") {
				text += " (" + ui.Escaped(s.Name) + ")"
			}
			seasons = append(seasons, text)
		}
	}
	p.write(2, lang.Sprintf("TMDB has %s", strings.Join(seasons, ", ")))
	if q.Guess != nil {
		at := guessedPlace(q.Guess)
		row := "  -> " + report.Record{Season: &at.Season, Episodes: at.Episodes}.Place()
		fmt.Fprintln(p.out, ui.Cut(row+"  "+ui.Escaped(q.Guess.Episodes[0].Name), max(p.width, 40)-1))
	}
}

var scopeTexts = map[decide.Scope]struct{ word, reach lang.Text }{
	decide.ByTitle:  {"title", "every file with this title in its name, in any folder"},
	decide.ByFolder: {"folder", "every file in it and in its folders"},
	decide.ByFiles:  {"file", "these files only"},
}

func (p *prompter) Confirm(ctx context.Context, c decide.Choice) (decide.Verdict, error) {
	fmt.Fprint(p.out, choicePreview(c, max(p.width, 40)))
	if c.Note != "" {
		p.write(2, "! "+ui.Escaped(lang.Say(c.Note)))
	}
	var words []string
	for _, s := range c.Scopes {
		word := lang.Say(scopeTexts[s].word)
		if s == c.Scope {
			word = "[" + word + "]"
		} else if s == decide.ByFolder && c.InFolder > len(c.Preview) {
			word = lang.Sprintf("%s (all %d files and folders in it)", word, lang.Number(c.InFolder))
		}
		words = append(words, word)
	}
	for {
		answer, err := p.read(ctx, lang.Sprintf("Save it for %s: ", strings.Join(words, ", ")))
		if err != nil {
			return decide.Verdict{}, err
		}
		if answer == "?" {
			fmt.Fprintln(p.out, helpText("confirm", lang.Current()))
			continue
		}
		v, problem := parseVerdict(answer, c)
		if problem == "" {
			return v, nil
		}
		p.write(2, lang.Say(problem))
	}
}

// parseVerdict reads a reply to a choice. problem says why it is none.
func parseVerdict(text string, c decide.Choice) (v decide.Verdict, problem lang.Text) {
	v.Options = c.ChoiceOptions
	switch text = strings.ToLower(text); text {
	case "", "y", "yes":
		return decide.Verdict{Keep: true, Options: c.ChoiceOptions}, ""
	case "n", "no":
		return decide.Verdict{Back: true}, ""
	case "q", "quit":
		return decide.Verdict{Quit: true}, ""
	}
	for _, s := range c.Scopes {
		if text == string(s) || text == lang.Say(scopeTexts[s].word) {
			v.Keep, v.Options.Scope = true, s
			return v, ""
		}
	}
	at, ok := parsePlace(text, *cmp.Or(c.Preview[0].Decision.Season, new(1)))
	switch {
	case ok && c.Pins[0].Kind == match.Movie:
		return v, "a film has no episodes"
	case ok:
		v.Options.Place = &at
		return v, ""
	}
	return v, "press Enter to save it, n to choose again, q to stop asking, ? for help"
}

func choicePreview(c decide.Choice, width int) string {
	const most = 6
	var b strings.Builder
	name := lang.Say("its title on TMDB is not known: TMDB is not available now")
	if c.Entry != nil {
		name = title.WithYear(ui.Printable(c.Entry.Title), c.Entry.Year)
	}
	fmt.Fprintf(&b, "  -> %s  %s\n", ui.Cut(name, width-len("  ->   ")-len(c.Pins[0].Entry())-1), c.Pins[0].Entry())
	for i, l := range c.Preview {
		if i == most && len(c.Preview) > most+1 {
			last := c.Preview[len(c.Preview)-1]
			fmt.Fprintf(&b, "     %s\n", lang.Sprintf("and %d more, the last: %s", len(c.Preview)-most, previewText(last)))
			break
		}
		text := ui.Cut(previewText(l), width/2)
		file := ui.CutLeft(ui.Printable(filepath.Base(l.Path)), max(width-len("     ")-len("  ->  ")-ui.Width(text), 16))
		fmt.Fprintf(&b, "     %s  ->  %s\n", file, text)
	}
	return b.String()
}

// previewText says where a choice puts one file, such as "S01E03", or why the file has no episode.
func previewText(l decide.FilePreview) string {
	d := l.Decision
	r := report.Record{Kind: string(d.Kind), Season: d.Season, Episodes: d.Episodes}
	switch place := r.Place(); {
	case d.Status == match.Matched && place != "":
		return lang.Say(place)
	case d.Status == match.Matched && d.Kind == match.TV:
		return lang.Say("episode unknown")
	case d.Reason != "":
		return ui.Escaped(lang.Sprintf("no episode: %s", d.Reason))
	}
	return lang.Say(string(d.Status))
}

// ShowSavedPins says what was saved, and for which files.
func (p *prompter) ShowSavedPins(c decide.Choice) {
	first := c.Pins[0]
	name := ui.Escaped(first.PathOrTitle())
	what, reach := lang.Textf("%s", name), scopeTexts[c.Scope].reach
	switch c.Scope {
	case decide.ByTitle:
		what = lang.Textf("the title %s", name)
	case decide.ByFolder:
		what = lang.Textf("the folder %s", name)
	case decide.ByFiles:
		if n := len(c.Pins); n > 1 {
			what, first.Episodes = lang.Count(n, "file"), nil
		} else {
			reach = "this file only"
		}
	}
	p.write(2, lang.Sprintf("pinned %s: %s (%s)", what, pinTargetText(first), reach))
}

// read prompts and waits for a line. A read from a terminal can't be cancelled: if ctx ended an earlier question, that
// read continues, and its line answers this question.
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
		return latinKey(text), nil
	case <-ctx.Done():
		fmt.Fprintln(p.out)
		return "", ctx.Err()
	}
}

// latinKey corrects an answer that was typed while the keyboard was in its Korean mode: ㅅ 나루토 is t 나루토.
func latinKey(answer string) string {
	const aToZ = "ㅁㅠㅊㅇㄷㄹㅎㅗㅑㅓㅏㅣㅡㅜㅐㅔㅂㄱㄴㅅㅕㅍㅈㅌㅛㅋ"
	first, rest, _ := strings.Cut(answer, " ")
	if at := strings.Index(aToZ, first); at >= 0 && len(first) == len("ㅁ") {
		return strings.TrimSpace(string(rune('a'+at/len("ㅁ"))) + " " + rest)
	}
	return answer
}
