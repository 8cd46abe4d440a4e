package decide

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/pins"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/title"
)

// Asker asks a person and waits for the answer. It is called by one goroutine at a time. An error ends the questions, not the
// run.
type Asker interface {
	Ask(ctx context.Context, q Question) (Answer, error)
	// Kept shows which pins a choice has become.
	Kept(k Kept)
}

// Kept is the pins of a choice: of a title, of a folder, or of single files.
type Kept struct {
	Pins   []pins.Pin
	Folder bool // the only pin is a folder's
}

// Question is about one series. When it is asked again, Note says what became of the last answer.
type Question struct {
	Title      string
	Year       int
	Files      []string // as they were given
	Reason     string
	Candidates []match.Candidate
	Note       string
}

// Action is what a person wants done.
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

// Answer is a person's answer. OnlyFirst limits a choice to the first file of the question.
type Answer struct {
	Do        Action
	Kind      match.Kind
	ID        int
	OnlyFirst bool
	Text      string
}

// person is the person who is asked.
type person struct {
	asker    Asker
	turns    *turns
	terminal sync.Mutex // held while a question is on it
	quit     atomic.Bool
}

// Terminal is locked while a question is put to the person; nil where nobody is asked.
func (d *Deciders) Terminal() sync.Locker {
	if d.person == nil {
		return nil
	}
	return &d.person.terminal
}

// byPerson asks about a series that the search has left undecided until the person has chosen or given up. ok is false when
// their choice, now or for an earlier series, has become a pin for some of the files.
func (d *Deciders) byPerson(ctx context.Context, s *series) (out resolution, ok bool) {
	res := *s.left
	given := resolution{Resolution: res}
	if s.turn.wait(ctx) != nil {
		return given, true
	}
	if parts := d.choices.split(*s); len(parts) != 1 || parts[0].pin != nil {
		return out, false
	}
	note := ""
	for !d.person.quit.Load() && ctx.Err() == nil {
		answer, err := d.question(ctx, s.Series, res, note)
		if err != nil {
			d.person.quit.Store(true)
			break
		}
		switch answer.Do {
		case Skip:
			return given, true
		case Quit:
			d.person.quit.Store(true)
		case Search:
			res, note = d.searchFor(ctx, s.Series, res, answer.Text)
		case Choose:
			if note = d.choose(ctx, s.Series, answer); note == "" {
				return out, false
			}
		}
	}
	return given, true
}

func (d *Deciders) question(ctx context.Context, s match.Series, res match.Resolution, note string) (Answer, error) {
	q := Question{Title: s.Title(), Year: s.Year, Reason: res.Reason, Candidates: res.Candidates, Note: note}
	for _, f := range s.Files {
		q.Files = append(q.Files, f.Release.Path)
	}
	d.person.terminal.Lock()
	defer d.person.terminal.Unlock()
	return d.person.asker.Ask(ctx, q)
}

// searchFor searches for text in place of the titles. The person decides what of the results is right. Without results, those
// from before stay.
func (d *Deciders) searchFor(ctx context.Context, s match.Series, before match.Resolution, text string) (match.Resolution, string) {
	s.Titles = []release.Title{{Text: text}}
	s.IDs, s.Year = nil, 0
	res := d.resolver.Resolve(ctx, s)
	switch {
	case res.Err != nil:
		why, _ := d.why(res.Err)
		return res, "TMDB could not be asked: " + why
	case len(res.Candidates) == 0:
		return before, fmt.Sprintf("nothing found for %q", text)
	case res.Status == match.Matched:
		res.Reason = ""
	}
	return res, ""
}

// choose makes the pins of an answer, and returns a note for the person where it could not. An entry that TMDB can't be asked
// for now is taken on the person's word.
func (d *Deciders) choose(ctx context.Context, s match.Series, a Answer) (note string) {
	res := d.resolver.ResolveID(ctx, s, a.Kind, a.ID)
	if errors.Is(res.Err, match.ErrNoEntry) {
		return fmt.Sprintf("TMDB has no %s/%d", a.Kind, a.ID)
	}
	kept := pinsFor(s, a)
	for _, p := range kept.Pins {
		if err := d.choices.add(ctx, p); err != nil {
			return "the choice could not be kept: " + err.Error()
		}
	}
	d.person.terminal.Lock()
	defer d.person.terminal.Unlock()
	d.person.asker.Kept(kept)
	return ""
}

// pinsFor returns the pins of an answer: one of the title, with a year where the names have one, if the title is in the files'
// own names. A title that only a folder has ("amb") may mean anything in another place. Then it is one pin of the folder, if
// that has episodes of this series and nothing else, or else one of each file.
func pinsFor(s match.Series, a Answer) Kept {
	p := pins.Pin{Kind: a.Kind, ID: a.ID}
	files := s.Files
	if a.OnlyFirst {
		files = files[:1]
	}
	text := s.Title()
	if !a.OnlyFirst && title.Normalize(text) != "" && s.Titles[0].From == release.FromName {
		p.Title = text
		if s.Year != 0 {
			p.Title = text + " (" + strconv.Itoa(s.Year) + ")"
		}
		return Kept{Pins: []pins.Pin{p}}
	}
	if dir, ok := folderOfItsOwn(files); ok && a.Kind == match.TV {
		p.Path = dir
		return Kept{Pins: []pins.Pin{p}, Folder: true}
	}
	var out []pins.Pin
	for _, f := range files {
		one := p
		one.Path = absolutePath(f.Release.Path)
		out = append(out, one)
	}
	return Kept{Pins: slices.Clip(out)}
}

// folderOfItsOwn returns the folder of several files if it has no other videos and no folders.
func folderOfItsOwn(files []match.File) (dir string, ok bool) {
	if len(files) < 2 {
		return "", false
	}
	known := map[string]bool{}
	for i, f := range files {
		path := absolutePath(f.Release.Path)
		if i > 0 && filepath.Dir(path) != dir {
			return "", false
		}
		dir, known[filepath.Base(path)] = filepath.Dir(path), true
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", false
	}
	for _, e := range entries {
		if e.IsDir() || library.IsVideo(e.Name()) && !known[e.Name()] {
			return "", false
		}
	}
	return dir, true
}
