package decide

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/pins"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/title"
	"github.com/anivault/anivault/internal/ui"
)

// Asker asks a person questions and waits for the answers. After an error, no more questions are asked.
type Asker interface {
	Ask(ctx context.Context, q Question) (Answer, error)
	// Confirm shows what a choice would do and asks whether to keep it, and for what.
	Confirm(ctx context.Context, c Choice) (Verdict, error)
	// ShowSavedPins shows the pins that were saved for a choice.
	ShowSavedPins(c Choice)
}

// Question asks which TMDB entry the files of a series are, or, with an Entry, which of its episodes the first file is.
// When it is repeated, Note explains why the last answer did not settle it.
type Question struct {
	Title      string
	Year       int
	Files      []string // as the user named them
	Reason     lang.Text
	Candidates []match.Candidate
	Previews   []FilePreview // where each of Candidates would put the first file
	Entry      *match.Entry
	Orders     []Order      // that Entry has
	Guess      *match.Guess // the likeliest place of the first file; may be nil
	Note       lang.Text
	Further    int // how many questions are left
}

// Action is how a person answers a question.
type Action uint8

const (
	// Skip leaves the files as they are.
	Skip Action = iota
	// Quit ends the questions; all further files stay as they are.
	Quit
	// Choose takes the entry Kind and ID. Its names are read, and its numbers written, in Order if that is not empty.
	Choose
	// Search looks for Text and asks again.
	Search
	// PutAt says that the first file is at Place in the question's Entry.
	PutAt
)

// Answer is a person's answer.
type Answer struct {
	Action Action
	Kind   match.Kind
	ID     int
	Order  string
	Text   string
	Place  Place
}

// Place is the season and episodes of one file.
type Place struct {
	Season   int
	Episodes []int
}

// Choice is an answer that is about to be saved as pins. The person may still change its ChoiceOptions.
type Choice struct {
	Entry    *match.Entry // nil if TMDB could not be asked
	Scopes   []Scope      // the scopes that suit these files
	InFolder int          // the videos and folders that ByFolder applies to
	Pins     []pins.Pin
	Preview  []FilePreview
	Note     lang.Text
	ChoiceOptions
}

// ChoiceOptions is the part of a choice that the person may change. Place is where the first file goes. The other files
// keep their distance to it. Nil: the files go where their names say.
type ChoiceOptions struct {
	Place *Place
	Scope Scope
}

// FilePreview is the decision that one file would get if a choice were saved.
type FilePreview struct {
	Path     string
	Decision match.Decision
}

// Verdict is a person's reply to a choice: save it with Options (Keep), ask the question again (Back) or stop asking
// (Quit). If all three are false, the choice is shown again with the new Options.
type Verdict struct {
	Keep, Back, Quit bool
	Options          ChoiceOptions
}

// dialog collects the series that Decide could not decide. AskAll then asks a person about them.
type dialog struct {
	asker Asker

	mu      sync.Mutex
	open    map[string][]question // by the path of the first file of the decided series
	decided []question            // all files, with the pins that decided them
}

// question asks a person about files whose entry or episodes could not be decided with certainty.
type question struct {
	Question
	series match.Series // with only the files of the question
	pin    *pins.Pin    // the pin by which they were decided; nil for none
}

// questionsAbout returns the questions that remain after files of one series were decided. decided has the decisions by
// the files' Index, and least is the confidence that an entry needs.
func questionsAbout(s series, entry *match.Entry, decided map[int]match.Decision, least float64) (list []question) {
	type groupKey struct {
		episode, guessed bool
		season, offset   int
		only             string // the path of a file that has nothing in common with others
	}
	index := map[groupKey]int{}
	for _, f := range s.Files {
		d := decided[f.Index]
		var k groupKey
		switch {
		case d.Status == match.Ambiguous, d.Status == match.Unmatched, d.Status == match.Matched &&
			(d.Season != nil || d.Kind == match.Movie) && d.Confidence < least:
			if s.Title() == "" {
				k.only = f.Release.Path
			}
		case d.Status == match.Matched && d.Kind == match.TV && d.Season == nil && entry != nil && s.Want != match.WantWork:
			k.episode = true
			number, ok := firstNumber(f.Release)
			if !ok {
				k.only = f.Release.Path
			} else if k.season, _ = f.Release.Season(); d.Guess != nil {
				k.guessed, k.season, k.offset = true, d.Guess.Season, d.Guess.Episodes[0].Number-number
			}
		default:
			continue
		}
		at, known := index[k]
		if !known {
			at, index[k] = len(list), len(list)
			q := question{Question{Title: s.Title(), Year: s.Year, Reason: d.Reason}, s.Series, s.pin}
			q.series.Files = nil
			if hopeless := func(c match.Candidate) bool { return c.Confidence < 0.01 }; k.episode {
				q.Entry, q.Guess = entry, d.Guess
			} else {
				q.Candidates = slices.DeleteFunc(slices.Clone(d.Candidates), hopeless)
				if d.Status == match.Matched {
					q.Reason = "not sure enough"
					for i, c := range q.Candidates { // none is surer than the decision
						q.Candidates[i].Confidence = min(c.Confidence, d.Confidence)
					}
				}
			}
			list = append(list, q)
		}
		list[at].Files = append(list[at].Files, f.Release.Path)
		list[at].series.Files = append(list[at].series.Files, f)
	}
	return list
}

// firstNumber returns the first episode number of a name, if all of them are whole numbers.
func firstNumber(r release.Release) (n int, ok bool) {
	if list, whole := wholeNumbers(r.Episodes); whole {
		return list[0], true
	}
	return 0, false
}

// take returns the collected questions in the order of their first files. Those without a candidate come last.
func (g *dialog) take(position func(path string) int) (list []question) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, of := range g.open {
		list = append(list, of...)
	}
	clear(g.open)
	rank := func(q question) int {
		at := position(q.Files[0])
		if q.Entry == nil && len(q.Candidates) == 0 {
			at += math.MaxInt32
		}
		return at
	}
	slices.SortFunc(list, func(a, b question) int { return rank(a) - rank(b) })
	return list
}

// AskAll asks the person about all files that could not be decided. It calls decided for each file that an answer
// decides. position returns the place of a path in the order of the questions.
func (d *Deciders) AskAll(
	ctx context.Context, position func(path string) int, decided func(match.File, match.Decision),
) {
	defer func() { // an answer may also hold for files that nobody was asked about
		for _, q := range d.dialog.decided {
			if ctx.Err() == nil && d.pins.changed(q) {
				d.Decide(ctx, q.series, decided)
			}
		}
	}()
	for open := d.dialog.take(position); len(open) > 0 && ctx.Err() == nil; {
		q := open[0]
		open = open[1:]
		if !d.pins.changed(q) {
			switch kept, quit := d.ask(ctx, q, len(open)); {
			case quit:
				return
			case !kept:
				continue
			}
		}
		d.Decide(ctx, q.series, decided)
		open = append(d.dialog.take(position), open...)
	}
}

// changed reports whether other pins are now valid for the files of a question, because of an earlier answer.
func (c *runPins) changed(q question) bool {
	parts := c.splitByPin(series{Series: q.series})
	was, is := q.pin, parts[0].pin
	return len(parts) != 1 || (was == nil) != (is == nil) || was != nil && was.String() != is.String()
}

func (d *Deciders) ask(ctx context.Context, q question, further int) (kept, quit bool) {
	out := q.Question
	out.Further = further
	if q.Entry != nil {
		out.Orders, _ = d.Orders(ctx, q.Entry.ID) // an error means that there is nothing to choose from
	}
	for ctx.Err() == nil {
		out.Candidates = out.Candidates[:min(len(out.Candidates), maxShownCandidates)]
		out.Previews = d.previewCandidates(ctx, q.series, out.Candidates)
		answer, err := d.dialog.asker.Ask(ctx, out)
		out.Note = ""
		switch {
		case err != nil || answer.Action == Quit:
			return false, true
		case answer.Action == Skip:
			return false, false
		case answer.Action == Search:
			d.searchText(ctx, q.series, &out, answer.Text)
			continue
		case answer.Action == PutAt:
			answer.Kind, answer.ID = q.Entry.Kind, q.Entry.ID
			if out.Note = missingEpisode(q.Entry, answer.Place); out.Note != "" {
				continue
			}
		}
		namesakes := len(out.Candidates) > 1 &&
			title.Normalize(out.Candidates[0].Title) == title.Normalize(out.Candidates[1].Title)
		if out.Note, kept, quit = d.choose(ctx, q.series, answer, namesakes); kept || quit {
			return kept, quit
		}
	}
	return false, true
}

// maxShownCandidates leaves room on a screen of 24 lines.
const maxShownCandidates = 5

// previewCandidates returns where each candidate would put the first file.
func (d *Deciders) previewCandidates(ctx context.Context, s match.Series, list []match.Candidate) []FilePreview {
	previews := make([]FilePreview, len(list))
	s.Files = s.Files[:1]
	var all sync.WaitGroup
	for i, c := range list {
		all.Go(func() {
			previews[i] = d.previewDecisions(ctx, s, []pins.Pin{{Kind: c.Kind, ID: c.ID, Title: s.Title()}})[0]
		})
	}
	all.Wait()
	return previews
}

// missingEpisode returns a message if an entry does not have the episodes of a place; "" if it has them.
func missingEpisode(e *match.Entry, at Place) lang.Text {
	switch {
	case !e.HasSeason(at.Season):
		return lang.Textf("TMDB has no season %d", at.Season)
	case len(e.FindEpisodes(at.Season, at.Episodes)) < len(at.Episodes):
		return lang.Textf("season %d has no episode %s", at.Season, ui.Numbers(at.Episodes, ","))
	}
	return ""
}

func (d *Deciders) searchText(ctx context.Context, s match.Series, q *Question, text string) {
	s.Titles = []release.Title{{Text: text}}
	s.IDs, s.Year = nil, 0
	res := d.resolver.Resolve(ctx, s)
	switch {
	case res.Err != nil:
		why, _ := d.config.ExplainError(res.Err)
		q.Note = lang.Textf("no answer from TMDB: %s", why)
		return
	case len(res.Candidates) == 0:
		q.Note = lang.Textf("nothing found for %q", text)
		return
	case res.Status == match.Matched:
		res.Reason = ""
	}
	q.Candidates, q.Reason, q.Entry = res.Candidates, res.Reason, nil
}

func (d *Deciders) choose(ctx context.Context, s match.Series, a Answer, same bool) (note lang.Text, kept, quit bool) {
	res := d.resolver.ResolveID(ctx, s, a.Kind, a.ID)
	if errors.Is(res.Err, match.ErrNoEntry) {
		return lang.Textf("TMDB has no %s/%d", a.Kind, a.ID), false, false
	}
	name := ""
	if res.Entry != nil {
		name = title.WithYear(res.Entry.Title, res.Entry.Year)
	}
	c := Choice{Entry: res.Entry, InFolder: itemsInFolder(s.Files)}
	c.Scope = defaultScope(s, a, same)
	if a.Action == PutAt {
		c.Place, c.Scope = &a.Place, ByFiles
	}
	if a.Order != "" {
		c.Note = lang.Textf("these are TMDB's numbers; new names will use the order %s", ui.Printable(a.Order))
	}
	for {
		if c.Scopes = availableScopes(s, c.Place, a.Order); !slices.Contains(c.Scopes, c.Scope) {
			c.Scope = ByFiles
		}
		c.Pins = pinsFor(s, a, c.ChoiceOptions, name)
		c.Preview = d.previewDecisions(ctx, s, c.Pins)
		v := Verdict{Keep: true, Options: c.ChoiceOptions}
		if a.Action != PutAt || len(c.Scopes) > 1 {
			var err error
			if v, err = d.dialog.asker.Confirm(ctx, c); err != nil {
				return "", false, true
			}
		}
		switch {
		case v.Quit, v.Back:
			return "", false, v.Quit
		case v.Keep:
			c.ChoiceOptions = v.Options
			c.Pins = pinsFor(s, a, c.ChoiceOptions, name)
			for _, p := range c.Pins {
				if err := d.pins.add(ctx, p); err != nil {
					return lang.Textf("the choice could not be kept: %s", err), false, false
				}
			}
			d.dialog.asker.ShowSavedPins(c)
			return "", true, false
		}
		c.Note = ""
		if v.Options.Place != nil && res.Entry != nil {
			c.Note = missingEpisode(res.Entry, *v.Options.Place)
		}
		if c.Note == "" { // the season of these files need not be that of others with their title
			c.Place, c.Scope = v.Options.Place, ByFiles
		}
	}
}

func (d *Deciders) previewDecisions(ctx context.Context, s match.Series, list []pins.Pin) (previews []FilePreview) {
	for i, p := range list {
		part := series{Series: s, pin: &p}
		if p.Path != "" && p.Path == absolutePath(s.Files[min(i, len(s.Files)-1)].Release.Path) {
			part.Files = s.Files[i : i+1]
		}
		res, _ := d.byPin(ctx, &part)
		d.readInOrder(ctx, &part, &res)
		at := len(previews)
		for _, f := range part.Files {
			previews = append(previews, FilePreview{Path: f.Release.Path})
		}
		d.place(ctx, part.Files, res, func(f match.File, out match.Decision) {
			n := slices.IndexFunc(part.Files, func(o match.File) bool { return o.Index == f.Index })
			previews[at+n].Decision = out
		})
	}
	return previews
}
