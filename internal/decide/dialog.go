package decide

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/pins"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/title"
)

// Asker asks a person questions and waits for the answers. Only one goroutine calls it at a time. After an error, no
// more questions are asked, but the run goes on.
type Asker interface {
	Ask(ctx context.Context, q Question) (Answer, error)
	// Confirm shows what a choice leads to and asks whether to keep it.
	Confirm(ctx context.Context, c Choice) (Verdict, error)
	// ShowSavedPins shows the pins that were saved for a choice.
	ShowSavedPins(c Choice)
}

// Question asks which TMDB entry a series is. When it is repeated, Note explains why the last answer did not settle it.
type Question struct {
	Title      string
	Year       int
	Files      []string // as the user named them
	Reason     lang.Text
	Candidates []match.Candidate
	Note       lang.Text
}

// Action is how a person answers a question.
type Action uint8

const (
	// Skip leaves the series as it is.
	Skip Action = iota
	// Quit ends the questions; all further series stay as they are.
	Quit
	// Choose takes the entry Kind and ID.
	Choose
	// Search looks for Text and asks again.
	Search
)

// Answer is a person's answer.
type Answer struct {
	Action Action
	Kind   match.Kind
	ID     int
	Text   string
}

// Scope is the set of files that a choice applies to.
type Scope string

// The scopes, widest first.
const (
	ByTitle     Scope = "title"  // every file whose name has the title, wherever it is
	ByFolder    Scope = "folder" // every file in the folder
	ByFiles     Scope = "files"  // the files of the series, each by its path
	ByFirstFile Scope = "first"  // only the first file of the series
)

// Choice is an answer that is about to be saved as pins. The person may still change its ChoiceOptions.
type Choice struct {
	Entry   *match.Entry // nil if TMDB could not be asked
	Scopes  []Scope      // the scopes that suit these files
	Pins    []pins.Pin
	Preview []FilePreview
	ChoiceOptions
}

// ChoiceOptions is the part of a choice that the person may change. If Season is nil, the file names give the season.
// Offset is added to episode numbers.
type ChoiceOptions struct {
	Season *int
	Offset int
	Scope  Scope
}

// FilePreview is the decision that one file would get if a choice were saved.
type FilePreview struct {
	Path     string
	Decision match.Decision
}

// Verdict is a person's reply to a choice: save it (Keep), ask the question again (Back) or stop asking (Quit). If all
// three are false, the choice is shown again with the new Options.
type Verdict struct {
	Keep, Back, Quit bool
	Options          ChoiceOptions
}

// dialog is the conversation with the person at the terminal.
type dialog struct {
	asker    Asker
	turns    *turns
	terminal sync.Mutex // held while a question is shown
	quit     atomic.Bool
}

// Terminal returns the lock that is held while a question is on the terminal; nil if nobody is asked.
func (d *Deciders) Terminal() sync.Locker {
	if d.dialog == nil {
		return nil
	}
	return &d.dialog.terminal
}

func (d *Deciders) byPerson(ctx context.Context, s *series) (out resolution, ok bool) {
	res := *s.searchResult
	given := resolution{Resolution: res}
	hopeless := func(c match.Candidate) bool { return c.Confidence < 0.01 }
	res.Candidates = slices.DeleteFunc(slices.Clone(res.Candidates), hopeless)
	if s.turn.wait(ctx) != nil {
		return given, true
	}
	if parts := d.pins.splitByPin(*s); len(parts) != 1 || parts[0].pin != nil {
		return out, false
	}
	var note lang.Text
	for !d.dialog.quit.Load() && ctx.Err() == nil {
		answer, err := d.askQuestion(ctx, s.Series, res, note)
		if err != nil {
			d.dialog.quit.Store(true)
			break
		}
		switch answer.Action {
		case Skip:
			return given, true
		case Quit:
			d.dialog.quit.Store(true)
		case Search:
			res, note = d.searchText(ctx, s.Series, res, answer.Text)
		case Choose:
			kept := false
			if note, kept, err = d.choose(ctx, s.Series, answer); kept {
				return out, false
			}
			if err != nil {
				d.dialog.quit.Store(true)
			}
		}
	}
	return given, true
}

func (d *Deciders) askQuestion(
	ctx context.Context,
	s match.Series,
	res match.Resolution,
	note lang.Text,
) (Answer, error) {
	q := Question{Title: s.Title(), Year: s.Year, Reason: res.Reason, Candidates: res.Candidates, Note: note}
	for _, f := range s.Files {
		q.Files = append(q.Files, f.Release.Path)
	}
	d.dialog.terminal.Lock()
	defer d.dialog.terminal.Unlock()
	return d.dialog.asker.Ask(ctx, q)
}

func (d *Deciders) searchText(
	ctx context.Context, s match.Series, before match.Resolution, text string,
) (match.Resolution, lang.Text) {
	s.Titles = []release.Title{{Text: text}}
	s.IDs, s.Year = nil, 0
	res := d.resolver.Resolve(ctx, s)
	switch {
	case res.Err != nil:
		why, _ := d.explainError(res.Err)
		return res, lang.Textf("TMDB could not be asked: %s", why)
	case len(res.Candidates) == 0:
		return before, lang.Textf("nothing found for %q", text)
	case res.Status == match.Matched:
		res.Reason = ""
	}
	return res, ""
}

func (d *Deciders) choose(ctx context.Context, s match.Series, a Answer) (note lang.Text, kept bool, err error) {
	res := d.resolver.ResolveID(ctx, s, a.Kind, a.ID)
	if errors.Is(res.Err, match.ErrNoEntry) {
		return lang.Textf("TMDB has no %s/%d", a.Kind, a.ID), false, nil
	}
	name := ""
	if res.Entry != nil {
		name = title.WithYear(res.Entry.Title, res.Entry.Year)
	}
	c := Choice{Entry: res.Entry, Scopes: availableScopes(s), ChoiceOptions: ChoiceOptions{Scope: defaultScope(s, a.Kind)}}
	for {
		c.Pins = pinsFor(s, a, c.ChoiceOptions, name)
		c.Preview = d.previewDecisions(ctx, s, c.Pins)
		v, err := d.confirm(ctx, c)
		switch {
		case err != nil:
			return "", false, err
		case v.Quit:
			d.dialog.quit.Store(true)
			return "", false, nil
		case v.Back:
			return "", false, nil
		case v.Keep:
			return d.savePins(ctx, c)
		}
		c.ChoiceOptions = v.Options
	}
}

func (d *Deciders) confirm(ctx context.Context, c Choice) (Verdict, error) {
	d.dialog.terminal.Lock()
	defer d.dialog.terminal.Unlock()
	return d.dialog.asker.Confirm(ctx, c)
}

func (d *Deciders) savePins(ctx context.Context, c Choice) (note lang.Text, kept bool, err error) {
	for _, p := range c.Pins {
		if err := d.pins.add(ctx, p); err != nil {
			return lang.Textf("the choice could not be kept: %s", err), false, nil
		}
	}
	d.dialog.terminal.Lock()
	defer d.dialog.terminal.Unlock()
	d.dialog.asker.ShowSavedPins(c)
	return "", true, nil
}

func (d *Deciders) previewDecisions(ctx context.Context, s match.Series, list []pins.Pin) (leads []FilePreview) {
	for i, p := range list {
		part := series{Series: s, pin: &p}
		if p.Path != "" && len(list) > 1 {
			part.Files = s.Files[i : i+1]
		} else if slices.ContainsFunc(s.Files, func(f match.File) bool { return p.Path == absolutePath(f.Release.Path) }) {
			part.Files = s.Files[:1]
		}
		res, _ := d.byPin(ctx, &part)
		at := len(leads)
		for _, f := range part.Files {
			leads = append(leads, FilePreview{Path: f.Release.Path})
		}
		d.place(ctx, part.Files, res, func(f match.File, out match.Decision) {
			n := slices.IndexFunc(part.Files, func(o match.File) bool { return o.Index == f.Index })
			leads[at+n].Decision = out
		})
	}
	return leads
}

func availableScopes(s match.Series) (list []Scope) {
	if title.Normalize(s.Title()) != "" {
		list = append(list, ByTitle)
	}
	if _, ok := commonFolder(s.Files); ok {
		list = append(list, ByFolder)
	}
	if len(s.Files) > 1 {
		list = append(list, ByFiles)
	}
	return append(list, ByFirstFile)
}

// defaultScope returns the scope that is suggested first. It is not ByTitle if only a folder's name has the title,
// which may mean another work elsewhere.
func defaultScope(s match.Series, kind match.Kind) Scope {
	if title.Normalize(s.Title()) != "" && s.Titles[0].From == release.FromName {
		return ByTitle
	}
	switch {
	case kind == match.TV && hasOwnFolder(s.Files):
		return ByFolder
	case len(s.Files) > 1:
		return ByFiles
	}
	return ByFirstFile
}

func pinsFor(s match.Series, a Answer, r ChoiceOptions, name string) []pins.Pin {
	p := pins.Pin{Kind: a.Kind, ID: a.ID, Season: r.Season, Offset: r.Offset, Name: name}
	files := s.Files
	switch r.Scope {
	case ByTitle:
		p.Title = s.Title()
		if s.Year != 0 {
			p.Title += " (" + strconv.Itoa(s.Year) + ")"
		}
		return []pins.Pin{p}
	case ByFolder:
		p.Path, _ = commonFolder(files)
		return []pins.Pin{p}
	case ByFirstFile:
		files = files[:1]
	case ByFiles:
	}
	var out []pins.Pin
	for _, f := range files {
		one := p
		one.Path = absolutePath(f.Release.Path)
		out = append(out, one)
	}
	return slices.Clip(out)
}

func commonFolder(files []match.File) (dir string, ok bool) {
	for i, f := range files {
		in := filepath.Dir(absolutePath(f.Release.Path))
		if i > 0 && in != dir {
			return "", false
		}
		dir = in
	}
	return dir, true
}

func hasOwnFolder(files []match.File) bool {
	dir, ok := commonFolder(files)
	if !ok || len(files) < 2 {
		return false
	}
	known := map[string]bool{}
	for _, f := range files {
		known[filepath.Base(absolutePath(f.Release.Path))] = true
	}
	entries, err := os.ReadDir(dir)
	return err == nil && !slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return e.IsDir() || library.IsVideo(e.Name()) && !known[e.Name()]
	})
}
