package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/nfo"
	"github.com/anivault/anivault/internal/organize"
)

// notes makes files for media servers of what is cached. It sends nothing.
type notes struct {
	cfg   *config.Config
	warn  func(error)
	runs  map[string]*app.App // by languages; nil: it could not be opened
	last  *nfo.Entry
	lasts organize.Note // what that was made for
}

// read returns the content of a file; nil where the cache does not know all of it.
func (n *notes) read(ctx context.Context, note *organize.Note) []byte {
	if n.last == nil || n.lasts.Entry != note.Entry || n.lasts.Languages != note.Languages {
		n.last, n.lasts = n.entry(ctx, note), *note
	}
	switch {
	case n.last == nil:
		return nil
	case len(note.Episodes) > 0:
		return nfo.Episodes(n.last, note.Season, note.Episodes)
	case note.Full:
		return nfo.Full(n.last)
	}
	return nfo.IDs(n.last)
}

func (n *notes) entry(ctx context.Context, note *organize.Note) *nfo.Entry {
	run := n.open(note.Languages)
	if run == nil {
		return nil
	}
	e, err := run.Note(ctx, match.Kind(note.Kind), note.ID)
	if err != nil {
		return nil // not_cached says so
	}
	return e
}

// open returns a run that asks the cache in these languages.
func (n *notes) open(languages string) *app.App {
	if run, known := n.runs[languages]; known {
		return run
	}
	cfg := *n.cfg
	if languages != "" {
		cfg.TMDB.Languages = slices.Collect(strings.SplitSeq(languages, ","))
	}
	run, err := app.Open(&cfg, app.Options{Offline: true, Warn: n.warn})
	if err != nil {
		n.warn(err)
	}
	if n.runs == nil {
		n.runs = map[string]*app.App{}
	}
	n.runs[languages] = run
	return run
}

func (n *notes) close() {
	for _, run := range n.runs {
		if run == nil {
			continue
		}
		if err := run.Close(); err != nil {
			n.warn(err)
		}
	}
}
