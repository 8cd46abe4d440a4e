package decide

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/title"
)

// knownTitles indexes the entries that this run has seen by title: fetched entries by all their titles, search results
// by the titles in the result. It saves searches when a library spells one series in several ways. It must answer as a
// search would, so it gives no result if an entry of the same title may be missing.
type knownTitles struct {
	mu               sync.Mutex
	byTitle          map[string]map[knownEntry]titleRole // the key is a plain title
	fetched          map[knownEntry]bool
	foundWithoutYear map[knownEntry]bool      // found by a search without a year, which also finds namesakes
	searched         map[match.Query]bool     // searches that had results; their answers are cached
	locked           map[string]chan struct{} // the key is a plain title; unlocking it closes the channel
}

type knownEntry struct {
	kind match.Kind
	id   int
}

type titleRole uint8

const (
	datedTitle       titleRole = iota // without the year that TMDB appends to distinguish namesakes
	alternativeTitle                  // one of TMDB's alternative titles, which anybody may add
	translatedTitle
	mainTitle // the entry's title or its original title
)

// minLetters is how long a title must be, by its role, to identify an entry. Short titles are often shared.
var minLetters = map[titleRole]int{mainTitle: 4, translatedTitle: 7, alternativeTitle: 9, datedTitle: math.MaxInt}

// minOtherTitleLetters is how long a file name's second or later title must be to identify an entry.
const minOtherTitleLetters = 8

const maxKnownTitles = 100_000

func (k *knownTitles) addEntry(e *match.Entry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := knownEntry{e.Kind, e.ID}
	if k.fetched[key] {
		return
	}
	k.resetIfFull()
	k.fetched[key] = true
	k.addTitles(key, mainTitle, e.Year, e.Title, e.OriginalTitle)
	for _, t := range e.Titles {
		role := alternativeTitle
		if t.Language != "" {
			role = translatedTitle
		}
		k.addTitles(key, role, e.Year, t.Title)
	}
}

func (k *knownTitles) addHits(q match.Query, hits []match.Hit) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.resetIfFull()
	if len(hits) > 0 {
		k.searched[searchKey(q)] = true
	}
	for _, h := range hits {
		key := knownEntry{h.Kind, h.ID}
		k.addTitles(key, mainTitle, h.Year, h.Title, h.OriginalTitle)
		if q.Year == 0 {
			k.foundWithoutYear[key] = true
		}
	}
}

func (k *knownTitles) resetIfFull() {
	if k.byTitle == nil || len(k.byTitle) > maxKnownTitles {
		k.byTitle, k.fetched = map[string]map[knownEntry]titleRole{}, map[knownEntry]bool{}
		k.foundWithoutYear, k.searched = map[knownEntry]bool{}, map[match.Query]bool{}
	}
}

func searchKey(q match.Query) match.Query {
	return match.Query{Kind: q.Kind, Text: strings.ToLower(q.Text), Year: q.Year}
}

func (k *knownTitles) searchIsCached(s match.Series, want match.Kind) bool {
	queries := match.Queries(s, want)
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(queries) > 0 && k.searched[searchKey(queries[0])]
}

func (k *knownTitles) addTitles(e knownEntry, as titleRole, year int, titles ...string) {
	for _, t := range titles {
		norm := title.Normalize(t)
		k.addTitle(e, as, norm)
		if plain, ok := strings.CutSuffix(norm, " "+strconv.Itoa(year)); ok {
			k.addTitle(e, datedTitle, plain)
		} else if base := match.BaseTitle(norm); base != norm && as != mainTitle {
			k.addTitle(e, alternativeTitle, base) // a season's own title contains the work's
		}
		if r := title.Romanize(t); r != t {
			k.addTitle(e, min(as, translatedTitle), title.Normalize(r))
		}
	}
}

func (k *knownTitles) addTitle(e knownEntry, as titleRole, norm string) {
	plain := title.SpellingKey(norm)
	if plain == "" {
		return
	}
	if k.byTitle[plain] == nil {
		k.byTitle[plain] = map[knownEntry]titleRole{}
	}
	if before, ok := k.byTitle[plain][e]; !ok || before != datedTitle && as > before || as == datedTitle {
		k.byTitle[plain][e] = as
	}
}

func (k *knownTitles) uniqueEntry(s match.Series) (e knownEntry, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	strong := false // whether a title is long enough
	for i, t := range s.Titles {
		if i > 0 && t.From != release.FromName {
			continue
		}
		norm := title.Normalize(t.Text)
		for o, as := range k.byTitle[title.SpellingKey(norm)] {
			if e != (knownEntry{}) && o != e {
				return e, false
			}
			e = o
			if as == datedTitle && s.Year != 0 {
				as = translatedTitle
			}
			n := titleLength(norm)
			if s.Want == match.WantAny && as != mainTitle {
				continue
			}
			strong = strong || n >= minLetters[as] && (i == 0 || n >= minOtherTitleLetters && !match.IsPieceOfTitle(s.Titles, i))
		}
	}
	return e, strong && k.fetched[e] && (s.Year != 0 || k.foundWithoutYear[e])
}

// titleLength returns the length of a title in Latin letters. An East Asian character counts as two letters. A title of
// a single Latin word counts as two thirds of its length.
func titleLength(norm string) int {
	n, plain := 0, true
	for _, r := range norm {
		switch {
		case r == ' ':
			plain = false
		case r >= firstEastAsianRune:
			n += 2
			plain = false
		default:
			n++
		}
	}
	if plain {
		return n * 2 / 3
	}
	return n
}

const firstEastAsianRune = 0x2e80

// lockTitles locks the titles of a series. It waits for other series that have locked one of these titles, because the
// answer for the other series may decide this series too. A series that holds titles never waits for more titles, so
// there is no deadlock. If ctx ends, nothing is locked.
func (k *knownTitles) lockTitles(ctx context.Context, s match.Series) (unlock func()) {
	var titles []string
	for _, t := range plainTitles(s) {
		if plain := title.SpellingKey(title.Normalize(t)); plain != "" && !slices.Contains(titles, plain) {
			titles = append(titles, plain)
		}
	}
	k.mu.Lock()
	for i := 0; i < len(titles); i++ {
		other := k.locked[titles[i]]
		if other == nil {
			continue
		}
		k.mu.Unlock()
		select {
		case <-other:
			i = -1 // check all titles again
		case <-ctx.Done():
			return func() {}
		}
		k.mu.Lock()
	}
	defer k.mu.Unlock()
	if k.locked == nil {
		k.locked = map[string]chan struct{}{}
	}
	mine := make(chan struct{})
	for _, t := range titles {
		k.locked[t] = mine
	}
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		for _, t := range titles {
			delete(k.locked, t)
		}
		close(mine)
	}
}

// byKnownTitles chooses the only fetched entry with the title. It does not see rivals, so it leaves a series to the
// search if anything speaks against the entry, or if the user wants more confidence than a search needs to stop.
func (d *Deciders) byKnownTitles(ctx context.Context, s *series) (out resolution, ok bool) {
	s.unlock = d.known.lockTitles(ctx, s.Series)
	if len(s.IDs) > 0 || d.resolver.Options.MinConfidence > match.ConvincingConfidence {
		return out, false
	}
	e, ok := d.known.uniqueEntry(s.Series)
	want := d.resolver.Options.Kind
	if !ok || e.kind != s.LikelierKind() || want != "" && want != e.kind || d.known.searchIsCached(s.Series, want) {
		return out, false
	}
	res := d.resolver.ResolveAmong(ctx, s.Series, []match.Hit{{Kind: e.kind, ID: e.id}})
	if res.Status != match.Matched || res.Confidence < match.ConvincingConfidence || !noContraryEvidence(s.Series, res) {
		return out, false
	}
	res.Steps = slices.Insert(res.Steps, 0, match.Step{
		Stage: "known", Detail: lang.Textf("%s %d, fetched earlier, has this title: no search needed", e.kind, e.id),
	})
	s.unlock()
	return resolution{Resolution: res}, true
}

// noContraryEvidence reports whether neither a year nor a reason with a negative weight speaks against an entry.
func noContraryEvidence(s match.Series, res match.Resolution) bool {
	speaksAgainst := func(r match.Reason) bool { return r.Weight < 0 }
	return hasYear(res.Entry, s.Year) && !slices.ContainsFunc(res.Candidates, func(c match.Candidate) bool {
		return slices.ContainsFunc(c.Reasons, speaksAgainst)
	})
}
