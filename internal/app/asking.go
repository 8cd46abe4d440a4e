package app

// This file decides what a person is asked about and what becomes of the answer: of every series that is ambiguous or
// unmatched, in order, one at a time; what they choose is a pin from then on.

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
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/title"
)

// Asker puts a question to a person and waits for the answer. It is called by one goroutine at a time. An error ends
// the asking, not the run.
type Asker interface {
	Ask(ctx context.Context, q Question) (Answer, error)
	// Kept tells what was made of a choice.
	Kept(k Kept)
}

// Kept is what a choice has become: pins of a title, of a folder with all in it, or of single files.
type Kept struct {
	Pins   []pins.Pin
	Folder bool // the one pin is a folder's
}

// Question is about one series. Note says what became of the last answer where the question is put again.
type Question struct {
	Title      string
	Year       int
	Files      []string // as they were given, the first one first
	Reason     string
	Candidates []match.Candidate
	Note       string
}

// Action is what a person wants done.
type Action uint8

const (
	// Skip leaves the series as it is.
	Skip Action = iota
	// Quit ends the asking; all further series stay as they are.
	Quit
	// Choose takes the entry Kind and ID.
	Choose
	// Search looks for Text and asks again.
	Search
)

// Answer is what a person said. OnlyFirst limits a choice to the first file of the question.
type Answer struct {
	Do        Action
	Kind      match.Kind
	ID        int
	OnlyFirst bool
	Text      string
}

// asking is the person of a run; nil where there is none to ask.
type asking struct {
	asker    Asker
	turns    *turns
	terminal sync.Mutex // results are not written into a question
	quit     atomic.Bool
}

// undisturbed emits a record and sends it on between two questions: it must not come out in the middle of one.
func (p *asking) undisturbed(emit func(report.Record) error, pause func() error) func(report.Record) error {
	return func(r report.Record) error {
		p.terminal.Lock()
		defer p.terminal.Unlock()
		err := emit(r)
		if err == nil && pause != nil {
			err = pause()
		}
		return err
	}
}

// undecidedSeries reports whether a person may know better.
func undecidedSeries(res match.Resolution) bool {
	return res.Status == match.Ambiguous || res.Status == match.Unmatched
}

// ask asks about a series until it is decided or given up, and returns the part of it that the person left open.
func (m *matching) ask(ctx context.Context, s match.Series, res match.Resolution, t turn, decided func(match.File, match.Decision)) match.Series {
	if t.wait(ctx) != nil {
		return s
	}
	s = m.decideChosen(ctx, s, decided) // an answer to an earlier question may cover it
	note := ""
	for len(s.Files) > 0 && !m.person.quit.Load() && ctx.Err() == nil {
		answer, err := m.question(ctx, s, res, note)
		if err != nil {
			m.person.quit.Store(true)
			return s
		}
		switch answer.Do {
		case Skip:
			return s
		case Quit:
			m.person.quit.Store(true)
			return s
		case Search:
			res, note = m.searchFor(ctx, s, res, answer.Text)
		case Choose:
			if note = m.choose(ctx, s, answer); note == "" {
				s = m.decideChosen(ctx, s, decided)
			}
		}
	}
	return s
}

func (m *matching) question(ctx context.Context, s match.Series, res match.Resolution, note string) (Answer, error) {
	q := Question{Title: s.Title(), Year: s.Year, Reason: res.Reason, Candidates: res.Candidates, Note: note}
	for _, f := range s.Files {
		q.Files = append(q.Files, f.Release.Path)
	}
	m.person.terminal.Lock()
	defer m.person.terminal.Unlock()
	return m.person.asker.Ask(ctx, q)
}

// decideChosen decides the files that fall under a pin and returns the others.
func (m *matching) decideChosen(ctx context.Context, s match.Series, decided func(match.File, match.Decision)) match.Series {
	open := s
	open.Files = nil
	for _, p := range m.choices.split(s) {
		if p.pin == nil {
			open.Files = p.series.Files
			continue
		}
		m.decidePinned(ctx, p, decided)
	}
	return open
}

// searchFor asks as if the names said text. What it finds is shown, never taken: the person decides. Where nothing is found,
// what was shown before stays.
func (m *matching) searchFor(ctx context.Context, s match.Series, before match.Resolution, text string) (match.Resolution, string) {
	s.Titles = []release.Title{{Text: text}}
	s.IDs, s.Year = nil, 0
	res := m.resolver.Resolve(ctx, s)
	switch {
	case res.Err != nil:
		_, why := Explain(res.Err)
		return res, "TMDB could not be asked: " + why
	case len(res.Candidates) == 0:
		return before, fmt.Sprintf("nothing found for %q", text)
	case res.Status == match.Matched:
		res.Reason = ""
	}
	return res, ""
}

// choose makes the pin of an answer; the note says why it could not. An entry that can't be asked for now is taken on the
// person's word.
func (m *matching) choose(ctx context.Context, s match.Series, a Answer) (note string) {
	res := m.resolver.Choose(ctx, s, a.Kind, a.ID, match.FromPin)
	if errors.Is(res.Err, match.ErrNoEntry) {
		return fmt.Sprintf("TMDB has no %s/%d", a.Kind, a.ID)
	}
	kept := pinsFor(s, a)
	for _, p := range kept.Pins {
		if err := m.choices.add(ctx, p); err != nil {
			return "the choice could not be kept: " + err.Error()
		}
	}
	m.person.terminal.Lock()
	defer m.person.terminal.Unlock()
	m.person.asker.Kept(kept)
	return ""
}

// pinsFor are the pins of an answer: of the title, with its year where the names have one, if the files' own names carry it. A
// folder's name is no title that holds elsewhere ("amb" may be anything in another place): then it is the folder, where it holds
// episodes of this series and nothing else, or else the single files, as where only the first is meant.
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

// folderOfItsOwn is the folder of several files that holds no other videos and no folders.
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
