package app

// This file decides when a series needs no search because an entry that this run has fetched bears its title. A list
// or a library names many series in several scripts and spellings; TMDB's details hold all of them. What it answers must be
// what a search would have answered, whatever came before: so it refuses wherever a namesake may be hidden.

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/title"
)

// knownTitles remembers by what titles TMDB knows the entries that a run has met: all titles of those whose details were
// fetched, the visible ones of those that a search only showed, so that a namesake is noticed. The zero value is
// empty; it is shared by the run's goroutines.
type knownTitles struct {
	mu       sync.Mutex
	called   map[string]map[knownEntry]bearing // by plain title
	fetched  map[knownEntry]bool
	anyYear  map[knownEntry]bool      // shown by a search without a year, which would have shown namesakes
	searched map[match.Query]bool     // searches that were answered: to make them again costs nothing
	asked    map[string]chan struct{} // by plain title: closed when the series that is asked for is known
}

type knownEntry struct {
	kind match.Kind
	id   int
}

// bearing says as what an entry bears a title: the weaker, the likelier is it that others are called so too.
type bearing uint8

const (
	dated       bearing = iota // with its first year behind it, which tells it from namesakes
	alternative                // as one of the titles that anybody may add
	translated
	visible // as its name or its original name
)

// letters is how many letters a title must have to be taken for the entry's own. A title of one word is often also that of
// something else.
func (b bearing) letters() int {
	switch b {
	case visible:
		return 4
	case translated:
		return 7
	case alternative:
		return 9
	case dated:
	}
	return tooLong
}

const (
	tooLong      = 1 << 20
	otherLetters = 8 // of a reading that is not the likeliest
)

// knownSize bounds how many titles are remembered. Beyond it everything is forgotten: a search costs one request.
const knownSize = 100_000

// learn remembers the titles of an entry that was fetched.
func (k *knownTitles) learn(e *match.Entry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := knownEntry{e.Kind, e.ID}
	if k.fetched[key] {
		return
	}
	k.room()
	k.fetched[key] = true
	k.name(key, visible, e.Year, e.Title, e.OriginalTitle)
	for _, t := range e.Titles {
		if t.Language != "" {
			k.name(key, translated, e.Year, t.Text)
		} else {
			k.name(key, alternative, e.Year, t.Text)
		}
	}
}

// show remembers the rows of a search.
func (k *knownTitles) show(q match.Query, hits []match.Hit) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.room()
	k.searched[searchKey(q)] = true
	for _, h := range hits {
		key := knownEntry{h.Kind, h.ID}
		k.name(key, visible, h.Year, h.Title, h.OriginalTitle)
		if q.Year == 0 {
			k.anyYear[key] = true
		}
	}
}

func (k *knownTitles) room() {
	if k.called == nil || len(k.called) > knownSize {
		k.called, k.fetched, k.anyYear = map[string]map[knownEntry]bearing{}, map[knownEntry]bool{}, map[knownEntry]bool{}
		k.searched = map[match.Query]bool{}
	}
}

// searchKey is a search as it is sent, whichever page of it.
func searchKey(q match.Query) match.Query {
	return match.Query{Kind: q.Kind, Text: strings.ToLower(q.Text), Year: q.Year}
}

// free reports whether the search that comes first for a series was answered in this run.
func (k *knownTitles) free(s match.Series, want match.Kind) bool {
	queries := match.Queries(s, want)
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(queries) > 0 && k.searched[searchKey(queries[0])]
}

func (k *knownTitles) name(e knownEntry, as bearing, year int, titles ...string) {
	for _, t := range titles {
		norm := title.Normalize(t)
		k.call(e, as, norm)
		if plain, ok := strings.CutSuffix(norm, " "+strconv.Itoa(year)); ok {
			k.call(e, dated, plain)
		} else if base := match.BaseTitle(norm); base != norm && as != visible {
			k.call(e, alternative, base) // a season's own title holds the work's
		}
		if r := title.Romanize(t); r != t {
			k.call(e, min(as, translated), title.Normalize(r))
		}
	}
}

func (k *knownTitles) call(e knownEntry, as bearing, norm string) {
	plain := title.Plain(norm)
	if plain == "" {
		return
	}
	if k.called[plain] == nil {
		k.called[plain] = map[knownEntry]bearing{}
	}
	if before, ok := k.called[plain][e]; !ok || before != dated && as > before || as == dated {
		k.called[plain][e] = as
	}
}

// only returns the one entry that bears the titles of a series, if no other that was met bears any of them.
func (k *knownTitles) only(s match.Series) (e knownEntry, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	strong := false // one title is telling enough
	for i, text := range plainTitles(s) {
		norm := title.Normalize(text)
		for o, as := range k.called[title.Plain(norm)] {
			if e != (knownEntry{}) && o != e {
				return e, false
			}
			e = o
			if as == dated && s.Year != 0 {
				as = translated
			}
			n := weightOf(norm)
			if s.Want == match.WantAny && as != visible {
				continue
			}
			strong = strong || n >= as.letters() && (i == 0 || n >= otherLetters && !pieceOf(s.Titles, text))
		}
	}
	return e, strong && k.fetched[e] && (s.Year != 0 || k.anyYear[e])
}

// pieceOf reports whether a reading is a piece of the likeliest one.
func pieceOf(titles []release.Title, text string) bool {
	return strings.Contains(title.Compact(titles[0].Text), title.Compact(text))
}

// weightOf measures a title in Latin letters: a character of East Asia says as much as two, and a single word less than its
// letters.
func weightOf(norm string) int {
	n, plain := 0, true
	for _, r := range norm {
		switch {
		case r == ' ':
			plain = false
		case r >= firstWide:
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

// firstWide is where Unicode's East Asian characters begin.
const firstWide = 0x2e80

// wait waits while another series that shares a title is asked for, whose answer may be that of this one too. Then
// it is this one's turn: over ends it. Nobody waits in their turn, so all come to an end.
func (k *knownTitles) wait(ctx context.Context, s match.Series) (over func()) {
	var titles []string
	for _, t := range plainTitles(s) {
		if plain := title.Plain(title.Normalize(t)); plain != "" && !slices.Contains(titles, plain) {
			titles = append(titles, plain)
		}
	}
	for ctx.Err() == nil {
		k.mu.Lock()
		var other chan struct{}
		for _, t := range titles {
			if c := k.asked[t]; c != nil {
				other = c
			}
		}
		if other == nil {
			if k.asked == nil {
				k.asked = map[string]chan struct{}{}
			}
			mine := make(chan struct{})
			for _, t := range titles {
				k.asked[t] = mine
			}
			k.mu.Unlock()
			return func() {
				k.mu.Lock()
				defer k.mu.Unlock()
				for _, t := range titles {
					delete(k.asked, t)
				}
				close(mine)
			}
		}
		k.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
		}
	}
	return func() {}
}

// sparing reports whether a series may be decided without a search at all: not where an id stands in the name, and not where
// more is asked for than what convinces, for then the confidence, which rivals lower, decides.
func (m *matching) sparing(s match.Series) bool {
	return len(s.IDs) == 0 && m.resolver.Options.MinConfidence <= convincing
}

// resolveKnown decides a series by the titles of what was fetched before. ok is false where a search has to tell: where
// anything at all speaks against the entry, or leaves open which of several works of a name is meant, and where the search
// costs nothing.
func (m *matching) resolveKnown(ctx context.Context, s match.Series) (res match.Resolution, ok bool) {
	e, ok := m.known.only(s)
	want := m.resolver.Options.Kind
	if !ok || e.kind != s.Likelier() || want != "" && want != e.kind || m.known.free(s, want) {
		return res, false
	}
	if res, ok = m.resolveAs(ctx, s, e); ok {
		m.spared.keep(ctx, s, e)
	}
	return res, ok
}

// resolveAs decides a series as if the entry were all that a search had found. ok is false where anything speaks
// against it.
func (m *matching) resolveAs(ctx context.Context, s match.Series, e knownEntry) (res match.Resolution, ok bool) {
	local := match.Resolver{Source: knownSource{m.resolver.Source, e}, Options: m.resolver.Options}
	res = local.Resolve(ctx, s)
	if res.Status != match.Matched || res.Confidence < convincing || res.Entry == nil || !beyondDoubt(s, res) {
		return res, false
	}
	step := match.Step{Stage: "known", Detail: fmt.Sprintf("%s %d, fetched before, bears this title: no search", e.kind, e.id)}
	res.Steps = slices.Concat([]match.Step{step}, res.Steps)
	return named(res), true
}

// beyondDoubt reports whether nothing speaks against an entry: its years, its seasons, any reason that weighs against it.
func beyondDoubt(s match.Series, res match.Resolution) bool {
	if !ofYear(res.Entry, s.Year) {
		return false
	}
	if s.HasSeason && s.Season > 1 && !slices.ContainsFunc(res.Entry.Seasons, func(o match.Season) bool { return o.Number == s.Season }) {
		return false
	}
	for _, c := range res.Candidates {
		if slices.ContainsFunc(c.Reasons, func(r match.Reason) bool { return r.Weight < 0 }) {
			return false
		}
	}
	return true
}

// knownSource answers searches with one entry and everything else from the source below.
type knownSource struct {
	match.Source
	entry knownEntry
}

// Search implements match.Source.
func (k knownSource) Search(context.Context, match.Query) ([]match.Hit, match.Origin, error) {
	return []match.Hit{{Kind: k.entry.kind, ID: k.entry.id}}, match.Origin{}, nil
}

// SeasonNames implements match.SeasonNamer where the source below does.
func (k knownSource) SeasonNames(ctx context.Context, id int, language string) (map[int]string, match.Origin, error) {
	if namer, ok := k.Source.(match.SeasonNamer); ok {
		return namer.SeasonNames(ctx, id, language)
	}
	return nil, match.Origin{}, match.ErrNoEntry
}
