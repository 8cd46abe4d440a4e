package decide

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/pins"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/slicesx"
	"github.com/anivault/anivault/internal/title"
	"github.com/anivault/anivault/internal/ui"
)

// runPins holds the pins of a run: those in the file when it started, and those added since by a person's answers.
type runPins struct {
	store *pins.Store

	mu     sync.RWMutex
	set    *pins.Set
	digest string // of the file at the start of the run

	ordered []pins.Pin // those with an order
}

func loadPins(store *pins.Store, warn func(error)) (*runPins, error) {
	set, err := store.Load()
	if err != nil {
		return nil, err
	}
	for _, warning := range set.Warnings(store.Path()) {
		warn(warning)
	}
	ordered := pinsWithOrder(set)
	for i, p := range ordered {
		other := func(o pins.Pin) bool { return o.ID == p.ID && o.Order != p.Order }
		if slices.ContainsFunc(ordered[:i], other) {
			warn(lang.Error("the pins have several orders of %s: the last one in the file counts", p.Entry()))
		}
	}
	return &runPins{store: store, set: set, digest: set.Digest(), ordered: ordered}, nil
}

func pinsWithOrder(set *pins.Set) []pins.Pin {
	return slices.DeleteFunc(set.All(), func(p pins.Pin) bool { return p.Order == "" })
}

func (c *runPins) add(ctx context.Context, p pins.Pin) error {
	set, err := c.store.Update(ctx, func(s *pins.Set) error {
		_, err := s.Put(p)
		return err
	})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set, c.ordered = set, pinsWithOrder(set)
	return nil
}

func absolutePath(path string) string {
	abs, _ := filepath.Abs(filepath.FromSlash(path)) // it fails only without a working directory
	return abs
}

func (c *runPins) splitByPin(s series) []series {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.set.Len() == 0 || s.Want == match.WantNothing {
		return []series{s}
	}
	var byTitle *pins.Pin
	for _, text := range plainTitles(s.Series) {
		if p, ok := c.set.ForTitle(text, s.Year); ok {
			// A path with another id is another work's. With this one, its names already have TMDB's numbers.
			own := func(id release.ID) bool { return id.Source == orders.TMDB && id.Value == strconv.Itoa(p.ID) }
			if len(s.IDs) == 0 || p.Offset == 0 && slices.ContainsFunc(s.IDs, own) {
				byTitle = &p
			}
			break
		}
	}
	var parts []series
	for _, f := range s.Files {
		pin := byTitle
		if p, ok := c.set.ForPath(absolutePath(f.Release.Path)); ok {
			pin = &p
		}
		i := slices.IndexFunc(parts, func(p series) bool {
			return (p.pin == nil) == (pin == nil) && (pin == nil || p.pin.PathOrTitle() == pin.PathOrTitle())
		})
		if i < 0 {
			i = len(parts)
			parts = append(parts, s)
			parts[i].pin, parts[i].Files = pin, nil
		}
		parts[i].Files = append(parts[i].Files, f)
	}
	return parts
}

func (d *Deciders) byPin(ctx context.Context, s *series) (resolution, bool) {
	if s.pin == nil {
		return resolution{}, false
	}
	pin := *s.pin
	res := d.resolver.ResolveID(ctx, s.Series, pin.Kind, pin.ID)
	res.DecidedBy = match.DecidedByPin
	res.Steps = slices.Insert(res.Steps, 0, match.Step{Stage: "pin", Detail: lang.Textf("%s", pin.String())})
	out := resolution{readings: func(r release.Release) []release.Release { return []release.Release{applyPin(r, pin)} }}
	out.Resolution = res
	switch gone := errors.Is(res.Err, match.ErrNoEntry); {
	case gone:
		out.Err = &pinnedEntryMissing{pin, res.Err}
	case res.Err != nil && ctx.Err() == nil:
		out.adjust = func(d match.Decision, r release.Release) match.Decision {
			return decideByPinOffline(d, r, pin, res.Err)
		}
	case pin.Season != nil:
		out.adjust = func(d match.Decision, r release.Release) match.Decision { return placeByPin(d, r, pin, res.Entry) }
	case pin.Offset == 0 && pin.Order == "":
		return d.placeByIndex(s.Series, out), true
	}
	if pin.Season != nil || pin.Offset != 0 {
		out.Hint = match.Hint{} // the pin overrides the season in the titles
	}
	return out, true
}

// placeByPin places a file in the season of its pin, by the pinned episodes or the numbers in the file name. Other
// possible places are kept only if they are in that season or are specials.
func placeByPin(d match.Decision, r release.Release, pin pins.Pin, e *match.Entry) match.Decision {
	if d.Status != match.Matched {
		return d
	}
	numbers, whole := wholeEpisodes(r)
	found := e.FindEpisodes(*pin.Season, numbers)
	placed := d.Season
	switch {
	case whole && len(found) == len(numbers):
		d.Season, d.Episodes, d.EpisodeTitles, d.EpisodeConfidence, d.Guess = pin.Season, numbers, nil, new(1.0), nil
		d.Reason, d.AirDate = "the user's choice", found[0].AirDate
		d.EpisodeTitles = slicesx.Map(found, func(episode match.Episode) string { return episode.Name })
		return d
	case len(pin.Episodes) > 0:
		d.Reason = lang.Textf("pinned to season %d episode %s, which %s does not have", *pin.Season,
			ui.Numbers(pin.Episodes, ","), pin.Entry())
	case placed != nil && (*placed == *pin.Season || *placed == 0):
		return d
	case !e.HasSeason(*pin.Season):
		d.Reason = lang.Textf("pinned to season %d, which %s does not have", *pin.Season, pin.Entry())
	case placed != nil:
		d.Reason = lang.Textf("it is pinned to season %d, which has no such number", *pin.Season)
	default:
		return d
	}
	d.Season, d.Episodes, d.EpisodeTitles, d.AirDate, d.EpisodeConfidence, d.Guess = nil, nil, nil, "", new(0.0), nil
	return d
}

type pinnedEntryMissing struct {
	pin   pins.Pin
	cause error
}

func (e *pinnedEntryMissing) Error() string { return e.Text().String() }

func (e *pinnedEntryMissing) Text() lang.Text {
	return lang.Textf("pinned to %s, which TMDB does not have; remove it with: anivault unpin %s",
		e.pin.Entry(), ui.ShellWord(e.pin.PathOrTitle()))
}

func (e *pinnedEntryMissing) Unwrap() error { return e.cause }

// applyPin applies the season and offset of a pin. The pin of a single file also turns a special into a regular
// episode.
func applyPin(r release.Release, p pins.Pin) release.Release {
	abs := absolutePath(r.Path)
	single := p.Path != "" && (filepath.Clean(p.Path) == abs || p.Path == pins.RealPath(abs))
	if p.Season != nil {
		r.Seasons, r.Part, r.Absolute = []int{*p.Season}, 0, false
		if single && *p.Season > 0 {
			r.Special, r.EpisodeTitle, r.Kind = "", "", release.Episode
		}
		if len(p.Episodes) > 0 {
			r.Overall = nil
			r.Episodes = slicesx.Map(p.Episodes, func(n int) float64 { return float64(n) })
		}
		if single && len(r.Episodes) == 0 && p.Offset > 0 {
			r.Episodes = []float64{0}
		}
	}
	if p.Offset != 0 {
		r.Episodes = slices.Clone(r.Episodes)
		for i := range r.Episodes {
			r.Episodes[i] += float64(p.Offset)
		}
	}
	return r
}

// decideByPinOffline decides a file by the pin alone. It keeps the error, so the next run fills in the titles.
func decideByPinOffline(d match.Decision, r release.Release, p pins.Pin, cause error) match.Decision {
	if d.Status != match.Pending {
		return d
	}
	out := match.Decision{Outcome: match.Outcome{
		Status: match.Matched, Confidence: 1, Kind: p.Kind, ID: p.ID, DecidedBy: match.DecidedByPin,
		Reason: "pinned, but TMDB was not available, so titles are missing", Steps: d.Steps, Err: cause,
	}}
	if p.Kind == match.Movie {
		return out
	}
	eps, ok := wholeEpisodes(r)
	if p.Season == nil || !ok {
		d.Reason = lang.Textf("%s is pinned, but its seasons could not be fetched", p.Entry())
		return d
	}
	out.Season, out.Episodes, out.EpisodeConfidence = p.Season, eps, &out.Confidence
	out.Reason = "pinned, but TMDB was not available, so the episode was not checked and titles are missing"
	return out
}

func wholeEpisodes(r release.Release) ([]int, bool) {
	if len(r.Seasons) > 1 {
		return nil, false
	}
	if n, _ := r.Season(); (r.Special != "" || r.Kind == release.Special) && (n != 0 || len(r.Seasons) == 0) {
		return nil, false // only TMDB's list can tell which special it is
	}
	return wholeNumbers(r.Episodes)
}

func wholeNumbers(list []float64) ([]int, bool) {
	out := make([]int, 0, len(list))
	for _, n := range list {
		if n != math.Trunc(n) || n < 0 {
			return nil, false
		}
		out = append(out, int(n))
	}
	return out, len(out) > 0
}

// Scope is the set of files that a choice applies to.
type Scope string

// The scopes, widest first.
const (
	ByTitle  Scope = "title"  // every file whose name has the title, wherever it is
	ByFolder Scope = "folder" // every file in the folder
	ByFiles  Scope = "file"   // the files of the question, each by its path
)

// availableScopes returns the scopes that suit the files. If the first file has no number, its place says nothing about
// other files, so only ByFiles remains. The pin of a title has no order, and does not apply to a path with an id.
func availableScopes(s match.Series, at *Place, order string) (list []Scope) {
	if at != nil && pinOffset(s, at) == nil {
		return []Scope{ByFiles}
	}
	if title.Normalize(s.Title()) != "" && order == "" && len(s.IDs) == 0 {
		list = append(list, ByTitle)
	}
	if _, ok := commonFolder(s.Files); ok {
		list = append(list, ByFolder)
	}
	return append(list, ByFiles)
}

// pinOffset returns the difference between the episode that a person chose for the first file and the number in its
// name. It returns nil without a place, or if the difference does not apply to the other files.
func pinOffset(s match.Series, at *Place) *int {
	number, ok := firstNumber(s.Files[0].Release)
	if at == nil || !ok || len(at.Episodes) != len(s.Files[0].Release.Episodes) || len(s.Files) < 2 {
		return nil
	}
	return new(at.Episodes[0] - number)
}

// defaultScope returns the scope that is suggested first. It is not ByTitle if only a folder's name has the title,
// or a namesake has the same title, or for one file without a number, which no other file will follow.
func defaultScope(s match.Series, a Answer, namesakes bool) Scope {
	_, numbered := firstNumber(s.Files[0].Release)
	switch several := len(s.Files) > 1; {
	case a.Order == "" && title.Normalize(s.Title()) != "" && s.Titles[0].From == release.FromName &&
		(numbered || several) && len(s.IDs) == 0 && !namesakes:
		return ByTitle
	case a.Kind == match.TV && (several || a.Order != "") && itemsInFolder(s.Files) == len(s.Files):
		return ByFolder
	}
	return ByFiles
}

func pinsFor(s match.Series, a Answer, o ChoiceOptions, name string) (out []pins.Pin) {
	p := pins.Pin{Kind: a.Kind, ID: a.ID, Order: a.Order, Name: name}
	offset := pinOffset(s, o.Place)
	if o.Scope != ByFiles {
		if offset != nil {
			p.Season, p.Offset = &o.Place.Season, *offset
		}
		if o.Scope == ByFolder {
			p.Path, _ = commonFolder(s.Files)
		} else {
			p.Title = title.WithYear(s.Title(), s.Year)
		}
		return []pins.Pin{p}
	}
	for i, f := range s.Files {
		one := p
		one.Path = absolutePath(f.Release.Path)
		if _, whole := firstNumber(f.Release); o.Place != nil && i == 0 {
			one.Season, one.Episodes = &o.Place.Season, o.Place.Episodes
		} else if offset != nil && whole {
			one.Season = &o.Place.Season
			one.Episodes = slicesx.Map(f.Release.Episodes, func(n float64) int { return int(n) + *offset })
		}
		out = append(out, one)
	}
	return out
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

// itemsInFolder counts the videos and folders in the files' folder; 0 if they have none in common.
func itemsInFolder(files []match.File) int {
	dir, _ := commonFolder(files)
	entries, _ := os.ReadDir(dir)
	other := func(e os.DirEntry) bool { return !e.IsDir() && !library.IsVideo(e.Name()) }
	return len(slices.DeleteFunc(entries, other))
}
