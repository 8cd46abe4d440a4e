package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/decide"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/pins"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/ui"
)

// The dialogue of `match --interactive`: what is asked, and what may be answered.

// person puts questions to whoever sits at the terminal. Questions go to stderr, which is shared with the status line;
// answers come from stdin.
type person struct {
	out     io.Writer
	lines   *bufio.Reader
	width   int
	pending chan typed // a line that is still being waited for; nil: none
	greeted bool
}

type typed struct {
	line string
	err  error
}

// checkInteractive refuses to ask where nobody can answer.
func (f *matchFlags) checkInteractive(c *command) error {
	switch {
	case f.interactive && f.noInput:
		return usagef("leave one of them out", "--interactive and --no-input exclude each other")
	case !f.interactive:
		return nil
	case f.namesFrom == "-" || f.filesFrom == "-":
		return usagef("write the list to a file and name that",
			"--interactive reads answers from stdin, which carries the list")
	case !c.streams.InTTY || !c.streams.ErrTTY:
		return usagef("leave it out here; anivault pin PATH tv/ID makes a choice without asking",
			"--interactive needs a terminal to ask on")
	}
	return nil
}

const interactiveHelp = `  NUMBER        the candidate with that number
  tv/123        an entry by its id, or movie/123, or the address of its page
  any title     search for it instead ("in quotes" if it looks like the above)
  s  skip this one      q  ask no more      ?  this help
`

// Ask implements decide.Asker.
func (p *person) Ask(ctx context.Context, q decide.Question) (decide.Answer, error) {
	if !p.greeted {
		p.greeted = true
		fmt.Fprint(p.out, "\nWhat could not be decided is asked about, one title at a time. The answers are\n"+
			"kept; anivault pins lists them.\n", interactiveHelp)
	}
	p.describe(q)
	for {
		answer, err := p.read(ctx, "number, tv/ID, movie/ID, a title, s, q, ? > ")
		if err != nil {
			return decide.Answer{}, err
		}
		if answer == "?" {
			fmt.Fprint(p.out, interactiveHelp)
			continue
		}
		a, problem := parseAnswer(answer, q.Candidates)
		if problem != "" {
			fmt.Fprintf(p.out, "  %s\n", problem)
			continue
		}
		if a.Do == decide.Choose && len(q.Files) > 1 {
			if a.OnlyFirst, err = p.onlyFirst(ctx, q); err != nil {
				return decide.Answer{}, err
			}
		}
		return a, nil
	}
}

// describe writes the question: which files, why they are in doubt, and every candidate with what speaks for it.
func (p *person) describe(q decide.Question) {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s", report.WithYear(ui.Printable(q.Title), q.Year))
	if n := len(q.Files); n > 1 {
		fmt.Fprintf(&b, ": %d files, the first is", n)
	} else {
		b.WriteByte(':')
	}
	fmt.Fprintf(&b, " %s\n", ui.Printable(q.Files[0]))
	if q.Reason != "" {
		fmt.Fprintf(&b, "  %s\n", ui.Escaped(q.Reason))
	}
	if q.Note != "" {
		fmt.Fprintf(&b, "  ! %s\n", ui.Escaped(q.Note))
	}
	if len(q.Candidates) == 0 {
		b.WriteString("  no candidates; type another title to search for, or an id\n")
	}
	for i, c := range q.Candidates {
		fmt.Fprintf(&b, "%4d  %s  %s/%d  %s\n",
			i+1, report.WithYear(ui.Escaped(c.Title), c.Year), c.Kind, c.ID, report.Percent(c.Confidence))
		if why := candidateReasons(c); why != "" {
			fmt.Fprintf(&b, "      %s\n", ui.Cut(ui.Escaped(why), max(p.width, 40)-7))
		}
	}
	fmt.Fprint(p.out, b.String())
}

// candidateReasons are the heaviest reasons of a candidate, for and against.
func candidateReasons(c match.Candidate) string {
	const most = 3
	var out []string
	for _, r := range c.Reasons[:min(most, len(c.Reasons))] {
		sign := ""
		if r.Weight < 0 {
			sign = "but "
		}
		out = append(out, sign+r.Detail)
	}
	return strings.Join(out, "; ")
}

// parseAnswer reads what was typed. problem says what is wrong with it.
func parseAnswer(text string, candidates []match.Candidate) (a decide.Answer, problem string) {
	if n := len(text); n >= 2 && text[0] == '"' && text[n-1] == '"' {
		text = strings.TrimSpace(text[1 : n-1])
		if text == "" {
			return a, "there is nothing between the quotation marks"
		}
		return decide.Answer{Do: decide.Search, Text: text}, ""
	}
	switch strings.ToLower(text) {
	case "":
		return a, "type a number, an id, a title, s or q"
	case "s":
		return decide.Answer{Do: decide.Skip}, ""
	case "q":
		return decide.Answer{Do: decide.Quit}, ""
	}
	if n, err := strconv.Atoi(text); err == nil {
		if n < 1 || n > len(candidates) {
			return a, fmt.Sprintf("there is no candidate %d; \"%s\" in quotation marks searches for it as a title", n, text)
		}
		c := candidates[n-1]
		return decide.Answer{Do: decide.Choose, Kind: c.Kind, ID: c.ID}, ""
	}
	kind, id, err := pins.ParseEntry(text)
	switch {
	case err == nil:
		return decide.Answer{Do: decide.Choose, Kind: kind, ID: id}, ""
	case strings.Contains(text, "://"), strings.HasPrefix(text, "tv/"), strings.HasPrefix(text, "movie/"):
		return a, err.Error()
	}
	return decide.Answer{Do: decide.Search, Text: text}, ""
}

// Kept implements decide.Asker: one line, which says how far the choice reaches.
func (p *person) Kept(k decide.Kept) {
	first := k.Pins[0]
	what, reach := ui.Escaped(first.What()), "this file alone"
	switch {
	case first.Title != "":
		what, reach = "the title "+what, "every file whose name has it, wherever it is"
	case k.Folder:
		what, reach = "the folder "+what, "every file in it"
	case len(k.Pins) > 1:
		what, reach = fmt.Sprintf("%d files", len(k.Pins)), "these alone, by their paths"
	}
	fmt.Fprintf(p.out, "  pinned %s: %s (%s)\n", what, first.Entry(), reach)
}

// onlyFirst asks how far a choice reaches.
func (p *person) onlyFirst(ctx context.Context, q decide.Question) (bool, error) {
	question := fmt.Sprintf("  a  for all of them (%d here)   f  for the first file only   [a] > ", len(q.Files))
	for {
		answer, err := p.read(ctx, question)
		if err != nil {
			return false, err
		}
		switch strings.ToLower(answer) {
		case "", "a":
			return false, nil
		case "f":
			return true, nil
		}
	}
}

// read prompts and waits for a line. A line that was still awaited when ctx ended an earlier question is the answer to
// this one: a read of a terminal can't be called off.
func (p *person) read(ctx context.Context, prompt string) (string, error) {
	fmt.Fprint(p.out, prompt)
	if p.pending == nil {
		pending := make(chan typed, 1)
		p.pending = pending
		go func() {
			line, err := p.lines.ReadString('\n')
			pending <- typed{line, err}
		}()
	}
	select {
	case got := <-p.pending:
		p.pending = nil
		text := strings.TrimSpace(got.line)
		if got.err != nil && text == "" {
			fmt.Fprintln(p.out)
			return "", fmt.Errorf("read the answer: %w", got.err)
		}
		return text, nil
	case <-ctx.Done():
		fmt.Fprintln(p.out)
		return "", ctx.Err()
	}
}
