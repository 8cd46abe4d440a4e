// Package decide decides which TMDB entry a series of files is, and which of its episodes each file is.
//
// The table deciders below lists what can decide: the user's pins, the imported title index, the titles of entries that
// this run has seen, and TMDB's search. They are tried in turn until one answers. A person at a terminal may be asked
// about the rest. Callers use New, Deciders.Decide and Deciders.AskAll.
package decide

import (
	"context"
	"slices"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/pins"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/tmdb"
)

// Config configures New. If Asker is nil, nobody is asked.
type Config struct {
	Client       *tmdb.Client
	Languages    []string // of titles, best first; TMDB may lack some
	IncludeAdult bool     // searches include adult titles
	Options      match.Options
	Pins         *pins.Store
	IndexDir     string // the folder of the title index
	Asker        Asker

	// Reserve reserves the requests that one series may need; release returns those that it did not use.
	Reserve func(ctx context.Context) (reserved context.Context, release func())
	// ExplainError explains to a person why a TMDB request failed, and whether the cause lasts for the rest of the run.
	ExplainError func(err error) (text lang.Text, lasts bool)
	// Warn reports a problem that did not stop the run. Any goroutine may call it.
	Warn func(error)
}

// Deciders decides series. It is safe for concurrent use.
type Deciders struct {
	config   Config
	resolver match.Resolver
	pins     *runPins
	index    *titleIndex // nil if nothing was imported
	known    *knownTitles
	source   *source
	dialog   *dialog // nil if nobody is asked
}

// deciders are tried in order until one answers; the last one always does.
var deciders = []func(*Deciders, context.Context, *series) (resolution, bool){
	(*Deciders).byPin,         // the user's own choice
	(*Deciders).byAniDB,       // AniDB's ID in the path
	(*Deciders).byIndex,       // the imported lists
	(*Deciders).byKnownTitles, // titles of the entries that this run has fetched or seen in search results
	(*Deciders).bySearch,      // TMDB's search
}

type series struct {
	match.Series
	pin    *pins.Pin // the user's choice for these files; nil if there is none
	unlock func()    // unlocks the titles; called after the search
}

type resolution struct {
	match.Resolution
	// readings returns the possible interpretations of a file name, best first. If nil, the name has only one.
	readings func(release.Release) []release.Release
	// doubt returns a reason to doubt a file's episode, or "". If nil, there is none.
	doubt func(release.Release) lang.Text
	// adjust changes the decision of a placed file. If nil, nothing is changed.
	adjust func(match.Decision, release.Release) match.Decision
}

// New returns the deciders of one run. It fails if the pins can't be read, because decisions could contradict them.
func New(c Config) (*Deciders, error) {
	user, err := loadPins(c.Pins, c.Warn)
	if err != nil {
		return nil, err
	}
	known := &knownTitles{}
	src := &source{client: c.Client, titleLanguages: c.Languages, includeAdult: c.IncludeAdult, known: known}
	d := &Deciders{
		config: c, resolver: match.Resolver{Source: src, Options: c.Options},
		pins: user, index: openIndex(c.IndexDir, c.Warn), known: known, source: src,
	}
	if c.Asker != nil {
		d.dialog = &dialog{asker: c.Asker, open: map[string][]question{}}
	}
	return d, nil
}

// InputDigests returns digests of the pins and the title index. Each changes whenever its contents change.
func (d *Deciders) InputDigests() (pins, index string) { return d.pins.digest, d.index.digest() }

// Entry returns a TMDB entry; a series has all its seasons. It sends the same requests as Decide, which are cached.
func (d *Deciders) Entry(ctx context.Context, kind match.Kind, id int) (*match.Entry, match.Origin, error) {
	return d.resolver.Source.Entry(ctx, kind, id)
}

// Decide calls decided exactly once for each file of a series, in any order and possibly after a long wait. A series
// that exceeds the request budget is still decided if the cache has all the answers it needs.
func (d *Deciders) Decide(ctx context.Context, s match.Series, decided func(match.File, match.Decision)) {
	ctx, release := d.config.Reserve(ctx)
	defer release()
	var open, all []question
	for _, part := range d.pins.splitByPin(series{Series: s}) {
		res := d.decide(ctx, &part)
		if d.dialog == nil {
			d.place(ctx, part.Files, res, decided)
			continue
		}
		made := make(map[int]match.Decision, len(part.Files))
		d.place(ctx, part.Files, res, func(f match.File, out match.Decision) {
			made[f.Index] = out
			decided(f, out)
		})
		open = append(open, questionsAbout(part, res.Entry, made, d.resolver.Options.MinConfidence)...)
		all = append(all, question{series: part.Series, pin: part.pin})
	}
	if d.dialog != nil {
		d.dialog.mu.Lock()
		defer d.dialog.mu.Unlock()
		d.dialog.open[s.Files[0].Release.Path] = open // replaces those of an earlier attempt
		d.dialog.decided = append(d.dialog.decided, all...)
	}
}

func (d *Deciders) decide(ctx context.Context, s *series) (res resolution) {
	for _, decide := range deciders {
		var ok bool
		if res, ok = decide(d, ctx, s); ok {
			break
		}
	}
	d.translateTitle(ctx, &res.Resolution)
	d.readInOrder(ctx, s, &res)
	return res
}

func (d *Deciders) place(
	ctx context.Context, files []match.File, res resolution, decided func(match.File, match.Decision),
) {
	addElsewhere := d.index.addOtherCatalogues(res.Resolution)
	for round := 0; len(files) > 0; round++ {
		read := slices.Clone(files)
		more := make([]bool, len(files))
		for i := range read {
			if res.readings != nil {
				readings := res.readings(read[i].Release)
				if res.doubt != nil {
					read[i].Doubt = res.doubt(read[i].Release)
				}
				read[i].Release, more[i] = readings[round], round+1 < len(readings)
			}
		}
		var open []match.File
		for i, out := range d.resolver.Place(ctx, read, res.Resolution) {
			if more[i] && out.Status == match.Matched && out.Season == nil {
				open = append(open, files[i])
				continue
			}
			if res.adjust != nil {
				out = res.adjust(out, read[i].Release)
			}
			if out.Status == match.Matched {
				addElsewhere(&out)
			}
			decided(files[i], out)
		}
		files = open
	}
}

func (d *Deciders) bySearch(ctx context.Context, s *series) (resolution, bool) {
	res := d.resolver.Resolve(ctx, s.Series)
	s.unlock()
	if order, _ := orderOfNames(s); len(s.IDs) > 0 && order == "" {
		return d.placeByIndex(s.Series, resolution{Resolution: res}), true
	}
	return resolution{Resolution: res}, true
}
